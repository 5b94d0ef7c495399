"""A machine that runs out of memory or room in the middle: said in words, and nothing is half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from packager.facts.identify import examine
from packager.facts.types import ArchiveFacts
from packager.files import digest
from packager.store import Store
from tests.integration.program import ROOT
from tests.integration.test_bad_inputs import LIBRARIES, Project

HEXPACK = f"'{sys.executable}' -c 'from packager.commands.program import main; main()'"


@pytest.fixture
def project(tmp_path, runtime_linux, store) -> Project:
    """A project with a store of its own, where only the cross compiler's C library is finished."""
    own = tmp_path / "store"
    own.mkdir()
    (own / "zig").symlink_to(store.root / "zig")
    return Project(tmp_path / "app", {name: runtime_linux[name] for name in LIBRARIES}, own)


def worker_of(process: int) -> int | None:
    """The compiler's worker that this run has started, if one runs now."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            started = b"packager.compilers.ort_worker" in (path / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == process and started:
            return int(path.name)
    return None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for the worker in /proc")
def test_a_compiler_that_the_system_kills_for_its_memory_is_said_to_be_and_the_next_run_works(project):
    process = project.start()
    worker = None
    while worker is None and process.poll() is None:
        worker = worker_of(process.pid)
        time.sleep(0.005)
    assert worker is not None
    os.kill(worker, signal.SIGKILL)
    _, said = process.communicate(timeout=120)

    assert process.returncode == 4, said
    assert "was killed by the operating system (signal 9)" in said
    assert "memory" in said
    assert "--jobs 1" in said
    assert "Traceback" not in said
    assert not list(project.folder.glob("dist/*"))
    assert project.run().returncode == 0


def limited(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script where `folder/small` is a disk of its own, of the size that the script gives it."""
    (folder / "small").mkdir(exist_ok=True)
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    return subprocess.run(
        [*namespace, "bash", "-euc", script],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="session")
def small_disks(tmp_path_factory) -> None:
    """Skips where this user may not mount one."""
    folder = tmp_path_factory.mktemp("mount")
    if limited(folder, "mount -t tmpfs -o size=64k none small").returncode:
        pytest.skip("no file system can be mounted here")


@pytest.mark.usefixtures("small_disks")
@pytest.mark.parametrize("room", ["64k", "400k"])
def test_a_store_whose_disk_fills_up_is_said_to_be_full_and_keeps_only_what_is_whole(
    project, store, tmp_path, room
):
    script = f"""
        mount -t tmpfs -o size={room} none small
        mkdir small/store && ln -s {store.root / "zig"} small/store/zig
        export HEXPACK_STORE=$PWD/small/store
        code=0; {HEXPACK} package --manifest app/app.toml --out app/dist || code=$?
        cp -r small/store/blobs kept 2>/dev/null || mkdir -p kept
        ls -A small/store/tmp > left 2>/dev/null || touch left
        exit $code
    """

    done = limited(tmp_path, script)

    assert done.returncode == 3, done.stderr
    assert "has no room left" in done.stderr
    assert "No space left on device" in done.stderr
    assert "fix: free some space" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(project.folder.glob("dist/*"))
    assert (tmp_path / "left").read_text() == ""
    assert [
        path for path in (tmp_path / "kept").rglob("*") if path.is_file() and digest(path).sha256 != path.name
    ] == []


@pytest.mark.usefixtures("small_disks")
def test_an_output_folder_whose_disk_fills_up_keeps_the_packages_that_it_had(project, tmp_path):
    script = f"""
        mount -t tmpfs -o size=1m none small
        echo older > small/app-1.0.0-linux-arm64-qcs9075.deb
        export HEXPACK_STORE=$PWD/store
        code=0; {HEXPACK} package --manifest app/app.toml --out small || code=$?
        cp -r small kept
        exit $code
    """

    done = limited(tmp_path, script)

    assert done.returncode == 3, done.stderr
    assert "packages cannot be written" in done.stderr
    assert "free some space" in done.stderr
    assert {path.name: path.read_text() for path in (tmp_path / "kept").iterdir()} == {
        "app-1.0.0-linux-arm64-qcs9075.deb": "older\n"
    }
    assert project.run().returncode == 0
    assert all(isinstance(examine(path), ArchiveFacts) for path in (project.folder / "dist").iterdir())
    assert all(
        Store(tmp_path / "store").intact(digest(path)) for path in (tmp_path / "store/blobs").glob("*/*")
    )
