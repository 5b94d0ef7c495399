"""What runner.conf says about units and settings arrives at the backend, watched through the stand-in."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from runner_device import Device
from runner_kit import SOURCES, configure, zig

from packager import catalog
from packager.runner import generated_tables
from packager.store import Store

pytest_plugins = ["runner_kit", "runner_device"]

VARIANT = "variant soc=qcs9075 soc_model=77 accepts=- hexagon=73 vtcm_mb=8 linux_soc_ids=667,676"
NPU, CPU = "compute npu {}", "compute cpu {}"
SAID = {"SOC": 77, "ARCH": 73}


def rewrite(device: Device, stand_in, *lines: str, units: tuple[str, ...] = (NPU,)) -> None:
    """The device's runner.conf in format 2."""
    keys = {"format": "2", "backend": None, "compute": None, "simulator": "no", "dsp": "dsp"}
    configure(device.folder, *(unit.format(stand_in) for unit in units), *lines, system=str(stand_in), **keys)
    (device.folder / "model.dlc").write_text("the container")


def settings_of(device: Device) -> list[str]:
    return [line for line in device.journal if line.startswith(("context ", "graph "))]


@pytest.mark.parametrize(
    ("word", "number"), [("low", 0), ("normal", 100), ("normal_high", 150), ("high", 200)]
)
@pytest.mark.parametrize(("compatibility", "strict"), [("strict", 1), ("permissive", 0)])
def test_priority_and_compatibility_of_a_context_binary_reach_the_backend(
    device, stand_in, word, number, compatibility, strict
):
    rewrite(
        device,
        stand_in,
        f"priority {word}",
        f"compatibility {compatibility}",
        f"{VARIANT} context=model.bin",
    )

    ran = device.run(**SAID)

    assert ran.code == 0, ran.err
    assert settings_of(device) == [f"context option=1 number={number}", f"context option=8 number={strict}"]


def test_without_a_word_about_them_the_backend_is_told_nothing(device, stand_in):
    rewrite(device, stand_in, f"{VARIANT} context=model.bin")

    assert device.run(**SAID).code == 0
    assert settings_of(device) == []


def test_a_composed_graph_gets_its_priority_and_how_it_is_to_be_prepared(device, stand_in):
    rewrite(
        device,
        stand_in,
        "priority high",
        "compatibility strict",
        "prepare optimization=2 vtcm_mb=4 hvx_threads=3 fp16=yes",
        f"{VARIANT} dlc=model.dlc",
    )

    ran = device.run(**SAID)

    assert ran.code == 0, ran.err
    assert settings_of(device) == [
        "context option=1 number=200",
        "graph option=3 number=200",
        "graph custom=1 type=3 value=2",
        "graph custom=2 number=1",
        "graph custom=3 number=4",
        "graph custom=6 number=3",
    ]


def test_a_container_is_composed_and_given_back_in_order(device, stand_in):
    rewrite(device, stand_in, f"{VARIANT} dlc=model.dlc")

    ran = device.run("--output", device.folder, **SAID)

    calls = [line.split()[0] for line in device.journal if not line.startswith(("vote", "createPower"))]
    assert ran.code == 0, ran.err
    assert calls == [
        "logCreate", "backendCreate", "deviceCreate", "contextCreate", "systemDlcCreateFromFile", "systemDlcComposeGraphs",
        "graphRetrieve", "graphFinalize", "destroyPowerConfigId", "contextFree", "deviceFree", "backendFree",
        "logFree", "systemDlcFree", "systemLogFree",
    ]  # fmt: skip
    assert "systemDlcComposeGraphs dlc=0x9 configs=0 backend=0x2 context=0x4 id=6 version=1" in device.journal
    np.testing.assert_array_equal(np.load(device.folder / "y.npy"), [[0, 2], [4, 6]])


def test_a_container_is_read_without_its_log_too(device, stand_in):
    rewrite(device, stand_in, f"{VARIANT} dlc=model.dlc")

    assert device.run(**SAID, NO_SYSTEM_LOG=1).code == 0
    assert "systemDlcCreateFromFile log=(nil) model.dlc" in device.journal


def test_a_context_binary_is_preferred_to_what_has_to_be_composed(device, stand_in):
    rewrite(device, stand_in, f"{VARIANT} dlc=model.dlc context=model.bin")

    ran = device.run(**SAID)

    assert ran.document["variant"]["context"] == "model.bin"
    assert "contextCreateFromBinary the model" in device.journal


@pytest.mark.parametrize(
    ("settings", "what", "evidence"),
    [
        (
            {"SYSTEM_MINOR": 3},
            "cannot compose graphs from a DLC",
            "found System API 1.3, wanted 1.4 or later",
        ),
        (
            {"CORE_MINOR": 20},
            "cannot compose graphs with this release",
            "found core API 2.20, whose interface",
        ),
        (
            {"CORE_MINOR": 41},
            "cannot compose graphs with this release",
            "found core API 2.41, whose interface",
        ),
    ],
)
def test_a_release_that_cannot_compose_is_refused_with_what_it_is(device, stand_in, settings, what, evidence):
    rewrite(device, stand_in, f"{VARIANT} dlc=model.dlc")

    ran = device.run(**SAID, **settings)

    assert ran.code == 1
    assert what in ran.document["error"]["what"]
    assert ran.document["error"]["evidence"][0].startswith(evidence)


