"""A run that is stopped at any moment leaves whole packages or none, and a store that the next run can use."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time

import pytest
from onnx import helper

from packager.facts.identify import examine
from packager.facts.types import ArchiveFacts, DamagedFacts
from packager.files import digest
from packager.store import Store
from tests.integration.test_bad_inputs import LIBRARIES, Project, save_model


@pytest.fixture
def project(tmp_path, runtime_linux, store) -> Project:
    """A project with a store of its own that has the downloads and the runner, but no finished step."""
    own = tmp_path / "store"
    own.mkdir()
    (own / "zig").symlink_to(store.root / "zig")
    return Project(tmp_path / "app", {name: runtime_linux[name] for name in LIBRARIES}, own)


def stop(project: Project, sign: signal.Signals, after: float) -> tuple[int, str]:
    """Start the main job, signal its whole process group after some seconds, and wait for its end."""
    process = project.start()
    time.sleep(after)
    if process.poll() is None:
        os.killpg(process.pid, sign)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def packages(project: Project) -> list[str]:
    dist = project.folder / "dist"
    return sorted(p.name for p in dist.iterdir() if not p.name.startswith(".")) if dist.exists() else []


def test_a_run_killed_at_any_moment_leaves_nothing_that_looks_finished_and_the_next_one_works(
    project, tmp_path
):
    undisturbed = time.monotonic()
    assert project.run("--out", "first").returncode == 0
    undisturbed = time.monotonic() - undisturbed
    moments = random.Random(51)
    killed = 0

    for number in range(10):
        # Another model each time, so that every step has to be done again.
        save_model(project.folder / "model.onnx", helper.make_node("Relu", ["x"], ["y"], f"cut{number}"))
        code, _ = stop(project, signal.SIGKILL, moments.uniform(0.1, undisturbed))
        killed += code == -signal.SIGKILL
        for name in packages(project):
            assert isinstance(examine(project.folder / "dist" / name), ArchiveFacts)

    assert killed >= 3
    store = Store(tmp_path / "store")
    blobs = [path for path in (store.root / "blobs").rglob("*") if path.is_file()]
    assert blobs
    assert all(digest(path).sha256 == path.name for path in blobs)
    assert project.run().returncode == 0
    assert len(packages(project)) == 2
    assert not list((project.folder / "dist").glob(".hexpack-*"))


def begun(project: Project) -> subprocess.Popen[str]:
    """A run that has said something, so that it is past its start."""
    process = project.start()
    assert process.stderr is not None
    assert "building" in process.stderr.readline()
    time.sleep(0.5)
    return process


def test_ctrl_c_says_so_with_its_own_exit_code_and_leaves_nothing(project):
    process = begun(project)

    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert packages(project) == []
    assert not list(project.folder.glob("dist/.hexpack-*"))


def test_a_cancelled_job_ends_its_compilers_and_cleans_up(project):
    process = begun(project)

    process.terminate()
    _, said = process.communicate(timeout=60)

    assert process.returncode == 143
    assert "interrupted" in said
    assert packages(project) == []
    assert not list((project.folder.parent / "store" / "tmp").glob(".work-*"))


def test_two_runs_at_once_on_one_store_both_finish_with_the_same_bytes(project):
    first, second = project.start("--out", "one"), project.start("--out", "two")

    said = [process.communicate(timeout=300)[1] for process in (first, second)]

    assert [process.returncode for process in (first, second)] == [0, 0]
    assert sum(text.count("compiling for") for text in said) == 1, "a context was compiled twice"
    assert not isinstance(examine(next((project.folder / "one").glob("*.deb"))), DamagedFacts)
    for path in (project.folder / "one").iterdir():
        assert path.read_bytes() == (project.folder / "two" / path.name).read_bytes()
