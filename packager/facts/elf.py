"""Reads ELF files: host libraries, Hexagon skels, runners."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, cast

from packager.catalog import table
from packager.errors import UnreadableFile
from packager.facts.elf_image import (
    DT_NEEDED,
    DT_RPATH,
    DT_RUNPATH,
    DT_SONAME,
    PT_LOAD,
    ElfImage,
    Note,
)
from packager.facts.qnn_exports import is_entry, model_prefix
from packager.facts.reading import opened, terminated
from packager.facts.strings import marks
from packager.facts.types import ElfFacts

Libc = Literal["glibc", "musl", "bionic", "qnx", "hexagon", "unknown"]

_HEADER_BYTES = 64  # ELF64's; ELF32's has 52
_HEXAGON_ARCH = 0x3FF  # EF_HEXAGON_MACH; the bits above mark variants such as the tiny cores
_NT_GNU_BUILD_ID, _NT_ANDROID = 3, 1
_MAX_BUILD_ID = 64  # 20 bytes of SHA-1 as a rule
_NDK_NAME = 64
_SKEL = re.compile(r"qnn_(\d+)_(\d+)_(\d+)_skel_handle_invoke")


def read_elf(path: Path) -> ElfFacts:
    """Facts of an ELF32 or ELF64 little-endian file.

    Raises UnreadableFile with the offset at which the file stops making sense, InputUnavailable when it
    cannot be opened.
    """
    with opened(path) as (stream, size):
        image = ElfImage(path, stream, size)
        machine, flags = _processor(path, image.machine)
        needed, interpreter = image.texts(DT_NEEDED), image.interpreter()
        notes, versions = image.notes(), image.versions_needed()
        exported = [name for name in image.exported() if _SKEL.fullmatch(name) or is_entry(name)]
        soname = next(iter(image.texts(DT_SONAME)), None)
        search_path = _search_path(image)
    witnesses = {
        "interpreter": [interpreter] if interpreter else [],
        "notes": [note.owner for note in notes],
        "versions": versions,
        "needed": needed,
    }
    skel = next((found for name in exported if (found := _SKEL.fullmatch(name))), None)
    hexagon = machine == "HEXAGON"
    android_api, ndk = _android(notes)
    mark = marks(path)
    return ElfFacts(
        machine=machine,
        bits=image.bits,
        abi="hexagon" if hexagon else _libc(witnesses),
        flags=flags,
        hexagon_arch=_hexagon_arch(flags) if hexagon else None,
        soname=soname,
        needed=tuple(needed),
        search_path=search_path,
        interpreter=interpreter,
        skel_release=".".join(skel.groups()) if skel else None,
        qnn_entries=tuple(sorted(name for name in exported if is_entry(name))),
        model_prefix=model_prefix(exported),
        qairt_build=mark.build,
        qairt_release=mark.release or (".".join(skel.groups()) if skel else None),
        qairt_stamp=mark.stamp if mark.release is None else None,
        glibc_needed=_newest("GLIBC", versions),
        glibcxx_needed=_newest("GLIBCXX", versions),
        cxxabi_needed=_newest("CXXABI", versions),
        page_alignment=min(
            (s.alignment for s in image.segments if s.kind == PT_LOAD and s.alignment > 1), default=0
        ),
        build_id=_build_id(notes),
        android_api=android_api,
        ndk=ndk,
        build_paths=mark.build_paths,
    )


def _processor(path: Path, number: int) -> tuple[str, int]:
    """lief's name for e_machine (the `number` in hex where it has none), and the raw e_flags.

    lief sees the header alone: it would hold the whole of a library in memory, twice its size. Its
    `flags_list` takes the Hexagon revision for a set of bits; `processor_flag` is the word itself.
    """
    import lief

    with path.open("rb") as stream:
        head = stream.read(_HEADER_BYTES)
    lief.logging.disable()
    parsed = lief.ELF.parse(io.BytesIO(head))
    if parsed is None:
        raise UnreadableFile(path, 0, "the ELF header makes no sense")
    try:
        name = lief.ELF.ARCH(number).name
    except ValueError:
        name = f"0x{number:x}"
    return name, parsed.header.processor_flag


def _hexagon_arch(flags: int) -> int | None:
    """73 for 0x73: from v60 on the flag's hexadecimal digits are the architecture's decimal ones."""
    digits = f"{flags & _HEXAGON_ARCH:x}"
    return int(digits) if digits.isdecimal() and len(digits) > 1 and digits >= "60" else None


def _search_path(image: ElfImage) -> tuple[str, ...]:
    """Folders that the loader searches; it ignores DT_RPATH where there is a DT_RUNPATH."""
    paths = image.texts(DT_RUNPATH) or image.texts(DT_RPATH)
    return tuple(folder for path in paths for folder in path.split(":") if folder)


def _build_id(notes: Iterable[Note]) -> str | None:
    """The linker's identifier of this very link, in hex."""
    ids = (n.content for n in notes if (n.owner, n.kind) == ("GNU", _NT_GNU_BUILD_ID))
    return next((content.hex() for content in ids if 0 < len(content) <= _MAX_BUILD_ID), None)


def _android(notes: Iterable[Note]) -> tuple[int | None, str | None]:
    """The API level, and the NDK's release as `r27c (12479018)`: NDKs before r14 wrote the level alone."""
    for note in notes:
        if (note.owner, note.kind) == ("Android", _NT_ANDROID) and len(note.content) >= 4:
            (level,) = struct.unpack_from("<I", note.content)
            release = terminated(note.content[4 : 4 + _NDK_NAME])
            build = terminated(note.content[4 + _NDK_NAME : 4 + 2 * _NDK_NAME])
            return level, (f"{release} ({build})" if build else release) or None
    return None, None


def _libc(witnesses: dict[str, list[str]]) -> Libc:
    """The C library, by the strongest witness that has something to say."""
    rows = table("libraries")["libc"]
    for witness, texts in witnesses.items():
        for row in rows:
            if witness in row and any(re.fullmatch(row[witness], text) for text in texts):
                return cast("Libc", row["id"])
    return "unknown"


def _newest(family: str, versions: Iterable[str]) -> str | None:
    """The newest `<family>_<numbers>` among symbol versions, as dotted numbers."""
    marks = {
        row["name"]: row["version"] for row in table("libraries")["version_mark"] if row["family"] == family
    }
    numbered = re.compile(rf"{family}_(\d{{1,6}}(?:\.\d{{1,6}})*)", re.ASCII)
    found = [match.group(1) for name in versions if (match := numbered.fullmatch(name))]
    found += [marks[name] for name in versions if name in marks]
    return max(found, key=lambda text: tuple(int(part) for part in text.split(".")), default=None)
