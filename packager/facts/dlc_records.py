"""The records of a deep learning container (DLC): a zip whose members are the parts of a model.

QAIRT's writer gives every member a CRC of zero and its sizes in a zip64 extra, so that zipfile lists the
members but refuses to read them; here their bytes are taken from where the directory says that they are.
"""

from __future__ import annotations

import functools
import re
import struct
import zipfile
import zlib
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from packager import catalog
from packager.errors import UnreadableFile
from packager.facts.archive import ZIP_ERRORS, zip_directory
from packager.facts.part import Part
from packager.facts.reading import must_end_within, piece

HEAD_SIZE = 8  # of a record's own head
TOPOLOGY, PARAMETERS, WEIGHTS = "topology", "parameters", "weights"
METADATA, HISTORY, CACHE = "metadata", "history", "cache"

_MOST_RECORDS = 4096  # a container has half a dozen, and one more for each SoC it was prepared for
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # magic, length of the name, length of the extra field
_LOCAL_MAGIC = b"PK\x03\x04"
_ENCRYPTED = 1
_HEAD = struct.Struct("<2sHH2x")  # magic, major, minor
_HEAD_MAGIC = b"\xd5\x0a"
_HEADLESS = (METADATA, HISTORY, WEIGHTS)  # whose first bytes may be anything
_IDENTIFIER = slice(4, 8)  # of a FlatBuffer
_LETTERS = re.compile(rb"[A-Z][A-Z0-9]{3}")


class Record(NamedTuple):
    """A member of the zip: `size` bytes, which take `packed` bytes at `offset` of the file."""

    name: str
    size: int
    offset: int
    packed: int
    deflated: bool

    @property
    def role(self) -> str | None:
        """What the name says that it is."""
        return _role(self.name)

    @property
    def part(self) -> Part | None:
        """Where in the file its bytes lie as they are; None where they are compressed."""
        return None if self.deflated else Part(self.offset, self.size)


class Head(NamedTuple):
    """How a record begins: `major` is 0 where it has no head of its own, only an identifier."""

    major: int
    minor: int
    identifier: str | None


class Container:
    """A DLC open for reading. Everything raises UnreadableFile, with an offset in the file."""

    def __init__(self, path: Path, stream: BinaryIO, size: int) -> None:
        self._path, self._stream, self._size = path, stream, size
        try:
            members = zip_directory(stream)
        except ZIP_ERRORS as error:
            raise UnreadableFile(path, 0, f"not a whole zip: {error}") from error
        if len(members) > _MOST_RECORDS:
            raise UnreadableFile(path, 0, f"{len(members)} records, at most {_MOST_RECORDS} make sense")
        self.records = tuple(_record(path, stream, size, member) for member in members)
        self._must_be_apart()

    def _must_be_apart(self) -> None:
        """Refuse a directory that lists a name or the same bytes again and again, each time to be read."""
        named: set[str] = set()
        for record in self.records:
            if record.name in named:
                raise UnreadableFile(self._path, record.offset, f"a second record {record.name}")
            named.add(record.name)
        for before, record in pairwise(sorted(self.records, key=lambda record: record.offset)):
            if record.offset < before.offset + before.packed:
                raise UnreadableFile(
                    self._path, record.offset, f"record {record.name} begins inside record {before.name}"
                )

    def beginning(self, record: Record, size: int) -> bytes:
        """The first `size` bytes of a record, or all of it if it is shorter. `size` must be bounded."""
        return _beginning(self._path, self._stream, record, size)

    def head(self, record: Record) -> Head | None:
        """The head of a record, None where it begins with something else."""
        return None if record.role in _HEADLESS else _head(self.beginning(record, 2 * HEAD_SIZE))


