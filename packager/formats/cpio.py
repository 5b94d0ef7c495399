"""cpio archives with checksums (`newc`, magic 070702), written as streams; what SWUpdate reads.

Source: cpio(5), "New CRC Format": fields of eight hex digits, names and data filled up to four bytes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import BinaryIO

from packager.errors import ManifestError

_MAGIC = b"070702"
_ALIGNMENT = 4
_TRAILER = "TRAILER!!!"
_FILE = 0o100644
_MOST = 0xFFFFFFFF


class CpioWriter:
    """Members one behind the other; `out` is seekable, as a header knows the size of what follows."""

    def __init__(self, out: BinaryIO, epoch: int, *, number: int = 0) -> None:
        self._out, self._epoch, self._number = out, epoch, number

    def add(self, name: str, content: bytes) -> int:
        """A member of these bytes; where its content begins."""
        self._number += 1
        self._write(self._number, name, len(content), checksum(content))
        start = self._out.tell()
        self._out.write(content + bytes(-len(content) % _ALIGNMENT))
        return start

    @contextlib.contextmanager
    def member(self, name: str) -> Iterator[Summing]:
        """What is written to the stream becomes a member. Raises ManifestError for 4 GiB and more."""
        self._number += 1
        at = self._out.tell()
        self._write(self._number, name, 0, 0)
        stream = Summing(self._out)
        yield stream
        if stream.size > _MOST:
            raise ManifestError(
                f"{name} of {stream.size} bytes is more than a cpio archive can hold",
                evidence=(f"cpio(5) has eight hex digits for a size: at most {_MOST} bytes",),
                fix='ask for "rauc" or "mender" instead of "swu", or split the model',
            )
        self._out.write(bytes(-stream.size % _ALIGNMENT))
        end = self._out.tell()
        self._out.seek(at)
        self._write(self._number, name, stream.size, stream.checksum)
        self._out.seek(end)

    def finish(self) -> None:
        """The end of the archive."""
        self._write(0, _TRAILER, 0, 0, mode=0)

    def _write(self, number: int, name: str, size: int, check: int, mode: int = _FILE) -> None:
        owner, links, devices = (0, 0), 1, (0, 0, 0, 0)
        time = self._epoch if number else 0
        words = (number, mode, *owner, links, time, size, *devices, len(name) + 1, check)
        header = _MAGIC + "".join(f"{word:08X}" for word in words).encode() + name.encode() + b"\0"
        self._out.write(header + bytes(-len(header) % _ALIGNMENT))


class Summing:
    """Passes bytes on and knows their number and sum."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self.size, self.checksum = out, 0, 0

    def write(self, data: bytes, /) -> int:
        """Take all of `data`."""
        self.size += len(data)
        self.checksum = (self.checksum + checksum(data)) & _MOST
        return self._out.write(data)


def checksum(data: bytes) -> int:
    """The sum of all bytes, in 32 bits."""
    import numpy

    return int(numpy.frombuffer(data, numpy.uint8).sum(dtype=numpy.uint64)) & _MOST
