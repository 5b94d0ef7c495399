"""Bundles of the lab: the tree of a package for Linux, which both hexpack and the vendor's libraries judge."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.lab.boards import Kind
from tests.lab.releases import NEWEST, Shelf

MODEL = "share/models/model.bin"
# Older wheels have none.
LICENCES = ("Qualcomm_LICENSE.pdf", "ThirdPartyNotices.txt")
BACKEND, SYSTEM = "lib/libQnnHtp.so", "lib/libQnnSystem.so"


def stub(hexagon: int) -> str:
    """The path of a stub in a bundle."""
    return f"lib/libQnnHtpV{hexagon}Stub.so"


def skel(hexagon: int) -> str:
    """The path of a skel in a bundle."""
    return f"dsp/libQnnHtpV{hexagon}Skel.so"


class Bundle:
    """One tree, free to be spoilt. It shares the bytes of the shelf's files until they are replaced."""

    def __init__(self, root: Path, shelf: Shelf) -> None:
        self.root, self.shelf = root, shelf

    @classmethod
    def sound(cls, root: Path, shelf: Shelf, release: str, kind: Kind, context: Path | None) -> Bundle:
        """What a board of this kind needs to run a context, all of one release."""
        bundle = cls(root, shelf)
        for place in (BACKEND, SYSTEM, stub(kind.hexagon), skel(kind.hexagon)):
            bundle.take(release, place)
        bundle.put(shelf.hexrun(), "bin/hexrun", executable=True)
        (root / "share/models").mkdir(parents=True)
        for name in LICENCES:
            bundle.take(NEWEST, f"share/licenses/{name}")
        if context is not None:
            bundle.put(context, MODEL)
            bundle.configure(kind, asset="context=models/model.bin")
        return bundle

    def configure(self, kind: Kind, *, asset: str, prepare: str | None = None) -> None:
        """Write the runner's configuration for this board's SoC."""
        lines = [
            "format 2",
            "package lab 1.0.0",
            "system ../lib/libQnnSystem.so",
            "dsp ../dsp",
            "simulator no",
        ]
        lines += ["compute npu ../lib/libQnnHtp.so", "power burst", "rpc_latency_us 100"]
        lines += [f"prepare {prepare}"] if prepare else []
        variant = f"soc={kind.soc} soc_model={kind.soc_model} accepts=- hexagon={kind.hexagon} vtcm_mb=8"
        lines += [f"variant {variant} linux_soc_ids={kind.soc_id} {asset}", ""]
        (self.root / "share/runner.conf").write_text("\n".join(lines))

    def take(self, release: str, place: str, name: str | None = None) -> None:
        """A library of a release at a path, by default the one of that name."""
        self.put(self.shelf.library(release, name or place.rpartition("/")[2]), place)

    def put(self, source: Path, place: str, *, executable: bool = False) -> None:
        """A file from elsewhere at a path below the root, in place of what may be there."""
        target = self._free(place)
        if executable:
            shutil.copyfile(source, target)
            target.chmod(0o755)
            return
        try:
            os.link(source, target)
        except OSError:  # another disk
            shutil.copyfile(source, target)

    def change(self, place: str, spoil: Callable[[bytes], bytes]) -> None:
        """Give a file other bytes, made of those that it has."""
        content = spoil((self.root / place).read_bytes())
        self._free(place).write_bytes(content)

    def drop(self, place: str) -> None:
        """Remove a file."""
        (self.root / place).unlink()

    def move(self, place: str, to: str) -> None:
        """Give a file another path."""
        (self.root / place).rename(self._free(to))

    def _free(self, place: str) -> Path:
        target = self.root / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        return target
