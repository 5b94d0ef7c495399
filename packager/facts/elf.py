"""Reads ELF files: host libraries, Hexagon skels, runners.

The frame (headers and every extent) is checked here against the file's size, because a library cut
short must be told apart from a whole one; what is inside the frame is lief's to read.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, cast

from packager.catalog import table
from packager.errors import UnreadableFile
from packager.facts.reading import attribute_text, must_end_within, opened, piece
from packager.facts.strings import qairt_mark
from packager.facts.types import ElfFacts

if TYPE_CHECKING:
    import lief

Libc = Literal["glibc", "musl", "bionic", "qnx", "hexagon", "unknown"]
Witnesses = dict[str, list[str]]

# Large libraries have a few dozen headers; the bound keeps a forged count from costing time.
_MAX_HEADERS = 65_536
_HEXAGON = 164
_HEXAGON_ARCH = 0x3FF  # EF_HEXAGON_MACH; the bits above mark variants such as the tiny cores

_PT_LOAD, _SHT_NULL, _SHT_NOBITS, _PN_XNUM = 1, 0, 8, 0xFFFF
_SKEL = re.compile(r"qnn_(\d+)_(\d+)_(\d+)_skel_handle_invoke")


class _Layout(NamedTuple):
    """How one ELF class lays out its headers, and where in each row the wanted fields stand."""

    bits: Literal[32, 64]
    header: struct.Struct
    segment: struct.Struct
    segment_fields: tuple[int, int, int, int]  # type, offset, file size, alignment
    section: struct.Struct
    section_fields: tuple[int, int, int, int] = (1, 4, 5, 7)  # type, offset, size, info


_S = struct.Struct
_LAYOUTS = {
    1: _Layout(32, _S("<HHIIIIIHHHHHH"), _S("<8I"), (0, 1, 4, 7), _S("<10I")),
    2: _Layout(64, _S("<HHIQQQIHHHHHH"), _S("<IIQQQQQQ"), (0, 2, 5, 7), _S("<IIQQQQIIQQ")),
}


class _Frame(NamedTuple):
    bits: Literal[32, 64]
    machine: int
    flags: int
    alignment: int


def read_elf(path: Path) -> ElfFacts:
    """Facts of an ELF32 or ELF64 little-endian file.

    Raises UnreadableFile with the offset at which the file stops making sense, InputUnavailable when it
    cannot be opened.
    """
    with opened(path) as (stream, size):
        frame = _frame(path, stream, size)
    binary = _parsed(path)
    witnesses = _witnesses(binary)
    exported = _exported(binary)
    skel = next((found for name in exported if (found := _SKEL.fullmatch(name))), None)
    mark = qairt_mark(path)
    hexagon = frame.machine == _HEXAGON
    return ElfFacts(
        machine=_machine_name(frame.machine),
        bits=frame.bits,
        abi="hexagon" if hexagon else _libc(witnesses),
        flags=frame.flags,
        hexagon_arch=_hexagon_arch(frame.flags) if hexagon else None,
        soname=next(iter(_dynamic_texts(binary, "DynamicSharedObject")), None),
        needed=tuple(witnesses["needed"]),
        search_path=_search_path(binary),
        interpreter=next(iter(witnesses["interpreter"]), None),
        skel_release=".".join(skel.groups()) if skel else None,
        qnn_entries=tuple(sorted(name for name in exported if _is_entry(name))),
        qairt_build=mark.build,
        qairt_release=mark.release or (".".join(skel.groups()) if skel else None),
        glibc_needed=_newest("GLIBC", witnesses["versions"]),
        glibcxx_needed=_newest("GLIBCXX", witnesses["versions"]),
        max_page_alignment=frame.alignment,
    )


def _hexagon_arch(flags: int) -> int | None:
    """73 for 0x73: from v60 on the flag's hexadecimal digits are the architecture's decimal ones."""
    digits = f"{flags & _HEXAGON_ARCH:x}"
    return int(digits) if digits.isdecimal() and len(digits) > 1 and digits >= "60" else None


def _frame(path: Path, stream: BinaryIO, size: int) -> _Frame:
    layout = _layout(path, piece(path, stream, 0, 16, "ELF identification"))
    header = layout.header.unpack(piece(path, stream, 16, layout.header.size, "ELF header"))
    _, machine, _, _, segments_at, sections_at, flags = header[:7]
    segment_size, segments, section_size, sections = header[8:12]
    if sections_at:
        _same(path, section_size, layout.section.size, "section header")
        segments, sections = _extended_counts(path, stream, layout, sections_at, segments, sections)
    if segments:
        _same(path, segment_size, layout.segment.size, "program header")
    alignment = 0
    segment_table = _Table("program header", segments_at, segments, layout.segment, layout.segment_fields)
    for kind, offset, length, align in _rows(path, stream, size, segment_table):
        must_end_within(path, size, offset + length, f"the segment at 0x{offset:x}")
        alignment = max(alignment, align) if kind == _PT_LOAD else alignment
    section_table = _Table("section header", sections_at, sections, layout.section, layout.section_fields)
    for kind, offset, length, _ in _rows(path, stream, size, section_table):
        if kind not in (_SHT_NULL, _SHT_NOBITS):
            must_end_within(path, size, offset + length, f"the section at 0x{offset:x}")
    return _Frame(layout.bits, machine, flags, alignment)


def _layout(path: Path, ident: bytes) -> _Layout:
    if ident[:4] != b"\x7fELF":
        raise UnreadableFile(path, 0, "no ELF magic")
    if ident[4] not in _LAYOUTS:
        raise UnreadableFile(path, 4, f"ELF class {ident[4]} is neither 32 nor 64 bit")
    if ident[5] != 1:
        order = "big-endian, which no target is" if ident[5] == 2 else f"of unknown byte order {ident[5]}"
        raise UnreadableFile(path, 5, f"an ELF file {order}")
    return _LAYOUTS[ident[4]]


def _same(path: Path, found: int, wanted: int, what: str) -> None:
    if found != wanted:
        raise UnreadableFile(path, 16, f"a {what} of {found} bytes, this ELF class has {wanted}")


def _extended_counts(
    path: Path, stream: BinaryIO, layout: _Layout, sections_at: int, segments: int, sections: int
) -> tuple[int, int]:
    """Counts too big for the ELF header stand in the first section header."""
    if sections and segments != _PN_XNUM:
        return segments, sections
    row = piece(path, stream, sections_at, layout.section.size, "first section header")
    _, _, size, info = (layout.section.unpack(row)[field] for field in layout.section_fields)
    return (info if segments == _PN_XNUM else segments), (sections or size)


class _Table(NamedTuple):
    what: str
    offset: int
    rows: int
    row: struct.Struct
    fields: tuple[int, int, int, int]


def _rows(path: Path, stream: BinaryIO, size: int, headers: _Table) -> Iterator[tuple[int, int, int, int]]:
    """The wanted fields of each row of a header table, once the table is known to be in the file."""
    if headers.rows > _MAX_HEADERS:
        raise UnreadableFile(
            path, headers.offset, f"{headers.rows} {headers.what}s, more than {_MAX_HEADERS}"
        )
    length = headers.rows * headers.row.size
    must_end_within(path, size, headers.offset + length, f"the {headers.what} table at 0x{headers.offset:x}")
    a, b, c, d = headers.fields
    for values in headers.row.iter_unpack(piece(path, stream, headers.offset, length, headers.what)):
        yield values[a], values[b], values[c], values[d]


def _parsed(path: Path) -> lief.ELF.Binary:
    import lief

    lief.logging.disable()
    config = lief.ELF.ParserConfig()
    # Relocations and debug symbols are the bulk of a 100 MB library, and nothing here asks for them.
    config.parse_relocations = False
    config.parse_symtab_symbols = False
    config.parse_overlay = False
    try:
        binary = lief.ELF.parse(str(path), config)
    except Exception as error:
        raise UnreadableFile(path, 0, f"the ELF parser gave up: {error}") from error
    if binary is None:
        raise UnreadableFile(path, 0, "the ELF parser cannot make sense of it")
    return binary


def _machine_name(machine: int) -> str:
    import lief

    names = {member.value: str(member.name) for member in lief.ELF.ARCH}
    return names.get(machine, f"0x{machine:x}")


def _dynamic_texts(binary: lief.ELF.Binary, kind: str, field: str = "name") -> list[str]:
    """A text of every dynamic entry of one of lief's classes; asking for a tag warns when it is unknown."""
    import lief

    wanted = getattr(lief.ELF, kind)
    return [attribute_text(entry, field) for entry in binary.dynamic_entries if isinstance(entry, wanted)]


