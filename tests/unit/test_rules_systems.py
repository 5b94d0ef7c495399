"""Windows: a skel needs its signed catalogue beside it, and signed files stay as they were."""

from __future__ import annotations

from packager.facts.types import CatalogueMember
from packager.rules.core import Examined
from tests.unit.rule_cases import (
    BUILD,
    OLDER_BUILD,
    SIGNER,
    damaged,
    digest_of,
    facts_of,
    findings,
    skel_facts,
    sound_case,
    staged,
    with_facts,
    with_file,
    without,
)

SKEL = "libQnnHtpV73Skel.so"
CATALOGUE = "libqnnhtpv73.cat"


def test_HEX201_fires_for_a_skel_without_its_catalogue():
    (finding,) = findings(without(sound_case("windows"), CATALOGUE))

    assert (finding.rule, finding.file) == ("HEX201", SKEL)
    assert finding.found == f"no {CATALOGUE} in the package"
    assert finding.wanted == f"{CATALOGUE} in the same folder"


def test_HEX201_fires_for_a_catalogue_in_another_folder():
    case = sound_case("windows")
    moved = staged(f"dsp/{CATALOGUE}", "catalogue", facts_of(case, CATALOGUE), arch=73)

    (finding,) = findings(with_file(without(case, CATALOGUE), moved))

    assert (finding.rule, finding.found) == ("HEX201", f"its catalogue is dsp/{CATALOGUE}")


def test_HEX201_is_silent_where_the_release_has_no_catalogue():
    case = sound_case("windows", socs=("sc8280x",), precision="w8a16")

    assert {finding.rule for finding in findings(case)} == {"HEX205"}


def test_HEX201_is_silent_for_a_damaged_catalogue_that_is_in_its_place():
    assert {finding.rule for finding in findings(damaged(sound_case("windows"), CATALOGUE))} == {"HEX101"}


def test_HEX202_fires_for_a_catalogue_that_names_another_file():
    other = CatalogueMember(name="libqnnhtpv73skel.so", sha256="1" * 64)

    (finding,) = findings(with_facts(sound_case("windows"), CATALOGUE, members=(other,)))

    assert (finding.rule, finding.file) == ("HEX202", SKEL)
    assert finding.found == f"sha256 {digest_of(SKEL)}"
    assert finding.wanted == f"{'1' * 64}, as {CATALOGUE} says"


def test_HEX202_fires_for_a_catalogue_without_a_sha256():
    old = CatalogueMember(name="libqnnhtpv73skel.so", sha1="1" * 40)

    (finding,) = findings(with_facts(sound_case("windows"), CATALOGUE, members=(old,)))

    assert (finding.rule, finding.wanted) == ("HEX202", f"no sha256 at all, as {CATALOGUE} says")


def test_HEX202_is_silent_about_a_skel_whose_release_is_wrong_already():
    case = with_facts(sound_case("windows"), SKEL, skel_facts(73, OLDER_BUILD, "2.48.0"))
    case = with_facts(case, CATALOGUE, members=(CatalogueMember(name="x", sha256="1" * 64),))

    (finding,) = findings(case)

    assert (finding.rule, finding.wanted) == ("HEX104", f"{BUILD}, as QnnHtpV73Stub.dll")


def test_HEX203_fires_for_an_unsigned_catalogue_and_not_for_its_signer_too():
    case = with_facts(
        sound_case("windows"), CATALOGUE, signer=None, signature_valid=False, problem="nobody signed it"
    )

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.found) == ("HEX203", CATALOGUE, "nobody signed it")


def test_HEX203_is_silent_for_a_valid_signature_of_the_wrong_signer():
    case = with_facts(sound_case("windows"), CATALOGUE, signer="QUALCOMM Technologies Inc.")

    assert "HEX203" not in {finding.rule for finding in findings(case)}


def test_HEX204_fires_for_a_catalogue_from_before_its_certification():
    case = with_facts(sound_case("windows"), CATALOGUE, signer="QUALCOMM Technologies Inc.")

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX204", CATALOGUE)
    assert (finding.found, finding.wanted) == ("signed by QUALCOMM Technologies Inc.", f"signed by {SIGNER}")


def test_HEX204_is_silent_for_the_signer_that_windows_accepts():
    case = sound_case("windows", socs=("x-elite", "x2-elite"), name="both")

    assert not findings(case)


def test_HEX205_fires_as_a_warning_for_an_architecture_without_a_catalogue():
    (finding,) = findings(sound_case("windows", socs=("sc8280x",), precision="w8a16"))

    assert (finding.rule, finding.file, finding.refuses) == ("HEX205", "libQnnHtpV68Skel.so", False)
    assert finding.found == "catalogues in QAIRT 2.51.0 known for: v73, v81"
    assert finding.wanted == "one for v68 (sc8280x)"


def test_HEX205_is_silent_off_windows():
    assert not findings(sound_case(socs=("qcs6490",), precision="w8a16"))


def test_HEX206_fires_as_a_warning_for_a_catalogue_on_linux():
    facts = facts_of(sound_case("windows"), CATALOGUE)

    (finding,) = findings(with_file(sound_case(), staged(f"dsp/{CATALOGUE}", "catalogue", facts, arch=73)))

    assert (finding.rule, finding.file, finding.refuses) == ("HEX206", f"dsp/{CATALOGUE}", False)
    assert finding.wanted == "catalogues only in packages for Windows"


def test_HEX206_is_silent_on_windows():
    assert "HEX206" not in {finding.rule for finding in findings(sound_case("windows"))}


def test_HEX207_fires_for_a_library_that_was_changed_after_signing():
    (finding,) = findings(with_facts(sound_case("windows"), "QnnHtp.dll", signature_valid=False))

    assert (finding.rule, finding.file) == ("HEX207", "QnnHtp.dll")
    assert finding.found == "the signature of QUALCOMM Technologies Inc. does not fit the file"


def test_HEX207_is_silent_for_an_unsigned_library():
    assert not findings(with_facts(sound_case("windows"), "QnnHtp.dll", signature_valid=None, signer=None))


def test_HEX209_fires_as_a_warning_for_a_stub_in_another_folder():
    case = sound_case("windows")
    moved = staged("npu/QnnHtpV73Stub.dll", "stub", facts_of(case, "QnnHtpV73Stub.dll"), arch=73)

    (finding,) = findings(with_file(without(case, "QnnHtpV73Stub.dll"), moved))

    assert (finding.rule, finding.file, finding.refuses) == ("HEX209", "npu/QnnHtpV73Stub.dll", False)
    assert (finding.found, finding.wanted) == ("in npu", "beside QnnHtp.dll")


def test_HEX209_is_silent_about_a_skel_that_lost_its_catalogue():
    case = sound_case("windows")
    skel = next(examined for examined in case.files if examined.file.path == SKEL)
    file = skel.file.model_copy(update={"path": f"dsp/{SKEL}"})

    (finding,) = findings(with_file(without(case, SKEL), Examined(file=file, facts=skel.facts)))

    assert finding.rule == "HEX201"
