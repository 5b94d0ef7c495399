"""What is in a store, clearing it up, and proving all of it.

Cleared is first what nobody can want, then what nothing refers to, then the results of steps that were used
the longest time ago. What a living process has named (`store_leases`) stays, whatever the limit.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from packager.files import Blob, digest
from packager.model import Frozen
from packager.store import Store, idle_seconds
from packager.store_leases import gate, in_use

_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_PARTIAL_FOR = 7 * 24 * 3600  # seconds that a broken download waits for being taken up again
_UNUSED_FOR = (
    30 * 24 * 3600
)  # seconds after which a blob that no step names is cleared without being asked to
_NOTHING_NAMES = "unnamed"
_ZIG = "zig"
_READERS = {"facts", "path", "prove", "target"}  # steps that name what others have made


class Part(Frozen):
    """Some part of a store: files, their bytes, and for how many seconds the last used has been idle."""

    kind: str
    files: int
    size: int
    idle: float


class Survey(Frozen):
    """What is in a store, the largest part first."""

    root: str
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """All bytes."""
        return sum(part.size for part in self.parts)


class Cleared(Frozen):
    """What was cleared and what is left, in bytes; `in_use` is what processes keep beyond the limit."""

    files: int
    freed: int
    left: int
    in_use: int


class Verified(Frozen):
    """How many blobs and records were read, and the damaged ones, which are gone now."""

    blobs: int
    records: int
    damaged: tuple[str, ...]


class _Thing(Frozen):
    """A blob, a record, or a folder that is cleared as one."""

    path: Path
    kind: str
    size: int
    idle: float
    names: tuple[str, ...] = ()


def survey(store: Store) -> Survey:
    """What a store holds: blobs by the first kind of step that names them, and all the rest."""
    blobs, records, others = _blobs(store), _records(store), _others(store)
    makers_last = sorted(records, key=lambda record: record.kind not in _READERS)
    kind_of = {name: record.kind for record in makers_last for name in record.names}
    groups: dict[str, list[_Thing]] = {}
    for name, blob in blobs.items():
        groups.setdefault(kind_of.get(name, _NOTHING_NAMES), []).append(blob)
    for thing in (*others, *records):
        kind = "record" if thing in records else thing.kind
        groups.setdefault(kind, []).append(thing)
    parts = (
        Part(
            kind=kind,
            files=len(things),
            size=sum(thing.size for thing in things),
            idle=min(thing.idle for thing in things),
        )
        for kind, things in groups.items()
    )
    return Survey(root=str(store.root), parts=tuple(sorted(parts, key=lambda part: (-part.size, part.kind))))


def collect(store: Store, max_size: int | None = None) -> Cleared:
    """Clear a store up; with `max_size` (bytes) until no more than that is left."""
    clearing = _Clearing(store)
    clearing.leftovers()
    clearing.unnamed(max_size)
    if max_size is not None:
        clearing.steps(max_size)
    return clearing.result(max_size)


def verify(store: Store) -> Verified:
    """Read every blob and record, and remove what is damaged; the steps that made it will run again."""
    damaged = []
    blobs, records = _blobs(store), list((store.root / "steps").glob("*/*.json"))
    for name, blob in blobs.items():
        with contextlib.suppress(FileNotFoundError):  # cleared by another process meanwhile
            if digest(blob.path) != Blob(sha256=name, size=blob.path.stat().st_size):
                damaged.append(f"blob {name}")
                store.discard(name)
    for path in records:
        kind, key = path.parent.name, path.stem
        if path.exists() and store.recall(kind, key) is None:
            damaged.append(f"record {kind}/{key}")
            path.unlink(missing_ok=True)
    return Verified(blobs=len(blobs), records=len(records), damaged=tuple(damaged))


class _Clearing:
    """One clearing up: what is there, and what has gone."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._blobs, self._records, self._others = _blobs(store), _records(store), _others(store)
        everything = (*self._blobs.values(), *self._records, *self._others)
        self._left = sum(thing.size for thing in everything)
        self._files = self._freed = self._kept = 0

    def leftovers(self) -> None:
        """What dead processes left, and downloads that nobody has taken up for a week."""
        for thing in self._others:
            old = thing.kind == "partial" and thing.idle > _PARTIAL_FOR and not self._busy(thing)
            if old or (thing.kind == "temporary" and self._store.abandoned(thing.path)):
                self._clear([thing])

    def unnamed(self, max_size: int | None) -> None:
        """Blobs that no step names, longest unused first."""
        named = {name for record in self._records for name in record.names}
        loose = [blob for name, blob in self._blobs.items() if name not in named]
        for blob in _by_idleness(loose):
            if (max_size is not None and self._left > max_size) or blob.idle > _UNUSED_FOR:
                self._clear([blob])

    def steps(self, max_size: int) -> None:
        """Steps, longest unused first, each with the blobs that only it names; zig's cache is one of them."""
        users: dict[str, int] = {}
        for record in self._records:
            for name in record.names:
                users[name] = users.get(name, 0) + 1
        zig = [thing for thing in self._others if thing.kind == _ZIG]
        for thing in _by_idleness([*self._records, *zig]):
            if self._left <= max_size:
                return
            alone = [self._blobs[name] for name in thing.names if users[name] == 1 and name in self._blobs]
            if self._clear([thing, *alone]):
                for name in thing.names:
                    users[name] -= 1

    def result(self, max_size: int | None) -> Cleared:
        """What has been done."""
        beyond = max_size is not None and self._left > max_size
        return Cleared(
            files=self._files, freed=self._freed, left=self._left, in_use=self._kept if beyond else 0
        )

    def _busy(self, thing: _Thing) -> bool:
        """Whether somebody is fetching into a partial download."""
        import filelock

        held = self._store.root / "locks" / f"{thing.path.name.partition('.')[0]}.lock"
        if thing.kind != "partial" or not held.exists():
            return False
        try:
            with filelock.FileLock(held, timeout=0):
                return False
        except filelock.Timeout:
            return True

    def _clear(self, things: list[_Thing]) -> bool:
        """Remove all of these, or none when a living process uses one of them."""
        with gate(self._store.root):
            used = in_use(self._store.root)
            if any(thing.path.name in used for thing in things):
                self._kept += sum(thing.size for thing in things)
                return False
            for thing in things:
                with contextlib.suppress(OSError):
                    _remove(thing.path)
                    self._files, self._freed = self._files + 1, self._freed + thing.size
                    self._left -= thing.size
        return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _by_idleness(things: Iterable[_Thing]) -> list[_Thing]:
    return sorted(things, key=lambda thing: (-thing.idle, thing.path.name))


