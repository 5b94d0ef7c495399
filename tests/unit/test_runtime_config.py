"""runner.conf and the HTP files say what the plan says, in the words of the release."""

from __future__ import annotations

import pytest

from packager import layouts
from packager.manifest_host import Host
from packager.runtime_config import dialect, htp_config, net_run_config, runner_conf
from tests.make.bundle import target_plan


def lines(text: str) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in text.splitlines() if not line.startswith(("#", "variant")))


def variants(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("variant")]


def test_runner_conf_names_everything_relative_to_its_own_folder():
    plan = target_plan(socs=("qcs9075",), power="balanced", rpc_latency_us=250)

    said = lines(runner_conf(plan, layouts.places(plan)))

    assert said["compute"] == "npu ../lib/libQnnHtp.so"
    assert said["system"] == "../lib/libQnnSystem.so"
    assert said["dsp"] == "../dsp"
    assert (said["power"], said["rpc_latency_us"], said["simulator"]) == ("balanced", "250", "no")


def test_on_windows_everything_stands_beside_the_runner():
    plan = target_plan(socs=("x-elite",), abi="windows-arm64", formats=("zip",))

    said = lines(runner_conf(plan, layouts.places(plan)))

    assert (said["compute"], said["dsp"]) == ("npu QnnHtp.dll", ".")


@pytest.mark.parametrize(
    ("abi", "soc", "host", "expected"),
    [
        (
            "oe-linux-gcc11.2",
            "qcs9075",
            Host(libraries="/usr/lib", dsp="/usr/lib/dsp/cdsp"),
            ("npu /usr/lib/libQnnHtp.so", "/usr/lib/libQnnSystem.so", "/usr/lib/dsp/cdsp"),
        ),
        (
            "windows-arm64",
            "x-elite",
            Host(libraries="C:/QAIRT"),
            ("npu C:/QAIRT/QnnHtp.dll", "C:/QAIRT/QnnSystem.dll", "C:/QAIRT"),
        ),
    ],
)
def test_libraries_of_the_device_are_named_where_the_device_has_them(abi, soc, host, expected):
    plan = target_plan(socs=(soc,), abi=abi, formats=(), vendor_libraries="require", host=host)

    text = runner_conf(plan, layouts.places(plan))
    said = lines(text)

    assert (said["compute"], said["system"], said["dsp"]) == expected
    assert f"build {plan.runtime_set.release.build}" in text
    assert variants(text)[0].endswith(f"models/{plan.socs[0].id}.bin")


def test_a_simulator_has_no_dsp_folder():
    plan = target_plan(abi="x86_64-linux-clang", formats=("deb",))

    said = lines(runner_conf(plan, layouts.places(plan)))

    assert "dsp" not in said
    assert said["simulator"] == "yes"


def test_every_soc_has_a_variant_line_with_its_numbers():
    plan = target_plan(socs=("qcs6490", "qcs9075"), precision="w8a16")

    assert variants(runner_conf(plan, layouts.places(plan))) == [
        (
            "variant soc=qcs6490 soc_model=93 accepts=35 hexagon=68 vtcm_mb=2 linux_soc_ids=497,498"
            " context=models/qcs6490.bin"
        ),
        (
            "variant soc=qcs9075 soc_model=77 accepts=- hexagon=73 vtcm_mb=8 linux_soc_ids=667,676"
            " context=models/qcs9075.bin"
        ),
    ]


def test_every_unit_has_its_own_library_in_the_plans_order():
    plan = target_plan().model_copy(update={"compute": ("cpu", "npu"), "runtime": "dlc"})
    places = layouts.places(plan)
    places = places.model_copy(update={"backends": {**places.backends, "cpu": "lib/libQnnCpu.so"}})

    units = [line for line in runner_conf(plan, places).splitlines() if line.startswith("compute")]

    assert units == ["compute cpu ../lib/libQnnCpu.so", "compute npu ../lib/libQnnHtp.so"]


