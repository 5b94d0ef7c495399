from __future__ import annotations

import contextlib
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager.errors import InputUnavailable, ManifestError
from packager.files import Blob
from packager.lock import Compile, Entry, Lock
from packager.lock_reading import load as read
from packager.sources import Fetched

A, B, C = "a" * 64, "b" * 64, "c" * 64
MODEL = Entry(origin="path cls.onnx", sha256=A, size=585532)
WHEEL = Entry(origin="wheel models==1.4.4", file="models-1.4.4-py3-none-any.whl", sha256=B, size=14915192)

CONTEXT = Compile(
    target="board",
    soc="qcs9075",
    model=A,
    precision="float",
    inputs=("path cls.onnx",),
    optimization=3,
    vtcm_mb=0,
    hvx_threads=0,
    tools=("onnx 1.19.0", "onnxruntime-qnn 2.7.0"),
    sha256=B,
    size=548864,
    read_soc_model=77,
    read_hexagon=73,
    read_vtcm_mb=8.0,
    read_qairt_build="v2.51.0.260929181845",
    read_graphs=("main",),
)

TEXT = f"""\
# Written by hexpack: what the packages are made of. Commit it; `--locked` refuses anything else.
schema = 2

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
    return read(path)


def test_an_absent_lock_is_empty(path):
    lock = read(path)

    assert lock.entries == ()
    assert lock.pin_for("path cls.onnx") is None


def test_the_file_is_sorted_by_origin_whatever_the_order_of_the_entries(path):
    lock = read(path).merged([WHEEL, MODEL])

    lock.write(path)

    assert path.read_text(encoding="utf-8") == TEXT


def test_what_was_written_is_read_back_and_pins(path):
    read(path).merged([WHEEL, MODEL]).write(path)

    lock = read(path)

    assert lock.entries == (MODEL, WHEEL)
    assert lock.pin_for("wheel models==1.4.4") == B


def test_a_lock_that_says_the_same_is_not_written_again(path):
    load(path, TEXT)
    before = path.stat().st_mtime_ns, path.stat().st_ino

    written = read(path).merged([MODEL]).write(path)

    assert not written
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_merging_replaces_by_origin_and_keeps_the_rest(path):
    changed = MODEL.model_copy(update={"sha256": C})

    lock = load(path, TEXT).merged([changed])

    assert lock.entries == (changed, WHEEL)


def test_a_complete_merge_forgets_inputs_that_the_manifest_no_longer_has(path):
    lock = load(path, TEXT).merged([MODEL], complete=True)

    assert lock.entries == (MODEL,)


COMPILED = f"""
[[compile]]
target = "board"
soc = "qcs9075"
model = "{A}"
precision = "float"
inputs = ["path cls.onnx"]
optimization = 3
vtcm_mb = 0
hvx_threads = 0
tools = ["onnx 1.19.0", "onnxruntime-qnn 2.7.0"]
sha256 = "{B}"
size = 548864
read_soc_model = 77
read_hexagon = 73
read_vtcm_mb = 8.0
read_qairt_build = "v2.51.0.260929181845"
read_graphs = ["main"]
"""


def test_a_context_is_written_with_how_it_was_made_and_what_it_says_and_read_back(path):
    lock = read(path).merged([WHEEL, MODEL], [CONTEXT])

    lock.write(path)

    assert path.read_text(encoding="utf-8") == TEXT + COMPILED
    assert read(path).compiles == (CONTEXT,)
    assert read(path).says(lock)


def test_drift_shows_the_line_of_the_entry_with_carets_and_both_digests(path):
    lock = load(path, TEXT)

    (block,) = lock.drift([MODEL, WHEEL.model_copy(update={"sha256": C, "size": 7})])

    assert block.split("\n") == [
        f"{path}:12:10: wheel models==1.4.4 is another",
        f'   12 | sha256 = "{B}"',
        "      |          " + "^" * 66,
        f"found   sha256 {C}, size 7",
        f"wanted  sha256 {B}, size 14915192",
    ]


def test_drift_finds_its_line_in_a_file_of_another_order(path):
    head, model, wheel = TEXT.split("[[input]]\n")
    lock = load(path, "[[input]]\n".join([head, f"{wheel}\n", model]))

    (block,) = lock.drift([MODEL.model_copy(update={"size": 7})])

    assert block.startswith(f"{path}:13:8: path cls.onnx is another")


@pytest.mark.parametrize(
    ("changed", "line", "found", "wanted"),
    [
        ({"sha256": C}, 25, f"sha256 {C}", f"sha256 {B}"),
        ({"tools": ("onnx 1.20.0",)}, 24, "tools onnx 1.20.0", "tools onnx 1.19.0, onnxruntime-qnn 2.7.0"),
        ({"optimization": 2, "sha256": C}, 21, f"optimization 2, sha256 {C}", f"optimization 3, sha256 {B}"),
        ({"read_vtcm_mb": 4.0}, 29, "read_vtcm_mb 4.0", "read_vtcm_mb 8.0"),
        ({"calibration": C}, 15, f"calibration {C}", "calibration none"),
        ({"read_graphs": ()}, 31, "read_graphs none", "read_graphs main"),
    ],
)
def test_a_context_that_is_made_otherwise_is_drift_with_the_line_of_what_differs(
    path, changed, line, found, wanted
):
    lock = load(path, TEXT + COMPILED)

    (block,) = lock.drift([], [CONTEXT.model_copy(update=changed)])

    first, *_, now, before = block.split("\n")
    assert first.startswith(f"{path}:{line}:")
    assert first.endswith("the context for qcs9075 of board is another")
    assert (now, before) == (f"found   {found}", f"wanted  {wanted}")


def test_an_input_or_a_context_that_the_lock_does_not_know_is_drift(path):
    blocks = load(path, TEXT).drift([Entry(origin="path new.onnx", sha256=C, size=1)], [CONTEXT])

    assert blocks == [
        f"{path}: path new.onnx is not in the lock\nfound   sha256 {C}",
        f"{path}: the context for qcs9075 of board is not in the lock\nfound   sha256 {B}",
    ]


def test_what_a_run_for_one_target_did_not_use_is_no_drift(path):
    assert load(path, TEXT + COMPILED).drift([MODEL]) == []
    assert load(path, TEXT + COMPILED).drift([WHEEL, MODEL], [CONTEXT], complete=True) == []


def test_what_a_whole_run_did_not_use_is_drift_with_its_line(path):
    blocks = load(path, TEXT + COMPILED).drift([MODEL], complete=True)

    assert [block.split("\n")[0] for block in blocks] == [
        f"{path}:10:10: wheel models==1.4.4 is in the lock, and nothing uses it",
        f"{path}:16:10: the context for qcs9075 of board is in the lock, and nothing uses it",
    ]


def test_a_run_for_one_target_keeps_the_contexts_of_the_others_and_forgets_its_own_old_ones(path):
    lock = load(path, TEXT + COMPILED)
    other = CONTEXT.model_copy(update={"target": "phone", "soc": "sm8550"})
    newer = CONTEXT.model_copy(update={"soc": "qcs9100", "sha256": C})

    both = lock.merged([], [other])
    later = both.merged([], [newer])

    assert both.compiles == (CONTEXT, other)
    assert later.compiles == (newer, other)
    assert later.entries == lock.entries
    assert later.merged([MODEL], [newer], complete=True).compiles == (newer,)


def test_a_lock_says_what_a_run_changed_in_it(path):
    older = load(path, TEXT + COMPILED)
    added = Entry(origin="path new.onnx", sha256=C, size=1)

    newer = older.merged([added], [CONTEXT.model_copy(update={"sha256": C})])

    assert newer.changes_since(older) == [
        ("added", "path new.onnx"),
        ("changed", "the context for qcs9075 of board"),
    ]
    assert older.changes_since(newer)[-1] == ("changed", "the context for qcs9075 of board")
    assert ("removed", "path new.onnx") in older.changes_since(newer)
    assert older.changes_since(older) == []


def test_a_lock_of_the_first_schema_still_pins_its_inputs(path):
    lock = load(path, TEXT.replace("schema = 2", "schema = 1"))

    assert lock.pin_for("wheel models==1.4.4") == B
    assert lock.text() == TEXT


def test_a_lock_that_an_editor_saved_on_windows_is_the_same(path):
    path.write_bytes(b"\xef\xbb\xbf" + (TEXT + COMPILED).replace("\n", "\r\n").encode())

    assert read(path).says(Lock(entries=(MODEL, WHEEL), compiles=(CONTEXT,)))


def rendered(path, text) -> str:
    with pytest.raises(ManifestError) as raised:
        load(path, text)
    assert "repository" in raised.value.fix
    return raised.value.render().replace(str(path), "app.lock")


@pytest.mark.parametrize(
    ("text", "at", "reason"),
    [
        (TEXT.replace("size = 585532", "size = "), "7:8", "a value is missing here"),
        (TEXT.replace(A, "abc"), "6:10", "sha256: this is no sha256"),
        (TEXT.replace("size = 14915192", 'size = "many"'), "13:8", "size: input should be a valid integer"),
        (TEXT.replace("size = 14915192", "size = -1"), "13:8", "size: input should be greater than"),
        (TEXT.replace('origin = "wheel', 'orign = "wheel'), "10:1", 'unknown key "orign"'),
        (TEXT.replace("wheel models==1.4.4", "path cls.onnx"), "9:1", "is written a second time"),
        (TEXT.replace("schema = 2", "schema = 3"), "2:10", "schema 3 is not known"),
        (TEXT + "[tools]\n", "14:2", 'unknown key "tools"'),
        ("schema = 2\ninput = 3\n", "2:9", "input: input should be a valid tuple"),
        ("schema = 2\ninput = [{}]\n", "2:10", '"origin" is missing here'),
        (TEXT + COMPILED.replace("optimization = 3", "optimization = true"), "21:16", "optimization: "),
        (TEXT + COMPILED + COMPILED, "33:1", "is written a second time"),
    ],
)
def test_a_damaged_lock_is_shown_with_its_line_and_carets(path, text, at, reason):
    said = rendered(path, text)

    assert f"app.lock:{at}: " in said
    assert reason in said
    assert "^" in said


def test_a_misspelt_key_of_the_lock_gets_the_nearest_right_word(path):
    assert 'did you mean "origin"?' in rendered(path, TEXT.replace('origin = "wheel', 'orign = "wheel'))


def test_a_lock_without_its_schema_is_refused(path):
    assert "the lock does not say its schema" in rendered(path, TEXT.replace("schema = 2\n", ""))


def test_a_merge_conflict_is_shown_where_it_begins_with_all_its_lines_and_what_to_do(path):
    ours, theirs = f'sha256 = "{A}"', f'sha256 = "{C}"'
    conflict = f"<<<<<<< HEAD\n{ours}\n=======\n{theirs}\n>>>>>>> feature"

    said = rendered(path, TEXT.replace(ours, conflict))

    assert said.split("\n")[:-1] == [
        "error: app.lock:6:1: a merge left both of its sides here",
        "      6 | <<<<<<< HEAD",
        "        | ^^^^^^^^^^^^ this line marks a conflict, as do lines 8, 10",
        "        | take either side of it, and run `hexpack lock`",
    ]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.integers(0, len(TEXT + COMPILED)))
def test_whatever_stands_in_a_lock_is_read_or_refused_in_words(tmp_path_factory, words, at):
    whole = TEXT + COMPILED
    path = tmp_path_factory.mktemp("lock") / "app.lock"
    path.write_text(whole[:at] + words + whole[at:], encoding="utf-8")

    with contextlib.suppress(ManifestError):
        lock = read(path).merged([MODEL], [CONTEXT])
        lock.write(path)
        assert read(path).says(lock)


def test_a_lock_that_is_no_text_is_a_manifest_error(path):
    path.write_bytes(b"\xff\xfe\x00\x01")

    with pytest.raises(ManifestError, match="not UTF-8"):
        read(path)


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
