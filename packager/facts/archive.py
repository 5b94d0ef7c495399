"""Reads what is inside archives: the zip family, deb, ipk and rpm, tar with any compression, images in an OCI
layout, and plain folders. Extracts nothing by itself.

Archives come from strangers, so every count and length has a limit, and a name or link that would leave
the folder it is unpacked to makes the whole archive unreadable.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from packager.errors import InputUnavailable, UnreadableFile
from packager.facts import oci
from packager.facts.listing import MAX_MEMBERS, MAX_NAME, Entry, Listing
from packager.facts.reading import Readable, Slice, must_end_within, opened, piece
from packager.facts.rpm import RPM_MAGIC, rpm_entries
from packager.facts.tar import tar_entries, tar_format
from packager.facts.types import ArchiveFacts, ArchiveMember

AR_MAGIC = b"!<arch>\n"
DEB_MARK = "debian-binary"
_AR_HEADER = 60
_MAX_ZIP_READ = 64 << 20  # the central directory of 100 000 members with names of 600 characters
_UNIX = 3  # ZipInfo.create_system
_ENCRYPTED = 1  # ZipInfo.flag_bits

# What tells a member of the zip family, by a file it must hold. The first match wins.
_ZIP_FAMILY = (
    ("wheel", re.compile(r"[^/]+\.dist-info/WHEEL")),
    ("nupkg", re.compile(r"[^/]+\.nuspec")),
    ("msix", re.compile(r"AppxManifest\.xml|AppxMetadata/AppxBundleManifest\.xml")),
    ("aar", re.compile(r"classes\.jar|R\.txt")),
    ("apk", re.compile(r"AndroidManifest\.xml")),
)


class Archive(NamedTuple):
    """What an archive is, and its members in its own order, read as they are asked for."""

    format: str
    entries: Iterator[Entry]


def read_archive(path: Path) -> ArchiveFacts:
    """Files and links in the order of the archive (of a folder: by name); folders are left out.

    Members of a deb or ipk are named as on the installed system, those of its control part `DEBIAN/…`;
    those of an OCI image as in the container. Raises UnreadableFile (the reason names the member) when the
    archive is damaged, exceeds a limit or holds a name that leaves its root, InputUnavailable when it
    cannot be opened.
    """
    with opened_archive(path) as archive:
        return ArchiveFacts(format=archive.format, members=tuple(entry.member for entry in archive.entries))


@contextlib.contextmanager
def opened_archive(path: Path) -> Iterator[Archive]:
    """An archive to be read once, forwards. Raises as `read_archive`, from the iteration as well."""
    if path.is_dir():
        blobs = oci.folder_blobs(path)
        if blobs:
            yield Archive(oci.FORMAT, oci.entries(path, blobs))
        else:
            yield Archive("folder", _folder_entries(path))
        return
    with opened(path) as (stream, size):
        magic = stream.read(8)
        stream.seek(0)
        if magic.startswith(b"PK"):
            yield _zip(path, stream, size)
        elif magic.startswith(RPM_MAGIC):
            yield Archive("rpm", rpm_entries(path, stream, size))
        elif magic == AR_MAGIC:
            yield Archive("deb", _part_entries(path, size, _deb_parts(path, stream, size)))
        else:
            yield _tar(path, stream, size, magic)


def _tar(path: Path, stream: BinaryIO, size: int, magic: bytes) -> Archive:
    first = next((entry.member.name for entry in tar_entries(stream, Listing(path, size))), "")
    stream.seek(0)
    if first == DEB_MARK:
        parts = ((e.member.name, e.open()) for e in tar_entries(stream, Listing(path, size)) if e.open)
        return Archive("ipk", _part_entries(path, size, parts))
    blobs = oci.tar_blobs(path, stream, size) if oci.may_begin_layout(first) else None
    stream.seek(0)
    if blobs:
        return Archive(oci.FORMAT, oci.entries(path, blobs))
    return Archive(tar_format(magic), tar_entries(stream, Listing(path, size)))


def _folder_entries(root: Path) -> Iterator[Entry]:
    """Links are told and never followed, so one that leaves the folder does no harm."""
    for number, (path, about) in enumerate(files_below(root)):
        if number >= MAX_MEMBERS:
            raise InputUnavailable(
                f"{root} holds more than {MAX_MEMBERS} files", fix="name a folder further down"
            )
        link = path.readlink().as_posix() if about and stat.S_ISLNK(about.st_mode) else None
        member = ArchiveMember(
            name=path.relative_to(root).as_posix(),
            size=about.st_size if about and stat.S_ISREG(about.st_mode) else 0,
            mode=stat.S_IMODE(about.st_mode) if about else None,
            link=link,
        )
        yield Entry(member) if link else Entry(member, folder_file=path)


def files_below(root: Path) -> Iterator[tuple[Path, os.stat_result | None]]:
    """Files and links below a folder, by their names, and the folders among them that may not be read.

    Pipes, sockets and devices are left out. What lies in a folder that may be listed and not searched has no
    status. Raises InputUnavailable when the folder itself may not be read.
    """
    todo = _listed(root)
    if todo is None:
        raise InputUnavailable(f"{root} cannot be read", fix="check the permissions")
    while todo:
        path = todo.pop()
        try:
            about = path.lstat()
        except OSError:
            yield path, None
            continue
        if stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode):
            yield path, about
        elif stat.S_ISDIR(about.st_mode):
            below = _listed(path)
            if below is None:
                yield path, about
            todo += below or ()


def _listed(folder: Path) -> list[Path] | None:
    """What is in a folder, the last name first; None where it may not be read."""
    try:
        return sorted(folder.iterdir(), reverse=True)
    except OSError:
        return None


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


def zip_directory(stream: BinaryIO) -> list[zipfile.ZipInfo]:
    """What a zip's directory lists. Raises zipfile.BadZipFile, or another error that `ZIP_ERRORS` lists."""
    return zipfile.ZipFile(cast("BinaryIO", _Bounded(stream))).infolist()