def test_of_a_split_model_hexrun_runs_the_parts_of_the_npu_alone():
    plan = target_plan().model_copy(update={"compute": ("npu", "cpu")})

    units = [
        line for line in runner_conf(plan, layouts.places(plan)).splitlines() if line.startswith("compute")
    ]

    assert plan.splits
    assert units == ["compute npu ../lib/libQnnHtp.so"]


def test_a_context_binary_is_prepared_already_and_a_dlc_is_to_be_prepared_as_the_plan_says():
    plan = target_plan(optimization=2, vtcm_mb=4)
    places = layouts.places(plan)

    context, dlc = runner_conf(plan, places), runner_conf(plan, places, asset="dlc")

    assert "prepare" not in lines(context)
    assert lines(dlc)["prepare"] == "optimization=2 vtcm_mb=4 hvx_threads=0 fp16=yes"
    assert variants(dlc)[0].endswith(" dlc=models/qcs9075.bin")


def test_priority_and_compatibility_are_always_said():
    plan = target_plan(compatibility="permissive")

    said = lines(runner_conf(plan, layouts.places(plan), priority="high"))

    assert (said["format"], said["priority"], said["compatibility"]) == ("2", "high", "permissive")


def test_the_rpc_polling_time_is_written_only_when_the_manifest_sets_it():
    silent, polling = target_plan(), target_plan(rpc_polling_us=500)

    assert "rpc_polling_us" not in runner_conf(silent, layouts.places(silent))
    assert "rpc_polling_us 500" in runner_conf(polling, layouts.places(polling))


def test_the_htp_file_carries_the_typed_settings_of_the_plan():
    plan = target_plan(optimization=2, vtcm_mb=4, hvx_threads=3, power="power_saver", rpc_polling_us=10)

    document = htp_config(plan, plan.socs[0], ("main",))

    assert document == {
        "graphs": [
            {"graph_names": ["main"], "vtcm_mb": 4, "O": 2, "fp16_relaxed_precision": 1, "hvx_threads": 3}
        ],
        "devices": [
            {
                "device_id": 0,
                "soc_model": 77,
                "dsp_arch": "v73",
                "pd_session": "unsigned",
                "cores": [
                    {
                        "core_id": 0,
                        "rpc_control_latency": 100,
                        "perf_profile": "power_saver",
                        "rpc_polling_time": 10,
                    }
                ],
            }
        ],
    }


def test_a_quantized_model_asks_for_no_float_precision():
    plan = target_plan(precision="w8a16")

    assert "fp16_relaxed_precision" not in htp_config(plan, plan.socs[0], ("main",))["graphs"][0]


@pytest.mark.parametrize(
    ("release", "graphs", "soc_key"), [("2.13.0", "object", "soc_id"), ("2.51.0", "array", "soc_model")]
)
def test_each_release_gets_its_own_dialect(release, graphs, soc_key):
    spelling = dialect(release)

    assert (spelling.graphs, spelling.soc_key) == (graphs, soc_key)


def test_an_old_release_gets_one_graph_object_and_the_old_key():
    plan = target_plan()
    old = plan.runtime_set.release.model_copy(update={"version": "2.13.0"})
    plan = plan.model_copy(update={"runtime_set": plan.runtime_set.model_copy(update={"release": old})})

    document = htp_config(plan, plan.socs[0], ("main",))

    assert document["graphs"]["graph_names"] == ["main"]
    assert document["devices"][0]["soc_id"] == 77


def test_the_outer_file_points_at_the_inner_one_and_at_the_extension_library_of_the_system():
    linux, windows = target_plan(), target_plan(socs=("x-elite",), abi="windows-arm64", formats=("zip",))

    assert net_run_config(linux, "qcs9075.json")["backend_extensions"] == {
        "shared_library_path": "libQnnHtpNetRunExtensions.so",
        "config_file_path": "qcs9075.json",
    }
    assert (
        net_run_config(windows, "a.json")["backend_extensions"]["shared_library_path"]
        == "QnnHtpNetRunExtensions.dll"
    )
