"""What the package writers promise: names, owners, times, order, and the same bytes everywhere."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from packager import catalog
from packager.bundle import Bundle
from packager.errors import InputUnavailable, ManifestError
from packager.formats import by_id
from packager.formats.members import Member, in_order, members_below
from packager.formats.tar_stream import write_tar, zstd_frame
from packager.plan_model import TargetPlan
from tests.make.bundle import TREE, bundle_file, target_plan, whole_bundle
from tests.make.unpack import (
    package_bytes,
    tar_infos,
    tar_tree,
    unzstd,
)

EPOCH = 1_700_000_000
OF_ANDROID = ("adb", "aar", "apk", "aipack")  # other trees than Linux has; tests/oracle/test_a*_oracle.py
FORMATS = (
    "tar.gz",
    "tar.zst",
    "deb",
    "ipk",
    "rpm",
    "zip",
    "oci",
    "compose",
    "yocto",
    "swu",
    "mender",
    "rauc",
)
OF_WINDOWS = ("nupkg", "msix")
EXTENSIONS = {"oci": ".oci.tar", "compose": "-compose.tar", "yocto": "-meta.tar.gz", "rauc": ".raucb"}


@pytest.fixture
def plan() -> TargetPlan:
    own = {"oci": {"repository": "registry.example.com/td"}, "machines": {"qcs9075": ("evk",)}}
    return target_plan(formats=FORMATS, own=own)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return whole_bundle(tmp_path)


def test_there_is_a_writer_for_every_format_that_the_table_does_not_put_off():
    ready = {row.id for row in catalog.formats().values() if row.systems}

    assert ready == {*FORMATS, *OF_ANDROID, *OF_WINDOWS}
    assert all(callable(by_id(format_id).write) for format_id in ready)


def test_a_format_without_a_writer_is_refused_with_the_nearest_one():
    with pytest.raises(ManifestError) as refused:
        by_id("tar.zts")

    assert refused.value.evidence == ('did you mean "tar.zst"?',)


@pytest.mark.parametrize("format_id", FORMATS)
def test_the_file_name_is_the_one_that_was_planned(format_id, plan):
    assert (
        by_id(format_id).file_name(plan)
        == f"text-direction-1.2.0-linux-arm64{EXTENSIONS.get(format_id, '.' + format_id)}"
    )


def test_a_plan_without_this_format_has_no_file_name_for_it():
    plan = target_plan(formats=("deb",))

    with pytest.raises(ValueError, match=r"qcs9075 has no zip package"):
        by_id("zip").file_name(plan)


@pytest.mark.parametrize("format_id", FORMATS)
def test_a_file_that_changed_since_it_was_staged_is_not_packed(format_id, plan, bundle):
    (context,) = (file for file in bundle.files if file.role == "document" and file.path.endswith(".bin"))
    context.local.write_bytes(b"CONTEXT")

    with pytest.raises(InputUnavailable, match="changed after it was judged"):
        package_bytes(format_id, plan, bundle)


@pytest.mark.parametrize("format_id", FORMATS)
def test_a_file_that_grew_since_it_was_staged_is_not_packed(format_id, plan, bundle):
    bundle.files[0].local.write_bytes(TREE[bundle.files[0].path] + b"more")

    with pytest.raises(InputUnavailable, match="changed after it was judged"):
        package_bytes(format_id, plan, bundle)


# tar.zst


def test_a_tar_has_one_top_folder_and_every_parent_in_byte_order(plan, bundle):
    names = [info.name for info in tar_infos(unzstd(package_bytes("tar.zst", plan, bundle)))]

    assert names == sorted(names, key=str.encode)
    assert names[:3] == [
        "text-direction-1.2.0",
        "text-direction-1.2.0/README.txt",
        "text-direction-1.2.0/bin",
    ]
    assert {name.partition("/")[0] for name in names} == {"text-direction-1.2.0"}


def test_a_tar_belongs_to_root_and_to_the_epoch(plan, bundle):
    infos = tar_infos(unzstd(package_bytes("tar.zst", plan, bundle)))

    assert {(i.uid, i.gid, i.uname, i.gname, i.mtime) for i in infos} == {(0, 0, "root", "root", EPOCH)}
    modes = {i.name.removeprefix("text-direction-1.2.0/"): i.mode for i in infos}
    assert (modes["bin"], modes["bin/hexrun"], modes["README.txt"]) == (0o755, 0o755, 0o644)


def test_a_tar_holds_the_files_and_links_of_the_bundle(plan, bundle):
    tree = tar_tree(unzstd(package_bytes("tar.zst", plan, bundle)))

    expected = {**TREE, "lib/libBackend.so.1": "libBackend.so"}
    assert tree == {f"text-direction-1.2.0/{path}": content for path, content in expected.items()}


def test_an_ordinary_tree_is_plain_ustar(plan, bundle):
    data = unzstd(package_bytes("tar.zst", plan, bundle))

    kinds = {
        data[at + 156 : at + 157] for at in range(0, len(data), 512) if data[at + 257 : at + 262] == b"ustar"
    }

    assert kinds == {b"0", b"2", b"5"}


@pytest.mark.parametrize(
    ("path", "extended"),
    [
        ("d" * 90 + "/" + "f" * 90, False),
        ("f" * 101, True),
        ("Größe.txt", True),
        ("/".join(["d" * 60] * 6), True),
    ],
)
def test_a_pax_header_appears_only_where_ustar_cannot_say_the_name(path, extended):
    out = io.BytesIO()

    write_tar(out, [Member(path, 0o644, b"x")], epoch=EPOCH, dialect="pax")

    assert (out.getvalue()[156:157] == b"x") is extended
    assert [info.name for info in tar_infos(out.getvalue())] == [path]


def test_a_size_beyond_8_gib_goes_into_a_pax_header_and_for_dpkg_into_base_256(tmp_path):
    file = bundle_file("weights.bin", b"", tmp_path)
    huge = file.model_copy(update={"blob": file.blob.model_copy(update={"size": 9 << 30})})
    pax, gnu = io.BytesIO(), io.BytesIO()

    # Only the header is of interest: the empty file behind it is refused, as it must be.
    for out, dialect in ((pax, "pax"), (gnu, "gnu")):
        with pytest.raises(InputUnavailable):
            write_tar(out, [Member(huge.path, 0o644, huge)], epoch=EPOCH, dialect=dialect)

    assert b"size=9663676416\n" in pax.getvalue()
    assert gnu.getvalue()[124:136] == b"\x80" + (9 << 30).to_bytes(11, "big")


def test_the_zstd_frame_carries_a_checksum(plan, bundle):
    frame = package_bytes("tar.zst", plan, bundle)

    assert zstandard.get_frame_parameters(frame).has_checksum


def test_the_zstd_bytes_do_not_depend_on_the_number_of_processors(monkeypatch):
    content = b"".join(hashlib.sha256(bytes([i % 251, i % 13])).digest() * 40 for i in range(20_000))
    frames = set()

    for processors in (1, 2, 3, 16):
        monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
        out = io.BytesIO()
        with zstd_frame(out) as stream:
            for at in range(0, len(content), 1 << 20):
                stream.write(content[at : at + (1 << 20)])
        frames.add(out.getvalue())

    assert len(content) > 3 * (8 << 20)
    assert len(frames) == 1


# The same bytes everywhere


def test_tar_and_zip_bytes_are_those_of_every_python_and_machine(plan, bundle):
    tar = io.BytesIO()
    write_tar(tar, in_order(members_below("top", bundle), folders=True), epoch=EPOCH, dialect="pax")

    digests = [
        hashlib.sha256(data).hexdigest() for data in (tar.getvalue(), package_bytes("zip", plan, bundle))
    ]

    assert digests == [
        "d079019927b5b74024b0bfc309c8750ba008abca6ca674a39359c576ca5c2292",
        "49a8ff75ef0e45ea5a37a9198ae5c2798f3543bba334f718a55de3ff2a362da8",
    ]


SCRIPT = """
import hashlib, os, pathlib, sys
os.umask(int(sys.argv[2], 8))
from packager.bundle import Bundle
from tests.make.bundle import bundle_file, target_plan
from tests.make.unpack import package_bytes
where = pathlib.Path(sys.argv[1])
paths = [f"{folder}/{name}" for folder in "ab" for name in ("x", "Y", "é", "z-1")]
tree = {path: path.encode() * 999 for path in paths}
names = sorted(tree, reverse=sys.argv[3] == "backwards")
files = [bundle_file(name, tree[name], where, mode=0o755 if "x" in name else 0o644) for name in names]
bundle = Bundle.of(files, depends=("libc6 (>= 2.34)",))
for format_id in ("tar.zst", "deb", "zip"):
    package = package_bytes(format_id, target_plan(formats=(format_id,)), bundle)
    print(format_id, hashlib.sha256(package).hexdigest())