def _blobs(store: Store) -> dict[str, _Thing]:
    return {path.name: thing for path in (store.root / "blobs").glob("*/*") for thing in _thing(path, "blob")}


def _records(store: Store) -> list[_Thing]:
    found = []
    for path in sorted((store.root / "steps").glob("*/*.json")):
        for thing in _thing(path, path.parent.name):
            with contextlib.suppress(OSError):
                names = _DIGEST.findall(path.read_text(encoding="utf-8", errors="replace"))
                found.append(thing.model_copy(update={"names": tuple(dict.fromkeys(names))}))
    return found


def _others(store: Store) -> list[_Thing]:
    """Temporary files, broken downloads, and the cross compiler's cache, which is one thing."""
    found = [thing for path in _children(store.scratch) for thing in _thing(path, "temporary")]
    found += [thing for path in _children(store.root / "partial") for thing in _thing(path, "partial")]
    zig = store.root / _ZIG
    if zig.is_dir():
        youngest = min((idle_seconds(path) for path in _children(zig)), default=0.0)
        found += [thing.model_copy(update={"idle": youngest}) for thing in _thing(zig, _ZIG)]
    return found


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _thing(path: Path, kind: str) -> Iterator[_Thing]:
    """The thing at a path, or none when it has just gone."""
    with contextlib.suppress(FileNotFoundError):
        size = _size_below(path) if path.is_dir() else path.lstat().st_size
        yield _Thing(path=path, kind=kind, size=size, idle=idle_seconds(path))


def _size_below(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                size += path.stat().st_size
    return size
