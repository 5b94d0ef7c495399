"""Lists tar archives, plain or compressed, in one pass forwards."""

from __future__ import annotations

import tarfile
from typing import BinaryIO, cast

from packager.facts.inflate import ForwardStream, Readable, compression, inflate_errors, inflated
from packager.facts.listing import Listing

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


def list_tar(stream: Readable, listing: Listing) -> None:
    """Add the members of a tar, which may be compressed, to the listing.

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
            _add(listing, info)
        # tarfile takes a damaged header for the end, but only zeros are.
        if forward.last != bytes(BLOCK):
            listing.refuse(name, "no sound header and no end of archive behind it", forward.tell())
        forward.drain()
        if forward.tell() % BLOCK:
            listing.refuse(name, f"the tar is not made of whole {BLOCK}-byte blocks", forward.tell())
    except damage as error:
        listing.refuse(name, f"the tar is damaged behind it: {error}", forward.tell())


def _add(listing: Listing, info: tarfile.TarInfo) -> None:
    if not (info.isfile() or info.isdir() or info.issym() or info.islnk()):
        listing.refuse(info.name, "neither file, folder nor link", info.offset)
    link = None
    if info.issym():
        link = info.linkname
    elif info.islnk():
        # A hard link names its target from the archive's root, a symbolic link from its own folder.
        target = info.linkname
        up = "../" * info.name.removeprefix("./").count("/")
        link = target if target.startswith("/") else up + target.removeprefix("./")
    listing.add(
        info.name,
        info.size if info.isfile() else 0,
        folder=info.isdir(),
        mode=info.mode & 0o7777,
        link=link,
        at=info.offset,
    )
