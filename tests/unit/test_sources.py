from __future__ import annotations

import os
import time
import zipfile

import pytest

from packager import catalog
from packager.errors import InputUnavailable
from packager.files import digest
from packager.plan_model import RuntimePlan, WantedFile
from packager.sources import Fetched
from packager.sources.local import check_unchanged, fetch_path, glob_paths
from packager.sources.runtime_set import fetch_runtime, keys_of
from packager.sources.zipped import file_names, member
from packager.store import Store
from tests.make.wheels import make_wheel


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def base(tmp_path):
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


def refused(call, *arguments, **options):
    with pytest.raises(InputUnavailable) as raised:
        call(*arguments, **options)
    return raised.value


def stored_wheel(store, tmp_path, files):
    """A wheel as it is after fetching."""
    blob = store.add_file(make_wheel(tmp_path, "models", "1.0", files))
    return Fetched(
        path=store.path(blob.sha256),
        blob=blob,
        origin="wheel models==1.0",
        name="models-1.0-py3-none-any.whl",
    )


# Files of the user's


def test_a_users_file_is_used_where_it_is(base, store):
    (base / "cls.onnx").write_bytes(b"model")

    fetched = fetch_path(base / "cls.onnx", base=base, store=store)

    assert (fetched.path, fetched.origin, fetched.name) == (base / "cls.onnx", "path cls.onnx", "cls.onnx")
    assert fetched.blob == digest(base / "cls.onnx")
    assert not store.root.exists()


@pytest.mark.parametrize("written", ["models/cls.onnx", "../app/models/cls.onnx", "./models/cls.onnx"])
def test_a_path_is_taken_relative_to_the_manifest(base, store, written):
    (base / "models").mkdir()
    (base / "models" / "cls.onnx").write_bytes(b"model")

    fetched = fetch_path(base / written, base=base, store=store)

    assert fetched.path.read_bytes() == b"model"
    assert str(base.parent) not in fetched.origin


def test_without_a_base_the_origin_is_the_files_name(base, store):
    (base / "cls.onnx").write_bytes(b"model")

    fetched = fetch_path(base / "cls.onnx", store=store)

    assert fetched.origin == "path cls.onnx"


def test_a_link_is_followed_and_the_origin_says_where_to(base, store, tmp_path):
    (base / "cls-7.onnx").write_bytes(b"seven")
    (base / "cls.onnx").symlink_to("cls-7.onnx")
    (tmp_path / "elsewhere.onnx").write_bytes(b"else")
    (base / "far.onnx").symlink_to(tmp_path / "elsewhere.onnx")

    near, far = (fetch_path(base / name, base=base, store=store) for name in ("cls.onnx", "far.onnx"))

    assert near.origin == "path cls.onnx (a link to cls-7.onnx)"
    assert far.origin == "path far.onnx (a link to elsewhere.onnx)"
    assert near.blob == digest(base / "cls-7.onnx")


def test_a_missing_file_is_refused_with_the_nearest_name_in_its_folder(base, store):
    (base / "cls.onnx").write_bytes(b"")
    (base / "readme.txt").write_bytes(b"")

    error = refused(fetch_path, base / "clss.onnx", base=base, store=store)

    assert error.what == f"there is no file {base / 'clss.onnx'}"
    assert error.evidence == ('nearest: "cls.onnx"',)


@pytest.mark.parametrize("target", ["m.onnx", "gone.onnx"])
def test_a_link_in_a_circle_or_to_nothing_is_called_one(base, store, target):
    (base / "m.onnx").symlink_to(target)

    with pytest.raises(InputUnavailable, match="is a link that leads to no file") as refused:
        fetch_path(base / "m.onnx", base=base, store=store)

    assert refused.value.evidence == (f"to  {target}",)


def test_a_missing_folder_is_said_to_be_missing(base, store):
    error = refused(fetch_path, base / "models" / "cls.onnx", base=base, store=store)

    assert error.evidence == (f"there is no folder {base / 'models'}",)


def test_a_folder_in_place_of_a_file_is_said_to_be_one(base, store):
    error = refused(fetch_path, base, store=store)

    assert "is a folder" in error.what


