"""HEX407 to HEX411: the search paths that scripts, units and compose files set."""

from __future__ import annotations

import pytest

from packager.facts.environment import read_environment
from packager.rules.core import Case, Finding
from tests.unit.rule_cases import findings, skel_facts, sound_case, staged, with_file, with_plan

BOTH = 'export ADSP_LIBRARY_PATH="{0}"\nexport DSP_LIBRARY_PATH="{0}"\n'
SOUND = BOTH.format("$HERE/dsp;/vendor/lib/rfsa/adsp;/usr/lib/dsp")


@pytest.fixture
def scripted(tmp_path):
    """The sound case with a script of this text."""

    def make(text: str, case: Case | None = None) -> Case:
        path = tmp_path / "env.sh"
        path.write_text(text if text.startswith("[") else f"#!/bin/sh\n{text}")
        return with_file(case or sound_case(), staged("env.sh", "environment", read_environment(path)))

    return make


def told(case: Case) -> list[Finding]:
    return [finding for finding in findings(case) if finding.rule.startswith("HEX4")]


def rules(case: Case) -> list[str]:
    return [finding.rule for finding in told(case)]


def test_HEX407_fires_for_a_colon_between_folders_and_says_how_it_is_written(scripted):
    first, second = told(scripted(BOTH.format("$HERE/dsp:/vendor/dsp")))

    assert (first.rule, first.file, second.file) == ("HEX407", "env.sh:2", "env.sh:3")
    assert "$HERE/dsp;/vendor/dsp" in first.fix


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("$HERE/dsp,/vendor/dsp", "$HERE/dsp;/vendor/dsp"),
        ("$HERE/dsp:/vendor/dsp;/dsp", "$HERE/dsp;/vendor/dsp;/dsp"),
        ("C:/app/dsp:D:/dsp", "C:/app/dsp;D:/dsp"),
        ("$HERE/dsp:$ADSP_LIBRARY_PATH", "$HERE/dsp;$ADSP_LIBRARY_PATH"),
    ],
)
def test_HEX407_fires_wherever_two_folders_are_joined_otherwise(scripted, value, written):
    found = told(scripted(BOTH.format(value)))

    assert [finding.rule for finding in found] == ["HEX407"] * 2
    assert found[0].fix == f"write {written}, in quotes"


@pytest.mark.parametrize(
    "value",
    [
        "$HERE/dsp;/vendor/dsp",
        "$HERE/dsp",
        "C:\\app\\dsp",
        "C:/app;D:/dsp",
        "${MINE:-/opt/dsp}",
        "/opt/a,b;/c",
    ],
)
def test_HEX407_is_silent_for_semicolons_drives_and_defaults(scripted, value):
    assert "HEX407" not in rules(scripted(BOTH.format(value)))


def test_HEX407_is_silent_for_the_hosts_loader_whose_folders_have_colons(scripted):
    assert rules(scripted(SOUND + "export LD_LIBRARY_PATH=$HERE/lib:/usr/lib\n")) == []


def test_HEX408_fires_for_a_semicolon_that_ends_the_command(scripted):
    text = "export ADSP_LIBRARY_PATH=$HERE/dsp;/vendor/dsp\nexport DSP_LIBRARY_PATH='$HERE/dsp;/vendor/dsp'\n"

    (finding,) = told(scripted(text))

    assert (finding.rule, finding.file) == ("HEX408", "env.sh:2")
    assert finding.fix == 'write ADSP_LIBRARY_PATH="$HERE/dsp;/vendor/dsp"'


@pytest.mark.parametrize(
    "text", [SOUND, "ADSP_LIBRARY_PATH=/a; export ADSP_LIBRARY_PATH; DSP_LIBRARY_PATH=/a\n"]
)
def test_HEX408_is_silent_for_quotes_and_for_a_command_that_ends_on_purpose(scripted, text):
    assert rules(scripted(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "adb shell \"ADSP_LIBRARY_PATH=/x/dsp;/dsp DSP_LIBRARY_PATH='/x/dsp;/dsp' ./run\"\n",
        "[Service]\nEnvironment=DSP_LIBRARY_PATH=/x/dsp\nExecStart=/bin/sh -c 'ADSP_LIBRARY_PATH=/x/dsp;/dsp /x/run'\n",
    ],
)
def test_HEX408_fires_for_a_shell_that_is_started_elsewhere(scripted, text):
    assert rules(scripted(text)) == ["HEX408"]


