"""Files of a driver in a package."""

from __future__ import annotations

import pytest

from packager.facts.types import PeFacts
from tests.unit.rule_cases import facts_of, findings, skel_facts, sound_case, staged, with_file


@pytest.mark.parametrize("name", ["HtpUsrDrv.dll", "QnnHtpV73StubDrv.dll", "qnnhtpv81stubdrv.DLL"])
def test_HEX208_fires_for_a_library_of_the_driver(name):
    case = with_file(sound_case("windows"), staged(name, "foreign", PeFacts(machine="ARM64")))

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX208", name)
    assert finding.found == "a file of the Hexagon NPU runtime driver (HNRD), in the package"


def test_HEX208_fires_alone_for_the_drivers_skel():
    skel = staged("libQnnHtpV73SkelDrv.so", "dsp-library", skel_facts(73))

    (finding,) = findings(with_file(sound_case("windows"), skel))

    assert finding.rule == "HEX208"


def test_HEX208_is_silent_about_names_that_only_begin_alike():
    facts = facts_of(sound_case("windows"), "QnnHtp.dll")

    assert not findings(with_file(sound_case("windows"), staged("QnnHtpV73StubDriver.dll", "support", facts)))
