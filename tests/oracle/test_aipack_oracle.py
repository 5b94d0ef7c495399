"""The module for Play: device groups, one model in each, and an archive without models beside it."""

from __future__ import annotations

import zipfile
from xml.etree import ElementTree

import pytest

from packager.errors import ManifestError
from tests.make.android import android_bundle, android_plan
from tests.make.bundle import bundle_of

SPACE = "{http://schemas.android.com/apk/config}"
ROOT = "text-direction-1.2.0"
PACK = f"{ROOT}/text_direction_models"


@pytest.fixture
def plan():
    return android_plan("aar", "aipack")


@pytest.fixture
def unpacked(plan, write, tool, tmp_path):
    tool("unzip")("-q", write("aipack", plan, android_bundle(plan, tmp_path)), "-d", tmp_path / "out")
    return tmp_path / "out"


def test_each_group_has_the_model_of_its_soc_and_nothing_else_is_in_the_pack(unpacked):
    assets = unpacked / PACK / "src/main/assets"
    files = {
        path.relative_to(assets).as_posix(): path.read_bytes() for path in assets.rglob("*") if path.is_file()
    }

    assert files == {
        f"hexpack_models#group_{soc}/{soc}.bin": f"context of {soc}".encode() * 999
        for soc in ("sm8550", "sm8650")
    }


def test_the_groups_name_each_soc_as_devices_with_either_manufacturer_report_it(unpacked):
    root = ElementTree.parse(unpacked / ROOT / "device_targeting_configuration.xml").getroot()
    groups = {
        group.get("name"): [
            (chip.get("manufacturer"), chip.get("model")) for chip in group.iter(f"{SPACE}system-on-chip")
        ]
        for group in root.iter(f"{SPACE}device-group")
    }

    assert groups == {
        "sm8650": [("QTI", "SM8650"), ("Qualcomm", "SM8650")],
        "sm8550": [("QTI", "SM8550"), ("Qualcomm", "SM8550")],
    }
    assert all(len(list(group)) <= 5 for group in root)


def test_the_archive_of_the_same_target_leaves_the_models_to_the_pack(plan, write, tmp_path):
    bundle = android_bundle(plan, tmp_path)
    with zipfile.ZipFile(write("aar", plan, bundle)) as archive:
        names = archive.namelist()
        models = archive.read("assets/hexpack/text-direction/models.txt").decode()

    assert not [name for name in names if name.endswith(".bin")]
    assert [line.split(" ")[2] for line in models.splitlines()] == [
        "share/models/sm8550.bin",
        "share/models/sm8650.bin",
    ]


def test_gradle_and_readme_speak_of_the_pack_that_is_there(unpacked):
    assert 'packName = "text_direction_models"' in (unpacked / PACK / "build.gradle.kts").read_text()
    readme = (unpacked / ROOT / "README.md").read_text()
    assert 'include(":text_direction_models")' in readme
    assert "text-direction-1.2.0-android-arm64.aar" in readme
    assert "| `sm8650` | SM8650 |" in readme


def test_a_target_without_a_model_for_each_soc_has_no_pack(plan, write, tmp_path):
    with pytest.raises(ManifestError, match="one model for each SoC"):
        write("aipack", plan, bundle_of({"share/models/all.dlc": b"dlc"}, tmp_path))
