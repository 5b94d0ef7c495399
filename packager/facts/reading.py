"""What the readers share: opening a file, and reading a piece that must be there."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from packager.errors import InputUnavailable, UnreadableFile, nearest

_CANNOT_BE_READ = (errno.EIO, errno.EINVAL, errno.ENXIO, errno.EPERM, errno.EACCES, errno.ESTALE)
MAX_TEXT = 4096  # PATH_MAX; a longer name in a library is no name


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A file open for reading, and its size in bytes. Raises InputUnavailable when it cannot be read."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise _unavailable(path, error) from error
    with stream:
        try:
            size = stream.seek(0, 2)
            stream.seek(0)
            yield stream, size
        except OSError as error:  # a disk that fails, or a file of the system's that is none
            if error.errno not in _CANNOT_BE_READ:
                raise
            raise _unavailable(path, error) from error


def _unavailable(path: Path, error: OSError) -> InputUnavailable:
    return InputUnavailable(
        f"{path} cannot be read",
        evidence=(error.strerror or type(error).__name__,),
        fix="check the path and the permissions",
    )


def is_folder(path: Path) -> bool:
    """Whether there is a folder; not where it lies in one that may not be searched."""
    try:
        return path.is_dir()
    except OSError:
        return False


def check_place(path: Path) -> None:
    """Raise InputUnavailable unless the path is a file or a folder; a device or a pipe would never end."""
    if path.is_file() or path.is_dir():
        return
    if path.exists():
        raise InputUnavailable(
            f"{path} is neither a file nor a folder", fix="name a file, or copy what it yields into one"
        )
    if path.is_symlink():
        raise InputUnavailable(f"{path} is a link that leads nowhere", evidence=(f"to  {path.readlink()}",))
    here = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    close = nearest(path.name, here)
    raise InputUnavailable(
        f"{path} does not exist", evidence=(f'there is "{close}" beside it',) if close else ()
    )


def piece(path: Path, stream: BinaryIO, offset: int, size: int, what: str) -> bytes:
    """Exactly `size` bytes at `offset`. Raises UnreadableFile, naming `what`, when the file ends before.

    `size` must be bounded by the caller.
    """
    if offset > stream.seek(0, 2):  # beyond what a file system can hold, seeking itself fails
        raise UnreadableFile(path, 0, f"the {what} would begin at byte {offset}, after the file's end")
    stream.seek(offset)
    data = stream.read(size)
    if len(data) < size:
        raise UnreadableFile(path, offset + len(data), f"the file ends inside the {what}")
    return data


def must_end_within(path: Path, file_size: int, end: int, what: str) -> None:
    """Raise UnreadableFile at the end of the file when `what` would end after it."""
    if end > file_size:
        raise UnreadableFile(
            path, file_size, f"the file ends here, {what} ends {end - file_size} bytes later"
        )


def content_within(path: Path, limit: int, what: str) -> bytes:
    """All bytes of a small file. Raises UnreadableFile when it is larger than `limit`, as no `what` is."""
    with opened(path) as (stream, size):
        if size > limit:
            raise UnreadableFile(path, limit, f"{size} bytes are no {what}")
        return stream.read(limit)


def decoded(path: Path, content: bytes) -> str:
    """UTF-8 as text, without a mark of byte order. Raises UnreadableFile at the first byte that is none."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(path, error.start, "this byte is not UTF-8") from None


def terminated(data: bytes, start: int = 0) -> str:
    """The text from `start` to the next NUL, the end of the data or MAX_TEXT bytes; not UTF-8 is escaped."""
    end = data.find(b"\0", start, start + MAX_TEXT)
    return data[start : end if end >= 0 else start + MAX_TEXT].decode("utf-8", "backslashreplace")


class Readable(Protocol):
    """Anything that hands out bytes."""

    def read(self, size: int, /) -> bytes: ...


class Slice:
    """The next `size` bytes of a stream, as a stream."""

    def __init__(self, stream: Readable, size: int) -> None:
        self._stream, self._left = stream, size

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes, none at the end of the slice."""
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        return data
