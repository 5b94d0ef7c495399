"""The README inside a package, for each system as people get to read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from packager.bundle import BundleFile
from packager.files import Blob
from packager.layouts import documents, layout_of, vendor_place
from packager.layouts.sizes import sizes
from packager.manifest_linux import LinuxSystem, Service
from packager.manifest_model import Input
from packager.plan_model import TargetPlan
from tests.make.android import android_plan
from tests.make.bundle import target_plan

GOLDEN = Path(__file__).parent / "snapshots" / "readme"
SERVICE = Service(arguments=("--doctor",), enable=True, restart="no", environment={})
LINUX = LinuxSystem(group="dsp", udev=True, board_folders=(), service=SERVICE)
INPUTS = {"x": Input(shape=(1, 3, 48, 48), dtype="float32")}

PLANS = {
    "linux": target_plan(formats=("tar.zst", "tar.gz")),
    "linux-installed": target_plan(name="board", formats=("deb", "ipk", "rpm", "oci")).model_copy(
        update={"linux": LINUX}
    ),
    "linux-fleet": target_plan(
        formats=("oci", "compose", "yocto", "swu", "mender", "rauc"), own={"machines": {"qcs9075": ("evk",)}}
    ),
    "simulator": target_plan(abi="x86_64-linux-clang", formats=("deb",)),
    "windows": target_plan(socs=("x-elite",), abi="windows-arm64", formats=("zip",)),
    "android": android_plan(),
}


def files_of(plan: TargetPlan) -> list[BundleFile]:
    """The tree of a plan with sizes that say what they are of."""
    layout = layout_of(plan.system)
    sized = {"stub": 770_000, "skel": 10_600_000, "backend": 3_800_000, "system": 4_100_000}
    vendor = [
        (layout.path(vendor_place(file.folder), file.name), file.role, sized.get(file.role, 8_300))
        for file in plan.runtime_set.files
    ]
    runner = "hexrun.exe" if plan.system == "windows" else "hexrun"
    own = [
        (layout.path("runner", runner), "runner", 210_000),
        *((layout.path("models", f"{soc.id}.bin"), "context", 548_900) for soc in plan.socs),
        (layout.path("config", "runner.conf"), "runner-config", 900),
        (layout.path("licences", "LICENSE.txt"), "licence", 40_000),
    ]
    return [
        BundleFile(path=path, role=role, blob=Blob(sha256="0" * 64, size=size), local=Path(path))
        for path, role, size in (*vendor, *own)
    ]


@pytest.mark.parametrize("name", PLANS)
def test_the_readme_of_each_system_reads_as_it_was_reviewed(name):
    plan = PLANS[name]
    plan = plan.model_copy(update={"model": plan.model.model_copy(update={"inputs": INPUTS})})
    golden = GOLDEN / f"{name}.txt"

    text = documents.readme(plan, files_of(plan))

    if os.environ.get("HEXPACK_UPDATE_SNAPSHOTS") == "1":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PLANS)
def test_it_says_how_to_install_run_and_diagnose_and_has_no_loose_ends(name):
    text = documents.readme(PLANS[name], files_of(PLANS[name]))

    heads = [
        line.split(",")[0].split(":")[0].split(" (")[0]
        for line in text.splitlines()
        if line and line[0] != " "
    ]
    wanted = {"Contents", "Install", "Run", "Check", "What takes the space"}
    assert wanted <= set(heads)
    assert ("Diagnose" in heads) == (name != "simulator")
    assert "\n\n\n" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("format_id", ["deb", "ipk", "rpm", "swu"])
def test_a_service_is_named_as_the_package_is_whatever_its_format(format_id):
    plan = target_plan(name="board", formats=(format_id,)).model_copy(update={"linux": LINUX})

    assert "  systemctl status text-direction-board  " in documents.readme(plan, files_of(plan))


def test_sizes_count_every_byte_once_with_the_largest_first():
    plan = PLANS["linux"]

    report = sizes(plan, files_of(plan))

    assert report.total == sum(file.blob.size for file in files_of(plan))
    assert [part.what for part in report.parts][:2] == ["DSP libraries", "CPU libraries"]
    assert [part.size for part in report.parts] == sorted((part.size for part in report.parts), reverse=True)


def test_what_was_left_out_is_named_with_the_reason():
    plan = PLANS["linux"]

    left_out = {name: one.why for one in sizes(plan, []).left_out for name in one.names}

    assert left_out["libQnnHtpPrepare.so"] == "composes graphs on the device, and these are composed"
    assert left_out["libQnnHtpV68Skel.so"] == "for architectures that no SoC of this package has"
    assert not {"libQnnHtpV73Skel.so", "libQnnHtp.so", "libQnnHtpV73Stub.so"} & set(left_out)


def test_a_simulator_leaves_nothing_out_and_a_dlc_brings_what_composes_it():
    dlc = target_plan(runtime="dlc")

    assert sizes(PLANS["simulator"], []).left_out == ()
    assert "libQnnHtpPrepare.so" not in {name for one in sizes(dlc, []).left_out for name in one.names}
