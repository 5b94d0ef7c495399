"""Reads cpio archives of the `newc` kind, which rpm packages and update images are made of, forwards."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator

from packager.facts.inflate import ForwardStream, inflate_errors, inflated
from packager.facts.listing import MAX_NAME, Entry, Listing
from packager.facts.reading import Readable, Slice

_HEADER = 110
_MAGIC = re.compile(rb"07070[12][0-9A-Fa-f]{104}")
_TRAILER = "TRAILER!!!"


def cpio_entries(stream: Readable, listing: Listing) -> Iterator[Entry]:
    """The members of a cpio archive, which may be compressed, in one pass to the end of the stream.

    Names are relative to the archive's root, with or without `./` or `/` in front. Raises UnreadableFile
    through the listing; its offset counts in the unpacked archive. Of several names for one file, rpm gives
    the bytes to the last.
    """
    forward = ForwardStream(inflated(stream), listing.weigh)
    damage: tuple[type[Exception], ...] = (ValueError, *inflate_errors())
    name = ""
    try:
        while True:
            at = forward.tell()
            header = forward.read(_HEADER)
            if not _MAGIC.fullmatch(header):
                listing.refuse(name, "no header of a cpio member where one must be, behind it", at)
            fields = [int(header[start : start + 8], 16) for start in range(6, _HEADER, 8)]
            mode, size, length = fields[1], fields[6], fields[11]
            if not 0 < length <= MAX_NAME + 1:
                listing.refuse(name, f"a name of {length} bytes behind it", at)
            name = _exactly(forward, length).rstrip(b"\0").decode("utf-8", "backslashreplace")
            _align(forward)
            if name == _TRAILER:
                forward.drain()
                return
            start = forward.tell()
            entry = _entry(listing, name, mode, size, at, forward)
            if entry is not None:
                yield entry
            forward.seek(start + size)
            if forward.tell() != start + size:
                raise EOFError("the archive ends inside it")
            _align(forward)
    except damage as error:
        listing.refuse(name, f"the cpio archive is damaged there: {error}", forward.tell())


def _entry(
    listing: Listing, name: str, mode: int, size: int, at: int, forward: ForwardStream
) -> Entry | None:
    kind = stat.S_IFMT(mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
        listing.refuse(name, "neither file, folder nor link", at, "unsafe")
    link = None
    if kind == stat.S_IFLNK:
        if size > MAX_NAME:
            listing.refuse(name, f"a link of {size} bytes", at)
        link = _exactly(forward, size).decode("utf-8", "backslashreplace")
    member = listing.checked(
        name.removeprefix("/"),
        size if kind == stat.S_IFREG else 0,
        folder=kind == stat.S_IFDIR,
        mode=stat.S_IMODE(mode),
        link=link,
        at=at,
    )
    if member is None or link is not None:
        return Entry(member) if member else None
    start = forward.tell()

    def data() -> Readable:
        forward.seek(start)
        return Slice(forward, size)

    return Entry(member, data)


def _exactly(forward: ForwardStream, size: int) -> bytes:
    data = forward.read(size)
    if len(data) < size:
        raise EOFError("the archive ends early")
    return data


def _align(forward: ForwardStream) -> None:
    _exactly(forward, -forward.tell() % 4)
