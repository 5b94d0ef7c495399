"""How hexrun behaves on a device, watched through a backend that does as it is told."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess

import numpy as np
import pytest
from runner_kit import SM8650

pytest_plugins = ["runner_kit", "runner_device"]


def test_the_dsp_folder_leads_both_search_paths_and_what_was_there_stays(device, monkeypatch):
    monkeypatch.setenv("ADSP_LIBRARY_PATH", "/vendor/dsp;/dsp")
    monkeypatch.delenv("DSP_LIBRARY_PATH", raising=False)

    device.run(SOC=77, ARCH=73)

    dsp = device.folder / "dsp"
    assert device.journal[0] == f"logCreate level=1 ADSP={dsp};/vendor/dsp;/dsp DSP={dsp}"


@pytest.mark.parametrize(("soc_model", "soc"), [(77, "qcs9075"), (57, "sm8650"), (158, "sm8650")])
def test_a_device_runs_the_model_of_the_soc_that_it_reports(device, soc_model, soc):
    ran = device.run("--output", device.folder / "out", SOC=soc_model, ARCH=75)

    assert ran.code == 0, ran.err
    assert ran.document["variant"]["soc"] == soc
    assert (
        ran.document["variant"]["chosen_because"] == f"the device reports soc_model {soc_model}, Hexagon v75"
    )
    np.testing.assert_array_equal(np.load(device.folder / "out" / "y.npy"), [[0, 2], [4, 6]])
    assert "deviceCreate soc@4=0 soc@8=0" in device.journal


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"SOC": 69, "ARCH": 79}, "found soc_model 69, Hexagon v79, 8 MB VTCM"),
        ({}, "found neither a soc_model"),
    ],
)
def test_a_device_without_a_model_of_its_own_is_refused_with_found_and_wanted(device, settings, found):
    ran = device.run(**settings)

    evidence = ran.document["error"]["evidence"]
    assert ran.code == 1
    assert ran.document["error"]["what"] == "this package has no model for this device"
    assert evidence[0].startswith(found)
    assert "wanted qcs9075 (soc_model 77, Hexagon v73)" in evidence
    assert not any(line.startswith(("deviceCreate", "contextCreate")) for line in device.journal)


def test_a_long_list_of_models_is_cut_and_says_by_how_much(device):
    device.conf.write_text(device.conf.read_text() + f"{SM8650}\n" * 18)

    ran = device.run(SOC=69, ARCH=79)

    said = ran.document["error"]
    found = sum(line.startswith("found") for line in said["evidence"])
    assert len(said["evidence"]) - found + said["evidence_left_out"] == 20
    assert f"and {said['evidence_left_out']} more" in ran.err


def test_a_model_named_by_hand_runs_and_the_report_says_so(device):
    ran = device.run("--soc", "SM8650", SOC=69, ARCH=79)

    assert ran.code == 0
    assert (
        ran.document["variant"]["chosen_because"]
        == "named by --soc, although the device reports soc_model 69"
    )


def test_a_model_named_by_hand_is_refused_where_it_needs_a_newer_hexagon(device):
    ran = device.run("--soc", "57", SOC=77, ARCH=73)

    assert ran.code == 1
    assert "found Hexagon v73, wanted v75" in ran.err


def test_a_context_that_is_refused_is_not_tried_again(device):
    ran = device.run(SOC=77, ARCH=73, CONTEXT_ERROR=5005)

    said = ran.document["error"]
    assert ran.code == 4
    assert (said["code"]["decimal"], said["code"]["name"]) == (5005, "CONTEXT_CREATE_FROM_BINARY")
    assert device.journal.count("contextCreateFromBinary the model") == 1
    assert said["evidence"] == ["compiled by QAIRT of unknown build, opened by v2.51.0.260929181845"]


def test_the_last_sixteen_lines_of_the_backends_log_come_with_the_error(device):
    ran = device.run(SOC=77, ARCH=73, CONTEXT_ERROR=5005)

    expected = [f"remark {n}" for n in range(5, 20)] + ["skel failed with 0x80000442"]
    assert ran.document["error"]["backend_log"] == expected
    assert "0x80000442 AEE_ENOSUCHSYMBOL: a skel was found, but of another release" in ran.err


@pytest.mark.parametrize(
    ("settings", "code", "call"),
    [
        ({"LOG_ERROR": 4000}, 4000, "logCreate"),
        ({"DEVICE_ERROR": 14001}, 14001, "deviceCreate"),
        ({"EXECUTE_ERROR": 6001}, 6001, "graphExecute"),
    ],
)
def test_an_error_names_the_call_that_returned_it(device, settings, code, call):
    ran = device.run(SOC=77, ARCH=73, **settings)

    said = ran.document["error"]
    assert ran.code == 4
    assert said["code"]["decimal"] == code
    assert f"({call})" in said["what"]


def test_the_power_vote_is_that_of_the_profile_and_is_given_back(device):
    ran = device.run(SOC=77, ARCH=73)

    votes = [line for line in device.journal if "owerConfigId" in line or line.startswith("vote")]
    assert votes == [
        "createPowerConfigId 0 0",
        "vote 42 context=42 dcvs=0 mode=16 sleep=40 bus=160/160/160 core=160/160/160",
        "vote 42 option=2 us=100",
        "vote 42 option=3 us=9999",
        "vote 42 context=42 dcvs=1 mode=4 sleep=2000 bus=48/48/48 core=48/48/48",
        "destroyPowerConfigId 42",
    ]
    assert ran.document["power"] == {
        "profile": "burst",
        "applied": True,
        "rpc_applied": True,
        "corner": 160,
        "corner_name": "max",
        "mode": 16,
        "mode_name": "performance",
        "dcvs": False,
        "sleep_latency_us": 40,
        "rpc_latency_us": 100,
        "rpc_polling_us": 9999,
        "reason": None,
    }


def test_what_was_opened_is_closed_in_reverse(device):
    device.run(SOC=77, ARCH=73)

    opened = (
        "contextFree",
        "deviceFree",
        "backendFree",
        "logFree",
        "systemContextFree",
        "destroyPowerConfigId 42",
    )
    closed = [line for line in device.journal if line in opened]
    assert closed == [
        "destroyPowerConfigId 42",
        "contextFree",
        "deviceFree",
        "backendFree",
        "logFree",
        "systemContextFree",
    ]


def test_an_execution_that_fails_still_gives_the_power_vote_back(device):
    device.run(SOC=77, ARCH=73, EXECUTE_ERROR=6001)

    assert "destroyPowerConfigId 42" in device.journal


def test_a_profile_named_on_the_command_line_wins(device):
    ran = device.run("--power", "balanced", SOC=77, ARCH=73)

    assert ran.document["power"]["corner"] == 0x70
    assert "vote 42 option=3 us=0" in device.journal


def test_the_polling_time_of_runner_conf_wins_over_the_profiles(device):
    device.conf.write_text(device.conf.read_text() + "rpc_polling_us 1234\n")

    device.run(SOC=77, ARCH=73)

    assert "vote 42 option=3 us=1234" in device.journal


def test_the_default_profile_votes_nothing(device):
    ran = device.run("--power", "default", SOC=77, ARCH=73)

    assert ran.code == 0
    assert ran.document["power"]["applied"] is False
    assert not any(line.startswith("vote") for line in device.journal)


@pytest.mark.parametrize(
    ("settings", "applied", "reason"),
    [
        ({"NO_POWER": 1}, (False, False), "not offered by this backend"),
        ({"REFUSED_VOTE": 1}, (False, False), "the clock vote was refused: error 13002"),
        ({"REFUSED_VOTE": 3}, (True, False), "the RPC votes were refused: error 13002"),
    ],
)
def test_a_vote_that_is_not_taken_is_said_and_does_not_stop_the_run(device, settings, applied, reason):
    ran = device.run(SOC=77, ARCH=73, **settings)

    power = ran.document["power"]
    assert ran.code == 0
    assert (power["applied"], power["rpc_applied"]) == applied
    assert power["reason"].startswith(reason)
    assert reason in ran.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_power_vote_back_and_ends_with_130(device, hexrun, number):
    environment = {
        "STAND_IN_SOC": "77",
        "STAND_IN_ARCH": "73",
        "STAND_IN_JOURNAL": str(device.folder / "journal"),
    }
    command = [hexrun, "--config", device.conf, "--input", device.folder / "x.npy", "--iterations", "1000000"]
    started = subprocess.Popen(
        [*command, "--warmup", "1000000"],
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        text=True,
    )
    assert started.stderr is not None
    while "power burst" not in (line := started.stderr.readline()):
        assert line, "ended before the vote"

    started.send_signal(number)
    _, err = started.communicate(timeout=60)

    assert started.returncode == 130, err
    assert "interrupted" in err
    assert "destroyPowerConfigId 42" in device.journal


@pytest.mark.parametrize(
    ("settings", "evidence"),
    [
        ({"CORE_MINOR": 9}, "found STAND_IN (backend id 6), core API 2.9"),
        ({"CORE_MAJOR": 3}, "found STAND_IN (backend id 6), core API 3.40"),
        ({"BACKEND": 3}, "found STAND_IN (backend id 3), core API 2.40"),
        ({"TOLD_MINOR": 41}, "table of core API 2.40.0, its getter says 2.41.0"),
    ],
)
def test_a_backend_that_hexrun_does_not_know_is_not_driven(device, settings, evidence):
    ran = device.run(SOC=77, ARCH=73, **settings)

    assert ran.code == 1
    assert evidence in ran.document["error"]["evidence"]
    assert not (device.folder / "journal").exists()


@pytest.mark.parametrize("minor", [10, 13, 14, 40])
def test_tensors_are_laid_out_as_the_backends_core_api_wants_them(device, minor):
    ran = device.run("--output", device.folder, SOC=77, ARCH=73, CORE_MINOR=minor)

    assert ran.code == 0, ran.err
    np.testing.assert_array_equal(np.load(device.folder / "y.npy"), [[0, 2], [4, 6]])


@pytest.mark.parametrize("stride", [48, 64, 88])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_graphs_are_found_at_every_known_distance_in_every_description(device, stride, version):
    ran = device.run("--describe", SOC=77, ARCH=73, GRAPHS=3, GRAPH_STRIDE=stride, INFO_VERSION=version)

    assert [graph["name"] for graph in ran.document["graphs"]] == ["first", "second", "third"]


@pytest.mark.parametrize("updateable", [1, 2, 3])
def test_updateable_tensors_of_a_graph_are_not_taken_for_the_next_graph(device, updateable):
    ran = device.run("--describe", SOC=77, ARCH=73, GRAPHS=2, GRAPH_VERSION=3, UPDATEABLE=updateable)

    assert [graph["name"] for graph in ran.document["graphs"]] == ["first", "second"]


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"GRAPHS": 65}, "number of graphs: found 65, at most 64 is believed"),
        ({"GRAPHS": 0}, "number of graphs: found 0, at most 64 is believed"),
        ({"RANK": 9}, "rank of a tensor: found 9, at most 8 is believed"),
        ({"INFO_VERSION": 4}, "version of the description: found 4, at most 3 is believed"),
        ({"DATA_TYPE": 0x404}, "QNN data type 0x404 (ufixed_point_4)"),
        ({"DATA_TYPE": 0x777}, "QNN data type 0x777 (unknown)"),
    ],
)
def test_metadata_that_makes_no_sense_is_not_believed(device, settings, line):
    ran = device.run(SOC=77, ARCH=73, **settings)

    assert ran.code == 1
    assert line in ran.document["error"]["evidence"]


@pytest.mark.parametrize(
    ("settings", "never"),
    [
        ({"LOG_ERROR": 1}, "logFree"),
        ({"BACKEND_ERROR": 1}, "backendFree"),
        ({"DEVICE_ERROR": 1}, "deviceFree"),
        ({"CONTEXT_ERROR": 1}, "contextFree"),
    ],
)
def test_a_handle_that_came_with_an_error_is_not_given_back(device, settings, never):
    ran = device.run(SOC=77, ARCH=73, **settings)

    assert ran.code == 4
    assert never not in device.journal


def test_a_package_in_a_folder_that_fastrpc_would_split_is_refused(device, tmp_path):
    odd = tmp_path / "a;b"
    (odd / "dsp").mkdir(parents=True)
    device.conf = shutil.copy(device.conf, odd)
    shutil.copy(tmp_path / "model.bin", odd)

    ran = device.run(SOC=77, ARCH=73)

    assert ran.code == 3
    assert f"found a ; in {odd}/dsp, which parts folders" in ran.document["error"]["evidence"]


HOSTILE = "a\x1b[2Jb\x07\u009bc\nd"


@pytest.mark.parametrize("words", [("--describe",), ("--graph", "none"), ()])
def test_what_a_model_calls_itself_does_nothing_to_a_terminal(device, words):
    inputs = () if words else ("--input", device.folder / "x.npy")

    ran = device.run_plainly(*words, *inputs, SOC=77, ARCH=73, GRAPH_NAME=HOSTILE, CONTEXT_ERROR=not words)

    assert not set(ran.out + ran.err) & set("\x1b\x07\u009b")


def test_the_report_is_json_whatever_locale_a_library_sets(device, tmp_path):
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "de_DE.UTF-8"], check=True)

    ran = device.run(
        *("--compare", device.folder / "x.npy", "--min-cosine", "0.5"),
        SOC=77,
        ARCH=73,
        LOCALE=1,
        LOCPATH=tmp_path,
    )

    assert ran.document["outputs"][0]["reference"]["min_cosine"] == 0.5
