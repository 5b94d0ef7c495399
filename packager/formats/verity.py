"""The hash tree by which a device checks a file system block by block while it is read.

Source: Linux, Documentation/admin-guide/device-mapper/verity: version 1, SHA-256, blocks of 4 KiB, no
superblock; the top of the tree comes first.
"""

from __future__ import annotations

import hashlib
from typing import BinaryIO

BLOCK = 4096
_DIGEST = 32
_FAN = BLOCK // _DIGEST


def write_tree(out: BinaryIO, size: int, salt: bytes) -> tuple[str, int]:
    """Write the tree of the first `size` bytes behind them; its root in hex, and its own size in bytes.

    `size` is a multiple of 4096, and at least two blocks. One block of each level is in memory.
    """
    tree = _Tree(out, size, salt)
    for at in range(0, size, BLOCK):
        out.seek(at)
        tree.add(0, out.read(BLOCK))
    root = tree.finish()
    out.seek(tree.end)
    return root.hex(), tree.end - size


class _Tree:
    """Levels from the leaves up, each with the digests that fill no block yet."""

    def __init__(self, out: BinaryIO, size: int, salt: bytes) -> None:
        self._out, self._salted = out, hashlib.sha256(salt)
        counts = [-(-(size // BLOCK) // _FAN)]
        while counts[-1] > 1:
            counts.append(-(-counts[-1] // _FAN))
        self._places, self.end = [0] * len(counts), size
        for level in reversed(range(len(counts))):
            self._places[level] = self.end
            self.end += counts[level] * BLOCK
        self._open = [bytearray() for _ in counts]
        self._root = b""

    def add(self, level: int, block: bytes) -> None:
        """A block of the data (level 0) or of the level below."""
        salted = self._salted.copy()
        salted.update(block)
        if level == len(self._open):
            self._root = salted.digest()
            return
        self._open[level] += salted.digest()
        if len(self._open[level]) == BLOCK:
            self._close(level)

    def finish(self) -> bytes:
        """Fill up what is open; the digest of the top block."""
        for level, digests in enumerate(self._open):
            if digests:
                self._close(level)
        return self._root

    def _close(self, level: int) -> None:
        block = bytes(self._open[level]).ljust(BLOCK, b"\0")
        self._open[level].clear()
        self._out.seek(self._places[level])
        self._out.write(block)
        self._places[level] += BLOCK
        self.add(level + 1, block)
