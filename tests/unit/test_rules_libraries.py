"""Libraries: whole, present, for the right processor, and with everything they link to."""

from __future__ import annotations

from typing import get_args

import pytest

from packager import catalog
from packager.bundle import BundleLink
from packager.errors import Fault
from packager.facts.types import DamagedFacts, ElfFacts, OtherFacts, PeFacts
from packager.rules.core import Case, Examined
from packager.rules.table import texts
from tests.unit.rule_cases import (
    TARGETS,
    damaged,
    digest_of,
    facts_of,
    findings,
    skel_facts,
    sound_case,
    staged,
    with_facts,
    with_file,
    with_plan,
    without,
)

SKEL = "dsp/libQnnHtpV73Skel.so"
STUB = "lib/libQnnHtpV73Stub.so"
BACKEND = "lib/libQnnHtp.so"
HOST = {"machine": "AARCH64", "bits": 64, "abi": "glibc", "flags": 0}


@pytest.mark.parametrize("kind", TARGETS)
def test_a_sound_case_has_no_finding_on_any_system(kind):
    assert findings(sound_case(kind)) == ()


@pytest.mark.parametrize("path", [SKEL, STUB, BACKEND, "bin/hexrun", "share/models/qcs9075.bin"])
def test_HEX101_fires_alone_for_a_damaged_file(path):
    case = damaged(sound_case(), path)

    found = findings(case)

    assert [(f.rule, f.file) for f in found] == [("HEX101", path)]
    assert found[0].found == "at byte 4096: the section table is missing"


@pytest.mark.parametrize("fault", get_args(Fault))
def test_HEX101_fires_with_the_words_of_each_fault(fault):
    facts = DamagedFacts(offset=9, reason="why", fault=fault)
    case = with_file(sound_case(), staged("share/x", "damaged", facts))

    (finding,) = findings(case)

    assert finding.title == texts()["HEX101"].faults[fault].title
    assert finding.found == ("at byte 9: why" if fault == "damaged" else "why")


def test_HEX101_fires_alone_where_a_folder_could_not_be_looked_into():
    facts = DamagedFacts(offset=0, reason="Permission denied", fault="closed")
    case = with_file(without(sound_case(), SKEL), staged("dsp", "damaged", facts))

    assert [finding.rule for finding in findings(case)] == ["HEX101"]


def test_HEX101_is_silent_about_files_of_no_known_format():
    case = with_file(sound_case(), staged("share/notes.bin", "document", OtherFacts()))

    assert not findings(case)


def test_HEX106_fires_for_a_missing_skel_with_the_soc_that_needs_it():
    case = without(sound_case(), SKEL)

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX106", "libQnnHtpV73Skel.so")
    assert (finding.found, finding.wanted) == ("no such file in the package", "one, for qcs9075")
    assert finding.title == "is missing"


def test_HEX106_fires_for_an_architecture_that_the_plan_forgot():
    case = sound_case()
    forgetful = case.plan.runtime_set.model_copy(update={"files": ()})
    case = without(
        case.model_copy(update={"plan": case.plan.model_copy(update={"runtime_set": forgetful})}), STUB
    )

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX106", "libQnnHtpV73Stub.so")


def test_HEX106_fires_for_a_missing_backend():
    (finding,) = findings(without(sound_case(), BACKEND))

    assert (finding.rule, finding.file, finding.wanted) == ("HEX106", "libQnnHtp.so", "one, for every SoC")


def test_HEX106_fires_for_a_second_copy_of_a_skel():
    case = with_file(sound_case(), staged("lib/libQnnHtpV73Skel.so", "skel", skel_facts(73), arch=73))

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX106", "lib/libQnnHtpV73Skel.so")
    assert finding.found == f"2 copies: {SKEL}, lib/libQnnHtpV73Skel.so"


def with_copies(*paths: str, equal: bool = True) -> Case:
    """The sound case with its skel at these places instead."""
    case = without(sound_case(), SKEL)
    for path in paths:
        made = staged(path, "skel", skel_facts(73), arch=73)
        if equal:
            blob = made.file.blob.model_copy(update={"sha256": digest_of(SKEL)})
            made = Examined(file=made.file.model_copy(update={"blob": blob}), facts=made.facts)
        case = with_file(case, made)
    return case


@pytest.mark.parametrize(
    "folders",
    [
        ("dsp/cdsp", "dsp/cdsp1"),
        ("images/cdsp0", "images/cdsp1"),
        ("one/dsp/cdsp", "two/dsp/CDSP"),
        ("dsp/cdsp/qnn", "dsp/adsp"),
    ],
)
def test_HEX106_is_silent_about_equal_skels_for_several_dsps(folders):
    assert not findings(with_copies(*(f"{folder}/libQnnHtpV73Skel.so" for folder in folders)))


