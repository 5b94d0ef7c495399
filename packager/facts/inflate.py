"""Compressed streams read forwards, in bounded memory, noticing a cut or a bomb."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol, cast

from packager.facts.reading import Readable
from packager.files import BLOCK

# A slice of input this small keeps what one call can inflate to below about 130 MB (zstd's densest
# block header is 4 bytes for 128 KiB), and costs nothing measurable on honest data.
_SLICE = 4096
_MAX_WINDOW = 1 << 27  # what the zstd and xz tools themselves accept without being told otherwise

_MAGICS = {b"\x1f\x8b": "gz", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}

MAX_READ = 1 << 20  # a longer header than this (tar's pax records) is no header


class _Unit(Protocol):
    """One compressed frame in the making, as zlib, lzma and zstandard all offer it."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd() -> Callable[[], _Unit]:
    import zstandard

    return cast("Callable[[], _Unit]", zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompressobj)


def _units(name: str) -> Callable[[], _Unit]:
    if name == "gz":
        return lambda: zlib.decompressobj(16 + zlib.MAX_WBITS)
    if name == "xz":
        return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=2 * _MAX_WINDOW)
    return _zstd()


def compression(head: bytes) -> str | None:
    """`gz`, `xz` or `zst` by the first six bytes of a stream, None for anything else."""
    return next((name for magic, name in _MAGICS.items() if head.startswith(magic)), None)


def inflated(stream: Readable) -> Iterator[bytes]:
    """The plain bytes of a stream; one that is not compressed passes through.

    Raises EOFError when a frame is cut short, and one of `inflate_errors()` when it is damaged.
    """
    data = stream.read(_SLICE)
    name = compression(data)
    if name is None:
        while data:
            yield data
            data = stream.read(BLOCK)
        return
    new = _units(name)
    while data:
        unit = new()
        while not unit.eof:
            if not data:
                raise EOFError(f"the {name} stream ends early")
            yield unit.decompress(data)
            data = unit.unused_data if unit.eof else stream.read(_SLICE)
        # Zeros may pad the end of a gzip or xz file.
        data = data.lstrip(b"\0") or stream.read(_SLICE)


def inflate_errors() -> tuple[type[Exception], ...]:
    """What a damaged compressed stream makes the decompressors raise."""
    import zstandard

    return (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


class ForwardStream:
    """A readable, forwards-seekable file over an iterator of blocks: what tarfile asks of a file.

    `spent` is called with the number of bytes pulled so far and may raise to end it. `last` is the
    outcome of the latest read.
    """

    def __init__(self, source: Iterator[bytes], spent: Callable[[int], None]) -> None:
        self._source, self._spent = source, spent
        self._block, self._at, self._pulled, self._position = b"", 0, 0, 0
        self.last = b""

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        """Skip to an absolute position that is not behind; past the end it stops at the end."""
        if whence != 0 or offset < self._position:
            raise EOFError("a compressed stream is read forwards only")
        while self._position < offset and self._take(min(offset - self._position, MAX_READ)):
            pass
        return self._position

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, fewer only at the end. Raises ValueError when `size` is beyond a header's."""
        if not 0 <= size <= MAX_READ:
            raise ValueError(f"a header of {size} bytes")
        pieces = []
        while size and (piece := self._take(size)):
            pieces.append(piece)
            size -= len(piece)
        self.last = b"".join(pieces)
        return self.last

    def drain(self) -> None:
        """Read to the end, so that checksums behind the last member are verified too."""
        while self._take(MAX_READ):
            pass

    def _take(self, size: int) -> bytes:
        while self._at >= len(self._block):
            block = next(self._source, None)
            if block is None:
                return b""
            self._block, self._at = block, 0
            self._pulled += len(block)
            self._spent(self._pulled)
        piece = self._block[self._at : self._at + size]
        self._at += len(piece)
        self._position += len(piece)
        return piece
