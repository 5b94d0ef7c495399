"""Who uses what in a store: each process names the blobs it relies on, so that nobody clears them away.

A process has a file in `running/` that lists what it uses, and holds a lock beside it as long as it lives;
the system lets go of that lock when the process is killed. So neither a clock nor a process number decides
whether an owner is alive, and stores shared by containers work too.

One gate orders the two sides: a name is written behind it, and things are cleared behind it. Whoever has
written a name and then finds the file will keep it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import filelock


class Lease:
    """What this process uses. Made at the first `hold`; a store that cannot be written has none."""

    def __init__(self, root: Path) -> None:
        self.token = os.urandom(8).hex()
        self._root = root
        self._guard = threading.Lock()
        self._held: set[str] = set()
        self._lock: filelock.BaseFileLock | None = None
        self._list: TextIO | None = None

    def hold(self, name: str) -> None:
        """Say that this process uses a blob (by its sha256) or another thing of the store (by its name)."""
        with self._guard:
            if name in self._held:
                return
            # What cannot be written here cannot be cleared here either, but for a full disk: then the
            # blob that is gone is made again.
            with contextlib.suppress(OSError), gate(self._root):
                if self._list is None:
                    self._begin()
                if self._list is not None:
                    self._list.write(f"{name}\n")
                    self._list.flush()
                    self._held.add(name)

    def begin(self) -> str:
        """The token for the names of temporary files, with the lock behind it held."""
        self.hold("")
        return self.token

    def _begin(self) -> None:
        import filelock

        running = self._root / "running"
        self._lock = filelock.FileLock(running / f"{self.token}.lock", thread_local=False)
        self._lock.acquire()
        self._list = (running / self.token).open("a", encoding="utf-8")
        weakref.finalize(self, _end, self._lock, self._list)


def _end(lock: filelock.BaseFileLock, listed: TextIO) -> None:
    """Take a lease back, when its store is forgotten or the process ends."""
    with contextlib.suppress(OSError):
        listed.close()
        for left in (Path(listed.name), Path(lock.lock_file)):
            left.unlink(missing_ok=True)
    lock.release()


def _gate(root: Path) -> Path:
    return root / "running" / "gate.lock"


@contextlib.contextmanager
def gate(root: Path) -> Iterator[None]:
    """Behind it names are written, or things that nobody has named are cleared. Keep it for moments only."""
    import filelock

    _gate(root).parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(_gate(root)):
        yield


def lives(root: Path, token: str) -> bool:
    """Whether the process of a token is still there."""
    import filelock

    path = root / "running" / f"{token}.lock"
    if not path.exists():
        return False
    try:
        with filelock.FileLock(path, timeout=0):
            return False
    except filelock.Timeout:
        return True


def in_use(root: Path) -> set[str]:
    """What living processes use; call it behind the gate. What dead ones left behind is removed."""
    used: set[str] = set()
    for path in sorted((root / "running").glob("*.lock")):
        token = path.stem
        if path == _gate(root):
            continue
        listed = path.with_suffix("")
        if lives(root, token):
            with contextlib.suppress(OSError):
                used.update(listed.read_text(encoding="utf-8").split())
        else:
            for left in (listed, path):
                left.unlink(missing_ok=True)
    return used
