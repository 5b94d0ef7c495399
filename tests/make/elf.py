"""Tiny genuine ELF files: every header and table that a loader or readelf looks at is there and agrees."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MACHINES = {"AARCH64": (64, 183), "X86_64": (64, 62), "ARM": (32, 40), "HEXAGON": (32, 164)}

_PT_LOAD, _PT_DYNAMIC, _PT_INTERP, _PT_NOTE = 1, 2, 3, 4
_PROGBITS, _STRTAB, _HASH, _DYNAMIC, _NOTE, _DYNSYM, _VERNEED, _VERSYM = (
    1, 3, 5, 6, 7, 11, 0x6FFFFFFE, 0x6FFFFFFF,
)  # fmt: skip
_WRITE, _ALLOC, _EXEC = 1, 2, 4
_TAGS = {
    "NEEDED": 1, "HASH": 4, "STRTAB": 5, "SYMTAB": 6, "STRSZ": 10, "SYMENT": 11, "SONAME": 14, "RPATH": 15,
    "RUNPATH": 29, "VERSYM": 0x6FFFFFF0, "VERNEED": 0x6FFFFFFE, "VERNEEDNUM": 0x6FFFFFFF,
}  # fmt: skip


def hexagon_skel(
    arch: int = 73,
    release: str = "2.51.0",
    build: str = "v2.51.0.260929181845",
    needed: Sequence[str] = ("libc++.so.1",),
    soname: str | None = None,
) -> bytes:
    """A Hexagon skel of one QAIRT release, with 4 KiB pages as the real ones have."""
    invoke = f"qnn_{release.replace('.', '_')}_skel_handle_invoke"
    return elf(
        machine="HEXAGON",
        flags=int(str(arch), 16),
        needed=needed,
        soname=soname or f"libQnnHtpV{arch}Skel.so",
        exports=(invoke, f"{invoke}_uri"),
        strings=(build, f"AISW_VERSION: {release}"),
    )


def shared_library(
    machine: str = "AARCH64",
    build: str | None = "v2.51.0.260929181845",
    aisw: str | None = None,
    needed: Sequence[str] = (),
    soname: str | None = None,
    exports: Sequence[str] = (),
    glibc: str | None = None,
    alignment: int = 0x10000,
    glibcxx: str | None = None,
) -> bytes:
    """A host library. `glibc="2.34"` makes it need GLIBC_2.34 of libc.so.6, `glibcxx` likewise."""
    imports = []
    if glibc:
        imports.append(("memcpy", "libc.so.6", f"GLIBC_{glibc}"))
    if glibcxx:
        imports.append(("_ZSt9terminatev", "libstdc++.so.6", f"GLIBCXX_{glibcxx}"))
    return elf(
        machine=machine,
        needed=(*needed, *(library for _, library, _ in imports if library not in needed)),
        soname=soname,
        exports=exports,
        imports=imports,
        strings=[*([build] if build else []), *([f"AISW_VERSION: {aisw}"] if aisw else [])],
        alignment=alignment,
    )


@dataclass
class _Section:
    name: str
    kind: int
    flags: int
    content: bytes = b""
    link: str = ""
    info: int = 0
    align: int = 1
    row: int = 0
    offset: int = 0
    address: int = 0


def elf(
    *,
    machine: str,
    flags: int = 0,
    needed: Sequence[str] = (),
    soname: str | None = None,
    rpath: str | None = None,
    runpath: str | None = None,
    exports: Sequence[str] = (),
    imports: Sequence[tuple[str, str, str]] = (),
    strings: Sequence[str] = (),
    interpreter: str | None = None,
    note: str | None = None,
    notes: Sequence[tuple[str, int, bytes]] = (),
    alignment: int = 0x1000,
) -> bytes:
    """A shared object. `imports` are (symbol, library, version), `notes` are (owner, type, content).

    `note` is the owner of an ELF note of type 1 that holds the number 21.
    """
    bits, number = MACHINES[machine]
    wide = bits == 64
    names = bytearray(b"\0")
    tags: list[tuple[str, int | str]] = [("NEEDED", _add(names, library)) for library in needed]
    for tag, text in (("SONAME", soname), ("RPATH", rpath), ("RUNPATH", runpath)):
        tags += [(tag, _add(names, text))] if text else []

    notes = [*notes, *([(note, 1, struct.pack("<I", 21))] if note else [])]
    rodata = b"\0".join([b"", *(text.encode() for text in strings), b""])
    sections = [
        *([_Section(".interp", _PROGBITS, _ALLOC, interpreter.encode() + b"\0")] if interpreter else []),
        *([_Section(".note", _NOTE, _ALLOC, b"".join(_note(*n) for n in notes), align=4)] if notes else []),
        _Section(".dynsym", _DYNSYM, _ALLOC, link=".dynstr", info=1, align=8, row=24 if wide else 16),
        *_version_sections(names, imports, len(exports)),
        _Section(".dynstr", _STRTAB, _ALLOC),
        _Section(".hash", _HASH, _ALLOC, _one_bucket(len(imports) + len(exports)), ".dynsym", align=8, row=4),
        _Section(".text", _PROGBITS, _ALLOC | _EXEC, bytes(4 * max(len(exports), 1)), align=16),
        _Section(".rodata", _PROGBITS, _ALLOC, rodata, align=4),
        _Section(".dynamic", _DYNAMIC, _ALLOC | _WRITE, link=".dynstr", align=8, row=16 if wide else 8),
    ]
    by_name = {section.name: section for section in sections}
    symbols = [(_add(names, symbol), -1) for symbol, _, _ in imports]
    symbols += [(_add(names, symbol), index) for index, symbol in enumerate(exports)]
    by_name[".dynstr"].content = bytes(names)

    tags += [("HASH", ".hash"), ("STRTAB", ".dynstr"), ("STRSZ", len(names)), ("SYMTAB", ".dynsym")]
    tags += [("SYMENT", by_name[".dynsym"].row)]
    if imports:
        count = by_name[".gnu.version_r"].info
        tags += [("VERSYM", ".gnu.version"), ("VERNEED", ".gnu.version_r"), ("VERNEEDNUM", count)]

    # Sizes first, so that everything has its address; then the two tables that hold addresses.
    by_name[".dynsym"].content = bytes(by_name[".dynsym"].row * (1 + len(symbols)))
    by_name[".dynamic"].content = bytes(by_name[".dynamic"].row * (1 + len(tags)))
    segments = 3 + bool(interpreter) + bool(notes)
    cursor = (64 + 56 * segments) if wide else (52 + 32 * segments)
    for section in sections:
        cursor = _up(cursor, section.align)
        section.offset = cursor
        # The writable part is one page further on, so that the file needs no padding between the two.
        section.address = cursor + (alignment if section.flags & _WRITE else 0)
        cursor += len(section.content)
    by_name[".dynsym"].content = _symbol_table(sections, symbols, wide)
    word = "Q" if wide else "I"
    by_name[".dynamic"].content = b"".join(
        struct.pack(f"<2{word}", _TAGS[tag], by_name[value].address if isinstance(value, str) else value)
        for tag, value in tags
    ) + bytes(by_name[".dynamic"].row)
    return _assembled(sections, wide, number, flags, alignment)


def _up(value: int, align: int) -> int:
    return -(-value // align) * align


def _add(names: bytearray, text: str) -> int:
    at = len(names)
    names += text.encode() + b"\0"
    return at


def _note(owner: str, kind: int, content: bytes) -> bytes:
    name = owner.encode() + b"\0"
    head = struct.pack("<III", len(name), len(content), kind)
    return head + name.ljust(_up(len(name), 4), b"\0") + content.ljust(_up(len(content), 4), b"\0")


def _one_bucket(symbols: int) -> bytes:
    """A hash table of one bucket whose chain runs through all symbols: the simplest that is right."""
    chain = [*range(2, symbols + 1), 0] if symbols else []
    return struct.pack(f"<{4 + symbols}I", 1, 1 + symbols, 1 if symbols else 0, 0, *chain)


def _version_sections(
    names: bytearray, imports: Sequence[tuple[str, str, str]], exports: int
) -> Iterable[_Section]:
    """`.gnu.version` and `.gnu.version_r`; each import has a version of its own, numbered from 2."""
    if not imports:
        return ()
    libraries = list(dict.fromkeys(library for _, library, _ in imports))
    needs = b""
    for library in libraries:
        versions = [(2 + i, version) for i, (_, owner, version) in enumerate(imports) if owner == library]
        last_library, size = library == libraries[-1], 16 * (1 + len(versions))
        needs += struct.pack(
            "<HHIII", 1, len(versions), _add(names, library), 16, 0 if last_library else size
        )
        for index, version in versions:
            following = 0 if index == versions[-1][0] else 16
            needs += struct.pack("<IHHII", _elf_hash(version), 0, index, _add(names, version), following)
    # 0 is the null symbol, 1 stands for exports without a version.
    numbers = [0, *range(2, 2 + len(imports)), *[1] * exports]
    return (
        _Section(
            ".gnu.version", _VERSYM, _ALLOC, struct.pack(f"<{len(numbers)}H", *numbers), ".dynsym", 0, 2, 2
        ),
        _Section(".gnu.version_r", _VERNEED, _ALLOC, needs, ".dynstr", len(libraries), 8),
    )


def _elf_hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value


def _symbol_table(sections: Sequence[_Section], symbols: Sequence[tuple[int, int]], wide: bool) -> bytes:
    """Null, then global functions: imported ones (index -1) undefined, exported ones 4 bytes of `.text`."""
    text_number = 1 + next(i for i, section in enumerate(sections) if section.name == ".text")
    text = sections[text_number - 1]
    table = bytes(24 if wide else 16)
    for name, index in symbols:
        section, address, size = (0, 0, 0) if index < 0 else (text_number, text.address + 4 * index, 4)
        info = 0x12  # global function
        if wide:
            table += struct.pack("<IBBHQQ", name, info, 0, section, address, size)
        else:
            table += struct.pack("<IIIBBH", name, address, size, info, 0, section)
    return table


def _assembled(sections: list[_Section], wide: bool, machine: int, flags: int, alignment: int) -> bytes:
    readable = [section for section in sections if not section.flags & _WRITE]
    (dynamic,) = [section for section in sections if section.flags & _WRITE]
    segments = [
        *[(_PT_INTERP, 4, s, len(s.content), 1) for s in sections if s.name == ".interp"],
        (_PT_LOAD, 5, _Section("", 0, 0), readable[-1].offset + len(readable[-1].content), alignment),
        (_PT_LOAD, 6, dynamic, len(dynamic.content), alignment),
        (_PT_DYNAMIC, 6, dynamic, len(dynamic.content), 8),
        *[(_PT_NOTE, 4, s, len(s.content), 4) for s in sections if s.name == ".note"],
    ]
    names = bytearray(b"\0")
    shstrtab = _Section(
        ".shstrtab", _STRTAB, 0, offset=sections[-1].offset + len(sections[-1].content), align=1
    )
    every = [*sections, shstrtab]
    name_offsets = [_add(names, section.name) for section in every]
    shstrtab.content = bytes(names)
    sections_at = _up(shstrtab.offset + len(names), 8)

    head, segment_size, section_size = (64, 56, 64) if wide else (52, 32, 40)
    word = "Q" if wide else "I"
    image = bytearray(sections_at)
    image[:16] = b"\x7fELF" + bytes([2 if wide else 1, 1, 1]) + bytes(9)
    image[16:head] = struct.pack(
        f"<HHI3{word}IHHHHHH",
        3, machine, 1, 0, head, sections_at, flags, head, segment_size, len(segments), section_size,
        1 + len(every), len(every),
    )  # fmt: skip
    for number, (kind, access, section, size, align) in enumerate(segments):
        where = (section.offset, section.address, section.address, size, size)
        row = (
            struct.pack("<II6Q", kind, access, *where, align)
            if wide
            else struct.pack("<8I", kind, *where, access, align)
        )
        image[head + number * segment_size : head + (number + 1) * segment_size] = row
    numbers = {section.name: number for number, section in enumerate(every, 1)}
    image += bytes(section_size)
    for name, section in zip(name_offsets, every, strict=True):
        image[section.offset : section.offset + len(section.content)] = section.content
        image += struct.pack(
            f"<II4{word}II2{word}",
            name, section.kind, section.flags, section.address, section.offset, len(section.content),
            numbers.get(section.link, 0), section.info, section.align, section.row,
        )  # fmt: skip
    return bytes(image)