def _search_path(binary: lief.ELF.Binary) -> tuple[str, ...]:
    """Folders that the loader searches; it ignores DT_RPATH where there is a DT_RUNPATH."""
    paths = _dynamic_texts(binary, "DynamicEntryRunPath", "runpath")
    paths = paths or _dynamic_texts(binary, "DynamicEntryRpath", "rpath")
    return tuple(folder for path in paths for folder in path.split(":") if folder)


def _exported(binary: lief.ELF.Binary) -> list[str]:
    return [attribute_text(symbol, "name") for symbol in binary.dynamic_symbols if symbol.exported]


def _witnesses(binary: lief.ELF.Binary) -> Witnesses:
    """Strings that tell the C library, strongest first."""
    return {
        "interpreter": [attribute_text(binary, "interpreter")] if binary.has_interpreter else [],
        "notes": [attribute_text(note, "name").rstrip("\0") for note in binary.notes],
        "versions": [
            attribute_text(version, "name")
            for requirement in binary.symbols_version_requirement
            for version in requirement.get_auxiliary_symbols()
        ],
        "needed": _dynamic_texts(binary, "DynamicEntryLibrary"),
    }


def _libc(witnesses: Witnesses) -> Libc:
    rows = table("libraries")["libc"]
    for witness, texts in witnesses.items():
        for row in rows:
            if witness in row and any(re.fullmatch(row[witness], text) for text in texts):
                return cast("Libc", row["id"])
    return "unknown"


@functools.cache
def _entry_pattern() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{row['pattern']})" for row in table("libraries")["entry"]), re.ASCII)


def _is_entry(name: str) -> bool:
    return _entry_pattern().fullmatch(name) is not None


def _newest(family: str, versions: Iterable[str]) -> str | None:
    """The newest `<family>_<numbers>` among symbol versions, as dotted numbers."""
    marks = {
        row["name"]: row["version"] for row in table("libraries")["version_mark"] if row["family"] == family
    }
    numbered = re.compile(rf"{family}_(\d{{1,6}}(?:\.\d{{1,6}})*)", re.ASCII)
    found = [match.group(1) for name in versions if (match := numbered.fullmatch(name))]
    found += [marks[name] for name in versions if name in marks]
    return max(found, key=lambda text: tuple(int(part) for part in text.split(".")), default=None)
