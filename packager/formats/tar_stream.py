"""Tar archives and zstd frames, written as streams; what the tar.zst and the Debian format share."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tarfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Literal, Protocol

from packager.formats.members import Member

LEVEL = 3
_MOST_THREADS = 8


class Sink(Protocol):
    """Something that takes bytes."""

    def write(self, data: bytes, /) -> object:
        """Take all of `data`."""


class DigestingSink:
    """Passes bytes on and knows their digest."""

    def __init__(self, out: Sink) -> None:
        self._out, self._hash = out, hashlib.sha256()

    def write(self, data: bytes, /) -> None:
        """Take all of `data`."""
        self._hash.update(data)
        self._out.write(data)

    @property
    def sha256(self) -> str:
        """Of what has been written so far, in lower-case hex."""
        return self._hash.hexdigest()


def write_tar(out: Sink, members: Iterable[Member], *, epoch: int, dialect: Literal["pax", "gnu"]) -> None:
    """Write members in the order given. Owner is root, every time is `epoch`.

    `pax` is USTAR with PAX headers where a name or size does not fit (POSIX 1003.1). `gnu` has long
    names and sizes in the GNU manner, the only one that dpkg reads (deb(5)).
    """
    for member in members:
        out.write(_header(member, epoch, dialect))
        if member.content is not None:
            for block in member.blocks():
                out.write(block)
            out.write(bytes(-member.size % tarfile.BLOCKSIZE))
    out.write(bytes(2 * tarfile.BLOCKSIZE))


def tar_size(members: Iterable[Member], *, epoch: int, dialect: Literal["pax", "gnu"]) -> int:
    """How many bytes `write_tar` writes for these members."""
    sizes = (
        len(_header(member, epoch, dialect))
        + (member.size + -member.size % tarfile.BLOCKSIZE if member.content is not None else 0)
        for member in members
    )
    return sum(sizes) + 2 * tarfile.BLOCKSIZE


def _header(member: Member, epoch: int, dialect: Literal["pax", "gnu"]) -> bytes:
    info = tarfile.TarInfo(member.path)
    info.mode, info.mtime = member.mode, epoch
    info.uname = info.gname = "root"
    if member.target is not None:
        info.type, info.linkname = tarfile.SYMTYPE, member.target
    elif member.is_folder:
        info.type = tarfile.DIRTYPE
    else:
        info.size = member.size
    if dialect == "gnu":
        return info.tobuf(tarfile.GNU_FORMAT, "utf-8")
    if (member.path + (member.target or "")).isascii():
        with contextlib.suppress(ValueError):
            return info.tobuf(tarfile.USTAR_FORMAT, "utf-8")
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8")


@contextlib.contextmanager
def zstd_frame(out: BinaryIO) -> Iterator[Sink]:
    """A stream that is compressed into one zstd frame with a checksum; `out` stays open.

    The bytes depend on the content and on the release of libzstd inside the `zstandard` module, not on
    the machine: with worker threads, libzstd cuts its input at fixed offsets however many threads there
    are. Without any (`threads=0`) it does not cut, so there is always at least one. More than eight
    would only add memory (about 25 MiB each).
    """
    import zstandard

    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    compressor = zstandard.ZstdCompressor(level=LEVEL, threads=threads, write_checksum=True)
    with compressor.stream_writer(out, closefd=False) as stream:
        yield stream
