"""`app.lock` beside the manifest: what every input and every context was when the packages were made.

It is written by hexpack, committed by people and compared by both: sorted, one value on a line, and nothing
in it that differs between two machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import Field

from packager.diagnostics import Source
from packager.errors import InputUnavailable
from packager.files import write_text
from packager.manifest_sources import Digest
from packager.model import Frozen
from packager.source_map import Location
from packager.sources import Fetched

SCHEMA = 2
_HEAD = "# Written by hexpack: what the packages are made of. Commit it; `--locked` refuses anything else.\n"
_Number = Annotated[int, Field(strict=True, ge=0)]


class Entry(Frozen):
    """One input. `origin` is unique; `size` is in bytes; `file` is a wheel's file name.

    `qairt_build` is the id inside the libraries that were taken from it, `licence` what it says of its own.
    """

    origin: str
    file: str | None = None
    sha256: Digest
    size: _Number
    qairt_build: str | None = None
    licence: str | None = None

    @classmethod
    def of(cls, fetched: Fetched, *, qairt_build: str | None = None, licence: str | None = None) -> Entry:
        """What pins a fetched input: the wheel it came out of, or the file itself."""
        whole = fetched.within or fetched
        return cls(
            origin=whole.origin,
            file=whole.name if whole.name.endswith(".whl") else None,
            sha256=whole.blob.sha256,
            size=whole.blob.size,
            qairt_build=qairt_build,
            licence=licence,
        )

    @property
    def place(self) -> str:
        """What the entry is unique by."""
        return self.origin

    @property
    def title(self) -> str:
        """How messages call it."""
        return self.origin


class Compile(Frozen):
    """One context: what it was compiled from and with, and what its bytes say when they are read back.

    `calibration` digests the samples that a model was quantized with. `vtcm_mb` 0 asked for all that the SoC
    has; `jobs` at the AI Hub made it; `read_…` is what the context says of itself, sizes in MiB.
    """

    target: str
    soc: str
    model: Digest
    calibration: Digest | None = None
    precision: str
    inputs: tuple[str, ...]
    optimization: _Number
    vtcm_mb: _Number
    hvx_threads: _Number
    tools: tuple[str, ...]
    sha256: Digest
    size: _Number
    jobs: tuple[str, ...] = ()
    read_soc_model: int | None = None
    read_hexagon: int | None = None
    read_vtcm_mb: float | None = None
    read_qairt_build: str | None = None
    read_graphs: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        """What the entry is unique by."""
        return self.target, self.soc

    @property
    def title(self) -> str:
        """How messages call it."""
        return f"the context for {self.soc} of {self.target}"


Row = TypeVar("Row", Entry, Compile)


@dataclass(frozen=True)
class Lock:
    """The rows sorted. `source` is the text that they were read from, for messages that show its lines."""

    name: str = "app.lock"
    entries: tuple[Entry, ...] = ()
    compiles: tuple[Compile, ...] = ()
    source: Source | None = None

    def pin_for(self, origin: str) -> str | None:
        """The sha256 that this input had, or None for an input that the lock does not know."""
        return next((entry.sha256 for entry in self.entries if entry.origin == origin), None)

    def without_pins(self) -> Lock:
        """A lock that knows nothing, for a run that pins everything anew."""
        return Lock(name=self.name)

    def merged(
        self, entries: Iterable[Entry], compiles: Iterable[Compile] = (), *, complete: bool = False
    ) -> Lock:
        """The lock with these rows in place of those of the same inputs and contexts.

        `complete` says that they are all the manifest has, so that others have had their day. A run for
        one of several targets is not complete: it speaks for its own contexts, and keeps the others.
        """
        ours = tuple(compiles)
        targets = {row.target for row in ours}
        kept = () if complete else self.entries
        others = () if complete else (row for row in self.compiles if row.target not in targets)
        return Lock(
            name=self.name,
            entries=sorted_rows({row.place: row for row in (*kept, *entries)}.values()),
            compiles=sorted_rows((*others, *ours)),
            source=self.source,
        )

    def says(self, other: Lock) -> bool:
        """Whether the rows are those of the other lock."""
        return (self.entries, self.compiles) == (other.entries, other.compiles)

    def changes_since(self, older: Lock) -> list[tuple[str, str]]:
        """What a run did to the lock: ("added" | "changed" | "removed", the row's title), in its order."""
        found: list[tuple[str, str]] = []
        for now, before in ((self.entries, older.entries), (self.compiles, older.compiles)):
            was, is_now = {row.place: row for row in before}, {row.place: row for row in now}
            found += [
                ("changed" if row.place in was else "added", row.title)
                for row in now
                if was.get(row.place) != row
            ]
            found += [("removed", row.title) for row in before if row.place not in is_now]
        return found

    def drift(
        self, entries: Iterable[Entry], compiles: Iterable[Compile] = (), *, complete: bool = False
    ) -> list[str]:
        """A block for each row that the lock does not have, has otherwise, or (`complete`) has beyond these.

        Each block names the line, what was found and what the lock says.
        """
        found, made = sorted_rows(entries), sorted_rows(compiles)
        return [
            *self._differing("input", found, self.entries, ("sha256", "size"), complete),
            *self._differing("compile", made, self.compiles, tuple(Compile.model_fields), complete),
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

        document: dict[str, Any] = {"schema": SCHEMA}
        for key, rows in (("input", self.entries), ("compile", self.compiles)):
            if rows:
                document[key] = [row.model_dump(exclude_none=True, exclude_defaults=True) for row in rows]
        return _HEAD + tomlkit.dumps(document)

    def _differing(
        self,
        table: str,
        found: tuple[Row, ...],
        locked: tuple[Row, ...],
        keys: tuple[str, ...],
        complete: bool,
    ) -> Iterator[str]:
        known = {row.place: row for row in locked}
        for row in found:
            there = known.get(row.place)
            if there is None:
                yield f"{self.name}: {row.title} is not in the lock\nfound   sha256 {row.sha256}"
                continue
            differing = [key for key in keys if getattr(row, key) != getattr(there, key)]
            if differing:
                yield self._block(table, there, differing, row)
        if complete:
            used = {row.place for row in found}
            for row in locked:
                if row.place not in used:
                    yield self._at(table, row, "origin" if table == "input" else "target",
                                   f"{row.title} is in the lock, and nothing uses it")  # fmt: skip

    def _block(self, table: str, locked: Row, keys: list[str], found: Row) -> str:
        """The line of the first key that differs, then what was found and wanted for all of them."""
        said = f"{locked.title} is another"
        lines = [self._at(table, locked, keys[0], said)]
        for side, row in (("found ", found), ("wanted", locked)):
            words = ", ".join(f"{key} {_word(getattr(row, key))}" for key in keys)
            lines.append(f"{side}  {words}")
        return "\n".join(lines)

    def _at(self, table: str, row: Row, key: str, message: str) -> str:
        location = self._location(table, row, key)
        if self.source is None or location is None:
            return f"{self.name}: {message}"
        return self.source.block(self.source.place(location), message)

    def _location(self, table: str, row: Entry | Compile, key: str) -> Location | None:
        """Where the file has it: the order of a file that people merged need not be ours."""
        import tomllib

        if self.source is None:
            return None
        written: list[Mapping[str, Any]] = tomllib.loads(self.source.text).get(table, [])
        for index, one in enumerate(written):
            same = (
                one.get("origin") == row.place
                if isinstance(row, Entry)
                else (one.get("target"), one.get("soc")) == row.place
            )
            if same:
                return table, index, key
        return None


def sorted_rows(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The order of the file: by origin, or by target and SoC, in byte order."""
    return tuple(sorted(rows, key=lambda row: tuple(word.encode() for word in _words(row))))


def _words(row: Entry | Compile) -> tuple[str, ...]:
    return (row.origin,) if isinstance(row, Entry) else row.place


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
