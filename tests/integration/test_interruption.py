"""The store's promises when processes collide, are killed, or run out of room."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from packager.files import digest
from packager.store import Store
from tests.make.store_writers import add_forever, add_many, content, hold_lock_until_killed

ROOT = Path(__file__).parents[2]
SIZE = 3 << 20


@pytest.fixture
def processes():
    """Processes that start at once: the fork server has imported everything already."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.make.store_writers", "filelock"])
    return context


def blobs(store):
    return [path for path in (store.root / "blobs").rglob("*") if path.is_file()]


def child(code, *arguments, **options):
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_many_processes_that_add_the_same_blobs_at_once_all_succeed(tmp_path, processes):
    with ProcessPoolExecutor(6, mp_context=processes) as pool:
        answers = [pool.submit(add_many, tmp_path, range(4), SIZE) for _ in range(6)]
        digests = {tuple(answer.result(timeout=120)) for answer in answers}

    (agreed,) = digests
    assert sorted(path.name for path in blobs(Store(tmp_path))) == sorted(agreed)
    assert all(digest(path).sha256 == path.name for path in blobs(Store(tmp_path)))
    assert list(Store(tmp_path).scratch.iterdir()) == []


def test_a_process_killed_at_any_moment_leaves_only_whole_blobs_and_true_records(tmp_path, processes):
    store, moments = Store(tmp_path), random.Random(20)
    for _ in range(20):
        writer = processes.Process(target=add_forever, args=(tmp_path, SIZE))
        before = len(blobs(store))
        writer.start()
        while len(blobs(store)) == before and writer.is_alive():
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 0.03))
        writer.kill()
        writer.join()
        assert writer.exitcode != 1, "the writer failed by itself"

    assert len(blobs(store)) >= 20
    assert any(store.scratch.iterdir()), "no kill came in the middle of writing"
    assert [path for path in blobs(store) if digest(path).sha256 != path.name] == []
    for record in (tmp_path / "steps" / "made").glob("*.json"):
        recorded = json.loads(record.read_bytes())
        assert store.find(recorded["sha256"], recorded["size"])
    assert store.intact(store.add_blocks(content(1, SIZE)))


def test_what_a_killed_process_left_is_swept_a_day_later(tmp_path, processes):
    store = Store(tmp_path)
    for _ in range(10):
        writer = processes.Process(target=add_forever, args=(tmp_path, SIZE))
        writer.start()
        while not (store.scratch.is_dir() and any(store.scratch.iterdir())) and writer.is_alive():
            time.sleep(0.001)
        writer.kill()
        writer.join()
    left_behind = list(store.scratch.iterdir())
    assert left_behind, "no kill came in the middle of writing"
    yesterday = time.time() - 25 * 3600
    for left in left_behind:
        os.utime(left, (yesterday, yesterday))

    Store(tmp_path).add_blocks([b"the next run"])

    assert list(store.scratch.iterdir()) == []


def test_the_lock_of_a_killed_process_does_not_stop_the_next(tmp_path, processes):
    started = tmp_path / "started"
    holder = processes.Process(target=hold_lock_until_killed, args=(tmp_path, "step", str(started)))
    holder.start()
    while not started.exists() and holder.is_alive():
        time.sleep(0.01)
    holder.kill()
    holder.join()

    with Store(tmp_path).lock("step"):
        taken = True

    assert taken
    assert started.exists()


LIMITED = """
import resource, sys
from pathlib import Path
from tests.make.store_writers import add_or_say
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
print(add_or_say(Path(sys.argv[1]), 5 << 20))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(add_or_say(Path(sys.argv[1]), 5 << 20))
"""


def test_a_file_that_finds_no_room_leaves_nothing_and_says_what_to_do(tmp_path):
    printed = child(LIMITED, str(tmp_path))

    assert f"the store at {tmp_path} has no room left" in printed
    assert "File too large" in printed
    assert "fix: free some space" in printed
    assert printed.endswith("added\n")
    assert [digest(path).sha256 == path.name for path in blobs(Store(tmp_path))] == [True]
    assert list(Store(tmp_path).scratch.iterdir()) == []


UNPRIVILEGED = """
import os, sys
from pathlib import Path
from tests.make.store_writers import add_or_say
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(add_or_say(Path(sys.argv[1]), 100))
"""


def test_a_folder_that_may_not_be_written_is_said_to_be_so():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)

        printed = child(UNPRIVILEGED, folder)

        assert f"the store at {folder} cannot be written" in printed
        assert "Permission denied" in printed
        assert "HEXPACK_STORE" in printed
