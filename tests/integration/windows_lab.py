"""hexrun for Windows on x86-64 under Wine, beside the DLLs of several QAIRT releases. Debian's package is wine64.

A test module takes the fixtures with `pytest_plugins = ["windows_lab"]`. Imported by tests before pytest can
rewrite the asserts: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from runner_kit import Ran, compiled, configure

from packager.sources.wheel import fetch_wheel
from packager.sources.zipped import member
from packager.store import Store

FOLDER = "onnxruntime_qnn/libs/amd64"
SYSTEM = "QnnSystem.dll"
BACKEND = "QnnHtp.dll"


class Wheel(NamedTuple):
    """The wheel for Windows on x86-64 that carries a release's libraries, and the build that they name."""

    requirement: str
    sha256: str
    build: str


RELEASES = {
    "2.47": Wheel(
        "onnxruntime-qnn==2.3.0",
        "fc2c05c1599a30dfa5d9840d9946a6921a4fc40917dac341c9b50ac7045a608b",
        "v2.47.0.260601114230",
    ),
    "2.49": Wheel(
        "onnxruntime-qnn==2.5.0",
        "f2692ea6907c8a745ee7bb491f087dee10587078221cc6c927913891ae6cd73f",
        "v2.49.40.260810104044",
    ),
    "2.51": Wheel(
        "onnxruntime-qnn==2.7.0",
        "92ef39a0241fd941b1cb5285a43b8643e3515626eaff7fe7aec186cc9465b411",
        "v2.51.0.260929181845",
    ),
}


class Wine:
    """A Windows of its own: C: and the registry are in `prefix`."""

    def __init__(self, prefix: Path) -> None:
        self.program = shutil.which("wine64") or "/usr/lib/wine/wine64"
        self.system = prefix / "drive_c/windows/system32"
        self.environment = {
            **os.environ,
            "WINEPREFIX": str(prefix),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree,mshtml=",
        }

    def run(
        self, *command: object, cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """A program of Windows, by its path here."""
        return subprocess.run(
            [self.program, *map(str, command)], capture_output=True, encoding="utf-8", errors="replace",
            check=False, timeout=300, cwd=cwd, env={**self.environment, **environment},
        )  # fmt: skip


@pytest.fixture(scope="session")
def wine(tmp_path_factory: pytest.TempPathFactory) -> Wine:
    """Set up once: that takes longer than most of what runs in it."""
    wine = Wine(tmp_path_factory.mktemp("wine") / "prefix")
    assert wine.run("wineboot", "--init").returncode == 0
    return wine


def dll(store: Store, release: str, name: str) -> Path:
    """A library of a release."""
    wheel = RELEASES[release]
    fetched = fetch_wheel(
        wheel.requirement, platform="win_amd64", python="3.11", pinned=wheel.sha256, store=store
    )
    return member(fetched, f"{FOLDER}/{name}", store).path


class Package:
    """A folder as a package has it: hexrun.exe, the DLLs of a release beside it, runner.conf, a model."""

    def __init__(self, root: Path, wine: Wine, store: Store, release: str) -> None:
        self.root, self._wine, self._store = root, wine, store
        root.mkdir(parents=True, exist_ok=True)
        self.program = root / "hexrun.exe"
        shutil.copyfile(compiled(store, "windows-x86_64")[1], self.program)
        for name in (BACKEND, SYSTEM):
            self.put(dll(store, release, name), name)

    def put(self, path: Path, name: str | None = None) -> None:
        """A file, linked where that can be done: backends have 100 MB."""
        place = self.root / (name or path.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        try:
            os.link(path, place)
        except OSError:
            shutil.copyfile(path, place)

    def take(self, release: str, name: str, place: str | None = None) -> None:
        """The library of another release, in place of what is there."""
        self.put(dll(self._store, release, name), place or name)

    def configure(self, variant: str, *lines: str, **replaced: str | None) -> None:
        """A runner.conf of format 2 with names relative to this folder."""
        keys: dict[str, str | None] = {"format": "2", "backend": None, "compute": None, "system": SYSTEM}
        configure(self.root, f"compute npu {BACKEND}", *lines, variant, **(keys | replaced))

    def run(self, *arguments: object, cwd: Path | None = None, **environment: str) -> Ran:
        return Ran(self._wine.run(self.program, *arguments, cwd=cwd or self.root, **environment))