# zipfile lets a forged directory raise all of these.
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError)


def _zip(path: Path, stream: BinaryIO, size: int) -> Archive:
    try:
        archive = zipfile.ZipFile(cast("BinaryIO", _Bounded(stream)))
    except ZIP_ERRORS as error:
        raise UnreadableFile(path, 0, f"not a whole zip: {error}") from error
    names = [_slashed(info) for info in archive.infolist()]
    family = next((kind for kind, mark in _ZIP_FAMILY if any(mark.fullmatch(name) for name in names)), "zip")
    return Archive(family, _zip_entries(path, archive, size))


def _zip_entries(path: Path, archive: zipfile.ZipFile, size: int) -> Iterator[Entry]:
    listing = Listing(path, size)
    for info in archive.infolist():
        try:
            member = _zip_member(listing, path, archive, info, size)
        except ZIP_ERRORS as error:
            raise UnreadableFile(path, 0, f"not a whole zip: {error}") from error
        if member is not None:
            yield Entry(member, None if member.link else functools.partial(_zip_stream, path, archive, info))


def _zip_member(
    listing: Listing, path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: int
) -> ArchiveMember | None:
    name = _slashed(info)
    if info.header_offset + info.compress_size > size:
        listing.refuse(name, "its data would end after the file does", info.header_offset)
    attributes = info.external_attr >> 16
    unix = info.create_system == _UNIX and attributes != 0
    link = None
    if unix and stat.S_ISLNK(attributes):
        if info.file_size > MAX_NAME:
            listing.refuse(name, f"a link of {info.file_size} bytes", info.header_offset)
        link = _zip_stream(path, archive, info).read(MAX_NAME).decode("utf-8", "backslashreplace")
    return listing.checked(
        name,
        0 if link else info.file_size,
        folder=name.endswith("/"),
        mode=stat.S_IMODE(attributes) if unix else None,
        link=link,
        at=info.header_offset,
    )


def _slashed(info: zipfile.ZipInfo) -> str:
    """A member's name with `/` between folders, where a program on Windows wrote its own separator.

    It is `orig_filename`, as zipfile cuts the other one at a NUL.
    """
    name = info.orig_filename
    return name if info.create_system == _UNIX else name.replace("\\", "/")


def _zip_stream(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Readable:
    if info.flag_bits & _ENCRYPTED:
        raise UnreadableFile(path, info.header_offset, "only its password opens it", "encrypted")
    # zipfile lets the other methods unpack a block of 1 MiB to any size; no package is packed with them.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile(f"{info.filename} is compressed by method {info.compress_type}, not deflate")
    return archive.open(info)


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


def _deb_parts(path: Path, stream: BinaryIO, size: int) -> Iterator[tuple[str, Readable]]:
    parts = _ar_members(path, stream, size)
    first = next(parts, None)
    if first is None or first[0] != DEB_MARK:
        raise UnreadableFile(path, len(AR_MAGIC), f"an ar archive without {DEB_MARK} first is no deb")
    for name, start, length in parts:
        stream.seek(start)
        yield name, Slice(stream, length)


def _part_entries(path: Path, size: int, parts: Iterable[tuple[str, Readable]]) -> Iterator[Entry]:
    """The members of the two tars that make an installable package."""
    listing = Listing(path, size, root_is_system=True)
    held = set()
    for name, stream in parts:
        part, dot_tar, _ = name.partition(".tar")
        if part in ("control", "data") and dot_tar:
            held.add(part)
            listing.prefix = "DEBIAN/" if part == "control" else ""
            yield from tar_entries(stream, listing)
    for part in ("control", "data"):
        if part not in held:
            raise UnreadableFile(path, size, f"a package without its {part} part")