def test_a_file_of_another_digest_than_the_pinned_is_refused_with_both(base, store):
    (base / "cls.onnx").write_bytes(b"model")
    found = digest(base / "cls.onnx").sha256

    error = refused(fetch_path, base / "cls.onnx", base=base, store=store, pinned="0" * 64)

    assert error.evidence == (f"found   sha256 {found}", f"wanted  sha256 {'0' * 64}")
    assert fetch_path(base / "cls.onnx", base=base, store=store, pinned=found).blob.sha256 == found


def test_a_file_that_changed_or_went_away_after_hashing_is_noticed(base, store):
    (base / "cls.onnx").write_bytes(b"model")
    fetched = fetch_path(base / "cls.onnx", base=base, store=store)
    check_unchanged(fetched)

    (base / "cls.onnx").write_bytes(b"mod3l")
    changed = refused(check_unchanged, fetched)
    (base / "cls.onnx").unlink()
    gone = refused(check_unchanged, fetched)

    assert fetched.blob.sha256 in changed.evidence[0]
    assert gone.evidence[1] == "now     the file is gone"


@pytest.fixture
def large_file(base):
    """A file of 80 MB without content on the disk, last changed a minute ago."""
    path = base / "llm.bin"
    with path.open("wb") as stream:
        stream.truncate(80_000_000)
    a_minute_ago = time.time() - 60
    os.utime(path, (a_minute_ago, a_minute_ago))
    return path


def test_the_digest_of_a_large_file_is_remembered_until_the_file_changes(large_file, base, store):
    first = fetch_path(large_file, base=base, store=store)
    (record,) = (store.root / "steps" / "path").iterdir()
    record.write_text(record.read_text().replace(first.blob.sha256, "f" * 64))

    remembered = fetch_path(large_file, base=base, store=store)
    with large_file.open("r+b") as stream:
        stream.write(b"x")
    changed = fetch_path(large_file, base=base, store=store)

    assert remembered.blob.sha256 == "f" * 64
    assert changed.blob == digest(large_file)


def test_the_digest_of_a_file_that_was_just_written_is_not_remembered(large_file, base, store):
    os.utime(large_file)

    fetch_path(large_file, base=base, store=store)

    assert not (store.root / "steps").exists()


def test_a_pattern_gives_files_in_byte_order_and_no_folders(base):
    for name in ("b.npy", "a.npy", "B.npy", "é.npy", "a10.npy", "a9.npy", "notes.txt"):
        (base / name).write_bytes(b"")
    (base / "folder.npy").mkdir()
    (base / "deep").mkdir()
    (base / "deep" / "c.npy").write_bytes(b"")

    flat = [path.name for path in glob_paths("*.npy", base)]
    absolute = [path.name for path in glob_paths(str(base / "*.npy"), base.parent)]
    deep = [path.relative_to(base).as_posix() for path in glob_paths("**/*.npy", base)]

    assert flat == absolute == ["B.npy", "a.npy", "a10.npy", "a9.npy", "b.npy", "é.npy"]
    assert "deep/c.npy" in deep


@pytest.mark.parametrize(
    ("pattern", "evidence"),
    [
        ("*.npz", 'nearest: "a.npy"'),
        ("a.npz", 'nearest: "a.npy"'),
        ("*.png", "there: a.npy"),
        ("samples/*.npy", "there is no folder"),
    ],
)
def test_a_pattern_that_matches_nothing_is_refused_with_what_is_there(base, pattern, evidence):
    (base / "a.npy").write_bytes(b"")

    error = refused(glob_paths, pattern, base)

    assert error.what == f"no file matches {pattern}"
    assert evidence in error.evidence[1]


# Files in a wheel


def test_a_file_of_a_wheel_is_stored_by_its_content_and_says_where_it_came_from(store, tmp_path):
    wheel = stored_wheel(store, tmp_path, {"models/cls.onnx": b"model" * 1000})

    fetched = member(wheel, "models/cls.onnx", store)

    assert fetched.path.read_bytes() == b"model" * 1000
    assert (fetched.origin, fetched.name) == ("wheel models==1.0: models/cls.onnx", "cls.onnx")
    assert fetched.within == wheel