def is_dlc(stream: BinaryIO, head: bytes, size: int) -> bool:
    """Whether a file is a zip with the records of a DLC.

    Other formats are zips with a member `model` or `model.params` too, so these must begin as they do in
    a DLC. Where the directory is lost, the name of the first member must do.
    """
    if not head.startswith(_LOCAL_MAGIC):
        return False
    try:
        members = zip_directory(stream)
    except ZIP_ERRORS:
        _, length, _ = _LOCAL_HEADER.unpack(head[: _LOCAL_HEADER.size].ljust(_LOCAL_HEADER.size, b"\0"))
        return _role(head[_LOCAL_HEADER.size :][:length].decode("ascii", "replace")) is not None
    roles = {member: _role(member.orig_filename) for member in members}
    models = [member for member, role in roles.items() if role in (TOPOLOGY, PARAMETERS)]
    return METADATA in roles.values() or any(_is_model(stream, size, member) for member in models)


def _is_model(stream: BinaryIO, size: int, member: zipfile.ZipInfo) -> bool:
    nowhere = Path()  # nobody sees the refusal
    try:
        record = _record(nowhere, stream, size, member)
        return _head(_beginning(nowhere, stream, record, 2 * HEAD_SIZE)) is not None
    except UnreadableFile:
        return False


def _record(path: Path, stream: BinaryIO, size: int, member: zipfile.ZipInfo) -> Record:
    # orig_filename: zipfile cuts the other one at a NUL
    name, at = member.orig_filename, member.header_offset
    deflated = member.compress_type == zipfile.ZIP_DEFLATED
    stored = member.compress_type == zipfile.ZIP_STORED and member.compress_size == member.file_size
    if at < 0:
        raise UnreadableFile(path, 0, f"record {name} would begin before the file")
    if member.flag_bits & _ENCRYPTED:
        raise UnreadableFile(path, at, f"record {name} is encrypted")
    if not stored and not deflated:
        raise UnreadableFile(path, at, f"record {name} is neither stored nor deflated")
    header = piece(path, stream, at, _LOCAL_HEADER.size, f"header of record {name}")
    magic, name_length, extra_length = _LOCAL_HEADER.unpack(header)
    if magic != _LOCAL_MAGIC:
        raise UnreadableFile(path, at, f"no header of record {name} where the directory says")
    offset = at + _LOCAL_HEADER.size + name_length + extra_length
    must_end_within(path, size, offset + member.compress_size, f"record {name}")
    return Record(name, member.file_size, offset, member.compress_size, deflated)


def _beginning(path: Path, stream: BinaryIO, record: Record, size: int) -> bytes:
    wanted = min(size, record.size)
    if not record.deflated:
        return piece(path, stream, record.offset, wanted, f"record {record.name}")
    # Deflate adds a few bytes to each block that it cannot shorten.
    packed = min(record.packed, wanted + wanted // 8 + 1024)
    data = piece(path, stream, record.offset, packed, f"record {record.name}")
    try:
        plain = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, wanted) if wanted else b""
    except zlib.error as error:
        raise UnreadableFile(path, record.offset, f"record {record.name}: {error}") from error
    if len(plain) < wanted:
        raise UnreadableFile(path, record.offset, f"record {record.name} ends too early")
    return plain


def _head(begins: bytes) -> Head | None:
    """The head of most releases, or the bare FlatBuffer of some of the first SNPE."""
    if begins.startswith(_HEAD_MAGIC) and len(begins) >= HEAD_SIZE:
        _, major, minor = _HEAD.unpack_from(begins)
        letters = begins[HEAD_SIZE:][_IDENTIFIER]
        return Head(major, minor, letters.decode() if _LETTERS.fullmatch(letters) else None)
    identifier = begins[_IDENTIFIER].decode("ascii", "replace")
    return Head(0, 0, identifier) if identifier in _identifiers() else None


@functools.cache
def _identifiers() -> frozenset[str]:
    return frozenset(row["id"] for row in catalog.table("dlc")["identifier"])


@functools.cache
def _names() -> tuple[tuple[re.Pattern[str], str], ...]:
    rows = catalog.table("dlc")["record"]
    return tuple((re.compile(row["name"], re.ASCII), row["role"]) for row in rows)


def _role(name: str) -> str | None:
    return next((role for pattern, role in _names() if pattern.fullmatch(name)), None)