def test_the_cpu_composes_without_a_device_without_votes_and_without_the_npus_settings(device, stand_in):
    rewrite(device, stand_in, "priority high", "prepare fp16=yes", f"{VARIANT} dlc=model.dlc", units=(CPU,))

    ran = device.run(CPU=1)

    assert ran.code == 0, ran.err
    assert ran.document["unit"] == "cpu"
    assert ran.document["variant"]["chosen_because"] == "the first in runner.conf that the cpu can compose"
    assert ran.document["power"]["reason"] == "only the npu takes votes"
    assert "contextCreate device=(nil)" in device.journal
    assert settings_of(device) == []
    assert not any(line.startswith(("deviceCreate", "vote")) for line in device.journal)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"DEVICE_ERROR": 14001}, "the backend cannot open the device (deviceCreate): error 14001"),
        ({"FINALIZE_ERRORS": 1}, "the backend cannot prepare the graph first (graphFinalize): error 6022"),
        ({"SOC": 69, "ARCH": 79}, "this package has no model for this device"),
    ],
    ids=["device", "finalize", "soc"],
)
def test_the_cpu_runs_where_the_npu_cannot_and_the_reason_is_said(device, stand_in, settings, reason):
    rewrite(device, stand_in, f"{VARIANT} dlc=model.dlc", units=(NPU, CPU))

    ran = device.run("--output", device.folder, **{**SAID, "CPU": 1, **settings})

    assert ran.code == 0, ran.err
    assert ran.document["unit"] == "cpu"
    assert ran.document["units_passed_over"] == [{"unit": "npu", "reason": reason}]
    assert f"the npu cannot be used: {reason}" in ran.err
    assert device.journal.count("createPowerConfigId 0 0") == device.journal.count("destroyPowerConfigId 42")
    np.testing.assert_array_equal(np.load(device.folder / "y.npy"), [[0, 2], [4, 6]])


def test_a_unit_that_is_not_listed_is_not_used(device, stand_in):
    rewrite(device, stand_in, f"{VARIANT} dlc=model.dlc")

    ran = device.run(**SAID, CPU=1, DEVICE_ERROR=14001)

    assert ran.code == 4
    assert ran.document["error"]["code"]["decimal"] == 14001


def test_a_context_binary_is_nothing_for_the_cpu(device, stand_in):
    rewrite(device, stand_in, f"{VARIANT} context=model.bin", units=(CPU,))

    ran = device.run(CPU=1)

    assert ran.code == 1
    assert ran.document["error"]["what"] == "this package has no model that the cpu can compose"


@pytest.mark.parametrize(
    ("compatibility", "vtcm", "code"), [("permissive", 8, 0), ("permissive", 16, 1), ("strict", 8, 1)]
)
def test_a_model_for_another_soc_of_the_same_hexagon_runs_only_where_that_is_permitted(
    device, stand_in, compatibility, vtcm, code
):
    line = VARIANT.replace("vtcm_mb=8", f"vtcm_mb={vtcm}")
    rewrite(device, stand_in, f"compatibility {compatibility}", f"{line} context=model.bin")

    ran = device.run(SOC=43, ARCH=73)  # 8 MB of VTCM

    assert ran.code == code
    if not code:
        assert "made for another SoC of the same Hexagon v73" in ran.document["variant"]["chosen_because"]


# ---- names ----


@pytest.fixture(scope="session")
def choice(store: Store, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """choose.c as a library."""
    folder = tmp_path_factory.mktemp("choice")
    (folder / "tables.c").write_text(generated_tables())
    units = [
        SOURCES / f"{name}.c" for name in ("choose", "status", "config", "config_lines", "platform_posix")
    ]
    zig(store, folder, "-shared", "-fPIC", "-o", "choice.so", *units, folder / "tables.c", "-ldl")
    library = ctypes.CDLL(str(folder / "choice.so"))
    library.soc_is_called.restype = ctypes.c_bool
    library.soc_is_called.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    return library


@pytest.mark.parametrize(
    ("name", "soc_models"),
    [
        ("SM8650", {57}),
        ("SM8550-AB", {43}),
        ("QCS9100", {77}),
        ("qcs6490", {93}),
        ("Snapdragon(R) X Elite - X1E78100 - Qualcomm(R) Oryon(TM) CPU", {60}),
        ("Snapdragon(R) X2 Elite - X2E80100 - Qualcomm(R) Oryon(TM) CPU", {88}),
        ("Snapdragon (TM) 8cx Gen 3 @ 3.0 GHz", {37}),
        ("SM86501", set()),
        ("XSM8650", set()),
        ("Intel(R) Xeon(R) CPU", set()),
        ("(R)" * 100, set()),
        ("", set()),
    ],
)
def test_a_soc_is_known_by_what_the_system_calls_it(choice, name, soc_models):
    called = {soc.soc_model for soc in catalog.socs() if choice.soc_is_called(soc.soc_model, name.encode())}

    assert called == soc_models


def test_every_name_fits_into_its_place_in_the_table():
    rows = [line for line in generated_tables().splitlines() if line.endswith("u},") and line.count('"') == 2]
    names = [line.split('"')[1] for line in rows if line.strip().startswith('{"') and line.count(",") == 2]

    assert len(names) > 80
    assert max(map(len, names)) < 28


def test_android_tells_its_soc_by_a_property(store, device, tmp_path, monkeypatch):
    source = tmp_path / "property.c"
    source.write_text(
        "#include <string.h>\n"
        "int __system_property_get(const char *name, char *value)\n"
        '{ strcpy(value, strcmp(name, "ro.soc.model") ? "" : "QCS9100"); return (int)strlen(value); }\n'
    )
    zig(store, tmp_path, "-shared", "-fPIC", "-o", "libproperty.so", source)

    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "libproperty.so"))

    ran = device.run()

    assert ran.code == 0, ran.err
    assert ran.document["variant"]["chosen_because"] == "the system calls the processor QCS9100"