@pytest.mark.parametrize(
    "command", ["export ADSP_LIBRARY_PATH", "./run", "/opt/run --verbose", "cd /x", "$HERE/run --verbose"]
)
def test_HEX408_is_silent_for_a_command_that_follows_without_a_blank(scripted, command):
    assert rules(scripted(f"DSP_LIBRARY_PATH=/x/dsp; ADSP_LIBRARY_PATH=/x/dsp;{command}\n")) == []


def test_HEX408_is_silent_in_a_unit_file_which_does_not_cut(scripted):
    unit = (
        "[Service]\nEnvironment=ADSP_LIBRARY_PATH=/x/dsp;/usr/lib/dsp DSP_LIBRARY_PATH=/x/dsp;/usr/lib/dsp\n"
    )

    assert rules(scripted(unit)) == []


@pytest.mark.parametrize(
    ("system", "set_alone", "missing"),
    [
        ("linux", "ADSP_LIBRARY_PATH", "DSP_LIBRARY_PATH"),
        ("android", "ADSP_LIBRARY_PATH", "DSP_LIBRARY_PATH"),
        ("android", "DSP_LIBRARY_PATH", "ADSP_LIBRARY_PATH"),
        ("windows", "DSP_LIBRARY_PATH", "ADSP_LIBRARY_PATH"),
        ("qnx", "CDSP0_LIBRARY_PATH", "CDSP1_LIBRARY_PATH"),
    ],
)
def test_HEX409_fires_where_a_variable_is_set_alone(scripted, system, set_alone, missing):
    case = with_plan(Case(plan=sound_case().plan), system=system)

    (finding,) = told(scripted(f'export {set_alone}="$HERE/dsp"\n', case))

    assert (finding.rule, finding.found) == ("HEX409", f"sets {set_alone} and not {missing}")


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("linux", SOUND),
        ("android", SOUND),
        ("linux", 'DSP_LIBRARY_PATH="$HERE/dsp" ./run\n'),
        ("windows", "export ADSP_LIBRARY_PATH=dsp\n"),
        ("qnx", "export ADSP_LIBRARY_PATH=dsp\n"),
    ],
)
def test_HEX409_is_silent_for_both_and_for_one_that_suffices(scripted, system, text):
    assert rules(scripted(text, with_plan(Case(plan=sound_case().plan), system=system))) == []


ONE = "ADSP_LIBRARY_PATH=/x/dsp\n"
OTHER = "DSP_LIBRARY_PATH=/x/dsp\n"


@pytest.fixture
def packed(tmp_path):
    """The sound case with files of these texts at these paths."""

    def make(files: dict[str, str]) -> Case:
        case = sound_case()
        for number, (name, text) in enumerate(files.items()):
            path = tmp_path / str(number)
            path.write_text(text)
            case = with_file(case, staged(name, "environment", read_environment(path)))
        return case

    return make


@pytest.mark.parametrize(
    ("user", "text"),
    [
        ("app.service", f"[Service]\nEnvironment={ONE}EnvironmentFile=-/etc/default/app\n"),
        ("app.service", f"[Service]\nEnvironmentFile=/etc/default/*\nEnvironment={ONE}"),
        ("compose.yaml", f"services:\n a:\n  environment: [{ONE.strip()}]\n  env_file: ./etc/default/app\n"),
        ("compose.yaml", f"services:\n a:\n  environment: [{ONE.strip()}]\n  env_file: [{{path: app}}]\n"),
        ("run.sh", f"#!/bin/sh\n{ONE}. ./etc/default/app\n"),
        ("run.sh", f'#!/bin/sh\n{ONE}set -a; source "$HERE/app"\n'),
    ],
)
def test_HEX409_is_silent_where_the_other_variable_is_in_a_file_that_is_read_too(packed, user, text):
    assert rules(packed({user: text, "etc/default/app": OTHER})) == []


def test_HEX409_fires_where_neither_a_file_nor_one_that_it_reads_sets_the_other(packed):
    unit = f"[Service]\nEnvironment={ONE}EnvironmentFile=/etc/default/app\n"

    assert rules(packed({"app.service": unit, "etc/default/app": ONE})) == ["HEX409"] * 2


