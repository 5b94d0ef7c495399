"""Reads tar archives, plain or compressed, in one pass forwards."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import BinaryIO, cast

from packager.facts.inflate import ForwardStream, compression, inflate_errors, inflated
from packager.facts.listing import Entry, Listing
from packager.facts.reading import Readable, Slice

BLOCK = 512


def tar_format(head: bytes) -> str:
    """`tar`, `tar.gz`, `tar.xz` or `tar.zst` by the first six bytes of the file."""
    packed = compression(head)
    return f"tar.{packed}" if packed else "tar"


def begins_like_tar(block: bytes) -> bool:
    """Whether 512 bytes are a tar header whose checksum is right."""
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError):
        return False
    return True


def tar_entries(stream: Readable, listing: Listing) -> Iterator[Entry]:
    """The members of a tar, which may be compressed, in one pass to the end of the stream.

    Raises UnreadableFile through the listing; its offset counts in the unpacked tar.
    """
    forward = ForwardStream(inflated(stream), listing.weigh)
    damage: tuple[type[Exception], ...] = (
        tarfile.TarError,
        ValueError,
        ArithmeticError,
        RecursionError,  # one extended header after another
        *inflate_errors(),
    )
    name = ""
    try:
        archive = tarfile.TarFile(
            fileobj=cast("BinaryIO", forward), encoding="utf-8", errors="backslashreplace"
        )
        kept: list[tarfile.TarInfo] = vars(archive)["members"]
        while (info := archive.next()) is not None:
            kept.clear()  # a hundred thousand of them, each with headers of up to 1 MiB
            name = info.name
            entry = _entry(listing, info, forward)
            if entry is not None:
                yield entry
        # tarfile takes a damaged header for the end, but only zeros are.
        if forward.last != bytes(BLOCK):
            listing.refuse(name, "no sound header and no end of archive behind it", forward.tell())
        forward.drain()
        if forward.tell() % BLOCK:
            listing.refuse(name, f"the tar is not made of whole {BLOCK}-byte blocks", forward.tell())
    except damage as error:
        listing.refuse(name, f"the tar is damaged behind it: {error}", forward.tell())


def unpacked(stream: Readable, listing: Listing, offset: int, size: int) -> Readable:
    """Bytes of a tar, which may be compressed, from an offset in the unpacked one."""
    forward = ForwardStream(inflated(stream), listing.weigh)
    forward.seek(offset)
    return Slice(forward, size)


def _entry(listing: Listing, info: tarfile.TarInfo, forward: ForwardStream) -> Entry | None:
    if not (info.isfile() or info.isdir() or info.issym() or info.islnk()):
        listing.refuse(info.name, "neither file, folder nor link", info.offset, "unsafe")
    if info.issparse():
        listing.refuse(info.name, "a sparse file, which packages do not hold", info.offset)
    link = None
    if info.issym():
        link = info.linkname
    elif info.islnk():
        # A hard link names its target from the archive's root, a symbolic link from its own folder.
        target = info.linkname
        up = "../" * info.name.removeprefix("./").count("/")
        link = target if target.startswith("/") else up + target.removeprefix("./")
    member = listing.checked(
        info.name,
        info.size if info.isfile() else 0,
        folder=info.isdir(),
        mode=info.mode & 0o7777,
        link=link,
        at=info.offset,
    )
    if member is None:
        return None
    if link is not None:
        return Entry(member)
    return Entry(member, lambda: _data(forward, info), at=info.offset_data)


def _data(forward: ForwardStream, info: tarfile.TarInfo) -> Readable:
    forward.seek(info.offset_data)
    return Slice(forward, info.size)
