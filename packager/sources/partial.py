"""What has arrived of a file from the web: kept beside the blobs until it is whole, hashed as it comes."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator

from packager.files import Blob, blocks, write_text
from packager.store import Store

Write = Callable[[bytes], None]


class Part:
    """A file that is arriving, with what its server said that identifies the version.

    Its bytes are hashed while they are written. What an earlier run left, or a disk without room cut short,
    is read once before more is added.
    """

    def __init__(self, store: Store, name: str) -> None:
        folder = store.root / "partial"
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self._note = folder / name, folder / f"{name}.json"
        self._hash, self._hashed = hashlib.sha256(), 0

    @property
    def size(self) -> int:
        """Bytes that are here."""
        return self.path.stat().st_size if self.path.is_file() else 0

    @property
    def blob(self) -> Blob:
        """What is here."""
        self._catch_up()
        return Blob(sha256=self._hash.hexdigest(), size=self._hashed)

    def validator(self, url: str) -> str | None:
        """The ETag or date of the version that has begun to arrive from this address."""
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        known = isinstance(note, dict) and note.get("url") == url and isinstance(note.get("validator"), str)
        return note["validator"] if known else None

    def begin(self, url: str, validator: str | None) -> None:
        """Forget what is here: another version, or one that cannot be told again (None), begins to arrive."""
        self.discard()
        if validator:
            write_text(self._note, json.dumps({"url": url, "validator": validator}))

    @contextlib.contextmanager
    def adding(self) -> Iterator[Write]:
        """Takes further bytes, at the end of those that are here."""
        self._catch_up()
        with self.path.open("ab") as out:

            def write(data: bytes) -> None:
                out.write(data)
                self._hash.update(data)
                self._hashed += len(data)

            yield write

    def discard(self) -> None:
        """Remove it, with what is known of it."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)
        self._hash, self._hashed = hashlib.sha256(), 0

    def _catch_up(self) -> None:
        """Hash what is here and has not passed through `adding`."""
        if self._hashed == self.size:
            return
        self._hash, self._hashed = hashlib.sha256(), 0
        with self.path.open("rb") as stream:
            for block in blocks(stream):
                self._hash.update(block)
                self._hashed += len(block)
