"""The content-addressed store: blobs by their sha256, and the results of finished steps by their key.

Blobs are written under a temporary name and renamed, so a killed run leaves nothing half-written and two
processes may write the same blob at once. A step's result is recorded only after its blobs are in.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

from packager.files import Blob, HashingWriter, blocks, digest, written_whole


def default_root() -> Path:
    """`HEXPACK_STORE`, or the user's cache folder."""
    named = os.environ.get("HEXPACK_STORE")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("hexpack", appauthor=False)) / "store"


def key_of(value: Any) -> str:
    """The digest of a JSON-serialisable value: equal values, equal keys, on every machine."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class Store:
    """A folder of blobs (`blobs/ab/abcd…`) and steps (`steps/<kind>/<key>.json`)."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or default_root()

    @property
    def scratch(self) -> Path:
        """Where temporary work belongs: the same file system as the blobs."""
        return self.root / "tmp"

    def path(self, sha256: str) -> Path:
        """Where a blob is or would be."""
        return self.root / "blobs" / sha256[:2] / sha256

    def find(self, sha256: str) -> Path | None:
        """The blob's file, or None."""
        path = self.path(sha256)
        return path if path.is_file() else None

    def add_stream(self, stream: BinaryIO) -> Blob:
        """Store what a stream yields."""
        return self.add_blocks(blocks(stream))

    def add_blocks(self, data: Iterable[bytes]) -> Blob:
        """Store a sequence of blocks, hashed while they are written."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        incoming = self.scratch / f"in-{os.getpid()}-{os.urandom(6).hex()}"
        try:
            with written_whole(incoming) as out:
                writer = HashingWriter(out)
                for block in data:
                    writer.write(block)
            final = self.path(writer.blob.sha256)
            final.parent.mkdir(parents=True, exist_ok=True)
            incoming.replace(final)
        finally:
            incoming.unlink(missing_ok=True)
        return writer.blob

    def add_file(self, path: Path) -> Blob:
        """Store a copy of a file."""
        with path.open("rb") as stream:
            return self.add_stream(stream)

    def intact(self, blob: Blob) -> bool:
        """Whether the blob is here and still has its digest."""
        path = self.find(blob.sha256)
        return path is not None and path.stat().st_size == blob.size and digest(path) == blob

    def recall(self, kind: str, key: str) -> Any | None:
        """The recorded result of a step, or None. A damaged record counts as none."""
        try:
            return json.loads((self.root / "steps" / kind / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def record(self, kind: str, key: str, result: Any) -> None:
        """Remember a step's result. Call it only when every blob it names is in the store."""
        with written_whole(self.root / "steps" / kind / f"{key}.json") as out:
            out.write(json.dumps(result, sort_keys=True, indent=1).encode())