"""


def digests_elsewhere(where: Path, umask: str, order: str, **environment: str) -> str:
    root = str(Path(__file__).parents[2])
    where.mkdir()
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(where), umask, order],
        cwd=where,
        env={**os.environ, "PYTHONPATH": root, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_folder_umask_time_zone_locale_hash_seed_and_order_leave_no_trace(tmp_path):
    here = digests_elsewhere(
        tmp_path / "here", "022", "forwards", TZ="UTC", LC_ALL="C.UTF-8", PYTHONHASHSEED="0"
    )

    there = [
        digests_elsewhere(
            tmp_path / "a", "000", "backwards", TZ="Asia/Kathmandu", LC_ALL="C", PYTHONHASHSEED="1"
        ),
        digests_elsewhere(
            tmp_path / "b c é",
            "077",
            "forwards",
            TZ="America/St_Johns",
            LC_ALL="tr_TR.UTF-8",
            PYTHONHASHSEED="2",
        ),
    ]

    assert len(here.splitlines()) == 3
    assert there == [here, here]


def test_another_epoch_gives_other_bytes(plan, bundle):
    for format_id in FORMATS:
        assert package_bytes(format_id, plan, bundle, EPOCH) != package_bytes(
            format_id, plan, bundle, EPOCH + 2
        )
