"""`app.lock` beside the manifest: what every input was when the packages were made.

It is written by hexpack, committed by people and compared by both: sorted, one value on a line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from packager.errors import InputUnavailable, ManifestError
from packager.files import write_text
from packager.manifest_model import Digest
from packager.model import Frozen
from packager.sources import Fetched

_SCHEMA = 1
_HEADER = re.compile(r"\s*\[\[\s*input\s*\]\]")
_HEAD = "# Written by hexpack: the inputs of the packages. Commit this file; `--locked` refuses any others.\n"
_FIX = "take the last good version of the file from your repository, or delete it to pin the inputs anew"


class Entry(Frozen):
    """One input. `origin` is unique; `size` is in bytes; `file` is a wheel's file name."""

    origin: str
    file: str | None = None
    sha256: Digest
    size: Annotated[int, Field(strict=True, ge=0)]

    @classmethod
    def of(cls, fetched: Fetched) -> Entry:
        """What pins a fetched input: the wheel it came out of, or the file itself."""
        whole = fetched.within or fetched
        is_wheel = whole.name.endswith(".whl")
        return cls(origin=whole.origin, file=whole.name if is_wheel else None, **whole.blob.model_dump())


class Lock(Frozen):
    """The entries sorted by origin. `lines` says where each of them is in the file that was read."""

    name: str = "app.lock"
    entries: tuple[Entry, ...] = ()
    lines: dict[str, int] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Lock:
        """Read a lock; an absent file is an empty lock. Raises ManifestError with the line of a fault."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls(name=path.name)
        except (OSError, UnicodeDecodeError) as problem:
            raise _fault(path.name, 1, str(problem)) from problem
        rows = _rows(text, path.name)
        heads = [number for number, line in enumerate(text.splitlines(), 1) if _HEADER.match(line)]
        if len(heads) != len(rows):
            raise _fault(path.name, 1, "every input starts with a line [[input]], as hexpack writes it")
        lines: dict[str, int] = {}
        entries = []
        for row, line in zip(rows, heads, strict=True):
            entry = _entry(row, path.name, line)
            if entry.origin in lines:
                raise _fault(path.name, line, f'"{entry.origin}" is in line {lines[entry.origin]} already')
            lines[entry.origin] = line
            entries.append(entry)
        return cls(name=path.name, entries=_sorted(entries), lines=lines)

    def pin_for(self, origin: str) -> str | None:
        """The sha256 that this input had, or None for an input that the lock does not know."""
        return next((entry.sha256 for entry in self.entries if entry.origin == origin), None)

    def merged(self, entries: Iterable[Entry], *, complete: bool = False) -> Lock:
        """The lock with these entries in place of those of the same origins.

        `complete` says that they are all the manifest has, so that others have had their day. A run for
        one of several targets is not complete.
        """
        kept = {} if complete else {entry.origin: entry for entry in self.entries}
        return Lock(name=self.name, entries=_sorted((kept | {e.origin: e for e in entries}).values()))

    def drift(self, entries: Iterable[Entry]) -> list[str]:
        """One line for each of these inputs that the lock does not have, or has otherwise."""
        locked = {entry.origin: entry for entry in self.entries}
        return [
            line for entry in _sorted(entries) if (line := self._difference(entry, locked.get(entry.origin)))
        ]

    def write(self, path: Path) -> bool:
        """Write the file if it does not say this already; returns whether it was written."""
        text = self.text()
        try:
            if path.read_text(encoding="utf-8") == text:
                return False
        except (OSError, UnicodeDecodeError):
            pass  # absent or unreadable: writing it is the remedy, or says what is wrong
        try:
            write_text(path, text)
        except OSError as problem:
            raise InputUnavailable(
                f"{path} cannot be written",
                evidence=(problem.strerror or str(problem),),
                fix="make the manifest's folder writable, or run with --locked, which writes no lock",
            ) from problem
        return True

    def text(self) -> str:
        """The file as it is written."""
        import tomlkit

        rows = [entry.model_dump(exclude_none=True) for entry in self.entries]
        return _HEAD + tomlkit.dumps({"schema": _SCHEMA, "input": rows} if rows else {"schema": _SCHEMA})

    def _difference(self, found: Entry, locked: Entry | None) -> str | None:
        if locked is None:
            return f"{self.name}: {found.origin} is not in the lock, found sha256 {found.sha256}"
        if (found.sha256, found.size) == (locked.sha256, locked.size):
            return None
        at = f"{self.name}:{self.lines[found.origin]}" if found.origin in self.lines else self.name
        return (
            f"{at}: {found.origin} is another: found sha256 {found.sha256}, {found.size} bytes; "
            f"locked {locked.sha256}, {locked.size} bytes"
        )


def _sorted(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.origin.encode()))


def _rows(text: str, name: str) -> list[Any]:
    """The raw tables of the document."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        position = re.search(r"at line (\d+)", str(problem))
        line = int(position[1]) if position else text.count("\n") + 1
        raise _fault(name, line, str(problem)) from problem
    unknown = sorted(document.keys() - {"schema", "input"})
    rows = document.get("input", [])
    if document.get("schema") != _SCHEMA:
        raise _fault(name, 1, f"schema is {document.get('schema')!r}, and this hexpack reads {_SCHEMA}")
    if unknown or not isinstance(rows, list):
        raise _fault(name, 1, f"unknown key {unknown[0]!r}" if unknown else "input is not a list of tables")
    return rows


def _entry(row: object, name: str, line: int) -> Entry:
    try:
        return Entry.model_validate(row)
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _fault(name, line, f"{where or 'input'}: {first['msg']}") from problem


def _fault(name: str, line: int, reason: str) -> ManifestError:
    return ManifestError(f"{name}:{line}: the lock is damaged", evidence=(reason,), fix=_FIX)
