"""What libraries need from the DSP and from FastRPC."""

from __future__ import annotations

import pytest

from packager.bundle import BundleLink
from packager.facts.types import ElfFacts
from packager.rules.core import Case
from tests.unit.rule_cases import (
    facts_of,
    findings,
    skel_facts,
    sound_case,
    staged,
    with_facts,
    with_file,
)

HOST = {"machine": "AARCH64", "bits": 64, "abi": "glibc", "flags": 0}
STUB = "lib/libQnnHtpV73Stub.so"
TWO = {"socs": ("qcs6490", "qcs9075"), "precision": "w8a16", "name": "two"}


def runtime(arch: int, path: str = "dsp/libc++.so.1") -> Case:
    """A sound case for v68 and v73 with a C++ runtime of one architecture for the DSP."""
    facts = ElfFacts(machine="HEXAGON", bits=32, abi="hexagon", flags=arch, hexagon_arch=arch)
    return with_file(sound_case(**TWO), staged(path, "dsp-library", facts))


@pytest.mark.parametrize("role", ["support", "foreign"])
def test_HEX113_fires_for_the_cpus_runtime_beside_a_skel(role):
    case = with_file(sound_case(), staged("dsp/libc++.so.1", role, ElfFacts(**HOST)))

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX113", "dsp/libc++.so.1")
    assert finding.found == "AARCH64, 64 bit, beside libQnnHtpV73Skel.so"
    assert finding.wanted == "HEXAGON, 32 bit, as the skel that links to it"


def test_HEX113_fires_for_both_halves_of_that_runtime():
    case = with_file(sound_case(), staged("dsp/libc++abi.so.1", "support", ElfFacts(**HOST)))
    other = ElfFacts(**HOST, needed=("libc++abi.so.1",))

    found = findings(with_file(case, staged("dsp/libc++.so.1", "support", other)))

    assert [finding.rule for finding in found] == ["HEX113", "HEX113"]


def test_HEX113_is_silent_about_a_runtime_of_the_wrong_processor_altogether():
    facts = ElfFacts(**HOST | {"machine": "X86_64"})

    (finding,) = findings(with_file(sound_case(), staged("dsp/libc++.so.1", "support", facts)))

    assert finding.rule == "HEX107"


@pytest.mark.parametrize("path", ["lib/libc++.so.1", "dsp/libfoo.so.1"])
def test_HEX113_is_silent_about_other_folders_and_other_names(path):
    assert not findings(with_file(sound_case(), staged(path, "support", ElfFacts(**HOST))))


def test_HEX113_is_silent_where_a_library_for_the_cpu_needs_it_in_the_same_folder():
    case = with_file(sound_case(), staged("dsp/libc++.so.1", "support", ElfFacts(**HOST)))
    asker = ElfFacts(**HOST, needed=("libc++.so.1",))

    assert not findings(with_file(case, staged("dsp/libown.so", "support", asker)))


def test_HEX114_fires_as_a_warning_for_one_stub_that_was_changed():
    case = with_facts(sound_case(**TWO), STUB, needed=("libc.so.6", "libcdsprpc.so.1"))

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.refuses) == ("HEX114", STUB, False)
    assert finding.found == "links to libcdsprpc.so.1"
    assert finding.wanted == "libcdsprpc.so, as lib/libQnnHtpV68Stub.so"


def test_HEX114_is_silent_where_all_ask_for_one_name_or_a_link_has_the_other():
    changed = with_facts(sound_case(), STUB, needed=("libc.so.6", "libcdsprpc.so.1"))
    mixed = with_facts(sound_case(**TWO), STUB, needed=("libc.so.6", "libcdsprpc.so.1"))
    link = BundleLink(path="lib/libcdsprpc.so", target="/usr/lib/libcdsprpc.so.1")

    assert not findings(changed)
    assert not findings(mixed.model_copy(update={"links": (link,)}))


def test_HEX115_fires_for_a_dsp_runtime_that_the_older_soc_cannot_run():
    (finding,) = findings(runtime(73))

    assert (finding.rule, finding.file) == ("HEX115", "dsp/libc++.so.1")
    assert (finding.found, finding.wanted) == ("Hexagon v73", "v68 or older, for qcs6490")


def test_HEX115_fires_for_a_library_that_no_soc_can_run():
    own = staged("dsp/libown.so", "dsp-library", skel_facts(75))

    (finding,) = findings(with_file(sound_case(), own))

    assert (finding.rule, finding.found) == ("HEX115", "Hexagon v75")


def test_HEX115_is_silent_for_an_old_runtime_and_for_a_library_of_the_newer_soc():
    old = runtime(68)
    own = staged("dsp/libown.so", "dsp-library", facts_of(sound_case(), "dsp/libQnnHtpV73Skel.so"))

    assert not findings(old)
    assert not findings(with_file(sound_case(**TWO), own))


def test_HEX115_is_silent_where_each_architecture_has_a_copy():
    both = with_file(
        runtime(73, "dsp/v73/libc++.so.1"), staged("dsp/v68/libc++.so.1", "dsp-library", skel_facts(68))
    )

    assert not findings(both)
