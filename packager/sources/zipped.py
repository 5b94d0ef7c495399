"""Files inside a zip archive that is here: a wheel, or an Android archive."""

from __future__ import annotations

import contextlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from packager.errors import InputUnavailable
from packager.files import Blob
from packager.sources import Fetched, nearest_lines
from packager.store import Store, key_of

_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, OSError)


def file_names(archive: Fetched, store: Store) -> tuple[str, ...]:
    """The names of the files in an archive, in its order. Raises InputUnavailable when it is damaged."""
    with _opened(archive, store) as opened:
        return _files(opened)


def member(archive: Fetched, name: str, store: Store) -> Fetched:
    """One file of an archive, in the store. The second time costs only the proof of its digest.

    Raises InputUnavailable with the nearest name when it is not in the archive, and when that is damaged.
    """
    key = key_of({"archive": archive.blob.sha256, "name": name})
    blob = store.recall_as(Blob, "archive-member", key)
    if blob is None or not store.proved(blob):
        blob = _extract(archive, name, store)
        store.record("archive-member", key, blob.model_dump())
    return Fetched(
        path=store.path(blob.sha256),
        blob=blob,
        origin=f"{archive.origin}: {name}",
        name=name.rpartition("/")[2],
        within=archive,
    )


def _extract(archive: Fetched, name: str, store: Store) -> Blob:
    with _opened(archive, store) as opened:
        if name not in _files(opened):
            raise InputUnavailable(
                f"{archive.origin} holds no file {name}",
                evidence=nearest_lines(name, _files(opened)),
                fix="name a file that is in it",
            )
        info = opened.getinfo(name)
        if info.flag_bits & 1:
            raise zipfile.BadZipFile(f"{name} is encrypted")
        with opened.open(info) as stream:
            return store.add_stream(cast("BinaryIO", stream))


def _files(archive: zipfile.ZipFile) -> tuple[str, ...]:
    return tuple(info.filename for info in archive.infolist() if not info.is_dir())


@contextlib.contextmanager
def _opened(archive: Fetched, store: Store) -> Iterator[zipfile.ZipFile]:
    """The archive as a zip file. A copy in the store that is no longer what was fetched is discarded."""
    try:
        with zipfile.ZipFile(archive.path) as opened:
            yield opened
    except _DAMAGED as problem:
        kept = archive.path == store.path(archive.blob.sha256)
        rotten = kept and not store.intact(archive.blob)
        if rotten:
            store.discard(archive.blob.sha256)
        raise InputUnavailable(
            f"{archive.origin} is damaged",
            evidence=(f"{archive.name}: {problem}",),
            fix="its copy in the store had changed and was removed: run again"
            if rotten
            else "it was published like this: take another version, or fetch it from another index",
        ) from problem
