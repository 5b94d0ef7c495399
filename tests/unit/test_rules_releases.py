"""One QAIRT release over all files, and which rule speaks when it is not so."""

from __future__ import annotations

import pytest

from tests.unit.rule_cases import (
    BUILD,
    OLDER_BUILD,
    facts_of,
    findings,
    skel_facts,
    sound_case,
    staged,
    with_facts,
    with_file,
)

SET = ("lib/libQnnHtp.so", "lib/libQnnHtpV73Stub.so", "dsp/libQnnHtpV73Skel.so")


def test_HEX102_fires_for_a_backend_of_an_older_release():
    case = with_facts(sound_case(), "lib/libQnnHtp.so", qairt_build=OLDER_BUILD, qairt_release="2.48.0")

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX102", "lib/libQnnHtp.so")
    assert (finding.found, finding.wanted) == (OLDER_BUILD, f"{BUILD}, as lib/libQnnHtpV73Stub.so")


def test_HEX102_fires_for_each_file_of_a_pair_that_agrees_with_itself_only():
    case = sound_case()
    for path in SET[1:]:
        case = with_facts(case, path, qairt_build=OLDER_BUILD, qairt_release="2.48.0", skel_release=None)
    case = with_facts(case, SET[2], skel_release="2.48.0")

    found = findings(case)

    assert [(f.rule, f.file) for f in found] == [("HEX102", SET[1]), ("HEX102", SET[2])]


def test_HEX102_fires_for_a_file_that_knows_only_its_release():
    case = with_facts(sound_case(), "lib/libQnnSystem.so", qairt_release="2.48.0")

    (finding,) = findings(case)

    assert (finding.rule, finding.found) == ("HEX102", "2.48.0")


def test_HEX102_is_silent_where_a_file_knows_only_its_release_and_it_fits():
    case = with_facts(sound_case(), "lib/libQnnSystem.so", qairt_release="2.51.0")

    assert not findings(case)


def test_HEX102_fires_for_a_system_library_that_was_built_on_another_day():
    case = with_facts(sound_case(), "lib/libQnnSystem.so", qairt_stamp="260626120635")

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX102", "lib/libQnnSystem.so")
    assert (finding.found, finding.wanted) == ("a build of 260626120635", f"{BUILD}, as lib/libQnnHtp.so")


def test_HEX102_is_silent_about_a_date_in_a_file_that_is_not_the_vendors():
    case = sound_case("simulator")
    paths = [examined.file.path for examined in case.files if examined.file.role == "runner"]

    assert not findings(with_facts(case, paths[0], qairt_stamp="260626120635"))


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("genie", "libGenie.so"),
        ("ir", "libQnnIr.so"),
        ("saver", "libQnnSaver.so"),
        ("net-run-extensions", "libQnnHtpNetRunExtensions.so"),
        ("cpu-backend", "libQnnCpu.so"),
    ],
)
def test_HEX102_fires_for_any_library_of_the_sdk(role, name):
    facts = facts_of(sound_case(), "lib/libQnnHtp.so")
    older = facts.model_copy(update={"qairt_build": None, "qairt_release": "2.48.0", "soname": name})

    (finding,) = findings(with_file(sound_case(), staged(f"lib/{name}", role, older)))

    assert (finding.rule, finding.file, finding.found) == ("HEX102", f"lib/{name}", "2.48.0")


def test_HEX103_fires_once_for_a_whole_set_of_another_release():
    case = sound_case()
    for path in SET:
        case = with_facts(case, path, qairt_build=OLDER_BUILD, qairt_release="2.48.0")
    case = with_facts(case, SET[2], skel_release="2.48.0")
    case = with_facts(case, "lib/libQnnSystem.so", qairt_stamp=OLDER_BUILD.rpartition(".")[2])

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX103", "lib/libQnnHtp.so")
    assert (finding.found, finding.wanted) == (
        f"{OLDER_BUILD}, in 3 files",
        f"{BUILD}, as [qairt] version 2.51.0",
    )


def test_HEX103_is_silent_when_one_file_is_of_the_planned_release():
    case = with_facts(sound_case(), SET[0], qairt_build=OLDER_BUILD, qairt_release="2.48.0")

    assert "HEX103" not in {finding.rule for finding in findings(case)}


def test_HEX104_fires_for_a_skel_of_another_release_with_both_build_ids():
    case = with_facts(sound_case(), SET[2], skel_facts(73, OLDER_BUILD, "2.48.0"))

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX104", SET[2])
    assert (finding.found, finding.wanted) == (OLDER_BUILD, f"{BUILD}, as lib/libQnnHtpV73Stub.so")
    assert "lib id mismatch" in finding.on_device


def test_HEX104_fires_for_the_stub_when_the_skel_is_the_one_that_fits_the_set():
    case = with_facts(sound_case(), SET[1], qairt_build=OLDER_BUILD, qairt_release="2.48.0")

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.found) == ("HEX104", SET[1], OLDER_BUILD)
    assert finding.wanted == f"{BUILD}, as dsp/libQnnHtpV73Skel.so"


def test_HEX104_fires_and_asks_for_both_when_neither_half_fits_the_set():
    case = with_facts(sound_case(), SET[1], qairt_build=OLDER_BUILD, qairt_release="2.48.0")
    case = with_facts(case, SET[2], skel_facts(73, "v2.40.0.251030114326", None))

    (finding,) = findings(case)

    assert finding.rule == "HEX104"
    assert finding.fix == f"take both libQnnHtpV73Stub.so and libQnnHtpV73Skel.so from QAIRT {BUILD}"


def test_HEX104_is_silent_for_every_architecture_of_one_release():
    case = sound_case(socs=("qcs9075", "qcs6490", "sm8650"), precision="w8a16", name="many")

    assert "HEX104" not in {finding.rule for finding in findings(case)}


def test_HEX105_fires_for_the_entry_of_another_release_under_the_right_build_id():
    case = with_facts(sound_case(), SET[2], skel_release="2.48.0")

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX105", SET[2])
    assert finding.found == "qnn_2_48_0_skel_handle_invoke"
    assert finding.wanted == "qnn_2_51_0_skel_handle_invoke, which lib/libQnnHtpV73Stub.so calls"


def test_HEX105_fires_for_a_skel_without_a_release_beside_a_stub_that_asks_for_one():
    case = with_facts(sound_case(), SET[2], skel_facts(73, None, None))

    (finding,) = findings(case)

    assert (finding.rule, finding.found) == ("HEX105", "no entry with a release in its name")


def test_HEX105_is_silent_for_releases_whose_entries_had_no_release_in_their_name():
    case = sound_case()
    for path in SET:
        case = with_facts(case, path, qairt_build="v2.40.0.251030114326", qairt_release="2.40.0")
    case = with_facts(case, SET[2], skel_release=None)

    assert "HEX105" not in {finding.rule for finding in findings(case)}
