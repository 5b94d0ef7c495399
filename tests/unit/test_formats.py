"""What the package writers promise: names, owners, times, order, and the same bytes everywhere."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import zstandard

from packager import catalog
from packager.bundle import Bundle
from packager.errors import InputUnavailable, ManifestError
from packager.formats import by_id
from packager.formats.deb import _ar_header, installed_kib
from packager.formats.deb_documents import gzipped
from packager.formats.members import Member, in_order, members_below
from packager.formats.tar_stream import write_tar, zstd_frame
from packager.plan_model import TargetPlan
from tests.make.bundle import bundle_file, bundle_of, target_plan
from tests.make.unpack import (
    ar_members,
    deb_control,
    deb_part,
    package_bytes,
    tar_infos,
    tar_tree,
    unzstd,
    zip_infos,
)

EPOCH = 1_700_000_000
FORMATS = ("tar.zst", "deb", "zip")
TREE = {
    "README.txt": b"read me\n",
    "bin/hexrun": b"\x7fELF of a runner",
    "dsp/libSkel.so": b"skel" * 300,
    "lib-extra/z": b"",
    "lib/libBackend.so": bytes(range(256)) * 5,
    "share/licenses/terms.txt": b"terms\n",
    "share/models/qcs9075.bin": b"context",
}
ROLES = {"dsp/libSkel.so": "skel", "lib/libBackend.so": "backend", "share/licenses/terms.txt": "licence"}


@pytest.fixture
def plan() -> TargetPlan:
    return target_plan(formats=FORMATS)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return bundle_of(TREE, tmp_path, {"lib/libBackend.so.1": "libBackend.so"}, roles=ROLES)


def with_package(plan: TargetPlan, **words: str) -> TargetPlan:
    return plan.model_copy(update={"package": plan.package.model_copy(update=words)})


def test_there_is_a_writer_for_every_format_that_the_table_does_not_put_off():
    ready = [row.id for row in catalog.formats().values() if not row.later]

    writers = [by_id(format_id) for format_id in ready]

    assert len(writers) == len(FORMATS)


def test_a_format_without_a_writer_is_refused_with_the_nearest_one():
    with pytest.raises(ManifestError) as refused:
        by_id("tar.zts")

    assert refused.value.evidence == ('did you mean "tar.zst"?',)


@pytest.mark.parametrize("format_id", FORMATS)
def test_the_file_name_is_the_one_that_was_planned(format_id, plan):
    assert by_id(format_id).file_name(plan) == f"text-direction-1.2.0-linux-arm64.{format_id}"


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


# deb


def test_a_deb_is_an_ar_of_three_members_that_belong_to_the_epoch(plan, bundle):
    members = ar_members(package_bytes("deb", plan, bundle))

    assert [m.name for m in members] == ["debian-binary", "control.tar.zst", "data.tar.zst"]
    assert members[0].content == b"2.0\n"
    assert {m[1:5] for m in members} == {(str(EPOCH), "0", "0", "100644")}


def test_the_control_file_says_what_the_plan_says(plan, bundle):
    plan = with_package(plan, version="1.2.0-rc1", homepage="https://example.com/text")
    bundle = bundle.model_copy(update={"depends": ("libc6 (>= 2.34)", "libstdc++6 (>= 11)")})

    control = deb_control(package_bytes("deb", plan, bundle))

    assert list(control.items())[:4] == [
        ("Package", "text-direction"),
        ("Version", "1.2.0~rc1"),
        ("Architecture", "arm64"),
        ("Maintainer", "Release Team <release@example.com>"),
    ]
    assert control["Depends"] == "libc6 (>= 2.34), libstdc++6 (>= 11)"
    assert (control["Section"], control["Priority"]) == ("misc", "optional")
    assert control["Homepage"] == "https://example.com/text"


def test_fields_without_a_value_are_left_out(plan, bundle):
    control = deb_control(package_bytes("deb", plan, bundle))

    assert {"Depends", "Homepage"}.isdisjoint(control)


def test_the_description_names_the_silicon_and_the_qairt_release(plan, bundle):
    description = deb_control(package_bytes("deb", plan, bundle))["Description"]

    synopsis, _, extended = description.partition("\n")
    assert synopsis == "Tells whether a line of text is upside down"
    assert "qcs9075, Hexagon v73" in extended
    assert f"QAIRT {plan.runtime_set.release.version}" in " ".join(extended.split())


def test_a_long_description_becomes_a_short_synopsis_and_the_whole_text_below(plan, bundle):
    words = "Finds out for every single line of text in a photograph whether it stands upright or upside down"
    plan = with_package(plan, description=words)

    synopsis, *extended = deb_control(package_bytes("deb", plan, bundle))["Description"].split("\n")

    assert synopsis == "Finds out for every single line of text in a photograph whether it stands ..."
    assert words in " ".join(line.strip() for line in extended)
    assert all(line.startswith(" ") and line.strip() and len(line) <= 80 for line in extended)


def test_a_value_cannot_start_another_control_field(plan, bundle):
    plan = with_package(plan, homepage="https://example.com\nEssential: yes")

    control = deb_control(package_bytes("deb", plan, bundle))

    assert "Essential" not in control


def test_the_tree_is_below_usr_lib_and_the_runner_on_the_path(plan, bundle):
    data = deb_part(package_bytes("deb", plan, bundle), "data")

    assert {path: data[f"usr/lib/text-direction/{path}"] for path in TREE} == TREE
    assert data["usr/lib/text-direction/lib/libBackend.so.1"] == "libBackend.so"
    assert data["usr/bin/text-direction"] == "../lib/text-direction/bin/hexrun"


def test_a_bundle_without_a_runner_gets_no_command_and_no_manual_page(plan, tmp_path):
    bundle = bundle_of({"share/models/a.bin": b"context"}, tmp_path)

    data = deb_part(package_bytes("deb", plan, bundle), "data")

    assert not [path for path in data if path.startswith(("usr/bin/", "usr/share/man/"))]


def test_md5sums_cover_every_installed_file_and_no_link(plan, bundle):
    package = package_bytes("deb", plan, bundle)

    sums = deb_part(package, "control")["md5sums"]
    data = deb_part(package, "data")

    listed = dict(reversed(line.split("  ", 1)) for line in sums.decode().splitlines())
    assert listed == {
        path: hashlib.md5(content).hexdigest() for path, content in data.items() if isinstance(content, bytes)
    }


def test_installed_size_counts_whole_kib_for_files_and_one_for_each_folder():
    members = in_order(
        [Member("a/empty", 0o644, b""), Member("a/one", 0o644, b"x"), Member("a/two", 0o644, bytes(1025))],
        folders=True,
    )

    assert installed_kib(members) == 1 + 0 + 1 + 2


def test_the_copyright_gives_each_file_to_its_owner(plan, bundle):
    text = deb_part(package_bytes("deb", plan, bundle), "data")[
        "usr/share/doc/text-direction/copyright"
    ].decode()

    stanzas = {
        lines[0]: lines
        for stanza in text.split("\n\n")
        if (lines := stanza.splitlines())[0].startswith("Files:")
    }
    assert list(stanzas) == [
        "Files: *",
        "Files: usr/lib/text-direction/bin/hexrun",
        "Files: usr/lib/text-direction/dsp/libSkel.so",
    ]
    assert stanzas["Files: usr/lib/text-direction/dsp/libSkel.so"][1].split() == [
        "usr/lib/text-direction/lib/libBackend.so"
    ]
    assert "/usr/lib/text-direction/share/licenses/terms.txt" in text
    assert "/usr/share/common-licenses/Apache-2.0" in text


@pytest.mark.parametrize(
    ("expression", "name", "common"),
    [
        ("MIT", "MIT", []),
        ("GPL-2.0-or-later", "GPL-2.0-or-later", ["GPL-2"]),
        ("(MIT OR Apache-2.0) AND MPL-2.0", "application-licence", ["Apache-2.0", "MPL-2.0"]),
    ],
)
def test_a_licence_expression_becomes_one_dep5_name_and_points_to_debians_texts(
    plan, tmp_path, expression, name, common
):
    plan = with_package(plan, license=expression)
    bundle = bundle_of({"share/models/a.bin": b"context"}, tmp_path)

    text = deb_part(package_bytes("deb", plan, bundle), "data")[
        "usr/share/doc/text-direction/copyright"
    ].decode()

    assert text.count(f"License: {name}\n") == 2
    assert f"licensed under {expression}." in text
    named = [line.rpartition("/")[2].rstrip(".") for line in text.splitlines() if "common-licenses/" in line]
    assert named == common


def test_lintian_overrides_speak_only_of_dsp_code_and_of_zstd(plan, bundle):
    data = deb_part(package_bytes("deb", plan, bundle), "data")

    lines = data["usr/share/lintian/overrides/text-direction"].decode().splitlines()

    overridden = [line.split()[1:] for line in lines if not line.startswith("#")]
    assert {where for _, where in overridden} == {
        "*control.tar.zst*",
        "*data.tar.zst*",
        "*usr/lib/text-direction/dsp/libSkel.so*",
    }


def test_the_changelog_is_debians_and_carries_the_epoch(plan, bundle):
    data = deb_part(package_bytes("deb", plan, bundle), "data")

    text = gzip.decompress(data["usr/share/doc/text-direction/changelog.gz"]).decode()

    assert text.startswith("text-direction (1.2.0) stable; urgency=medium\n\n  * ")
    assert text.endswith(" -- Release Team <release@example.com>  Tue, 14 Nov 2023 22:13:20 +0000\n")


def test_words_of_the_manifest_cannot_be_troff_requests(plan, bundle):
    plan = with_package(plan, description=r".so /etc/shadow \(bu")

    data = deb_part(package_bytes("deb", plan, bundle), "data")

    text = gzip.decompress(data["usr/share/man/man1/text-direction.1.gz"]).decode()
    assert r"text\-direction \- \&.so /etc/shadow \e(bu" in text


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 200_000])
def test_stored_gzip_is_gzip(size):
    content = (bytes(range(251)) * 800)[:size]

    assert gzip.decompress(gzipped(content)) == content


def test_an_abi_that_debian_does_not_know_gets_no_deb(bundle):
    plan = target_plan(socs=("x-elite",), abi="windows-arm64", formats=("deb",))

    with pytest.raises(ManifestError, match="no architecture for ABI windows-arm64"):
        package_bytes("deb", plan, bundle)


def test_a_member_that_ar_cannot_hold_is_refused_with_the_way_out():
    with pytest.raises(ManifestError) as refused:
        _ar_header("data.tar.zst", 10**10, EPOCH)

    assert "tar.zst" in refused.value.fix


# zip


def test_a_zip_stores_its_files_below_one_folder_and_lists_no_folders(plan, bundle):
    infos = zip_infos(package_bytes("zip", plan, bundle))

    names = [info.filename for info in infos]
    assert names == sorted(names, key=str.encode)
    assert {name.partition("/")[0] for name in names} == {"text-direction-1.2.0"}
    assert {info.compress_type for info in infos} == {zipfile.ZIP_STORED}
    assert not [info for info in infos if info.is_dir()]


def test_a_zip_carries_unix_modes_whatever_the_host(plan, bundle):
    infos = {
        i.filename.removeprefix("text-direction-1.2.0/"): i
        for i in zip_infos(package_bytes("zip", plan, bundle))
    }

    assert {info.create_system for info in infos.values()} == {3}
    assert infos["bin/hexrun"].external_attr == (stat.S_IFREG | 0o755) << 16
    assert infos["README.txt"].external_attr == (stat.S_IFREG | 0o644) << 16
    assert infos["lib/libBackend.so.1"].external_attr == (stat.S_IFLNK | 0o777) << 16


def test_a_zip_has_no_descriptors_and_no_extra_fields_and_marks_utf8_only_where_needed(plan, tmp_path):
    package = package_bytes("zip", plan, bundle_of({"a.txt": b"a", "Größe.txt": b"b"}, tmp_path))

    infos = zip_infos(package)
    local = [struct.unpack_from("<HHH", package, info.header_offset + 4) for info in infos]
    extra = [struct.unpack_from("<H", package, info.header_offset + 28)[0] for info in infos]

    assert {info.filename: info.flag_bits for info in infos} == {
        "text-direction-1.2.0/Größe.txt": 0x800,
        "text-direction-1.2.0/a.txt": 0,
    }
    assert [flags for _, flags, _ in local] == [info.flag_bits for info in infos]
    assert extra == [0, 0]
    assert [info.extra for info in infos] == [b"", b""]


@pytest.mark.parametrize(
    ("epoch", "written"),
    [
        (EPOCH, (2023, 11, 14, 22, 13, 20)),
        (EPOCH + 1, (2023, 11, 14, 22, 13, 20)),
        (0, (1980, 1, 1, 0, 0, 0)),
        (1 << 33, (2107, 12, 31, 23, 59, 58)),
    ],
)
def test_a_zip_says_the_time_as_well_as_the_format_can(plan, bundle, epoch, written):
    infos = zip_infos(package_bytes("zip", plan, bundle, epoch))

    assert {info.date_time for info in infos} == {written}


def test_with_the_zip64_limit_lowered_only_the_larger_file_gets_64_bit_fields(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    bundle = bundle_of({"large.bin": bytes(1001), "small.bin": bytes(990)}, tmp_path)

    package = package_bytes("zip", plan, bundle)

    extra = {
        name: struct.unpack_from("<H", package, package.index(f"text-direction-1.2.0/{name}".encode()) - 2)[0]
        for name in ("large.bin", "small.bin")
    }
    assert extra == {"large.bin": 20, "small.bin": 0}


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
