"""A file of a repository on the Hugging Face hub, at one commit, through the hub's own client.

The client is asked so that the user's configuration holds: HF_ENDPOINT, HF_TOKEN or a stored login, proxies.
"""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

from packager.errors import InputUnavailable, ToolFailed
from packager.files import Blob, digest
from packager.sources import Fetched, Tell, http, not_as_pinned, silent
from packager.store import Store, key_of

_FIX = (
    "check the connection, and the repository, the commit and the path on the hub; for a private one log in "
    "(HF_TOKEN)"
)
_SERVERS_FAULT = 500  # the first status that says so


def origin(repository: str, revision: str, file: str) -> str:
    """How the lock knows the file."""
    return f"huggingface {repository}@{revision}: {file}"


def fetch_hub_file(
    repository: str,
    revision: str,
    file: str,
    *,
    pinned: str | None,
    store: Store,
    offline: bool = False,
    tell: Tell = silent,
) -> Fetched:
    """The file at a commit (40 hex digits), in the store. One that is there already costs no network.

    Raises InputUnavailable when it cannot be had or is another than `pinned`, ToolFailed without the client.
    """
    label = origin(repository, revision, file)
    key = key_of({"origin": label})
    known = store.recall_as(Blob, "huggingface", key)
    if known and store.proved(known):
        _compare(label, known, pinned)
        return _fetched(label, file, known, store)
    if offline:
        raise InputUnavailable(
            f"{label} is not in the store, and offline nothing is fetched",
            evidence=(f"store   {store.root}",),
            fix="run once without --offline",
        )
    with store.lock(key), store.work() as folder:
        tell(f"fetching {label}")
        path = _download(repository, revision, file, folder)
        blob = digest(path)
        _compare(label, blob, pinned)
        store.adopt(path, blob)
        store.record("huggingface", key, blob.model_dump())
    return _fetched(label, file, blob, store)


def _fetched(label: str, file: str, blob: Blob, store: Store) -> Fetched:
    return Fetched(path=store.path(blob.sha256), blob=blob, origin=label, name=file.rpartition("/")[2])


def _compare(label: str, blob: Blob, pinned: str | None) -> None:
    if pinned not in (None, blob.sha256):
        raise not_as_pinned(
            label,
            blob.sha256,
            str(pinned),
            fix="a commit's files never change: correct the pin or the commit",
        )


def _download(repository: str, revision: str, file: str, folder: Path) -> Path:
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # read when the client is imported
    try:
        import huggingface_hub
    except ImportError:
        raise ToolFailed(
            "models from Hugging Face need the hub's client",
            evidence=("the Python package huggingface_hub is not installed",),
            fix='pip install "hexpack[huggingface]"',
        ) from None
    for pause in (*http.WAITS, None):
        try:
            found = huggingface_hub.hf_hub_download(
                repository,
                file,
                revision=revision,
                local_dir=folder,
                endpoint=os.environ.get("HF_ENDPOINT") or None,
            )
            return Path(found).resolve()
        except Exception as problem:  # the client's editions raise those of different HTTP libraries
            if isinstance(problem, OSError) and problem.errno == errno.ENOSPC:
                raise  # the store has words for a full disk
            if pause is None or _is_an_answer(problem):
                raise _not_had(origin(repository, revision, file), problem) from problem
        time.sleep(pause)
    raise AssertionError("the last attempt returns or raises")


def _is_an_answer(problem: Exception) -> bool:
    """Whether the hub refused, rather than was not reached: another attempt gets the same answer."""
    answer = getattr(problem, "response", None)
    return answer is not None and answer.status_code < _SERVERS_FAULT


def _not_had(label: str, problem: Exception) -> InputUnavailable:
    said = str(problem).strip().splitlines() or [type(problem).__name__]
    lines = [line.strip() for line in said if line.strip()][:3]
    return InputUnavailable(f"{label} cannot be had", evidence=lines, fix=_FIX)
