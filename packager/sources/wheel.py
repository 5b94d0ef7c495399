"""Wheels and the files in them. pip fetches; this module keeps, pins and unpacks."""

from __future__ import annotations

import contextlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

from packager.errors import InputUnavailable
from packager.files import Blob, digest
from packager.model import Frozen
from packager.sources import Fetched, Tell, nearest_lines, silent
from packager.sources.pip_download import FIX_ONLINE, WheelRequest, download, wrong_build
from packager.store import Store, key_of


class _Kept(Frozen):
    """What the store remembers of a wheel: its file name and content."""

    name: str
    blob: Blob


_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, OSError)


def fetch_wheel(
    requirement: str,
    *,
    platform: str | None = None,
    python: str | None = None,
    pinned: str | None = None,
    store: Store,
    offline: bool = False,
    tell: Tell = silent,
) -> Fetched:
    """The wheel of an exact requirement (`name==version`), in the store.

    `platform` is a wheel platform tag and `python` an interpreter version (`3.11`), for wheels of other
    machines than this one. A wheel whose pinned sha256 is in the store costs no process and no network;
    without a pin pip is always asked, unless `offline`.

    Raises InputUnavailable when there is no such wheel, no network, or another digest than `pinned`.
    """
    request = WheelRequest(requirement=requirement, platform=platform, python=python, pinned=pinned)
    here = _in_store(request, store, any_answer=offline)
    if here:
        return here
    if offline:
        raise InputUnavailable(
            f"wheel {request.label} is not in the store, and offline nothing is fetched",
            evidence=(
                f"wanted  sha256 {pinned}" if pinned else "no sha256 is pinned",
                f"store   {store.root}",
            ),
            fix=FIX_ONLINE,
        )
    with store.lock(_request_key(request)):
        # Another process may have fetched it while this one waited for the lock.
        return _in_store(request, store, any_answer=False) or _fetch(request, store, tell)


def file_names(wheel: Fetched, store: Store) -> tuple[str, ...]:
    """The names of the files in a wheel, in its order. Raises InputUnavailable when it is damaged."""
    with _opened(wheel, store) as archive:
        return _files(archive)


def member(wheel: Fetched, name: str, store: Store) -> Fetched:
    """One file of a wheel, in the store. The second time costs only the proof of its digest.

    Raises InputUnavailable with the nearest name when it is not in the wheel, and when it is damaged.
    """
    key = key_of({"wheel": wheel.blob.sha256, "name": name})
    blob = store.recall_as(Blob, "wheel-member", key)
    if blob is None or not store.proved(blob):
        blob = _extract(wheel, name, store)
        store.record("wheel-member", key, blob.model_dump())
    return Fetched(
        path=store.path(blob.sha256),
        blob=blob,
        origin=f"{wheel.origin}: {name}",
        name=name.rpartition("/")[2],
        within=wheel,
    )


def _fetch(request: WheelRequest, store: Store, tell: Tell) -> Fetched:
    tell(f"fetching wheel {request.label}")
    with store.work() as folder:
        path = download(request, folder, tell)
        name, blob = path.name, digest(path)
        if request.pinned not in (None, blob.sha256):
            raise wrong_build(request, blob.sha256, str(request.pinned), name)
        store.adopt(path, blob)
    kept = _Kept(name=name, blob=blob)
    store.record("wheel", blob.sha256, kept.model_dump())
    store.record("wheel-request", _request_key(request), kept.model_dump())
    tell(f"fetched {name}, {blob.size / 1e6:.1f} MB")
    return _as_fetched(request, kept, store)


def _in_store(request: WheelRequest, store: Store, *, any_answer: bool) -> Fetched | None:
    """The pinned wheel if it is here; without a pin, the answer to an earlier request if any will do."""
    kept = None
    if request.pinned:
        kept = store.recall_as(_Kept, "wheel", request.pinned)
    elif any_answer:
        kept = store.recall_as(_Kept, "wheel-request", _request_key(request))
    if kept is None or not store.find(kept.blob.sha256, kept.blob.size):
        return None
    return _as_fetched(request, kept, store)


def _as_fetched(request: WheelRequest, kept: _Kept, store: Store) -> Fetched:
    path = store.path(kept.blob.sha256)
    return Fetched(path=path, blob=kept.blob, origin=request.origin, name=kept.name)


def _request_key(request: WheelRequest) -> str:
    return key_of(request.model_dump(exclude={"pinned"}))


def _extract(wheel: Fetched, name: str, store: Store) -> Blob:
    with _opened(wheel, store) as archive:
        if name not in _files(archive):
            raise InputUnavailable(
                f"{wheel.origin} holds no file {name}",
                evidence=nearest_lines(name, _files(archive)),
                fix="name a file that is in the wheel",
            )
        info = archive.getinfo(name)
        if info.flag_bits & 1:
            raise zipfile.BadZipFile(f"{name} is encrypted")
        with archive.open(info) as stream:
            return store.add_stream(cast("BinaryIO", stream))


def _files(archive: zipfile.ZipFile) -> tuple[str, ...]:
    return tuple(info.filename for info in archive.infolist() if not info.is_dir())


@contextlib.contextmanager
def _opened(wheel: Fetched, store: Store) -> Iterator[zipfile.ZipFile]:
    """The wheel as a zip file. A copy in the store that is no longer what was fetched is discarded."""
    try:
        with zipfile.ZipFile(wheel.path) as archive:
            yield archive
    except _DAMAGED as problem:
        rotten = not store.intact(wheel.blob)
        if rotten:
            store.discard(wheel.blob.sha256)
        raise InputUnavailable(
            f"{wheel.origin} is damaged",
            evidence=(f"{wheel.name}: {problem}",),
            fix="its copy in the store had changed and was removed: run again"
            if rotten
            else "it was published like this: take another version, or fetch it from another index",
        ) from problem
