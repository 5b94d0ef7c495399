"""Wheels: pip fetches, this module keeps and pins."""

from __future__ import annotations

from packager.errors import InputUnavailable
from packager.files import Blob, digest
from packager.model import Frozen
from packager.sources import Fetched, Tell, silent
from packager.sources.pip_download import FIX_ONLINE, WheelRequest, download, wrong_build
from packager.store import Store, key_of


class _Kept(Frozen):
    """What the store remembers of a wheel: its file name and content."""

    name: str
    blob: Blob


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
