"""Clearing a store up and proving it, beside processes that work with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from packager.commands import keeping
from packager.errors import ManifestError
from packager.files import Blob, digest, lend, place
from packager.store import Store
from packager.store_keeping import collect, survey, verify
from packager.store_leases import in_use

ROOT = Path(__file__).parents[2]
DAY = 24 * 3600
KB = 1000


def aged(path: Path, days: float) -> Path:
    then = time.time() - days * DAY
    os.utime(path, (then, then))
    return path


def step(store: Store, word: str, days: float, size: int = 100 * KB, kind: str = "compile") -> Blob:
    """A recorded step with one blob, both last used some days ago."""
    blob = store.add_blocks([(word * size).encode()[:size]])
    store.record(kind, word, {"blob": blob.model_dump()})
    aged(store.path(blob.sha256), days)
    aged(store.root / "steps" / kind / f"{word}.json", days)
    return blob


@pytest.fixture
def store(tmp_path):
    """A store that other processes have filled: nothing of it is in use here."""
    root = tmp_path / "store"
    Store(root).add_blocks([b"the first"])
    return Store(root)


def filled(root: Path) -> list[Blob]:
    maker = Store(root)
    return [step(maker, word, days) for word, days in (("a", 9), ("b", 3), ("c", 6))]


def test_what_was_used_the_longest_time_ago_goes_first_until_the_rest_fits(store):
    oldest, newest, middle = filled(store.root)

    cleared = collect(store, 250 * KB)

    assert store.find(oldest.sha256) is None
    assert store.recall("compile", "a") is None
    assert store.find(middle.sha256)
    assert store.find(newest.sha256)
    assert cleared.left <= 250 * KB
    assert cleared.left == survey(store).size


def test_using_a_step_makes_it_young_again(store):
    oldest, _, middle = filled(store.root)
    user = Store(store.root)
    user.recall("compile", "a")
    user.proved(oldest)
    del user

    collect(store, 250 * KB)

    assert store.find(oldest.sha256)
    assert store.find(middle.sha256) is None


def test_a_blob_that_no_step_names_goes_before_any_step_but_not_without_need(store):
    kept = step(Store(store.root), "a", 20)
    loose = Store(store.root).add_blocks([b"x" * 100 * KB])

    collect(store)
    assert store.path(loose.sha256).exists()
    collect(store, 150 * KB)

    assert not store.path(loose.sha256).exists()
    assert store.path(kept.sha256).exists()


def test_a_blob_that_two_steps_name_goes_with_the_second_of_them(store):
    maker = Store(store.root)
    shared = step(maker, "a", 9)
    maker.record("prove", "b", {"blob": shared.model_dump()})
    aged(store.root / "steps" / "prove" / "b.json", 1)
    younger = step(maker, "c", 5)
    del maker

    collect(store, 150 * KB)

    assert store.path(shared.sha256).exists()
    assert not store.path(younger.sha256).exists()
    assert collect(store, 0).left == 0


HOLD = """
import sys
from pathlib import Path
from packager.store import Store
store = Store(Path(sys.argv[1]))
assert store.find(sys.argv[2])
with store.work() as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_what_a_running_process_uses_stays_whatever_the_limit_and_goes_after_it_was_killed(store):
    used, other, _ = filled(store.root)
    command = [sys.executable, "-c", HOLD, str(store.root), used.sha256]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        work = Path(running.stdout.readline().strip())
        aged(work, 40)
        cleared = collect(store, 0)
        while_it_ran = (store.path(used.sha256).exists(), store.path(other.sha256).exists(), work.exists())
        running.kill()

    after = collect(store, 0)

    assert while_it_ran == (True, False, True)
    assert cleared.in_use >= used.size
    assert not store.path(used.sha256).exists()
    assert not work.exists()
    assert after.left == after.in_use == 0


def test_a_clock_that_jumps_a_year_ahead_takes_nothing_from_a_process_that_works(store, monkeypatch):
    used = filled(store.root)[0]
    worker = Store(store.root)
    now = time.time()
    with worker.work() as folder:
        assert worker.find(used.sha256)
        monkeypatch.setattr(time, "time", lambda: now + 365 * DAY)
        Store(store.root).add_blocks([b"another process, which sweeps"])
        collect(store, 0)

        assert folder.exists()
        assert worker.proved(used)


def test_what_is_from_the_future_begins_to_age_now(store):
    loose = Store(store.root).add_blocks([b"x" * KB])
    path, left = aged(store.path(loose.sha256), -400), store.scratch / "in-1-from-a-wrong-clock"
    left.write_bytes(b"half")
    aged(left, -400)

    collect(store)

    assert path.exists()
    assert left.exists()
    assert abs(path.stat().st_mtime - time.time()) < DAY
    assert abs(left.stat().st_mtime - time.time()) < DAY
    assert all(part.idle >= 0 for part in survey(store).parts)


def test_broken_downloads_wait_a_week_for_being_taken_up(store):
    partial = store.root / "partial"
    partial.mkdir()
    old, young = partial / ("a" * 64), partial / ("b" * 64)
    for path, days in ((old, 8), (young, 6)):
        path.write_bytes(b"half")
        aged(path, days)

    collect(store)

    assert (old.exists(), young.exists()) == (False, True)


