"""QNX, and the guests that run on it."""

from __future__ import annotations

from typing import Any

import pytest

from packager import catalog
from packager.facts.config_types import BuildEntry, BuildFileFacts
from packager.facts.types import ElfFacts
from packager.rules.core import Case, Finding, Stage, judge
from tests.unit.rule_cases import facts_of, skel_facts, sound_case, staged, with_facts, with_file, with_plan

BACKEND = "lib/libQnnHtp.so"
GUEST = {"socs": ("sa8255p",), "name": "guest"}


def judged(case: Case) -> tuple[Finding, ...]:
    """What the rules say about the files; whether the SoC suits the system is another matter."""
    return judge(case, Stage.FILES)


def on_qnx(abi: str = "qnx-aarch64", **changes: Any) -> Case:
    """A case for QNX whose skels need nothing; `changes` are the backend's facts."""
    case = with_plan(sound_case(), system="qnx", abi=catalog.abis()[abi])
    case = with_facts(case, "dsp/libQnnHtpV73Skel.so", needed=())
    for examined in case.files:
        if isinstance(examined.facts, ElfFacts) and examined.facts.machine == "AARCH64":
            case = with_facts(case, examined.file.path, abi="qnx", needed=("libm.so.3",))
    return with_facts(case, BACKEND, **changes)


def dsp_runtime(case: Case) -> Case:
    for name in ("libc++.so.1", "libc++abi.so.1"):
        case = with_file(case, staged(f"dsp/{name}", "dsp-library", skel_facts(68, build=None, release=None)))
    return case


def test_HEX241_fires_once_as_a_warning_for_a_guest_without_the_dsps_runtime():
    (finding,) = judged(sound_case(**GUEST))

    assert (finding.rule, finding.file, finding.refuses) == ("HEX241", "dsp/libQnnHtpV73Skel.so", False)
    assert finding.found == "links to libc++.so.1, libc++abi.so.1, not in the package"


def test_HEX241_fires_on_qnx_itself():
    case = with_facts(on_qnx(), "dsp/libQnnHtpV73Skel.so", needed=("libc++.so.1",))

    assert [finding.rule for finding in judged(case)] == ["HEX241"]


def test_HEX241_is_silent_when_the_runtime_is_packed_and_on_boards_without_a_host():
    assert not judged(dsp_runtime(sound_case(**GUEST)))
    assert not judged(sound_case())


def test_HEX241_is_silent_about_a_runtime_for_the_wrong_processor_beside_the_skel():
    case = sound_case(**GUEST)
    host = facts_of(case, BACKEND)
    for name in ("libc++.so.1", "libc++abi.so.1"):
        case = with_file(case, staged(f"dsp/{name}", "support", host))

    assert [finding.rule for finding in judged(case)] == ["HEX113", "HEX113"]


def test_HEX241_is_silent_for_skels_that_need_nothing():
    assert not judged(with_facts(sound_case(**GUEST), "dsp/libQnnHtpV73Skel.so", needed=()))


@pytest.mark.parametrize(
    ("abi", "needed", "wanted"),
    [
        ("qnx-aarch64", "libc.so.6", "libc.so.4 or libc.so.5, the C library of qnx-aarch64"),
        ("qnx800-aarch64", "libc.so.5", "libc.so.6, the C library of qnx800-aarch64"),
    ],
)
def test_HEX242_fires_for_a_library_of_the_other_generation(abi, needed, wanted):
    (finding,) = judged(on_qnx(abi, needed=("libm.so.3", needed)))

    assert (finding.rule, finding.file) == ("HEX242", BACKEND)
    assert (finding.found, finding.wanted) == (f"links to {needed}", wanted)


def test_HEX242_is_silent_for_a_library_of_another_system():
    (finding,) = judged(with_facts(on_qnx(needed=("libc.so.6",)), BACKEND, abi="glibc"))

    assert finding.rule == "HEX109"


@pytest.mark.parametrize(("abi", "needed"), [("qnx-aarch64", "libc.so.5"), ("qnx800-aarch64", "libc.so.6")])
def test_HEX242_is_silent_for_the_c_library_of_the_abi(abi, needed):
    assert not judged(on_qnx(abi, needed=(needed,)))


def build_file(*sources: str, **attributes: str) -> BuildFileFacts:
    entries = (
        BuildEntry(line=n, target=f"/opt/x/{n}", source=source, attributes=attributes)
        for n, source in enumerate(sources, 1)
    )
    return BuildFileFacts(entries=tuple(entries))


def with_build_file(*sources: str, **attributes: str) -> Case:
    return with_file(on_qnx(), staged("share/x-ifs.build", "document", build_file(*sources, **attributes)))


def test_HEX243_fires_for_a_source_that_the_package_lacks():
    (finding,) = judged(with_build_file("${X_TREE}/lib/libQnnHtp.so", "${X_TREE}/lib/libGone.so"))

    assert (finding.rule, finding.file) == ("HEX243", "share/x-ifs.build")
    assert finding.found == "takes lib/libGone.so"


@pytest.mark.parametrize(
    "sources",
    [
        ("${X_TREE}/lib/libQnnHtp.so",),
        ("${X_TREE}/lib/libQnnHtp.so", "${QNX_TARGET}/aarch64le/lib/libc.so.5"),
        ("libc.so.5",),
    ],
)
def test_HEX243_is_silent_for_files_of_the_package_and_of_others(sources):
    assert not judged(with_build_file(*sources))


def test_HEX243_is_silent_about_links():
    assert not judged(with_build_file("${X_TREE}/lib/libQnnHtp.so", "${X_TREE}/gone", type="link"))


def test_HEX244_fires_as_a_warning_for_a_system_whose_runner_nobody_has_started():
    (finding,) = [f for f in judge(on_qnx(), Stage.PLAN) if f.rule == "HEX244"]

    assert finding.found == "hexrun for qnx-aarch64: made without QNX's own SDK, never started on QNX"
    assert not finding.refuses


def test_HEX244_is_silent_where_the_runner_was_run():
    assert "HEX244" not in {finding.rule for finding in judge(sound_case(), Stage.PLAN)}