def test_the_second_time_a_file_of_a_wheel_needs_no_wheel(store, tmp_path):
    wheel = stored_wheel(store, tmp_path, {"models/cls.onnx": b"model"})
    first = member(wheel, "models/cls.onnx", store)
    store.discard(wheel.blob.sha256)

    second = member(wheel, "models/cls.onnx", store)

    assert second == first


@pytest.mark.parametrize("damage", [b"mod", b"mod3l"], ids=["cut short", "changed"])
def test_a_file_of_a_wheel_that_was_damaged_in_the_store_is_taken_out_again(store, tmp_path, damage):
    wheel = stored_wheel(store, tmp_path, {"models/cls.onnx": b"model"})
    member(wheel, "models/cls.onnx", store).path.write_bytes(damage)

    again = member(wheel, "models/cls.onnx", Store(store.root))

    assert again.path.read_bytes() == b"model"


def test_a_file_that_is_not_in_the_wheel_is_refused_with_the_nearest_name(store, tmp_path):
    wheel = stored_wheel(store, tmp_path, {"models/cls.onnx": b"model", "models/det.onnx": b"det"})

    error = refused(member, wheel, "models/clss.onnx", store)

    assert error.what == "wheel models==1.0 holds no file models/clss.onnx"
    assert error.evidence == ('nearest: "models/cls.onnx"',)


def test_a_folder_of_a_wheel_is_no_file(store, tmp_path):
    wheel = stored_wheel(store, tmp_path, {"models/": b"", "models/cls.onnx": b"model"})

    error = refused(member, wheel, "models/", store)

    assert "holds no file models/" in error.what
    assert "models/" not in file_names(wheel, store)


def test_a_wheel_that_was_published_damaged_is_refused_with_the_member(store, tmp_path):
    path = make_wheel(tmp_path, "models", "1.0", {"models/cls.onnx": b"model" * 1000})
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("models/cls.onnx").header_offset + 30 + len("models/cls.onnx")
    data = bytearray(path.read_bytes())
    data[start + 4] ^= 0xFF
    path.write_bytes(data)
    blob = store.add_file(path)
    wheel = Fetched(path=store.path(blob.sha256), blob=blob, origin="wheel models==1.0", name=path.name)

    error = refused(member, wheel, "models/cls.onnx", store)

    assert error.what == "wheel models==1.0 is damaged"
    assert "another version" in error.fix
    assert store.find(blob.sha256)


def test_a_wheel_that_rotted_in_the_store_is_removed_so_that_it_is_fetched_again(store, tmp_path):
    wheel = stored_wheel(store, tmp_path, {"models/cls.onnx": b"model" * 1000})
    wheel.path.write_bytes(wheel.path.read_bytes()[:-30])

    error = refused(file_names, wheel, store)

    assert "run again" in error.fix
    assert store.find(wheel.blob.sha256) is None


# Runtime sets in a folder of the user's

STUB = WantedFile(role="stub", name="libQnnHtpV73Stub.so", folder="lib", machine="host", arch=73)
SKEL = WantedFile(role="skel", name="libQnnHtpV73Skel.so", folder="dsp", machine="hexagon", arch=73)
BACKEND = WantedFile(role="backend", name="libQnnHtp.so", folder="lib", machine="host")
SDK = {
    "lib/aarch64-oe-linux-gcc11.2/libQnnHtp.so": b"linux backend",
    "lib/aarch64-oe-linux-gcc11.2/libQnnHtpV73Stub.so": b"linux stub",
    "lib/aarch64-android/libQnnHtp.so": b"android backend",
    "lib/aarch64-android/libQnnHtpV73Stub.so": b"android stub",
    "lib/hexagon-v73/unsigned/libQnnHtpV73Skel.so": b"skel 73",
    "lib/hexagon-v75/unsigned/libQnnHtpV75Skel.so": b"skel 75",
}


def plan(*files, **options):
    release = next(iter(catalog.releases().values()))
    return RuntimePlan(
        kind="path", release=release, path="sdk", files=files or (BACKEND, STUB, SKEL), **options
    )


