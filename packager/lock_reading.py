"""From the text of `app.lock` to its rows; whatever is wrong with it is shown with its line and carets.

The file is written by hexpack, but version control merges it and people mend it, so every text may come.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from packager.diagnostics import Source
from packager.errors import ManifestError, nearest
from packager.lock import SCHEMA, Compile, Entry, Lock, Row, sorted_rows
from packager.model import Frozen
from packager.source_map import Location, Span
from packager.toml_errors import in_words
from packager.visible import visible

_MAX_BYTES = 16 << 20
_CONFLICT = re.compile(r"<{7}( |$)|={7}$|>{7}( |$)|\|{7}( |$)")
_FIX = (
    "take the last good version of the file from your repository, or delete it and run `hexpack lock`, which"
    " writes it anew"
)
_OLDER = (1,)  # schema 1 knew inputs only


class _Document(Frozen):
    schema_: int = Field(alias="schema")
    input: tuple[Entry, ...] = ()
    compile: tuple[Compile, ...] = ()


def load(path: Path) -> Lock:
    """Read a lock; an absent file is an empty lock. Raises ManifestError that shows its faults."""
    name = str(path)
    try:
        with path.open("rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return Lock(name=name)
    except OSError as problem:
        raise _damaged(f"{visible(name)} cannot be read", problem.strerror or str(problem)) from problem
    if len(content) > _MAX_BYTES:
        raise _damaged(f"{visible(name)} is larger than any lock", f"more than {_MAX_BYTES} bytes")
    try:
        source = Source(name, content.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise _damaged(f"{visible(name)}:{line}: the lock is not UTF-8", str(problem.reason)) from problem
    document = _document(source)
    return Lock(
        name=name,
        entries=_rows(source, "input", document.input),
        compiles=_rows(source, "compile", document.compile),
        source=source,
    )


def _document(source: Source) -> _Document:
    conflicts = [number for number, line in enumerate(source.text.split("\n"), 1) if _CONFLICT.match(line)]
    if conflicts:
        raise _refused(source, [_conflict(source, conflicts)])
    try:
        words = tomllib.loads(source.text)
    except RecursionError:
        raise _refused(source, [source.block(None, "arrays or tables are nested too deeply")]) from None
    except ValueError as problem:
        raise _refused(source, [in_words(source, problem)]) from None
    edition = words.get("schema")
    if edition != SCHEMA and edition not in _OLDER:
        said = "the lock does not say its schema" if edition is None else f"schema {edition!r} is not known"
        place = source.place(("schema",))
        raise _refused(source, [source.block(place, said, f"this hexpack reads {SCHEMA}")])
    try:
        return _Document.model_validate(words)
    except ValidationError as refused:
        raise _refused(source, _problems(source, refused)) from None


def _conflict(source: Source, lines: list[int]) -> str:
    first = lines[0]
    marker = source.text.split("\n")[first - 1]
    more = f", as do lines {', '.join(map(str, lines[1:6]))}" if len(lines) > 1 else ""
    return source.block(
        Span(first, 1, first, len(marker) + 1),
        "a merge left both of its sides here",
        f"this line marks a conflict{more}\ntake either side of it, and run `hexpack lock`",
    )


def _problems(source: Source, refused: ValidationError) -> list[str]:
    """A block for each complaint of the validator."""
    blocks = []
    for error in refused.errors(include_url=False):
        location: Location = error["loc"]
        kind, key = error["type"], str(location[-1])
        if kind == "extra_forbidden":
            known = _known(location)
            close = nearest(key, known)
            hint = f'did you mean "{close}"?' if close else f"known: {', '.join(known)}"
            blocks.append(source.block(source.place(location, key=True), f'unknown key "{key}"', hint))
        elif kind == "missing":
            blocks.append(source.block(source.place(location[:-1]), f'"{key}" is missing here'))
        else:
            blocks.append(source.block(source.place(location), f"{key}: {_sentence(error['msg'])}"))
    return list(dict.fromkeys(blocks))


def _known(location: Location) -> list[str]:
    models: dict[Any, type[Frozen]] = {"input": Entry, "compile": Compile}
    if len(location) == 1:
        return ["schema", *models]
    return list(models[location[0]].model_fields)


def _sentence(message: str) -> str:
    if "pattern" in message:
        return "this is no sha256, which has 64 characters of 0-9 and a-f"
    return message[:1].lower() + message[1:]


def _rows(source: Source, table: str, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows sorted. Raises ManifestError for one that is there twice."""
    first: dict[Any, int] = {}
    for index, row in enumerate(rows):
        if row.place in first:
            before = source.place((table, first[row.place]))
            raise _refused(
                source,
                [
                    source.block(
                        source.place((table, index)),
                        f"{row.title} is written a second time",
                        f"the first is in line {before.line}" if before else "",
                    )
                ],
            )
        first[row.place] = index
    return sorted_rows(rows)


def _refused(source: Source, blocks: list[str]) -> ManifestError:
    error = source.error(blocks)
    return ManifestError(error.what, evidence=error.evidence, fix=_FIX)


def _damaged(what: str, reason: str) -> ManifestError:
    return ManifestError(what, evidence=(reason,), fix=_FIX)
