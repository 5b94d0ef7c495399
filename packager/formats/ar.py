"""`ar` archives, written as streams; what Debian's and opkg's packages are made of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import BinaryIO

from packager.errors import ManifestError

MAGIC = b"!<arch>\n"
_MOST = 10**10 - 1


@contextlib.contextmanager
def ar_member(out: BinaryIO, name: str, epoch: int) -> Iterator[None]:
    """What is written to `out` in this block becomes one member.

    Its size is known only afterwards, so its header is written twice: `out` is seekable. Raises
    ManifestError for more than 9.3 GiB, which the ten digits of the header cannot say.
    """
    header = out.tell()
    out.write(ar_header(name, 0, epoch))
    start = out.tell()
    yield
    end = out.tell()
    out.seek(header)
    out.write(ar_header(name, end - start, epoch))
    out.seek(end)
    out.write(b"\n" * ((end - start) % 2))


def ar_header(name: str, size: int, epoch: int) -> bytes:
    """The 60 bytes before a member that belongs to root (ar(5))."""
    if size > _MOST:
        raise ManifestError(
            f"{name} of {size} bytes is more than a deb or ipk package can hold",
            evidence=(f"ar(5) has ten digits for a size: at most {_MOST} bytes",),
            fix='ask for "tar.zst" instead, or split the model',
        )
    return f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{size:<10}`\n".encode("ascii")