@pytest.mark.parametrize(
    ("folders", "equal"),
    [
        (("dsp/cdsp", "dsp/cdsp1"), False),
        (("dsp/cdsp", "lib"), True),
        (("dsp/cdsp/a", "dsp/cdsp/b"), True),
        (("dsp", "lib/dsp"), True),
    ],
)
def test_HEX106_fires_for_copies_of_which_one_hides_the_other(folders, equal):
    (finding,) = findings(with_copies(*(f"{folder}/libQnnHtpV73Skel.so" for folder in folders), equal=equal))

    assert (finding.rule, finding.title) == ("HEX106", "is there twice")


@pytest.mark.parametrize(
    ("path", "role", "arch"), [(SKEL, "skel", 73), (STUB, "stub", 73), (BACKEND, "backend", None)]
)
def test_HEX106_fires_for_a_name_in_other_letters_on_a_system_that_tells_them_apart(path, role, arch):
    folder, _, name = path.rpartition("/")
    facts = facts_of(sound_case(), path)
    case = with_file(without(sound_case(), path), staged(f"{folder}/{name.lower()}", role, facts, arch=arch))

    (finding,) = findings(case)

    assert (finding.rule, finding.found, finding.wanted) == ("HEX106", name.lower(), name)
    assert finding.title == "has other capitals than the name that is opened"


def test_HEX106_is_silent_about_letters_on_windows():
    case = sound_case("windows")
    facts = facts_of(case, "QnnHtp.dll")
    case = with_file(without(case, "QnnHtp.dll"), staged("qnnhtp.DLL", "backend", facts))

    assert not findings(case)


def read_off(case: Case) -> Case:
    """The case as `audit` makes it of somebody else's files."""
    bare = case.plan.runtime_set.model_copy(update={"files": (), "licences": ()})
    return with_plan(case, runtime_set=bare).model_copy(update={"inferred": True})


def test_HEX106_fires_for_a_stub_and_a_skel_that_nothing_opens():
    (finding,) = findings(read_off(without(sound_case(), BACKEND)))

    assert (finding.rule, finding.file, finding.title) == ("HEX106", "libQnnHtp.so", "is missing")


@pytest.mark.parametrize("path", [SKEL, STUB])
def test_HEX106_is_silent_about_a_part_of_somebody_elses_runtime(path):
    assert not findings(read_off(without(without(sound_case(), BACKEND), path)))


def test_HEX106_is_silent_about_stubs_and_skels_on_the_simulator():
    case = sound_case("simulator")

    assert not [e for e in case.files if e.file.role in ("stub", "skel")]
    assert not findings(case)


def test_HEX107_fires_for_a_skel_in_the_place_of_the_backend():
    case = with_facts(sound_case(), BACKEND, skel_facts(73))

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX107", BACKEND)
    assert (finding.found, finding.wanted) == ("HEXAGON, 32 bit", "AARCH64, 64 bit")


def test_HEX107_fires_for_a_host_library_in_the_place_of_a_skel():
    case = with_facts(sound_case(), SKEL, facts_of(sound_case(), STUB))

    (finding,) = findings(case)

    assert (finding.rule, finding.found, finding.wanted) == ("HEX107", "AARCH64, 64 bit", "HEXAGON, 32 bit")


def test_HEX107_fires_for_a_runner_of_the_build_machine():
    case = with_facts(sound_case(), "bin/hexrun", machine="X86_64")

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.found) == ("HEX107", "bin/hexrun", "X86_64, 64 bit")


def test_HEX107_fires_for_a_text_in_the_place_of_a_library():
    (finding,) = findings(with_facts(sound_case(), STUB, OtherFacts()))

    assert (finding.rule, finding.file, finding.found) == ("HEX107", STUB, "no library or program")


def test_HEX107_fires_for_an_x64_library_on_windows_on_arm():
    case = with_facts(sound_case("windows"), "QnnHtp.dll", machine="AMD64")

    (finding,) = findings(case)

    assert (finding.rule, finding.found, finding.wanted) == ("HEX107", "AMD64", "ARM64, 64 bit")


def test_HEX107_fires_for_the_hybrid_that_only_an_x64_process_can_load():
    case = with_facts(sound_case("windows"), "QnnHtp.dll", machine="ARM64EC")

    (finding,) = findings(case)

    assert (finding.rule, finding.found, finding.wanted) == ("HEX107", "ARM64EC", "ARM64, 64 bit")


def test_HEX107_fires_for_a_file_for_the_dsp_that_has_no_architecture_in_its_name():
    host = staged("dsp/libCalculator_skel.so", "calculator-skel", ElfFacts(**HOST))

    (finding,) = findings(with_file(sound_case(), host))

    assert finding.fix == "take libCalculator_skel.so from what QAIRT ships for Hexagon"


