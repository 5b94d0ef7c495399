"""Models of the Qualcomm AI Hub: what a job made, a model by its id, and published models by their name.

Jobs and models are fetched by the Hub's own client, so the user's login and proxies hold. It runs in a
process of its own (`aihub_worker`), which may have another Python. Published models lie on the web.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from packager import catalog
from packager.errors import HexpackError, InputUnavailable, ToolFailed
from packager.files import Blob, digest
from packager.model import Frozen
from packager.sources import Fetched, Surroundings, Tell, nearest_lines, not_as_pinned, not_offline
from packager.sources.http import download_url, fetch_url
from packager.sources.zipped import file_names, member
from packager.store import Store, key_of

PYTHON = "HEXPACK_AIHUB_PYTHON"  # another Python that has the client
STORE = "HEXPACK_AIHUB_STORE"  # another address of the published models: a mirror
POLL = 10.0  # seconds between two questions after a job, as the client's own
_WORKER = Path(__file__).with_name("aihub_worker.py")
_FRAME = " ─│┌┐└┘╭╮╰╯|+-"  # which the client draws around what it says
_QUERY = re.compile(r"\?\S+")  # of an address: it may hold a key
_FIXES = {
    "client": 'pip install "hexpack[aihub]"; or name a Python that has qai_hub in ' + PYTHON,
    "login": "log in once: qai-hub configure --api_token TOKEN (or name the file in QAIHUB_CLIENT_INI)",
    "refused": "look at the job or model in the Hub's web interface",
    "network": "run again when the Hub answers: jobs go on there, and are taken up",
    "failed": "look at the job's log in the Hub's web interface, and change the model or its options",
    "gone": "check the id, and that your login may see it",
}

OnEvent = Callable[[Mapping[str, Any]], None]


class Brought(Frozen):
    """What the Hub gave: a file in the folder that was named, and what the Hub says of it."""

    path: Path
    job: str | None
    metadata: dict[str, str]


class JobGone(InputUnavailable):
    """The Hub knows no such job or model, or shows it to others only."""


def ask(
    request: Mapping[str, Any],
    folder: Path,
    tell: Tell,
    *,
    on: OnEvent | None = None,
    poll: float | None = None,
) -> Brought:
    """Have the client do one thing; its file lands in `folder`, a scratch folder.

    `on` hears of jobs and models that came to be. Raises ToolFailed without the client and where a job
    fails, JobGone for an id that the Hub does not know, InputUnavailable for everything else.
    """
    into, log = folder / "hub", folder / "hub.log"
    into.mkdir()
    words = json.dumps({**request, "into": str(into), "poll": poll or POLL})
    command = (os.environ.get(PYTHON) or sys.executable, "-P", str(_WORKER))
    with log.open("wb") as said:
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)
        except OSError as problem:
            raise _refused("client", f"{command[0]}: {problem.strerror}") from problem
        try:
            event = _listen(process, words, tell, on)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.wait()
    if event is None:
        last = log.read_text("utf-8", errors="replace").strip().splitlines()[-3:]
        raise ToolFailed(
            "the AI Hub's client ended without a word",
            evidence=[f"exit code {process.returncode}", *map(_shown, last)],
            fix="run again; if it stays, reinstall qai-hub",
        )
    if event["event"] == "error":
        raise _refused(event["kind"], event["said"])
    return Brought(path=Path(event["file"]), job=event["job"], metadata=event["metadata"])


def _listen(
    process: subprocess.Popen[bytes], words: str, tell: Tell, on: OnEvent | None
) -> Mapping[str, Any] | None:
    """The last event: done or error; None when the process ended before."""
    stdin, stdout = _pipe(process.stdin), _pipe(process.stdout)
    stdin.write(words.encode())
    stdin.close()
    with stdout:
        for line in stdout:
            event = json.loads(line)
            if event["event"] in ("done", "error"):
                return dict(event)
            if event["event"] == "state":
                tell(f"AI Hub job {event['job']}: {event['state'].lower().replace('_', ' ')}")
            elif event["event"] == "trouble":
                tell(f"the AI Hub does not answer, asking again: {_shown(event['said'])}")
            elif on is not None:
                on(event)
    return None


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("the process was started with pipes")
    return stream


def _refused(kind: str, said: str) -> HexpackError:
    lines = [line for line in map(_shown, said.splitlines()) if line][:3]
    titles = {
        "client": "the AI Hub's client is not installed",
        "login": "the AI Hub knows no login of yours",
        "network": "the AI Hub cannot be reached",
        "failed": "the job at the AI Hub failed",
        "gone": "the AI Hub does not show this job or model",
    }
    what = titles.get(kind, "the AI Hub refused")
    error = {"client": ToolFailed, "failed": ToolFailed, "gone": JobGone}.get(kind, InputUnavailable)
    return error(what, evidence=lines, fix=_FIXES[kind])


def _shown(line: str) -> str:
    return _QUERY.sub("", line).strip(_FRAME)[:300]


def fetch_asset(
    kind: str, identity: str, *, pinned: str | None, around: Surroundings, poll: float | None = None
) -> Fetched:
    """The model that a job made (`kind` is `job`), or a model by its id (`model`), in the store.

    A job that still runs is waited for. Raises what `ask` raises, InputUnavailable for another file than
    `pinned`.
    """
    label = f"aihub {kind} {identity}"
    key, store = key_of({"origin": label}), around.store
    known = store.recall_as(_Kept, "aihub", key)
    if known is None or not store.proved(known.blob):
        if around.offline:
            raise not_offline(label, pinned, store)
        with store.lock(key), store.work() as folder:
            around.tell(f"fetching {label}")
            brought = ask({"do": kind, kind: identity}, folder, around.tell, poll=poll)
            known = _Kept(name=brought.path.name, blob=digest(brought.path))
            _compare(label, known.blob, pinned)
            store.adopt(brought.path, known.blob)
            store.record("aihub", key, known.model_dump())
    _compare(label, known.blob, pinned)
    found = Fetched(path=store.path(known.blob.sha256), blob=known.blob, origin=label, name=known.name)
    return _model_in(found, None, store) if known.name.endswith(".zip") else found


class _Kept(Frozen):
    name: str
    blob: Blob


def fetch_published(
    address: str, label: str, file: str | None, *, pinned: str | None, around: Surroundings
) -> Fetched:
    """The model in a published archive, which the lock pins on first use. Raises InputUnavailable."""
    store, key = around.store, key_of({"origin": label})
    known = store.recall_as(Blob, "aihub-published", key) if pinned is None and around.offline else None
    wanted = pinned or (known.sha256 if known else None)
    if wanted:
        archive = fetch_url(
            address, sha256=wanted, store=store, offline=around.offline, tell=around.tell
        ).model_copy(update={"origin": label})
        return _model_in(archive, file, store)
    if around.offline:
        raise not_offline(label, None, store)
    name = address.rpartition("/")[2]
    with store.lock(key), store.work() as folder:
        around.tell(f"fetching {label}")
        blob = download_url(address, into=folder / name, sha256=None, store=store, tell=around.tell)
        store.adopt(folder / name, blob)
        store.record("aihub-published", key, blob.model_dump())
    archive = Fetched(path=store.path(blob.sha256), blob=blob, origin=label, name=name)
    return _model_in(archive, file, store)


def published_address(model: str, release: str, runtime: str, precision: str, chipset: str | None) -> str:
    """Where a published model lies: the scheme of `targets/aihub.toml`."""
    row = catalog.table("aihub")["store"]
    path = row["path"].format(
        model=model.lower(),
        release=release,
        runtime=runtime,
        precision=precision,
        chipset=f"-{chipset.lower().replace('-', '_')}" if chipset else "",
    )
    return f"{(os.environ.get(STORE) or row['url']).rstrip('/')}/{path}"


def _model_in(archive: Fetched, file: str | None, store: Store) -> Fetched:
    """The named file of an archive, or its only model."""
    if file is not None:
        return member(archive, file, store)
    names = file_names(archive, store)
    patterns = [row["file"] for row in catalog.table("aihub")["runtime"]]
    models = [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if len(models) != 1:
        raise InputUnavailable(
            f"{archive.origin} holds {len(models)} models" if models else f"{archive.origin} holds no model",
            evidence=models[:8] or nearest_lines(patterns[0], names),
            fix='say which with file = "…"' if models else "take another runtime of the model",
        )
    return member(archive, models[0], store)


def _compare(label: str, blob: Blob, pinned: str | None) -> None:
    if pinned not in (None, blob.sha256):
        fix = "the Hub made it anew: name the job or model that was pinned, or pin this one if it is meant"
        raise not_as_pinned(label, blob.sha256, str(pinned), fix=fix)
