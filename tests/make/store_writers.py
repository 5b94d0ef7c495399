"""What other processes do to a store in tests. Top-level functions, because processes find them by name."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from packager.errors import HexpackError
from packager.store import Store, key_of

BLOCK = 64 << 10


def content(seed: int, size: int) -> Iterator[bytes]:
    """The same `size` bytes for the same seed, in blocks."""
    block = (seed.to_bytes(8, "big") * (BLOCK // 8))[:BLOCK]
    for start in range(0, size, BLOCK):
        yield block[: min(BLOCK, size - start)]


def add_many(root: Path, seeds: range, size: int) -> list[str]:
    """Add the blobs of these seeds; returns their digests."""
    store = Store(root)
    return [store.add_blocks(content(seed, size)).sha256 for seed in seeds]


def add_forever(root: Path, size: int) -> None:
    """Add blobs and record steps about them until killed."""
    store, seed = Store(root), int.from_bytes(os.urandom(3), "big")
    while True:
        blob = store.add_blocks(content(seed, size))
        store.record("made", key_of({"seed": seed}), blob.model_dump())
        seed += 1


def hold_lock_until_killed(root: Path, key: str, started: str) -> None:
    """Take a step's lock, say so by creating the file `started`, and keep it."""
    with Store(root).lock(key):
        Path(started).touch()
        while True:
            time.sleep(60)


def add_or_say(root: Path, size: int) -> str:
    """Add one blob; returns what a person reads, or `added`."""
    try:
        Store(root).add_blocks(content(1, size))
    except HexpackError as problem:
        return problem.render()
    return "added"
