"""gzip, written as a stream of the same bytes on every machine."""

from __future__ import annotations

import collections
import contextlib
import os
import struct
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

from packager.files import BLOCK

_LEVEL = 6
_MOST_THREADS = 8
# No name, no time; 0: neither the fastest nor the best compression; 255: written on no system (RFC 1952).
_HEAD = struct.pack("<4BIBB", 0x1F, 0x8B, 8, 0, 0, 0, 255)


class _Members:
    """Cuts what is written into blocks of 1 MiB and compresses each by itself, several at a time."""

    def __init__(self, out: BinaryIO, pool: ThreadPoolExecutor, threads: int) -> None:
        self._out, self._pool, self._threads = out, pool, threads
        self._block = bytearray()
        self._under_way: collections.deque[Future[bytes]] = collections.deque()
        self._empty = True

    def write(self, data: bytes, /) -> None:
        """Take all of `data`."""
        self._block += data
        while len(self._block) >= BLOCK:
            self._compress(bytes(self._block[:BLOCK]))
            del self._block[:BLOCK]

    def finish(self) -> None:
        """Write what is left."""
        if self._block or self._empty:
            self._compress(bytes(self._block))
        while self._under_way:
            self._out.write(self._under_way.popleft().result())

    def _compress(self, block: bytes) -> None:
        self._empty = False
        self._under_way.append(self._pool.submit(_member, block))
        if len(self._under_way) > self._threads:
            self._out.write(self._under_way.popleft().result())


@contextlib.contextmanager
def gzip_stream(out: BinaryIO) -> Iterator[_Members]:
    """A stream that is compressed into gzip members one behind the other; `out` stays open.

    Readers take several members as one file (RFC 1952, 2.2). Python's own zlib differs between its
    builds; the release of libdeflate inside the `deflate` module is pinned with the other
    dependencies, and its bytes do not depend on the processor.
    """
    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    with ThreadPoolExecutor(threads, thread_name_prefix="gzip") as pool:
        stream = _Members(out, pool, threads)
        yield stream
        stream.finish()


def _member(block: bytes) -> bytes:
    import deflate

    packed = bytes(deflate.deflate_compress(block, _LEVEL))
    return _HEAD + packed + struct.pack("<II", deflate.crc32(block), len(block))
