"""Finished packages, unpacked, and the files to spoil them with: all of them genuine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from packager import catalog
from packager.audit import audit
from packager.inference import Asks

# SoC and ABI of each tree, and the package of the example that it is unpacked from.
TREES = {
    "linux": ("qcs9075", "oe-linux-gcc11.2", "text-direction-1.0.0-linux-arm64-qcs9075.tar.zst"),
    "windows": ("x-elite", "windows-arm64", "text-direction-1.0.0-windows-arm64.zip"),
}


class Spares(NamedTuple):
    """Files that do not belong into a tree, by name: of another system, release, architecture or SoC."""

    linux: Mapping[str, Path]
    windows: Mapping[str, Path]
    simulator: Mapping[str, Path]
    older: Mapping[str, Path]
    contexts: Mapping[str, Path]


class Tree:
    """One copy of an unpacked package, free to be spoilt. The original shares its bytes, never its files."""

    def __init__(self, root: Path, spares: Spares) -> None:
        self.root, self.spares = root, spares

    def path(self, name: str) -> Path:
        """The only file of that name."""
        (found,) = self.root.rglob(name)
        return found

    def write(self, name: str, content: bytes) -> None:
        """Give a file other bytes."""
        path = self.path(name)
        path.unlink()
        path.write_bytes(content)

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return self.path(name).read_bytes()

    def put(self, source: Path, place: str) -> None:
        """A file from elsewhere at a path below the root, in place of what may be there."""
        target = self.root / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target)

    def replace(self, name: str, source: Path) -> None:
        """Another file under the name of this one."""
        self.put(source, str(self.path(name).relative_to(self.root)))

    def drop(self, name: str) -> None:
        """Remove a file."""
        self.path(name).unlink()

    def move(self, name: str, place: str) -> None:
        """Give a file another path below the root."""
        target = self.root / place
        target.parent.mkdir(parents=True, exist_ok=True)
        self.path(name).rename(target)


def originals_of(dist: Path, work: Path) -> dict[str, Path]:
    """The trees, unpacked from the example's packages in `dist`."""
    return {name: unpacked(dist / package, work / name) for name, (_, _, package) in TREES.items()}


def spares_of(dist: Path, work: Path, runtimes: Sequence[Mapping[str, Path]]) -> Spares:
    """Spare parts: device libraries for Linux, Windows and the simulator, of QAIRT 2.48, and all contexts."""
    trees = [
        unpacked(dist / name, work / f"spare-{number}")
        for number, name in enumerate(sorted(path.name for path in dist.iterdir() if path.suffix != ".deb"))
    ]
    contexts = {path.name: path for tree in trees for path in tree.rglob("*.bin")}
    return Spares(*runtimes, contexts)


def rules_of(root: Path, tree: str) -> set[str]:
    """The rules that have something to say about a tree."""
    return {finding.rule for one in audit(root, asks_of(tree)).sets for finding in one.findings}


def asks_of(tree: str) -> Asks:
    """What the tree is meant for."""
    soc, abi, _ = TREES[tree]
    return Asks(socs=(catalog.soc(soc),), abi=catalog.abi(abi))


def unpacked(package: Path, root: Path) -> Path:
    """The tree of a package."""
    root.mkdir(parents=True)
    if package.suffix == ".zip":
        subprocess.run(["unzip", "-q", str(package), "-d", str(root)], check=True)
    else:
        subprocess.run(["tar", "--zstd", "-xf", str(package), "-C", str(root)], check=True)
    return root


def copied(original: Path, root: Path) -> Path:
    """A copy that shares the bytes of files until they are replaced."""
    shutil.copytree(original, root, copy_function=os.link, symlinks=True)
    return root