def test_a_download_that_somebody_takes_up_again_is_left_alone(store):
    (store.root / "partial").mkdir()
    old = store.root / "partial" / ("a" * 64)
    old.write_bytes(b"half")
    aged(old, 8)

    with Store(store.root).lock("a" * 64):
        collect(store)

    assert old.exists()


def test_the_cache_of_the_cross_compiler_counts_and_goes_when_it_is_the_oldest(store):
    cache = store.root / "zig" / "o" / "abc"
    cache.mkdir(parents=True)
    (cache / "libc.a").write_bytes(b"x" * 300 * KB)
    for path in (cache, cache.parent, store.root / "zig"):
        aged(path, 50)
    young = step(Store(store.root), "a", 1)

    assert {part.kind: part.size for part in survey(store).parts}["zig"] == 300 * KB
    collect(store, 150 * KB)

    assert not (store.root / "zig").exists()
    assert store.path(young.sha256).exists()


def test_the_cache_of_the_cross_compiler_stays_while_somebody_compiles(store):
    (store.root / "zig" / "o").mkdir(parents=True)
    (store.root / "zig" / "o" / "libc.a").write_bytes(b"x" * KB)
    compiling = Store(store.root)
    compiling.hold("zig")

    collect(store, 0)

    assert (store.root / "zig" / "o" / "libc.a").exists()
    assert "zig" in in_use(store.root)


def test_damage_is_found_and_removed_and_nothing_else_is(store):
    sound, bad, _ = filled(store.root)
    store.path(bad.sha256).write_bytes(b"y" * bad.size)
    record = store.root / "steps" / "compile" / "c.json"
    record.write_text("{")

    verified = verify(store)

    assert verified.damaged == (f"blob {bad.sha256}", "record compile/c")
    assert not store.path(bad.sha256).exists()
    assert not record.exists()
    assert store.path(sound.sha256).exists()
    assert verify(store).damaged == ()


def test_a_store_that_is_not_there_is_empty_and_stays_away(tmp_path):
    store = Store(tmp_path / "store")

    assert survey(store).size == 0
    assert verify(store).blobs == 0
    assert not store.root.exists()


@pytest.mark.parametrize(
    ("words", "size"),
    [("5GB", 5 * 10**9), ("800 mb", 8 * 10**8), ("1.5GiB", 3 << 29), ("0", 0), ("12kb", 12000)],
)
def test_a_size_is_read_in_the_units_that_people_write(words, size):
    assert keeping.bytes_of(words) == size


@pytest.mark.parametrize("words", ["", "GB", "5 parsecs", "-1GB", "1e9", "٣GB"])
def test_what_is_no_size_is_said_to_be_none(words):
    with pytest.raises(ManifestError, match="is no size"):
        keeping.bytes_of(words)


def hexpack(store: Store, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from packager.commands.program import main; main()", *arguments],
        cwd=ROOT,
        env=os.environ | {"HEXPACK_STORE": str(store.root)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_shows_clears_and_proves_and_tells_damage_by_its_exit_code(store):
    _, bad, _ = filled(store.root)
    store.path(bad.sha256).write_bytes(b"y" * bad.size)

    damaged = hexpack(store, "store", "--verify")
    cleared = hexpack(store, "store", "--gc", "--max-size", "150kB", "--json")

    assert damaged.returncode == 5
    assert f"blob {bad.sha256} was damaged and is removed" in damaged.stdout
    assert "contexts" in damaged.stdout
    assert cleared.returncode == 0, cleared.stderr
    told = json.loads(cleared.stdout)
    assert told["cleared"]["left"] == told["size"] <= 150 * KB
    assert hexpack(store, "store", "--max-size", "1GB").returncode == 2


def test_a_file_that_was_placed_is_no_part_of_the_store(store, tmp_path):
    blob = store.add_blocks([b"weights"])

    place(store.path(blob.sha256), tmp_path / "dist" / "weights.bin")
    (tmp_path / "dist" / "weights.bin").write_bytes(b"edited!")

    assert store.intact(blob)


def test_a_file_that_is_lent_takes_no_second_room_where_the_file_system_can_help(store, tmp_path):
    blob = store.add_blocks([b"weights"])
    source = store.path(blob.sha256)

    lend(source, tmp_path / "work" / "weights.bin")

    lent = tmp_path / "work" / "weights.bin"
    assert digest(lent) == blob
    assert lent.stat().st_ino == source.stat().st_ino or lent.stat().st_nlink == 1
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["weights.bin"]


def test_a_file_is_lent_as_a_copy_where_there_are_no_links(store, tmp_path, monkeypatch):
    blob = store.add_blocks([b"weights"])
    monkeypatch.setattr(Path, "hardlink_to", lambda *_: (_ for _ in ()).throw(OSError(18, "another device")))

    lend(store.path(blob.sha256), tmp_path / "weights.bin")

    assert digest(tmp_path / "weights.bin") == blob
    assert (tmp_path / "weights.bin").stat().st_ino != store.path(blob.sha256).stat().st_ino
