"""The frame of an ELF file: headers, extents, and the tables that a loader reads.

Read piece by piece rather than with lief, which holds the whole file in memory (168 MB for a library of
106 MB). Every extent is checked against the file's size first, because a library cut short must be told
apart from a whole one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, NoReturn

from packager.errors import UnreadableFile
from packager.facts.reading import MAX_TEXT, must_end_within, piece, terminated
from packager.files import BLOCK

# Bounds keep forged counts from costing time or memory. Large libraries have a few dozen headers, some
# ten thousand dynamic symbols with 1 MB of names, and notes of a few hundred bytes.
_MAX_HEADERS = 65_536
_MAX_DYNAMIC = 65_536
_MAX_SYMBOLS = 4_000_000
_MAX_NAMES = 64 << 20
_MAX_NOTES = 1 << 20
_MAX_VERSIONS = 65_536

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE = 1, 2, 3, 4
DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 14, 15, 29
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ = 4, 5, 6, 10
_DT_GNU_HASH, _DT_VERNEED, _DT_VERNEEDNUM = 0x6FFFFEF5, 0x6FFFFFFE, 0x6FFFFFFF
_SHT_NULL, _SHT_NOTE, _SHT_NOBITS, _SHT_DYNSYM, _PN_XNUM = 0, 7, 8, 11, 0xFFFF
_GLOBAL_OR_WEAK, _VISIBLE = (1, 2), (0, 3)  # STB_*, STV_DEFAULT and STV_PROTECTED


class _Layout(NamedTuple):
    """How one ELF class lays out its headers and tables, and where the wanted fields stand."""

    bits: Literal[32, 64]
    header: struct.Struct
    segment: struct.Struct
    segment_fields: tuple[int, ...]  # type, offset, address, file size, alignment
    section: struct.Struct
    dynamic: struct.Struct
    symbol: struct.Struct
    symbol_fields: tuple[int, ...]  # name, info, other, section
    word: struct.Struct


_S = struct.Struct
_LAYOUTS = {
    1: _Layout(
        32, _S("<HHIIIIIHHHHHH"), _S("<8I"), (0, 1, 2, 4, 7), _S("<10I"), _S("<iI"), _S("<IIIBBH"),
        (0, 3, 4, 5), _S("<I"),
    ),
    2: _Layout(
        64, _S("<HHIQQQIHHHHHH"), _S("<IIQQQQQQ"), (0, 2, 3, 5, 7), _S("<IIQQQQIIQQ"), _S("<qQ"),
        _S("<IBBHQQ"), (0, 1, 2, 3), _S("<Q"),
    ),
}  # fmt: skip
_SECTION_FIELDS = (1, 4, 5, 7)  # type, offset, size, info


class Segment(NamedTuple):
    """A program header. Offsets and sizes in bytes of the file."""

    kind: int
    offset: int
    address: int
    size: int
    alignment: int


class Section(NamedTuple):
    """A section header."""

    kind: int
    offset: int
    size: int
    info: int


class Note(NamedTuple):
    """One ELF note: who defined it, its type, its content."""

    owner: str
    kind: int
    content: bytes


class ElfImage:
    """An ELF file whose headers lie inside it. All methods raise UnreadableFile, with an offset."""

    def __init__(self, path: Path, stream: BinaryIO, size: int) -> None:
        self._path, self._stream, self._size = path, stream, size
        self._layout = _layout(path, self._piece(0, 16, "ELF identification"))
        header = self._layout.header.unpack(self._piece(16, self._layout.header.size, "ELF header"))
        _, self.machine, _, _, segments_at, sections_at, self.flags = header[:7]
        segment_size, segments, section_size, sections = header[8:12]
        if sections_at:
            self._same(section_size, self._layout.section.size, "section header")
            segments, sections = self._extended_counts(sections_at, segments, sections)
        if segments:
            self._same(segment_size, self._layout.segment.size, "program header")
        self.segments = tuple(self._segments(segments_at, segments))
        self._sections = tuple(self._section_rows(sections_at, sections))
        self._dynamic = self._dynamic_entries()
        self._names_at, self._names_size = self._name_table()

    @property
    def bits(self) -> Literal[32, 64]:
        """32 or 64."""
        return self._layout.bits

    def interpreter(self) -> str | None:
        """The dynamic loader that the file asks for."""
        found = next((s for s in self.segments if s.kind == PT_INTERP), None)
        return found and terminated(self._piece(found.offset, min(found.size, MAX_TEXT), "interpreter"))

    def texts(self, tag: int) -> list[str]:
        """The strings of all dynamic entries with a tag."""
        return [self._name(value) for kind, value in self._dynamic if kind == tag]

    def exported(self) -> Iterator[str]:
        """Names of the symbols that other objects can link to."""
        names = self._piece(self._names_at, self._names_size, "dynamic string table")
        at, count = self._symbol_table()
        name, info, other, section = self._layout.symbol_fields
        for row in self._blocks(at, count, self._layout.symbol, "dynamic symbol"):
            bound, visible = row[info] >> 4, row[other] & 3
            if row[section] and bound in _GLOBAL_OR_WEAK and visible in _VISIBLE:
                yield terminated(names, row[name])

    def versions_needed(self) -> list[str]:
        """Symbol versions that other libraries must have: GLIBC_2.17 …"""
        at = self._located(_DT_VERNEED, "version requirements")
        if at is None:
            return []
        versions: list[str] = []
        for _ in range(min(self._value(_DT_VERNEEDNUM) or 0, _MAX_VERSIONS)):
            _, count, _, first, following = struct.unpack(
                "<HHIII", self._piece(at, 16, "version requirement")
            )
            own = at + first
            for _ in range(count):
                if len(versions) >= _MAX_VERSIONS:
                    self._refuse(own, f"more than {_MAX_VERSIONS} symbol versions")
                _, _, _, name, next_own = struct.unpack("<IHHII", self._piece(own, 16, "version requirement"))
                versions.append(self._name(name))
                own += next_own
                if not next_own:
                    break
            at += following
            if not following:
                break
        return versions

    def notes(self) -> list[Note]:
        """All notes, from segments and from sections that no segment covers."""
        areas = {s.offset: (s.size, s.alignment) for s in self.segments if s.kind == PT_NOTE}
        for section in self._sections:
            if section.kind == _SHT_NOTE:
                areas.setdefault(section.offset, (section.size, 4))
        found: dict[int, Note] = {}
        for offset, (size, alignment) in areas.items():
            if size > _MAX_NOTES:
                self._refuse(offset, f"notes of {size} bytes")
            found.update(_notes(offset, self._piece(offset, size, "notes"), 8 if alignment == 8 else 4))
        return list(found.values())

    # Headers

    def _extended_counts(self, sections_at: int, segments: int, sections: int) -> tuple[int, int]:
        """Counts too big for the ELF header stand in the first section header."""
        if sections and segments != _PN_XNUM:
            return segments, sections
        row = self._layout.section.unpack(
            self._piece(sections_at, self._layout.section.size, "first section header")
        )
        _, _, size, info = (row[field] for field in _SECTION_FIELDS)
        return (info if segments == _PN_XNUM else segments), (sections or size)

    def _segments(self, at: int, count: int) -> Iterator[Segment]:
        for row in self._rows(at, count, self._layout.segment, "program header"):
            segment = Segment(*(row[field] for field in self._layout.segment_fields))
            self._inside(segment.offset + segment.size, f"the segment at 0x{segment.offset:x}")
            yield segment

    def _section_rows(self, at: int, count: int) -> Iterator[Section]:
        for row in self._rows(at, count, self._layout.section, "section header"):
            section = Section(*(row[field] for field in _SECTION_FIELDS))
            if section.kind not in (_SHT_NULL, _SHT_NOBITS):
                self._inside(section.offset + section.size, f"the section at 0x{section.offset:x}")
                yield section

    def _rows(self, at: int, count: int, row: struct.Struct, what: str) -> Iterator[tuple[int, ...]]:
        """The rows of a header table, once it is known to be in the file."""
        if count > _MAX_HEADERS:
            self._refuse(at, f"{count} {what}s, more than {_MAX_HEADERS}")
        self._inside(at + count * row.size, f"the {what} table at 0x{at:x}")
        yield from row.iter_unpack(self._piece(at, count * row.size, what))

    # What the dynamic loader reads

    def _dynamic_entries(self) -> list[tuple[int, int]]:
        """(tag, value) up to the null entry."""
        segment = next((s for s in self.segments if s.kind == PT_DYNAMIC), None)
        if segment is None:
            return []
        row = self._layout.dynamic
        count = min(segment.size // row.size, _MAX_DYNAMIC)
        entries = []
        for tag, value in self._blocks(segment.offset, count, row, "dynamic section"):
            if tag == 0:
                break
            entries.append((tag, value))
        return entries

    def _value(self, tag: int) -> int | None:
        return next((value for kind, value in self._dynamic if kind == tag), None)

    def _located(self, tag: int, what: str) -> int | None:
        """The file offset that a dynamic entry's address stands for; None where there is no such entry."""
        address = self._value(tag)
        if address is None:
            return None
        for segment in self.segments:
            if segment.kind == PT_LOAD and 0 <= address - segment.address < segment.size:
                return segment.offset + address - segment.address
        return self._refuse(0, f"the {what} is at address 0x{address:x}, which no segment of the file has")

    def _name_table(self) -> tuple[int, int]:
        at = self._located(_DT_STRTAB, "dynamic string table")
        size = self._value(_DT_STRSZ) or 0
        if at is None:
            return 0, 0
        if size > _MAX_NAMES:
            self._refuse(at, f"a dynamic string table of {size} bytes")
        self._inside(at + size, "the dynamic string table")
        return at, size

    def _name(self, offset: int) -> str:
        if offset >= self._names_size:
            self._refuse(self._names_at, f"a name at byte {offset} of a string table of {self._names_size}")
        size = min(self._names_size - offset, MAX_TEXT)
        return terminated(self._piece(self._names_at + offset, size, "dynamic string table"))

    def _symbol_table(self) -> tuple[int, int]:
        """Offset and number of dynamic symbols. Without section headers a hash table tells the number."""
        section = next((s for s in self._sections if s.kind == _SHT_DYNSYM), None)
        if section:
            at, count = section.offset, section.size // self._layout.symbol.size
        else:
            at = self._located(_DT_SYMTAB, "dynamic symbol table") or 0
            count = self._hashed_symbols() if at else 0
        if count > _MAX_SYMBOLS:
            self._refuse(at, f"{count} dynamic symbols, more than {_MAX_SYMBOLS}")
        self._inside(at + count * self._layout.symbol.size, "the dynamic symbol table")
        return at, count

    def _hashed_symbols(self) -> int:
        at = self._located(_DT_HASH, "hash table")
        if at is not None:
            return int(struct.unpack("<II", self._piece(at, 8, "hash table"))[1])
        at = self._located(_DT_GNU_HASH, "GNU hash table")
        if at is None:
            return 0
        buckets, first, bloom, _ = struct.unpack("<4I", self._piece(at, 16, "GNU hash table"))
        buckets_at = at + 16 + bloom * self._layout.word.size
        last = max(
            (row[0] for row in self._blocks(buckets_at, buckets, _S("<I"), "GNU hash table")), default=0
        )
        if last < first:
            return int(first)
        # The chain of the last bucket ends the table: its last value is odd.
        chain_at = buckets_at + 4 * (buckets + last - first)
        left = max(self._size - chain_at, 0) // 4
        for number, (value,) in enumerate(self._blocks(chain_at, left, _S("<I"), "GNU hash chain"), last + 1):
            if value & 1 or number > _MAX_SYMBOLS:
                return number
        return self._refuse(chain_at, "a GNU hash chain without end")

    # Pieces

    def _blocks(self, at: int, count: int, row: struct.Struct, what: str) -> Iterator[tuple[int, ...]]:
        """Rows of a table of any length, read block by block."""
        self._inside(at + count * row.size, f"the {what} table")
        step = BLOCK // row.size
        for number in range(0, count, step):
            rows = min(step, count - number)
            yield from row.iter_unpack(self._piece(at + number * row.size, rows * row.size, what))

    def _piece(self, offset: int, size: int, what: str) -> bytes:
        return piece(self._path, self._stream, offset, size, what)

    def _inside(self, end: int, what: str) -> None:
        must_end_within(self._path, self._size, end, what)

    def _same(self, found: int, wanted: int, what: str) -> None:
        if found != wanted:
            self._refuse(16, f"a {what} of {found} bytes, this ELF class has {wanted}")

    def _refuse(self, offset: int, reason: str) -> NoReturn:
        raise UnreadableFile(self._path, offset, reason)


