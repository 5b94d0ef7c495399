from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager.errors import InputUnavailable, ManifestError
from packager.files import Blob
from packager.lock import Entry, Lock
from packager.sources import Fetched

A, B, C = "a" * 64, "b" * 64, "c" * 64
MODEL = Entry(origin="path cls.onnx", sha256=A, size=585532)
WHEEL = Entry(origin="wheel models==1.4.4", file="models-1.4.4-py3-none-any.whl", sha256=B, size=14915192)

TEXT = f"""\
# Written by hexpack: the inputs of the packages. Commit this file; `--locked` refuses any others.
schema = 1

[[input]]
origin = "path cls.onnx"
sha256 = "{A}"
size = 585532

[[input]]
origin = "wheel models==1.4.4"
file = "models-1.4.4-py3-none-any.whl"
sha256 = "{B}"
size = 14915192
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "app.lock"


def load(path, text):
    path.write_text(text, encoding="utf-8")
    return Lock.load(path)


def test_an_absent_lock_is_empty(path):
    lock = Lock.load(path)

    assert lock.entries == ()
    assert lock.pin_for("path cls.onnx") is None


def test_the_file_is_sorted_by_origin_whatever_the_order_of_the_entries(path):
    lock = Lock.load(path).merged([WHEEL, MODEL])

    lock.write(path)

    assert path.read_text(encoding="utf-8") == TEXT


def test_what_was_written_is_read_back_and_pins(path):
    Lock.load(path).merged([WHEEL, MODEL]).write(path)

    lock = Lock.load(path)

    assert lock.entries == (MODEL, WHEEL)
    assert lock.pin_for("wheel models==1.4.4") == B


def test_a_lock_that_says_the_same_is_not_written_again(path):
    load(path, TEXT)
    before = path.stat().st_mtime_ns, path.stat().st_ino

    written = Lock.load(path).merged([MODEL]).write(path)

    assert not written
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_merging_replaces_by_origin_and_keeps_the_rest(path):
    changed = MODEL.model_copy(update={"sha256": C})

    lock = load(path, TEXT).merged([changed])

    assert lock.entries == (changed, WHEEL)


def test_a_complete_merge_forgets_inputs_that_the_manifest_no_longer_has(path):
    lock = load(path, TEXT).merged([MODEL], complete=True)

    assert lock.entries == (MODEL,)


def test_drift_names_the_line_of_the_entry_and_both_digests(path):
    lock = load(path, TEXT)

    (line,) = lock.drift([MODEL, WHEEL.model_copy(update={"sha256": C, "size": 7})])

    assert line == (
        f"app.lock:9: wheel models==1.4.4 is another: found sha256 {C}, 7 bytes; locked {B}, 14915192 bytes"
    )


def test_an_input_that_the_lock_does_not_know_is_drift(path):
    (line,) = load(path, TEXT).drift([Entry(origin="path new.onnx", sha256=C, size=1)])

    assert line == f"app.lock: path new.onnx is not in the lock, found sha256 {C}"


def test_the_inputs_of_the_lock_are_no_drift_nor_is_one_that_was_not_used(path):
    assert load(path, TEXT).drift([MODEL]) == []
    assert load(path, TEXT).drift([WHEEL, MODEL]) == []


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (TEXT.replace("size = 585532", "size = "), 7, "Invalid value"),
        (TEXT.replace("schema = 1\n", "schema = 1\n<<<<<<< HEAD\n"), 3, "Invalid statement"),
        (TEXT.replace(A, "abc"), 4, "sha256"),
        (TEXT.replace("size = 14915192", 'size = "many"'), 9, "size"),
        (TEXT.replace("size = 14915192", "size = -1"), 9, "size"),
        (TEXT.replace('origin = "wheel', 'orign = "wheel'), 9, "origin"),
        (TEXT.replace("wheel models==1.4.4", "path cls.onnx"), 9, "line 4 already"),
        (TEXT.replace("schema = 1", "schema = 2"), 1, "schema is 2"),
        (TEXT.replace("schema = 1\n", ""), 1, "schema is None"),
        (TEXT + "[tools]\n", 1, "unknown key 'tools'"),
        ("schema = 1\ninput = 3\n", 1, "not a list"),
        ("schema = 1\ninput = [{}]\n", 1, "[[input]]"),
    ],
)
def test_a_damaged_lock_is_a_manifest_error_with_its_line(path, text, line, reason):
    with pytest.raises(ManifestError) as raised:
        load(path, text)

    assert raised.value.what == f"app.lock:{line}: the lock is damaged"
    assert reason in raised.value.evidence[0]
    assert "repository" in raised.value.fix


def test_a_lock_that_is_no_text_is_a_manifest_error(path):
    path.write_bytes(b"\xff\xfe\x00\x01")

    with pytest.raises(ManifestError, match="damaged"):
        Lock.load(path)


def test_a_folder_that_cannot_be_written_is_said_without_a_traceback(tmp_path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(InputUnavailable, match="cannot be written"):
        Lock().merged([MODEL]).write(tmp_path / "file" / "app.lock")


def test_a_file_out_of_a_wheel_is_pinned_by_its_wheel(tmp_path):
    wheel = Fetched(
        path=tmp_path,
        blob=Blob(sha256=B, size=9),
        origin="wheel m==1 (win_arm64)",
        name="m-1-py3-none-win_arm64.whl",
    )
    file = Fetched(
        path=tmp_path,
        blob=Blob(sha256=A, size=3),
        origin=f"{wheel.origin}: m/a.onnx",
        name="a.onnx",
        within=wheel,
    )

    entry = Entry.of(file)

    assert entry == Entry(
        origin="wheel m==1 (win_arm64)", file="m-1-py3-none-win_arm64.whl", sha256=B, size=9
    )


def test_a_file_of_the_users_is_pinned_by_itself(tmp_path):
    entry = Entry.of(Fetched(path=tmp_path, blob=Blob(sha256=A, size=3), origin="path a.onnx", name="a.onnx"))

    assert entry == Entry(origin="path a.onnx", sha256=A, size=3)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 2**62))
def test_any_origin_survives_writing_and_reading(origin, size):
    entry = Entry(origin=origin, sha256=A, size=size)

    text = Lock(entries=(entry,)).text()

    assert tomllib.loads(text)["input"] == [entry.model_dump(exclude_none=True)]