def test_HEX409_fires_where_the_other_variable_is_in_a_file_that_nobody_reads(packed):
    unit = f"[Service]\nEnvironment={ONE}EnvironmentFile=/etc/default/other\n"

    assert rules(packed({"app.service": unit, "etc/default/app": OTHER})) == ["HEX409"]


def test_HEX410_fires_where_the_boards_folder_is_first_for_the_dsp(scripted):
    found = told(scripted(BOTH.format("/vendor/lib/rfsa/adsp;$HERE/dsp")))

    assert [finding.rule for finding in found] == ["HEX410"] * 2
    assert found[0].found == "ADSP_LIBRARY_PATH begins with /vendor/lib/rfsa/adsp"


@pytest.mark.parametrize("before", ["$DSP_LIBRARY_PATH", "${DSP_LIBRARY_PATH:+$DSP_LIBRARY_PATH;}"])
def test_HEX410_fires_where_what_the_variable_held_comes_first(scripted, before):
    assert rules(scripted(f'export DSP_LIBRARY_PATH="{before};$HERE/dsp"\n')) == ["HEX410"]


def test_HEX410_is_silent_where_one_variable_is_set_to_the_other_or_grows_behind(scripted):
    text = f"{SOUND}export DSP_LIBRARY_PATH=$ADSP_LIBRARY_PATH\n"

    assert rules(scripted(f'{text}export DSP_LIBRARY_PATH="$HERE/dsp;$DSP_LIBRARY_PATH"\n')) == []


def test_HEX410_is_silent_in_a_package_that_has_nothing_for_the_dsp(scripted):
    assert rules(scripted(BOTH.format("/usr/lib/rfsa/adsp"), Case(plan=sound_case().plan))) == []


def test_HEX410_fires_for_the_vendors_folder_on_the_hosts_path(scripted):
    assert rules(scripted("export LD_LIBRARY_PATH=$HERE/lib:/vendor/lib64/\n")) == ["HEX410"]


def test_HEX410_is_silent_for_an_automotive_soc_which_needs_that_folder(scripted):
    case = sound_case()
    (soc,) = case.plan.socs
    guest = with_plan(case, socs=(soc.model_copy(update={"systems": ("linux", "qnx")}),))

    assert "HEX410" not in rules(scripted("export LD_LIBRARY_PATH=$HERE/lib:/vendor/lib64\n", guest))


def test_HEX410_is_silent_where_the_packages_folder_is_first(scripted):
    assert rules(scripted(SOUND)) == []


def deep(case: Case) -> Case:
    """The case with its skel where an SDK has it."""
    files = tuple(e for e in case.files if e.file.role != "skel")
    skel = staged("hexagon-v73/unsigned/libQnnHtpV73Skel.so", "skel", skel_facts(73), arch=73)
    return case.model_copy(update={"files": (*files, skel)})


def test_HEX411_fires_for_a_folder_that_has_its_skels_one_deeper(scripted):
    first, _ = told(scripted(BOTH.format("$QNN_SDK_ROOT/lib/hexagon-v73"), deep(sound_case())))

    assert first.rule == "HEX411"
    assert first.wanted == "$QNN_SDK_ROOT/lib/hexagon-v73/unsigned"


@pytest.mark.parametrize("folder", ["$ROOT/hexagon-v73/unsigned", "/opt/other", "$ROOT"])
def test_HEX411_is_silent_for_the_folder_of_the_skel_and_for_those_that_nobody_knows(scripted, folder):
    assert rules(scripted(BOTH.format(folder), deep(sound_case()))) == []


def test_HEX411_is_silent_for_a_folder_above_one_that_is_named_after_a_domain(scripted):
    files = tuple(e for e in sound_case().files if e.file.role != "skel")
    skel = staged("dsp/cdsp/libQnnHtpV73Skel.so", "skel", skel_facts(73), arch=73)
    case = sound_case().model_copy(update={"files": (*files, skel)})

    assert rules(scripted(BOTH.format("$HERE/dsp"), case)) == []


def test_a_path_with_colons_and_without_quotes_is_one_fault(scripted):
    assert rules(scripted("DSP_LIBRARY_PATH=$HERE/dsp:/vendor/dsp\n")) == ["HEX407"]
