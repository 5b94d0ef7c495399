"""JSON files: read within limits, and told apart by the keys that they have."""

from __future__ import annotations

import codecs
import fnmatch
import functools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

from packager import catalog
from packager.errors import UnreadableFile
from packager.facts.reading import content_within, decoded

MAX_SIZE = 4 << 20  # configuration is kilobytes; the metadata of the largest models some hundred
_MAX_KEYS = 4096  # key paths of one document
_MAX_DEPTH = 64  # objects and arrays inside each other; the deepest Genie configuration has eight
_MAX_NUMBER = 1 << 63
_MAX_BROKEN = 256 << 10  # of a broken document, the part in which its marks are looked for
_TOO_DEEP = "it is nested too deep"

# What tells key paths in a text: keys, and the braces that are in no other string and no comment.
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_TOKEN = re.compile(
    rf'"(?P<key>(?:[^"\\\n]|\\.)*)"\s*:|{_STRING}|\\.|[{{}}]|//[^\n]*|/\*(?:(?s:.*?)\*/|(?s:.*))'
)


class _Mark(NamedTuple):
    """A kind of file, the patterns of which one is enough to know it, and all keys that its top may have.

    A pattern is the set of key paths that must be there together; `only` is empty where any key may stand.
    """

    kind: str
    patterns: tuple[tuple[str, ...], ...]
    only: frozenset[str]


def json_document(path: Path) -> object:
    """The value that a JSON file holds.

    Raises UnreadableFile when it is larger than 4 MiB, no JSON, nested too deep, or has a key twice in one
    object (readers disagree which of them counts), InputUnavailable when it cannot be opened.
    """
    return json_value(path, content_within(path, MAX_SIZE, "configuration"))


def json_value(path: Path, content: bytes) -> object:
    """The value of a JSON text inside a file; raises as `json_document` does, offsets from its start."""
    return _parsed(path, decoded(path, content))


def json_kind(stream: BinaryIO, head: bytes, size: int) -> str | None:
    """The kind of a JSON object, from its keys; one that is broken is judged by the key paths in its text."""
    if not head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{") or size > MAX_SIZE:
        return None
    stream.seek(0)
    content = stream.read(MAX_SIZE)
    try:
        document = _parsed(Path(), decoded(Path(), content))
    except UnreadableFile:
        return kind_of(_cut(_paths_in_text(content[:_MAX_BROKEN].decode("utf-8", "replace"))))
    return kind_of((*key_paths(document), *_lists(document)))


def kind_of(keys: Iterable[str]) -> str | None:
    """The kind of a document with these key paths, from `targets/config_files.toml`."""
    found = set(keys)
    top = {key for key in found if "." not in key}
    for mark in _marks():
        if mark.only and not top <= mark.only:
            continue
        if any(all(_holds(found, part) for part in pattern) for pattern in mark.patterns):
            return mark.kind
    return None


def _holds(keys: set[str], pattern: str) -> bool:
    return bool(fnmatch.filter(keys, pattern)) if "*" in pattern else pattern in keys


def _lists(document: object) -> Iterator[str]:
    """`components[]` for an array at the top, so that a mark of an object does not fit it."""
    if isinstance(document, dict):
        yield from (f"{key}[]" for key, value in document.items() if isinstance(value, list))


def _paths_in_text(text: str) -> Iterator[str]:
    """The key paths of a text that is no JSON, as far as its braces and the quotes of its keys tell them."""
    prefixes: list[str] = []
    key = ""
    for token in _TOKEN.finditer(text):
        if token["key"] is not None:
            key = f"{prefixes[-1] if prefixes else ''}{token['key']}"
            yield key
        elif token[0] == "{":
            prefixes.append(f"{key}." if key else "")
            if len(prefixes) > _MAX_DEPTH:
                return
        elif token[0] == "}" and prefixes:
            key = prefixes.pop()[:-1]  # of an array, in which another object may follow


def key_paths(document: object) -> tuple[str, ...]:
    """The paths of all keys (`devices.cores.perf_profile`), each once and in their order; arrays add nothing.

    A document with more than 4096 different ones is cut there: its keys are data.
    """
    return _cut(_paths(document, ""))


def _cut(paths: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for path in paths:
        found.setdefault(path)
        if len(found) == _MAX_KEYS:
            break
    return tuple(found)


def _paths(value: object, prefix: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{prefix}{key}"
            yield from _paths(inner, f"{prefix}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, prefix)


def objects(value: object) -> list[dict[str, object]]:
    """The object, or those in the array; nothing for any other value."""
    found = value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, dict)]


def strings(value: object) -> tuple[str, ...]:
    """The string, or those in the array; nothing for any other value."""
    found = value if isinstance(value, list) else [value]
    return tuple(one for one in found if isinstance(one, str))


def integer(value: object) -> int | None:
    """The whole number, which may be written 3.0; None for any other value and beyond 64 bits."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) < _MAX_NUMBER else None


@functools.cache
def _marks() -> tuple[_Mark, ...]:
    rows = catalog.table("config_files")["json"]
    return tuple(
        _Mark(
            row["kind"],
            tuple(tuple(part.strip() for part in keys.split("&")) for keys in row["keys"]),
            frozenset(row.get("only", ())),
        )
        for row in rows
    )


def _parsed(path: Path, text: str) -> object:
    def refuse(reason: str) -> NoReturn:
        raise UnreadableFile(path, 0, reason)

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(items)
        if len(made) < len(items):
            ((twice, _),) = Counter(key for key, _ in items).most_common(1)
            refuse(f'the key "{twice[:80]}" is there twice in one object')
        return made

    def constant(word: str) -> NoReturn:
        refuse(f"{word} is no JSON")

    try:
        made: object = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise UnreadableFile(path, len(text[: error.pos].encode()), error.msg) from None
    except RecursionError:
        refuse(_TOO_DEEP)
    except ValueError as error:  # a number with more digits than Python reads
        refuse(str(error).partition(";")[0])
    if _is_deeper(made, _MAX_DEPTH):
        refuse(_TOO_DEEP)
    if "\\ud" in text.lower() and not _is_writable(made):
        refuse("an escape in it is half of a character")
    return made


def _is_writable(value: object) -> bool:
    """Whether all its text is made of characters: half of a surrogate pair is none."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_deeper(value: object, limit: int) -> bool:
    """Whether more than `limit` objects and arrays stand inside each other."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)
