"""What a Debian package says about itself, and where it puts what."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest

from packager import resources
from packager.bundle import Bundle
from packager.errors import ManifestError
from packager.formats.ar import ar_header
from packager.formats.deb import installed_kib
from packager.formats.deb_documents import gzipped
from packager.formats.members import Member, in_order
from packager.plan_model import TargetPlan
from tests.make.bundle import TREE, bundle_of, target_plan, whole_bundle
from tests.make.unpack import (
    ar_members,
    deb_control,
    deb_part,
    package_bytes,
)

EPOCH = 1_700_000_000
FORMATS = ("deb",)


@pytest.fixture
def plan() -> TargetPlan:
    return target_plan(formats=FORMATS)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return whole_bundle(tmp_path)


def with_package(plan: TargetPlan, **words: str) -> TargetPlan:
    return plan.model_copy(update={"package": plan.package.model_copy(update=words)})


def test_a_deb_is_an_ar_of_three_members_that_belong_to_the_epoch(plan, bundle):
    members = ar_members(package_bytes("deb", plan, bundle))

    assert [m.name for m in members] == ["debian-binary", "control.tar.zst", "data.tar.zst"]
    assert members[0].content == b"2.0\n"
    assert {m[1:5] for m in members} == {(str(EPOCH), "0", "0", "100644")}


def test_the_control_file_says_what_the_plan_says(plan, bundle):
    plan = with_package(plan, homepage="https://example.com/text")
    planned = plan.package_of("deb").model_copy(update={"version": "1.2.0~rc1"})
    plan = plan.model_copy(update={"packages": (planned,)})
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


def test_the_manual_page_speaks_only_of_options_that_the_runner_has():
    manual = resources.text("templates", "deb", "manual.1.jinja").replace("\\-", "-")
    runner = resources.text("templates", "runner", "options.c")

    options = set(re.findall(r"--[a-z]+", manual))

    assert {"--input", "--output"} <= options
    assert options <= set(re.findall(r"--[a-z]+", runner))


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
        ar_header("data.tar.zst", 10**10, EPOCH)

    assert "tar.zst" in refused.value.fix
