"""A part of a file, read as if it were a file of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from packager.errors import UnreadableFile
from packager.facts.reading import must_end_within, opened


class Part(NamedTuple):
    """`size` bytes that begin at `offset`."""

    offset: int
    size: int


@contextlib.contextmanager
def opened_part(path: Path, part: Part | None) -> Iterator[tuple[BinaryIO, int]]:
    """The part as a file open for reading, and its size in bytes; None is the whole file.

    Offsets of an UnreadableFile that is raised inside become those of the file itself.
    """
    with opened(path) as (stream, size):
        if part is None:
            yield stream, size
            return
        must_end_within(path, size, part.offset + part.size, "a part of the file")
        try:
            yield cast("BinaryIO", _Window(stream, part)), part.size
        except UnreadableFile as error:
            raise UnreadableFile(path, part.offset + error.offset, error.reason) from error


class _Window:
    """As much of a file object as the readers use, over a part."""

    def __init__(self, stream: BinaryIO, part: Part) -> None:
        self._stream, self._part, self._at = stream, part, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + {0: 0, 1: self._at, 2: self._part.size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(self._part.size - self._at, 0)
        self._stream.seek(self._part.offset + self._at)
        data = self._stream.read(left if size < 0 else min(size, left))
        self._at += len(data)
        return data
