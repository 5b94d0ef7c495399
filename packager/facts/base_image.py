"""What a container image offers to the libraries of a package: names and versions of its C and C++ libraries.

Only its layers are read, once and forwards; a name that an upper layer deletes again still counts as there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from packager.facts.listing import Entry, Listing
from packager.facts.reading import opened
from packager.facts.tar import tar_entries
from packager.files import BLOCK
from packager.model import Frozen
from packager.versions import newest

_LIBRARY = re.compile(r".+\.so(\.[0-9.]+)?|ld-.+\.so\.\d+")
_C_LIBRARY, _CPP_LIBRARY = re.compile(r"libc(-2\.\d+)?\.so(\.6)?"), re.compile(r"libstdc\+\+\.so\.6.*")
# What the C library prints when it is run, and the symbol versions in the C++ library.
_GLIBC: Final = re.compile(rb"GNU C Library [^\n\0]{0,120}version (\d+\.\d+)")
_GLIBCXX: Final = re.compile(rb"GLIBCXX_(\d+\.\d+(?:\.\d+)?)\0")
_OVERLAP = 256  # bytes: longer than what is looked for


class BaseImageFacts(Frozen):
    """`libraries` are file names; `glibc` is `2.36`, `glibcxx` the newest symbol version, `3.4.30`."""

    libraries: tuple[str, ...]
    glibc: str | None = None
    glibcxx: str | None = None


def read_base_image(layers: Iterable[Path]) -> BaseImageFacts:
    """The facts of an image from its layers, the lowest first. Raises UnreadableFile."""
    names: set[str] = set()
    glibc = glibcxx = None
    for layer in layers:
        with opened(layer) as (stream, size):
            for entry in tar_entries(stream, Listing(layer, size, root_is_system=True)):
                name = entry.member.name.rpartition("/")[2]
                if not _LIBRARY.fullmatch(name):
                    continue
                names.add(name)
                if _C_LIBRARY.fullmatch(name):
                    glibc = _newest(entry, _GLIBC) or glibc
                elif _CPP_LIBRARY.fullmatch(name):
                    glibcxx = _newest(entry, _GLIBCXX) or glibcxx
    return BaseImageFacts(libraries=tuple(sorted(names)), glibc=glibc, glibcxx=glibcxx)


def _newest(entry: Entry, pattern: re.Pattern[bytes]) -> str | None:
    """The highest version that a file holds; None for a link and for a file without one."""
    if entry.open is None:
        return None
    stream, found, tail = entry.open(), set[str](), b""
    while block := stream.read(BLOCK):
        window = tail + block
        found |= {match.decode("ascii") for match in pattern.findall(window)}
        tail = window[-_OVERLAP:]
    return newest(found)