def test_HEX107_is_silent_for_the_hybrid_that_serves_on_windows_on_arm():
    assert not findings(with_facts(sound_case("windows"), "QnnHtp.dll", machine="ARM64X"))


def test_HEX108_fires_for_a_skel_that_was_renamed():
    case = with_facts(
        sound_case(socs=("qcs6490",), precision="w8a16"), "dsp/libQnnHtpV68Skel.so", skel_facts(73)
    )

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX108", "dsp/libQnnHtpV68Skel.so")
    assert (finding.found, finding.wanted) == ("v73", "v68, as its name says")


def test_HEX108_fires_alone_on_windows_where_the_catalogue_does_not_fit_either():
    case = with_facts(sound_case("windows"), "libQnnHtpV73Skel.so", skel_facts(68))

    (finding,) = findings(case)

    assert finding.rule == "HEX108"


def test_HEX108_fires_for_a_backend_for_the_dsp_that_was_renamed():
    direct = staged("dsp/libQnnHtpV73.so", "htp-direct", skel_facts(75), arch=73)

    (finding,) = findings(with_file(sound_case(), direct))

    assert (finding.rule, finding.file, finding.found) == ("HEX108", "dsp/libQnnHtpV73.so", "v75")


def test_HEX108_is_silent_for_an_architecture_written_with_variant_bits():
    case = with_facts(sound_case(), SKEL, flags=0x8073)

    assert not findings(case)


def test_HEX109_fires_alone_for_a_library_for_android():
    case = with_facts(
        sound_case(), STUB, abi="bionic", needed=("libc.so", "libcdsprpc.so"), glibc_needed=None
    )

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX109", STUB)
    assert (finding.found, finding.wanted) == (
        "built for bionic",
        "built for glibc, as oe-linux-gcc11.2 asks",
    )


def test_HEX109_fires_alone_for_a_model_library_of_android():
    facts = ElfFacts(**HOST | {"abi": "bionic"}, needed=("libc++_shared.so",), model_prefix="QnnModel")

    (finding,) = findings(with_file(sound_case(), staged("lib/libnet.so", "model-library", facts)))

    assert (finding.rule, finding.file) == ("HEX109", "lib/libnet.so")


def test_HEX109_is_silent_for_a_library_that_does_not_say():
    assert not findings(with_facts(sound_case(), "bin/hexrun", abi="unknown", needed=(), glibc_needed=None))


@pytest.mark.parametrize(
    ("field", "needed", "found", "wanted"),
    [
        ("glibc_needed", "2.38", "needs GLIBC_2.38", "GLIBC_2.34 or older, the newest of oe-linux-gcc11.2"),
        (
            "glibcxx_needed",
            "3.4.32",
            "needs GLIBCXX_3.4.32",
            "GLIBCXX_3.4.29 or older, the newest of oe-linux-gcc11.2",
        ),
        (
            "cxxabi_needed",
            "1.3.15",
            "needs CXXABI_1.3.15",
            "CXXABI_1.3.13 or older, the newest of oe-linux-gcc11.2",
        ),
    ],
)
def test_HEX110_fires_for_symbols_newer_than_the_system(field, needed, found, wanted):
    (finding,) = findings(with_facts(sound_case(), BACKEND, **{field: needed}))

    assert (finding.rule, finding.file) == ("HEX110", BACKEND)
    assert (finding.found, finding.wanted) == (found, wanted)


def test_HEX110_fires_once_for_a_file_that_needs_two_newer_libraries():
    newer = {"glibc_needed": "2.38", "glibcxx_needed": "3.4.32", "cxxabi_needed": "1.3.14"}

    (finding,) = findings(with_facts(sound_case(), BACKEND, **newer))

    assert finding.found == "needs GLIBC_2.38 and GLIBCXX_3.4.32"
    assert finding.wanted == "GLIBC_2.34 and GLIBCXX_3.4.29 or older, the newest of oe-linux-gcc11.2"


def test_HEX110_is_silent_for_versions_that_only_look_newer_as_text():
    assert not findings(with_facts(sound_case(), BACKEND, glibc_needed="2.4", glibcxx_needed="3.4.9"))


def test_HEX111_fires_for_a_library_that_nobody_brings():
    case = with_facts(sound_case(), BACKEND, needed=("libc.so.6", "libfoo.so.1", "libbar.so"))

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.found) == (
        "HEX111",
        BACKEND,
        "links to libfoo.so.1, libbar.so",
    )