def unpack(base, files):
    for name, data in files.items():
        path = base / "sdk" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@pytest.mark.parametrize(
    "folder",
    ["", "onnxruntime_qnn/"],
    ids=["a flat folder", "an unpacked wheel"],
)
def test_a_runtime_set_is_taken_from(base, store, folder):
    unpack(base, {f"{folder}{file.name}": file.name.encode() for file in (BACKEND, STUB, SKEL)})

    files = fetch_runtime(plan(), base=base, store=store)

    assert {name: file.path.read_bytes().decode() for name, file in files.items()} == {
        name: name for name in ("libQnnHtp.so", "libQnnHtpV73Stub.so", "libQnnHtpV73Skel.so")
    }
    assert files["libQnnHtp.so"].origin == f"path sdk/{folder}libQnnHtp.so"


@pytest.mark.parametrize("abi", ["oe-linux-gcc11.2", "android-arm64"])
def test_of_an_sdk_the_toolchain_of_the_abi_is_taken(base, store, abi):
    unpack(base, SDK)
    row = catalog.abi(abi)

    files = fetch_runtime(plan(toolchains=row.aliases), base=base, store=store)

    assert files["libQnnHtp.so"].path.read_bytes() == f"{row.system} backend".encode()
    assert files["libQnnHtpV73Stub.so"].path.read_bytes() == f"{row.system} stub".encode()
    assert files["libQnnHtpV73Skel.so"].path.read_bytes() == b"skel 73"


def test_an_sdk_with_two_toolchains_needs_one_to_be_named(base, store):
    unpack(base, SDK)

    error = refused(fetch_runtime, plan(), base=base, store=store)

    assert "2 files for lib/*/libQnnHtp.so" in error.what
    assert error.evidence == (
        "lib/aarch64-android/libQnnHtp.so",
        "lib/aarch64-oe-linux-gcc11.2/libQnnHtp.so",
    )


def test_every_missing_file_is_named_with_the_nearest_that_is_there(base, store):
    unpack(base, {"libQnnHtp.so": b"", "libQnnHtpV68Stub.so": b"", "libQnnHtpV68Skel.so": b""})

    error = refused(fetch_runtime, plan(), base=base, store=store)

    assert error.what == "folder sdk lacks 2 files that the target needs"
    assert error.evidence == (
        'libQnnHtpV73Stub.so  nearest: "libQnnHtpV68Stub.so"',
        'libQnnHtpV73Skel.so  nearest: "libQnnHtpV68Skel.so"',
    )


def test_the_links_of_an_sdk_are_followed_and_recorded(base, store):
    unpack(base, {"real/libQnnHtp.so.2.51": b"backend"})
    (base / "sdk" / "libQnnHtp.so").symlink_to("real/libQnnHtp.so.2.51")

    files = fetch_runtime(plan(BACKEND), base=base, store=store)

    assert files["libQnnHtp.so"].origin == "path sdk/libQnnHtp.so (a link to sdk/real/libQnnHtp.so.2.51)"


@pytest.mark.parametrize("is_file", [True, False])
def test_a_runtime_folder_that_is_none_is_refused(base, store, is_file):
    if is_file:
        (base / "sdk").write_bytes(b"zip")

    error = refused(fetch_runtime, plan(), base=base, store=store)

    assert error.what == f"there is no folder {base / 'sdk'}"
    assert error.evidence == (("sdk is a file",) if is_file else ())


def test_licences_are_there_by_name_and_two_of_one_name_do_not_collide(base, store):
    licences = ("LICENSE", "third/LICENSE", "third/NOTICE.txt")
    unpack(base, {"libQnnHtp.so": b"", **{name: name.encode() for name in licences}})
    wanted = plan(BACKEND, licences=licences)

    files = fetch_runtime(wanted, base=base, store=store)

    assert keys_of(wanted) == {
        "LICENSE": "LICENSE",
        "third/LICENSE": "third-LICENSE",
        "third/NOTICE.txt": "NOTICE.txt",
    }
    assert {key: files[key].path.read_bytes().decode() for key in keys_of(wanted).values()} == {
        "LICENSE": "LICENSE",
        "third-LICENSE": "third/LICENSE",
        "NOTICE.txt": "third/NOTICE.txt",
    }
