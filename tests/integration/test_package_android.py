"""The example for phones, with an SDK whose libraries are small genuine ELF files."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile

import pytest

from packager.audit import audit
from packager.facts.elf import read_elf
from tests.integration.program import ROOT, run
from tests.make.sdk import make_sdk

EXAMPLE = ROOT / "examples" / "phone" / "app.toml"
STEM = "text-direction-phone-1.0.0-android-arm64"


@pytest.fixture(scope="module")
def built(store, tmp_path_factory):
    """(output folder, report) of the example."""
    folder = tmp_path_factory.mktemp("phone")
    sdk = make_sdk(folder / "sdk/qairt/2.51.0", {"aarch64-android": "android"})
    manifest = folder / "example/app.toml"
    manifest.parent.mkdir()
    text = EXAMPLE.read_text(encoding="utf-8")
    manifest.write_text(
        text.replace("../text-direction", str(ROOT / "examples/text-direction")), encoding="utf-8"
    )
    done = run(
        "package", "--manifest", str(manifest), "--out", str(folder / "dist"), "--json",
        HEXPACK_STORE=str(store.root), QAIRT_SDK_ROOT=str(sdk),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    return folder / "dist", json.loads(done.stdout)


def members(built, extension):
    with zipfile.ZipFile(built[0] / f"{STEM}{extension}") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_example_gives_its_packages_without_a_finding(built):
    folder, report = built

    assert sorted(path.name for path in folder.iterdir()) == [f"{STEM}-adb.zip", f"{STEM}.aar", f"{STEM}.apk"]
    assert report["findings"] == []
    assert {proof["soc"] for target in report["targets"] for proof in target["proofs"]} == {
        "sm8650",
        "sm8550",
    }


def test_the_libraries_of_the_archive_are_android_s_and_load_where_pages_have_16_kib(built, tmp_path):
    native = {name: data for name, data in members(built, ".aar").items() if name.startswith("jni/")}

    for name, data in native.items():
        path = tmp_path / name.rpartition("/")[2]
        path.write_bytes(data)
        facts = read_elf(path)
        assert (facts.machine, facts.page_alignment % 0x4000) == ("AARCH64", 0)
    assert {"jni/arm64-v8a/libhexrun.so", "jni/arm64-v8a/libhexrun_program.so"} < set(native)


def test_an_audit_of_each_package_finds_nothing(built):
    for extension in ("-adb.zip", ".aar"):
        report = audit(built[0] / f"{STEM}{extension}")
        assert [(f.rule, f.file) for one in report.sets for f in one.findings] == []
        assert {one.system for one in report.sets} == {"android"}


def test_the_app_is_whole_and_signed(built):
    app = built[0] / f"{STEM}.apk"
    names = set(members(built, ".apk"))

    assert {f"lib/arm64-v8a/{name}.so" for name in ("libhexrun", "libhexrun_app", "libQnnHtp")} < names
    assert {"AndroidManifest.xml", "assets/hexpack/text-direction-phone/share/models/sm8650.bin"} < names
    if shutil.which("apksigner"):
        subprocess.run(["apksigner", "verify", app], check=True)
    assert {f.rule for one in audit(app).sets for f in one.findings} == {"HEX212"}


def test_the_readme_of_the_tree_speaks_adb_s_words(built):
    readme = members(built, "-adb.zip")["text-direction-phone-1.0.0/device/README.txt"].decode()

    assert "adb shell /data/local/tmp/text-direction-phone/run.sh --doctor" in readme
    assert "sh push.sh" in readme


def test_a_java_tool_sees_the_class_that_the_readme_shows(built, tmp_path):
    archive = members(built, ".aar")
    (tmp_path / "classes.jar").write_bytes(archive["classes.jar"])

    said = subprocess.run(
        ["javap", "-cp", tmp_path / "classes.jar", "hexpack.text_direction_phone.HexpackRuntime"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert "hexpack.text_direction_phone.HexpackRuntime prepare(android.content.Context)" in said
    assert "import hexpack.text_direction_phone.HexpackRuntime;" in archive["README.md"].decode()
