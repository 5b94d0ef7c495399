"""What Android's tools and a JVM make of the archive for Gradle."""

from __future__ import annotations

import json
import zipfile

import pytest

from packager.audit import audit
from packager.facts.android_manifest import read_android_manifest
from packager.facts.archive import read_archive
from packager.facts.elf import read_elf
from tests.make.android import android_bundle, android_plan

JNI = "jni/arm64-v8a"
ASSETS = "assets/hexpack/text-direction"


@pytest.fixture
def plan():
    return android_plan("aar")


@pytest.fixture
def unpacked(plan, write, tool, tmp_path):
    """The folder of an unpacked archive without Java classes."""
    package = write("aar", plan, android_bundle(plan, tmp_path))
    tool("unzip")("-q", package, "-d", tmp_path / "out")
    return tmp_path / "out"


def names(folder, suffix=""):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob(f"*{suffix}") if path.is_file()
    )


def test_libraries_for_the_cpu_are_where_gradle_takes_them_from_and_skels_are_not(unpacked):
    native = names(unpacked / JNI)

    assert native == [
        "libQnnHtp.so", "libQnnHtpV73Stub.so", "libQnnHtpV75Stub.so", "libQnnSystem.so", "libhexrun.so",
        "libhexrun_program.so",
    ]  # fmt: skip
    assert {read_elf(unpacked / JNI / name).machine for name in native} == {"AARCH64"}
    assert {read_elf(unpacked / JNI / name).page_alignment % 0x4000 for name in native} == {0}
    skels = names(unpacked, "Skel.so")
    assert skels == [f"{ASSETS}/dsp/libQnnHtpV{arch}Skel.so" for arch in (73, 75)]


def test_the_index_names_every_other_asset_with_its_digest(unpacked, tool, tmp_path):
    lines = (unpacked / ASSETS / "index.txt").read_text().splitlines()
    paths = [line.split(" ", 2)[2] for line in lines]

    assert sorted([*paths, "index.txt", "models.txt"]) == names(unpacked / ASSETS)
    sums = tmp_path / "sums"
    sums.write_text(
        "".join(f"{sha256}  {unpacked / ASSETS / path}\n" for sha256, _, path in map(str.split, lines))
    )
    tool("sha256sum")("--check", "--strict", sums)


def test_the_manifest_declares_the_device_s_library_as_one_that_may_be_missing(unpacked):
    facts = read_android_manifest(unpacked / "AndroidManifest.xml")

    assert (facts.package, facts.min_sdk) == ("hexpack.text_direction", 28)
    assert [(use.name, use.required) for use in facts.native_libraries] == [("libcdsprpc.so", False)]


def test_prefab_offers_the_c_library_under_its_headers(unpacked):
    module = unpacked / "prefab/modules/hexrun"
    abi = json.loads((module / "libs/android.arm64-v8a/abi.json").read_text())

    assert json.loads((unpacked / "prefab/prefab.json").read_text())["version"] == "1.2.0"
    assert (abi["abi"], abi["stl"], abi["static"]) == ("arm64-v8a", "none", False)
    linked, installed = module / "libs/android.arm64-v8a/libhexrun.so", unpacked / JNI / "libhexrun.so"
    assert linked.read_bytes() == installed.read_bytes()
    assert "hexrun_open" in (module / "include/hexrun.h").read_text()


def test_an_audit_takes_it_for_an_archive_of_android_s_and_finds_nothing_android_would_mind(
    plan, write, tmp_path
):
    package = write("aar", plan, android_bundle(plan, tmp_path))

    report = audit(package)

    assert read_archive(package).format == "aar"
    assert [(one.system, one.abi, one.socs) for one in report.sets] == [
        ("android", "android-arm64", ("v73", "v75"))
    ]
    assert [(f.rule, f.file, f.found) for one in report.sets for f in one.findings] == []


def test_the_readme_tells_gradle_everything_that_the_archive_needs(unpacked):
    readme = (unpacked / "README.md").read_text()

    for word in ("useLegacyPackaging = true", "keepDebugSymbols", "text-direction-1.2.0-android-arm64.aar"):
        assert word in readme


def test_equal_inputs_give_equal_bytes(plan, write, tmp_path):
    bundle = android_bundle(plan, tmp_path)
    first = write("aar", plan, bundle).read_bytes()

    assert write("aar", plan, bundle).read_bytes() == first
    assert zipfile.ZipFile(write("aar", plan, bundle)).testzip() is None
