from __future__ import annotations

import errno
import hashlib
import io
import os
import time

import pytest

from packager.errors import InputUnavailable
from packager.files import Blob
from packager.model import Frozen
from packager.store import Store, default_root, key_of


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def everything(store):
    """The files of a store but for the marks of those who use it."""
    names = (path.relative_to(store.root).as_posix() for path in store.root.rglob("*") if path.is_file())
    return sorted(name for name in names if not name.startswith("running/"))


def test_a_blob_is_found_under_the_digest_of_its_content(store):
    data = b"weights" * 300_000

    blob = store.add_stream(io.BytesIO(data))

    assert blob == Blob(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    assert store.find(blob.sha256).read_bytes() == data
    assert store.intact(blob)


def test_an_empty_stream_is_a_blob_too(store):
    blob = store.add_blocks([])

    assert blob.size == 0
    assert store.find(blob.sha256, 0).read_bytes() == b""


def test_the_same_content_is_kept_once_and_leaves_no_temporary_file(store, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"model")

    first, second = store.add_file(tmp_path / "model.onnx"), store.add_blocks([b"mod", b"el"])

    assert first == second
    assert everything(store) == [f"blobs/{first.sha256[:2]}/{first.sha256}"]


def test_a_finished_file_in_scratch_becomes_a_blob_without_a_copy(store):
    store.scratch.mkdir(parents=True)
    made = store.scratch / "context.bin"
    made.write_bytes(b"context")
    inode = made.stat().st_ino
    blob = Blob(sha256=hashlib.sha256(b"context").hexdigest(), size=7)

    store.adopt(made, blob)

    assert store.intact(blob)
    assert (store.path(blob.sha256).stat().st_ino, made.exists()) == (inode, False)


@pytest.mark.parametrize("damage", [b"", b"weight", b"weightz"], ids=["emptied", "cut short", "changed"])
def test_a_damaged_blob_is_noticed_and_mended_by_adding_it_again(store, damage):
    blob = store.add_blocks([b"weights"])
    store.path(blob.sha256).write_bytes(damage)
    assert not store.intact(blob)

    store.add_blocks([b"weights"])

    assert store.intact(blob)


def test_a_blob_of_another_size_is_not_found(store):
    blob = store.add_blocks([b"weights"])
    store.path(blob.sha256).write_bytes(b"weight")

    found = store.find(blob.sha256, blob.size)

    assert found is None


def test_a_blob_is_proved_by_its_digest_once_and_a_damaged_one_is_discarded(store):
    good, bad = store.add_blocks([b"weights"]), store.add_blocks([b"biases"])
    store.path(bad.sha256).write_bytes(b"bi4ses")

    assert store.proved(good) == store.path(good.sha256)
    assert store.proved(bad) is None
    assert not store.path(bad.sha256).exists()

    store.path(good.sha256).write_bytes(b"w3ights")
    assert store.proved(good) is not None
    assert Store(store.root).proved(good) is None


def test_work_happens_in_a_private_folder_that_is_gone_afterwards(store):
    with store.work() as first, store.work() as second:
        (first / "context.bin").write_bytes(b"half")
        apart = first != second

    assert apart
    assert list(store.scratch.iterdir()) == []


def test_work_for_which_the_disk_is_too_small_is_explained_and_other_errors_are_not(store):
    with pytest.raises(InputUnavailable, match="has no room left"), store.work():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(FileNotFoundError), store.work() as folder:
        (folder / "absent").read_bytes()


def test_a_discarded_blob_is_gone_and_discarding_it_again_is_nothing(store):
    blob = store.add_blocks([b"weights"])

    store.discard(blob.sha256)
    store.discard(blob.sha256)

    assert store.find(blob.sha256) is None


def test_a_source_that_breaks_leaves_nothing_and_is_not_taken_for_a_full_disk(store):
    def breaking():
        yield b"first"
        raise OSError(5, "Input/output error")

    with pytest.raises(InputUnavailable) as raised:
        store.add_blocks(breaking())

    assert raised.value.what == "an input stopped being readable"
    assert "Input/output error" in raised.value.evidence[0]
    assert everything(store) == []


def test_any_exception_of_the_source_passes_through_and_leaves_nothing(store):
    def breaking():
        yield b"first"
        raise KeyError("a defect of the caller")

    with pytest.raises(KeyError):
        store.add_blocks(breaking())

    assert everything(store) == []


def test_a_step_is_recalled_as_it_was_recorded(store):
    key = key_of({"model": "abc", "soc": 57})

    store.record("compile", key, {"context": "def", "graphs": ["main"]})

    assert store.recall("compile", key) == {"context": "def", "graphs": ["main"]}
    assert store.recall("compile", key_of({"model": "abc", "soc": 43})) is None
    assert store.recall("quantize", key) is None


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b'{"context": '])
def test_a_damaged_record_counts_as_none(store, content):
    store.record("compile", "k", {"context": "def"})
    (record,) = (store.root / "steps" / "compile").iterdir()
    record.write_bytes(content)

    recalled = store.recall("compile", "k")

    assert recalled is None


def test_a_record_of_another_shape_is_no_value_of_the_model(store):
    class Made(Frozen):
        blob: Blob

    store.record("compile", "old", {"file": "context.bin"})
    store.record("compile", "new", {"blob": {"sha256": "ab", "size": 3}})

    assert store.recall_as(Made, "compile", "old") is None
    assert store.recall_as(Made, "compile", "never") is None
    assert store.recall_as(Made, "compile", "new") == Made(blob=Blob(sha256="ab", size=3))


def test_keys_do_not_depend_on_the_order_of_writing_but_on_every_value():
    assert key_of({"a": 1, "b": [1, 2]}) == key_of({"b": [1, 2], "a": 1})
    assert len({key_of(v) for v in ({"a": 1}, {"a": "1"}, {"a": [1]}, {"b": 1}, {"a": None}, {})}) == 6


def test_what_a_killed_run_left_yesterday_is_removed_and_todays_work_is_not(store):
    yesterday = time.time() - 25 * 3600
    store.scratch.mkdir(parents=True)
    old_file, old_folder = store.scratch / "in-1-aa", store.scratch / ".work-xyz"
    old_file.write_bytes(b"half")
    (old_folder / "deep").mkdir(parents=True)
    (old_folder / "deep" / "pip.log").write_bytes(b"")
    (store.scratch / "in-2-bb").write_bytes(b"being written")
    for left in (old_file, old_folder):
        os.utime(left, (yesterday, yesterday))

    Store(store.root).add_blocks([b"anything"])

    assert [path.name for path in store.scratch.iterdir()] == ["in-2-bb"]


def test_a_store_below_a_file_is_refused_with_the_folder_and_the_way_out(tmp_path):
    (tmp_path / "taken").write_bytes(b"")
    store = Store(tmp_path / "taken" / "store")

    with pytest.raises(InputUnavailable) as raised:
        store.add_blocks([b"data"])

    assert str(store.root) in raised.value.what
    assert "cannot be written" in raised.value.what
    assert "HEXPACK_STORE" in raised.value.fix


def test_reading_an_absent_store_writes_nothing(store):
    assert store.find("0" * 64) is None
    assert store.recall("compile", "k") is None
    assert not store.intact(Blob(sha256="0" * 64, size=1))
    assert not store.root.exists()


def test_the_store_is_where_the_environment_says_or_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HEXPACK_STORE", str(tmp_path / "named"))
    named = default_root()
    monkeypatch.delenv("HEXPACK_STORE")

    assert named == tmp_path / "named"
    assert default_root().name == "store"
    assert "hexpack" in default_root().parts
