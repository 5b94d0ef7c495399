"""Pictures that a package form demands and nobody gave: one colour, of the same bytes everywhere."""

from __future__ import annotations

import struct
import zlib

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR = bytes((0x2E, 0x4A, 0x7D))
_STORED_AT_MOST = 0xFFFF


def plain_png(size: int) -> bytes:
    """A square of `size` pixels, at most 700, as PNG with a palette of one colour.

    Its data is stored, not deflated, since deflated bytes differ between builds of zlib.
    """
    row = bytes(1 + (size + 7) // 8)  # no filter, then one bit for each pixel
    data = row * size
    if len(data) > _STORED_AT_MOST:
        raise ValueError(f"a picture of {size} pixels is more than one stored block")
    stored = struct.pack("<BHH", 1, len(data), len(data) ^ 0xFFFF) + data
    return _SIGNATURE + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 1, 3, 0, 0, 0)),
            _chunk(b"PLTE", _COLOUR),
            _chunk(b"IDAT", b"\x78\x01" + stored + struct.pack(">I", zlib.adler32(data))),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