def test_HEX111_fires_for_a_skel_whose_library_is_packed_for_the_wrong_processor():
    case = with_facts(sound_case(), SKEL, needed=("libfoo.so.1",))
    case = with_file(case, staged("dsp/libfoo.so.1", "support", ElfFacts(**HOST)))

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX111", SKEL)


def test_HEX111_fires_for_a_redistributable_that_windows_does_not_have():
    case = with_facts(sound_case("windows"), "QnnHtp.dll", imports=("KERNEL32.dll", "VCRUNTIME140.dll"))

    (finding,) = findings(case)

    assert (finding.rule, finding.found) == ("HEX111", "links to VCRUNTIME140.dll")


def test_HEX111_fires_for_a_model_library_that_links_to_the_build_machines():
    facts = ElfFacts(**HOST, needed=("libc.so.6", "libc++.so.1"), model_prefix="QnnModel")

    (finding,) = findings(with_file(sound_case(), staged("lib/libnet.so", "model-library", facts)))

    assert (finding.rule, finding.found) == ("HEX111", "links to libc++.so.1")


def test_HEX111_is_silent_about_systems_whose_libraries_no_table_lists():
    case = with_plan(sound_case(), system="qnx", abi=catalog.abis()["qnx-aarch64"])
    case = with_facts(case, BACKEND, abi="qnx", needed=("libc.so.5", "libslog2.so.1"))

    assert "HEX111" not in {finding.rule for finding in findings(case)}


def test_HEX111_is_silent_about_somebody_elses_library_for_the_dsp():
    other = skel_facts(73).model_copy(update={"needed": ("libqurt.so",), "soname": "libown.so"})

    assert not findings(with_file(sound_case(), staged("dsp/libown.so", "dsp-library", other)))


def test_HEX111_is_silent_when_a_packed_library_has_the_name_only_as_its_soname():
    case = with_facts(sound_case(), BACKEND, needed=("libfoo.so.1",))
    case = with_file(case, staged("lib/libfoo.so.1.0.3", "support", ElfFacts(**HOST, soname="libfoo.so.1")))

    assert not findings(case)


def test_HEX111_is_silent_when_a_link_has_the_name():
    case = with_facts(sound_case(), BACKEND, needed=("libsystem.so.1",))
    link = BundleLink(path="lib/libsystem.so.1", target="libQnnSystem.so")

    assert not findings(case.model_copy(update={"links": (link,)}))


def test_HEX111_is_silent_about_the_case_of_windows_names():
    case = with_facts(sound_case("windows"), "QnnHtp.dll", imports=("kernel32.DLL", "qnnsystem.dll"))

    assert not findings(case)


def test_HEX112_fires_for_the_boards_fastrpc_library():
    case = with_file(sound_case(), staged("lib/libcdsprpc.so", "support", ElfFacts(**HOST)))

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.found) == ("HEX112", "lib/libcdsprpc.so", "in the package")


def test_HEX112_fires_for_the_drivers_library_on_windows():
    case = with_file(sound_case("windows"), staged("LibCdspRpc.dll", "support", PeFacts(machine="ARM64")))

    (finding,) = findings(case)

    assert finding.rule == "HEX112"


def test_HEX112_is_silent_about_a_c_plus_plus_runtime_in_the_package():
    case = with_file(sound_case(), staged("lib/libstdc++.so.6", "support", ElfFacts(**HOST)))

    assert not findings(case)


def test_HEX116_fires_for_a_stub_that_was_renamed():
    case = with_facts(sound_case(), "lib/libQnnHtpV73Stub.so", soname="libQnnHtpV75Stub.so")

    (finding,) = findings(case)

    assert (finding.rule, finding.found) == ("HEX116", "linked as libQnnHtpV75Stub.so")


def test_HEX116_fires_for_a_dll_whose_debug_information_names_another():
    case = with_facts(sound_case("windows"), "QnnHtp.dll", debug_path="C:\\out\\QnnHtpPrepare.pdb")

    (finding,) = findings(case)

    assert (finding.rule, finding.found) == ("HEX116", "linked as QnnHtpPrepare.dll")


@pytest.mark.parametrize("path", ["C:\\out\\qnnhtp.pdb", "/build/QnnHtp.pdb", None, ""])
def test_HEX116_is_silent_for_a_dll_under_its_own_name_or_without_one(path):
    assert findings(with_facts(sound_case("windows"), "QnnHtp.dll", debug_path=path)) == ()


def test_HEX116_is_silent_about_a_skel_that_HEX108_reports_and_a_library_without_a_name():
    other = with_facts(sound_case(), "dsp/libQnnHtpV73Skel.so", skel_facts(75))
    assert [finding.rule for finding in findings(other)] == ["HEX108"]
    assert findings(with_facts(sound_case(), "lib/libQnnSystem.so", soname=None)) == ()
