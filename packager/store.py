"""The content-addressed store: blobs by their sha256, and the results of finished steps by their key.

Everything is written under a temporary name in the store's own `tmp` and renamed, so a killed run leaves
nothing half-written and two processes may write the same blob at once. A step's result is recorded only
after its blobs are in.

What a blob's name promises is checked before the blob is used again: its size always, its digest once per
process (`proved`). A blob that fails is discarded, and the step that made it runs again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from packager.errors import InputUnavailable
from packager.files import Blob, HashingWriter, blocks, digest, scratch, written_whole
from packager.model import Frozen
from packager.store_leases import Lease, lives

Result = TypeVar("Result", bound=Frozen)
_ABANDONED_AFTER = 24 * 3600  # seconds; no step takes that long, so its temporary files have no owner
_WORTH_NOTING = 3600  # seconds: so fine is the order in which things were used
_CLOCK_SLACK = 60  # seconds that clocks of machines which share a store may differ
_OWNER = re.compile(r"(?:in|\.work)-([0-9a-f]{16})-")
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def default_root() -> Path:
    """`HEXPACK_STORE`, or the user's cache folder."""
    named = os.environ.get("HEXPACK_STORE")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("hexpack", appauthor=False)) / "store"


def key_of(value: object) -> str:
    """The digest of a JSON-serialisable value: equal values, equal keys, on every machine."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class Store:
    """A folder of blobs (`blobs/ab/abcd…`) and steps (`steps/<kind>/<key>.json`).

    Reading never writes, so a store may lie on a read-only file system. Methods that write raise
    InputUnavailable when the folder cannot be written or its disk is full.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or default_root()
        self._lease = Lease(self.root)
        self._swept = False
        self._proved: set[str] = set()

    @property
    def scratch(self) -> Path:
        """Where temporary work belongs: the same file system as the blobs."""
        return self.root / "tmp"

    def path(self, sha256: str) -> Path:
        """Where a blob is or would be."""
        return self.root / "blobs" / sha256[:2] / sha256

    def find(self, sha256: str, size: int | None = None) -> Path | None:
        """The blob's file, or None; with `size` (bytes) a file of another size is none."""
        path = self.path(sha256)
        if not path.is_file():
            return None
        self._lease.hold(sha256)  # from here on nobody clears it away; before, somebody may have
        try:
            state = path.stat()
        except OSError:
            return None
        if size not in (None, state.st_size):
            return None
        _used(path, state.st_mtime)
        return path

    def hold(self, name: str) -> None:
        """Say that this process uses a part of the store that is no blob, such as the cache of a tool."""
        self._lease.hold(name)

    def add_stream(self, stream: BinaryIO) -> Blob:
        """Store what a stream yields."""
        return self.add_blocks(blocks(stream))

    def add_blocks(self, data: Iterable[bytes]) -> Blob:
        """Store a sequence of blocks, hashed while they are written.

        A blob that is there already is replaced, which mends one that was damaged.
        """
        with self._writing() as incoming:
            with written_whole(incoming) as out:
                writer = HashingWriter(out)
                for block in _readable(data):
                    writer.write(block)
            self._land(incoming, self.path(writer.blob.sha256), writer.blob)
        return writer.blob

    def add_file(self, path: Path) -> Blob:
        """Store a copy of a file."""
        with path.open("rb") as stream:
            return self.add_stream(stream)

    def adopt(self, path: Path, blob: Blob) -> None:
        """Make a finished file in `scratch` the blob that its digest says; it is gone from there."""
        with self._writing():
            self._land(path, self.path(blob.sha256), blob)

    def intact(self, blob: Blob) -> bool:
        """Whether the blob is here and still has its digest. Reads all of it."""
        path = self.find(blob.sha256, blob.size)
        return path is not None and digest(path) == blob

    def proved(self, blob: Blob) -> Path | None:
        """The blob's file if it still has its digest, which is read once per process; or None.

        A damaged blob is discarded, so that None always means: make it again.
        """
        path = self.find(blob.sha256, blob.size)
        if path and blob.sha256 not in self._proved:
            if digest(path) != blob:
                self.discard(blob.sha256)
                return None
            self._proved.add(blob.sha256)
        return path

    def discard(self, sha256: str) -> None:
        """Forget a blob that turned out to be damaged; the step that made it will run again."""
        with self._writing():
            self.path(sha256).unlink(missing_ok=True)

    def recall(self, kind: str, key: str) -> Any:  # noqa: ANN401 - JSON, whose shape only the step knows
        """The recorded result of a step, or None. A damaged record counts as none."""
        path = self._record_path(kind, key)
        try:
            with path.open(encoding="utf-8") as stream:
                result = json.load(stream)
                _used(path, os.fstat(stream.fileno()).st_mtime)
        except (OSError, ValueError):
            return None
        return result

    def recall_as(self, model: type[Result], kind: str, key: str) -> Result | None:
        """The recorded result as a value of `model`, or None when it cannot be one."""
        try:
            return model.model_validate(self.recall(kind, key))
        except ValueError:
            return None

    def record(self, kind: str, key: str, result: object) -> None:
        """Remember a step's result. Call it only when every blob it names is in the store."""
        with self._writing() as incoming:
            with written_whole(incoming) as out:
                out.write(json.dumps(result, sort_keys=True, indent=1).encode())
            self._land(incoming, self._record_path(kind, key))

    @contextlib.contextmanager
    def work(self) -> Iterator[Path]:
        """A private folder in `scratch`, gone afterwards; a disk that fills up meanwhile is said in words."""
        try:
            with scratch(self.scratch, self._lease.begin()) as folder:
                yield folder
        except OSError as problem:
            if problem.errno not in (*_FULL, errno.EROFS, errno.EACCES):
                raise
            raise self._unwritable(problem) from problem

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Only one process at a time does the step of this key; a killed one lets go of it."""
        import filelock

        with self._writing():
            folder = self.root / "locks"
            folder.mkdir(parents=True, exist_ok=True)
            held = filelock.FileLock(folder / f"{key}.lock")
            held.acquire()
        try:
            yield
        finally:
            held.release()

    def _record_path(self, kind: str, key: str) -> Path:
        return self.root / "steps" / kind / f"{key}.json"

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Path]:
        """A free name in `scratch`, nothing under it afterwards, and OS errors in words."""
        incoming = self.scratch / f"in-{self._lease.token}-{os.urandom(6).hex()}"
        try:
            self.scratch.mkdir(parents=True, exist_ok=True)
            self._lease.begin()
            self._sweep()
            yield incoming
        except OSError as problem:
            raise self._unwritable(problem) from problem
        finally:
            with contextlib.suppress(OSError):
                incoming.unlink(missing_ok=True)

    def _land(self, incoming: Path, final: Path, blob: Blob | None = None) -> None:
        final.parent.mkdir(parents=True, exist_ok=True)
        if blob is not None:
            self._lease.hold(blob.sha256)
        try:
            incoming.replace(final)
        except PermissionError:
            # Windows does not replace a file that another process has open. If it is this very blob,
            # the other process was faster, and nothing is lost.
            if blob is None or not self.intact(blob):
                raise

    def _sweep(self) -> None:
        """Remove what killed runs left in `scratch`, once per process."""
        if self._swept:
            return
        self._swept = True
        for left in self.scratch.iterdir():
            with contextlib.suppress(OSError):  # another process may sweep at the same time
                if idle_seconds(left) > _ABANDONED_AFTER and self.abandoned(left):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()

    def abandoned(self, left: Path) -> bool:
        """Whether the process that made this temporary file is gone, whatever the clock says.

        Of a file that names no process only its age is known.
        """
        owner = _OWNER.match(left.name)
        if owner is None:
            return idle_seconds(left) > _ABANDONED_AFTER
        return not lives(self.root, owner[1])

    def _unwritable(self, problem: OSError) -> InputUnavailable:
        elsewhere = "name another folder in HEXPACK_STORE"
        if problem.errno in _FULL:
            fix = f"free some space or raise the limit there, or {elsewhere}"
            what = f"the store at {self.root} has no room left"
        else:
            fix = f"make the folder writable, or {elsewhere}"
            what = f"the store at {self.root} cannot be written"
        return InputUnavailable(what, evidence=(_said(problem), *self._free()), fix=fix)

    def _free(self) -> Iterator[str]:
        with contextlib.suppress(OSError):
            yield f"free on its disk: {shutil.disk_usage(self.root).free / 1e6:.0f} MB"


def idle_seconds(path: Path) -> float:
    """For how long nothing has used a file. One from the future (the clock was wrong) begins to age now."""
    now, used = time.time(), path.lstat().st_mtime
    if used > now + _CLOCK_SLACK:
        os.utime(path, (now, now), follow_symlinks=False)
    return max(0.0, now - used)


def _used(path: Path, before: float) -> None:
    """Remember the use of a file, once an hour, for those who clear up; a read-only store remembers none."""
    if abs(time.time() - before) > _WORTH_NOTING:
        with contextlib.suppress(OSError):
            os.utime(path)


def _readable(data: Iterable[bytes]) -> Iterator[bytes]:
    """The same blocks; a source that stops being readable is not taken for a full disk."""
    try:
        yield from data
    except OSError as problem:
        raise InputUnavailable(
            "an input stopped being readable", evidence=(_said(problem),), fix="check the disk it lies on"
        ) from problem


def _said(problem: OSError) -> str:
    """The system's sentence and the file it is about."""
    about = f": {problem.filename}" if problem.filename else ""
    return f"{problem.strerror or problem}{about}"
