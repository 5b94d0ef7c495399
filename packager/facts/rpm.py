"""Reads rpm packages of format 4: what their header says of each file, and the files themselves."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from packager.errors import UnreadableFile
from packager.facts.cpio import cpio_entries
from packager.facts.listing import Entry, Listing
from packager.facts.reading import Slice, opened, piece

RPM_MAGIC = b"\xed\xab\xee\xdb"
_HEADER_MAGIC = b"\x8e\xad\xe8\x01"
_LEAD, _INTRO, _INDEX = 96, 16, 16
# Ten times what a package of 20 000 files needs; rpm itself stops at 256 MiB.
_MOST_ENTRIES, _MOST_BYTES = 1 << 16, 64 << 20

# Tags of the header (rpm, rpmtag.h) and the types of their values (rpmtypes.h).
_BASE_NAMES, _FOLDER_NUMBERS, _FOLDERS, _DIGESTS = 1117, 1116, 1118, 1035
_INT32, _STRING_ARRAY = 4, 8


class _Header:
    """One header structure: an index of tags, and the bytes that they point into."""

    def __init__(self, path: Path, stream: BinaryIO, at: int) -> None:
        intro = piece(path, stream, at, _INTRO, "intro of an rpm header")
        magic, entries, size = intro[:4], *struct.unpack(">II", intro[8:])
        if magic != _HEADER_MAGIC:
            raise UnreadableFile(path, at, "no rpm header where one must be")
        if entries > _MOST_ENTRIES or size > _MOST_BYTES:
            raise UnreadableFile(path, at, f"an rpm header of {entries} tags and {size} bytes", "unsafe")
        self._path, self._at = path, at
        index = piece(path, stream, at + _INTRO, entries * _INDEX, "index of an rpm header")
        self._store = piece(path, stream, at + _INTRO + len(index), size, "values of an rpm header")
        self._tags = {tag: (kind, start, n) for tag, kind, start, n in struct.iter_unpack(">IIII", index)}
        self.end = at + _INTRO + len(index) + size

    def strings(self, tag: int) -> list[str]:
        """An array of texts; empty where the tag is absent."""
        start, count = self._value(tag, _STRING_ARRAY)
        found = self._store[start:].split(b"\0", count)[:count] if count else []
        if len(found) < count:
            raise UnreadableFile(self._path, self._at, f"tag {tag} ends after {len(found)} of {count} texts")
        return [text.decode("utf-8", "backslashreplace") for text in found]

    def numbers(self, tag: int) -> tuple[int, ...]:
        """An array of 32-bit numbers; empty where the tag is absent."""
        start, count = self._value(tag, _INT32)
        if start + 4 * count > len(self._store):
            raise UnreadableFile(self._path, self._at, f"tag {tag} ends after the header does")
        return struct.unpack_from(f">{count}I", self._store, start)

    def _value(self, tag: int, wanted: int) -> tuple[int, int]:
        kind, start, count = self._tags.get(tag, (wanted, 0, 0))
        if kind != wanted or count > len(self._store):
            raise UnreadableFile(self._path, self._at, f"tag {tag} holds {count} values of type {kind}")
        return start, count


def rpm_entries(path: Path, stream: BinaryIO, size: int) -> Iterator[Entry]:
    """The files and links of a package in the order of its payload, named as on the installed system.

    Raises UnreadableFile when the package is damaged or exceeds a limit.
    """
    start = _main_header(path, stream).end
    stream.seek(start)
    yield from cpio_entries(Slice(stream, size - start), Listing(path, size, root_is_system=True))


def rpm_digests(path: Path) -> dict[str, str]:
    """What the header says of each regular file: its path without the leading `/`, and the hex digest.

    Raises UnreadableFile when the package is damaged.
    """
    with opened(path) as (stream, _):
        header = _main_header(path, stream)
        folders, numbers = header.strings(_FOLDERS), header.numbers(_FOLDER_NUMBERS)
        names, digests = header.strings(_BASE_NAMES), header.strings(_DIGESTS)
    if len(names) != len(numbers) or len(names) != len(digests) or max(numbers, default=0) >= len(folders):
        raise UnreadableFile(path, _LEAD, "the lists of names, folders and digests do not fit each other")
    paths = (folders[number] + name for number, name in zip(numbers, names, strict=True))
    return {
        place.removeprefix("/"): found
        for place, found in zip(paths, digests, strict=True)
        if found.strip("0")  # a link or folder has none, or only zeros
    }


def _main_header(path: Path, stream: BinaryIO) -> _Header:
    signature = _Header(path, stream, _LEAD)
    return _Header(path, stream, signature.end + -signature.end % 8)
