"""Lists what is inside archives: the zip family, deb, and tar with any compression. Extracts nothing.

Archives come from strangers, so every count and length has a limit, and a name or link that would leave
the folder it is unpacked to makes the whole archive unreadable.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from packager.errors import UnreadableFile
from packager.facts.listing import MAX_NAME, Listing
from packager.facts.reading import Slice, must_end_within, opened, piece
from packager.facts.tar import list_tar, tar_format
from packager.facts.types import ArchiveFacts

AR_MAGIC = b"!<arch>\n"
DEB_MARK = "debian-binary"
_AR_HEADER = 60
_MAX_ZIP_READ = 64 << 20  # the central directory of 100 000 members with names of 600 characters

# What tells a member of the zip family, by a file it must hold. The first match wins.
_ZIP_FAMILY = (
    ("wheel", re.compile(r"[^/]+\.dist-info/WHEEL")),
    ("nupkg", re.compile(r"[^/]+\.nuspec")),
    ("aar", re.compile(r"classes\.jar|R\.txt")),
    ("apk", re.compile(r"AndroidManifest\.xml")),
)


def read_archive(path: Path) -> ArchiveFacts:
    """Files and links in the order of the archive; folders are left out.

    Members of a deb are named as on the installed system, those of its control part `DEBIAN/…`. Raises
    UnreadableFile (the reason names the member) when the archive is damaged, exceeds a limit or holds a
    name that leaves its root, InputUnavailable when it cannot be opened.
    """
    with opened(path) as (stream, size):
        magic = stream.read(8)
        stream.seek(0)
        if magic.startswith(b"PK"):
            return _read_zip(path, stream, size)
        if magic == AR_MAGIC:
            return _read_deb(path, stream, size)
        listing = Listing(path, size)
        list_tar(stream, listing)
        return ArchiveFacts(format=tar_format(magic), members=listing.members)


class _Bounded:
    """A file that refuses to hand out more at once than a central directory can need."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size if 0 <= size <= _MAX_ZIP_READ else _MAX_ZIP_READ + 1)
        if len(data) > _MAX_ZIP_READ:
            raise zipfile.BadZipFile(f"a zip directory of more than {_MAX_ZIP_READ} bytes")
        return data


def zip_names(stream: BinaryIO) -> list[str]:
    """All names in a zip's directory. Raises zipfile.BadZipFile, or another error that `ZIP_ERRORS` lists."""
    return zipfile.ZipFile(cast("BinaryIO", _Bounded(stream))).namelist()


# zipfile lets a forged directory raise all of these (RuntimeError for an encrypted link).
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError)


def _read_zip(path: Path, stream: BinaryIO, size: int) -> ArchiveFacts:
    listing = Listing(path, size)
    try:
        archive = zipfile.ZipFile(cast("BinaryIO", _Bounded(stream)))
        infos = archive.infolist()
        for info in infos:
            _add_zip_member(listing, archive, info, size)
    except ZIP_ERRORS as error:
        raise UnreadableFile(path, 0, f"not a whole zip: {error}") from error
    names = [info.filename for info in infos]
    family = next((kind for kind, mark in _ZIP_FAMILY if any(mark.fullmatch(name) for name in names)), "zip")
    return ArchiveFacts(format=family, members=listing.members)


def _add_zip_member(listing: Listing, archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: int) -> None:
    if info.header_offset + info.compress_size > size:
        listing.refuse(info.filename, "its data would end after the file does", info.header_offset)
    attributes = info.external_attr >> 16
    unix = info.create_system == 3 and attributes != 0
    link = None
    if unix and stat.S_ISLNK(attributes):
        if info.file_size > MAX_NAME:
            listing.refuse(info.filename, f"a link of {info.file_size} bytes", info.header_offset)
        with archive.open(info) as target:
            link = target.read(MAX_NAME).decode("utf-8", "backslashreplace")
    listing.add(
        # orig_filename: zipfile cuts the other one at a NUL
        info.orig_filename,
        0 if link else info.file_size,
        folder=info.filename.endswith("/"),
        mode=stat.S_IMODE(attributes) if unix else None,
        link=link,
        at=info.header_offset,
    )


def _ar_members(path: Path, stream: BinaryIO, size: int) -> Iterator[tuple[str, int, int]]:
    """Name, offset and size of each member of an ar archive."""
    offset = len(AR_MAGIC)
    while offset < size:
        header = piece(path, stream, offset, _AR_HEADER, "header of an ar member")
        name = header[:16].decode("ascii", "backslashreplace").rstrip(" ").removesuffix("/")
        length = header[48:58].strip()
        if header[58:] != b"`\n" or not re.fullmatch(rb"\d+", length):
            raise UnreadableFile(path, offset, "no header of an ar member where one must be")
        start = offset + _AR_HEADER
        end = start + int(length)
        must_end_within(path, size, end, f"part {name}")
        yield name, start, int(length)
        offset = end + end % 2


def _read_deb(path: Path, stream: BinaryIO, size: int) -> ArchiveFacts:
    listing = Listing(path, size, root_is_system=True)
    parts = _ar_members(path, stream, size)
    first = next(parts, None)
    if first is None or first[0] != DEB_MARK:
        raise UnreadableFile(path, len(AR_MAGIC), f"an ar archive without {DEB_MARK} first is no deb")
    held = set()
    for name, start, length in parts:
        part, dot_tar, _ = name.partition(".tar")
        if part in ("control", "data") and dot_tar:
            held.add(part)
            listing.prefix = "DEBIAN/" if part == "control" else ""
            stream.seek(start)
            list_tar(Slice(stream, length), listing)
    for part in ("control", "data"):
        if part not in held:
            raise UnreadableFile(path, size, f"a deb without its {part} part")
    return ArchiveFacts(format="deb", members=listing.members)
