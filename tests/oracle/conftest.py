"""The tools whose word counts: those that install, list and check packages on real systems."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from packager.bundle import Bundle
from packager.formats import by_id
from packager.plan_model import TargetPlan

Tool = Callable[..., str]


@pytest.fixture
def tool() -> Callable[[str], Tool]:
    """`tool("dpkg-deb")` gives a function that runs it and returns what it printed, warnings included.

    A missing tool fails the test where CI=true, and skips it elsewhere.
    """

    def found(name: str) -> Tool:
        path = shutil.which(name)
        if path is None:
            message = f"{name} is not installed (Debian: apt-get install {PROVIDED_BY.get(name, name)})"
            if os.environ.get("CI") == "true":
                pytest.fail(message)
            pytest.skip(message)
        return lambda *arguments: _run(path, arguments)

    return found


PROVIDED_BY = {
    "dpkg-deb": "dpkg",
    "dpkg": "dpkg",
    "zipinfo": "unzip",
    "unsquashfs": "squashfs-tools",
    "veritysetup": "cryptsetup-bin",
}


def _run(path: str, arguments: tuple[str | Path, ...]) -> str:
    run = subprocess.run(
        [path, *map(str, arguments)],
        env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert run.returncode == 0, f"{path} {arguments}: exit {run.returncode}\n{run.stdout}"
    return run.stdout


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, TargetPlan, Bundle], Path]:
    """Writes a package of a format below `tmp_path` and returns its path."""

    def written(format_id: str, plan: TargetPlan, bundle: Bundle) -> Path:
        path = tmp_path / by_id(format_id).file_name(plan)
        with path.open("w+b") as out:
            by_id(format_id).write(plan, bundle, out, epoch=1_700_000_000)
        return path

    return written
