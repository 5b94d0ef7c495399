"""Streaming, hashing and atomic writing. The only module of hexpack that writes files.

Everything moves in blocks, so memory does not grow with the model. A file appears under its final name
whole or not at all: it is written beside, flushed to disk, and renamed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from packager.errors import InputUnavailable
from packager.model import Frozen

if TYPE_CHECKING:
    from typing_extensions import Buffer

BLOCK = 1 << 20
_FICLONE = 0x40049409  # Linux, <linux/fs.h>: _IOW(0x94, 9, int)


class Blob(Frozen):
    """Content, named by what it is. `sha256` is lower-case hex, `size` is in bytes."""

    sha256: str
    size: int


class HashingWriter:
    """A write-only stream that passes bytes on and knows their digest and length afterwards."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._hash, self._size = out, hashlib.sha256(), 0

    def write(self, data: bytes | memoryview) -> int:
        """Write all of `data`; returns its length."""
        self._hash.update(data)
        self._size += len(data)
        self._out.write(data)
        return len(data)

    def flush(self) -> None:
        """Flush the stream below."""
        self._out.flush()

    @property
    def blob(self) -> Blob:
        """What has been written so far."""
        return Blob(sha256=self._hash.hexdigest(), size=self._size)


class VerifyingReader(io.RawIOBase):
    """Reads a file and checks at its end that the bytes were those of `blob`.

    A file may change between the moment it is judged and the moment it is packed; a package must hold
    what was judged. Raises InputUnavailable from the read that reaches the end.
    """

    def __init__(self, path: Path, blob: Blob) -> None:
        super().__init__()
        self._path, self._blob = path, blob
        self._stream = path.open("rb", buffering=0)
        self._hash, self._size = hashlib.sha256(), 0

    def readable(self) -> bool:
        """Always: this is a reader."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Fill the buffer; 0 at the end, after the check."""
        count = self._stream.readinto(buffer) or 0
        self._hash.update(memoryview(buffer)[:count])
        self._size += count
        at_end = self._size >= self._blob.size
        if at_end and (self._size, self._hash.hexdigest()) != (self._blob.size, self._blob.sha256):
            self._changed()
        if count == 0 and not at_end:
            self._changed()
        return count

    def _changed(self) -> None:
        raise InputUnavailable(
            f"{self._path} changed after it was judged",
            evidence=(f"wanted sha256 {self._blob.sha256}, {self._blob.size} bytes",),
            fix="start again; if nobody wrote to the file, the disk or the store is damaged",
        )

    def close(self) -> None:
        """Close the file below."""
        self._stream.close()
        super().close()


def blocks(stream: BinaryIO, size: int | None = None) -> Iterator[bytes]:
    """Blocks of at most 1 MiB until the end of the stream, or until `size` bytes have come.

    Raises EOFError when the stream ends before `size` bytes.
    """
    left = size
    while left is None or left > 0:
        block = stream.read(BLOCK if left is None else min(BLOCK, left))
        if not block:
            if left is None:
                return
            raise EOFError(f"{left} bytes missing")
        if left is not None:
            left -= len(block)
        yield block


def digest(path: Path) -> Blob:
    """Hash a file in blocks."""
    with path.open("rb") as stream:
        return Blob(sha256=hashlib.file_digest(stream, "sha256").hexdigest(), size=stream.tell())


@contextlib.contextmanager
def written_whole(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """A binary stream whose content becomes `path` when the block ends without an exception.

    The temporary name begins with `.part-`, so that a killed run leaves nothing that looks finished.
    The mode does not depend on the umask.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, beside = tempfile.mkstemp(prefix=".part-", suffix=f"-{path.name}"[-64:], dir=path.parent)
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(beside).chmod(mode)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def insert(stream: BinaryIO, at: int, content: bytes) -> None:
    """Put bytes into a file; what lies behind `at` is moved in blocks, from the end."""
    start = stream.seek(0, os.SEEK_END)
    while start > at:
        size = min(BLOCK, start - at)
        start -= size
        stream.seek(start)
        moved = stream.read(size)
        stream.seek(start + len(content))
        stream.write(moved)
    stream.seek(at)
    stream.write(content)
    stream.seek(0, os.SEEK_END)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 with `\\n` line ends on every host, whole or not at all."""
    with written_whole(path) as stream:
        stream.write(text.encode("utf-8"))


def place(source: Path, destination: Path, mode: int = 0o644) -> None:
    """Make `destination` a copy of `source`, whole or not at all; a clone where the file system has them."""
    with written_whole(destination, mode) as out, source.open("rb") as stream:
        if not _cloned(stream, out):
            shutil.copyfileobj(stream, out, BLOCK)


def lend(source: Path, destination: Path) -> None:
    """Put a file where a tool of ours reads it, in a private folder: as a clone, a hard link, or a copy.

    A hard link is the same file, so it is for readers only and never leaves the private folder: whoever
    wrote to it would write to the store. What a user may come to touch is made by `place`.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    if _clones(source, destination):
        return
    try:
        destination.hardlink_to(source)
    except OSError:  # another file system, one without links, or too many of them
        place(source, destination)


def _clones(source: Path, destination: Path) -> bool:
    with source.open("rb") as stream:
        try:
            with destination.open("xb") as out:
                if _cloned(stream, out):
                    return True
        except FileExistsError:
            return False
    destination.unlink()
    return False


def _cloned(source: BinaryIO, out: BinaryIO) -> bool:
    """Share the blocks of two files until one of them changes: what btrfs, XFS and their like can."""
    try:
        import fcntl

        fcntl.ioctl(out.fileno(), _FICLONE, source.fileno())
    except (ImportError, OSError):
        return False
    return True


@contextlib.contextmanager
def scratch(root: Path, owner: str = "") -> Iterator[Path]:
    """A private folder below `root` that is gone afterwards, whatever happened."""
    root.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix=f".work-{owner}-" if owner else ".work-", dir=root))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def is_plain_relative(name: str) -> bool:
    """Whether a member name stays below the folder it is unpacked to, on every operating system."""
    parts = name.replace("\\", "/").split("/")
    return ":" not in parts[0] and not {"", ".", ".."} & set(parts)
