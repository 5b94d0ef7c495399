"""A squashfs of one file that is stored as it is, written as a stream.

Source: Linux, fs/squashfs/squashfs_fs.h, and Documentation/filesystems/squashfs: format 4.0. The file is
compressed already, so nothing else would become smaller.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import BinaryIO

from packager.files import HashingWriter

_MAGIC = 0x73717368
_BLOCK_LOG = 20
_BLOCK = 1 << _BLOCK_LOG
_METADATA = 8192
_STORED_BLOCK, _STORED_METADATA = 1 << 24, 1 << 15
_ZLIB = 1
# Nothing is compressed, and there are no fragments and no extended attributes.
_FLAGS = 0x0001 | 0x0002 | 0x0008 | 0x0010 | 0x0200 | 0x0800
_NONE32, _NONE64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
_DIRECTORY, _FILE, _LARGE_FILE = 1, 2, 9
_SUPERBLOCK = struct.Struct("<5I6H8Q")
_INODE = struct.Struct("<4H2I")
_LARGE = struct.Struct("<3Q4I")
_SIZE_AT = 2 + _INODE.size + 8  # of the file, behind the start of the table of inodes
_TABLE_AT = 64  # where the superblock says where that table starts


@contextlib.contextmanager
def squashfs(out: BinaryIO, name: str, epoch: int) -> Iterator[HashingWriter]:
    """What is written to the stream becomes the file `name` in a file system that begins at 0 of `out`."""
    out.write(bytes(_SUPERBLOCK.size))
    stream = HashingWriter(out)
    yield stream
    size = stream.blob.size
    file = _INODE.pack(_LARGE_FILE, 0o644, 0, 0, epoch, 1) + _LARGE.pack(
        _SUPERBLOCK.size, size, 0, 1, _NONE32, 0, _NONE32
    )
    file += b"".join(
        struct.pack("<I", min(_BLOCK, size - at) | _STORED_BLOCK) for at in range(0, size, _BLOCK)
    )
    entry = struct.pack("<3I", 0, 0, 1) + struct.pack("<HhHH", 0, 0, _FILE, len(name) - 1) + name.encode()
    folder = _INODE.pack(_DIRECTORY, 0o755, 0, 0, epoch, 2) + struct.pack(
        "<2I2HI", 0, 2, len(entry) + 3, 0, 3
    )
    root = (len(file) // _METADATA * (_METADATA + 2)) << 16 | len(file) % _METADATA
    inodes = out.tell()
    out.write(_metadata(file + folder))
    directories = out.tell()
    out.write(_metadata(entry))
    owners = out.tell()
    out.write(_metadata(struct.pack("<I", 0)))
    identities = out.tell()
    out.write(struct.pack("<Q", owners))
    end = out.tell()
    out.seek(0)
    out.write(
        _SUPERBLOCK.pack(
            *(_MAGIC, 2, epoch, _BLOCK, 0),
            *(_ZLIB, _BLOCK_LOG, _FLAGS, 1, 4, 0),
            *(root, end, identities, _NONE64, inodes, directories, _NONE64, _NONE64),
        )
    )
    out.seek(end)


def file_place(package: BinaryIO) -> tuple[int, int]:
    """Where the one file of such a file system begins, and its size in bytes."""
    package.seek(_TABLE_AT)
    (table,) = struct.unpack("<Q", package.read(8))
    package.seek(table + _SIZE_AT)
    (size,) = struct.unpack("<Q", package.read(8))
    return _SUPERBLOCK.size, size


def _metadata(content: bytes) -> bytes:
    """Content in blocks of 8 KiB, each behind its length."""
    pieces = (content[at : at + _METADATA] for at in range(0, len(content), _METADATA))
    return b"".join(struct.pack("<H", len(piece) | _STORED_METADATA) + piece for piece in pieces)