def _layout(path: Path, ident: bytes) -> _Layout:
    if ident[:4] != b"\x7fELF":
        raise UnreadableFile(path, 0, "no ELF magic")
    if ident[4] not in _LAYOUTS:
        raise UnreadableFile(path, 4, f"ELF class {ident[4]} is neither 32 nor 64 bit")
    if ident[5] != 1:
        order = "big-endian, which no target is" if ident[5] == 2 else f"of unknown byte order {ident[5]}"
        raise UnreadableFile(path, 5, f"an ELF file {order}")
    return _LAYOUTS[ident[4]]


def _notes(start: int, area: bytes, alignment: int) -> Iterator[tuple[int, Note]]:
    """Notes by their file offset; an area that ends inside one ends before it."""
    at = 0
    while at + 12 <= len(area):
        owner_size, size, kind = struct.unpack_from("<III", area, at)
        content_at = at + 12 + _up(owner_size, 4)
        if alignment == 8:
            content_at = at + _up(12 + owner_size, 8)
        end = content_at + size
        if end > len(area):
            return
        yield start + at, Note(terminated(area[at + 12 : at + 12 + owner_size]), kind, area[content_at:end])
        at = content_at + _up(size, alignment)


def _up(value: int, align: int) -> int:
    return -(-value // align) * align
