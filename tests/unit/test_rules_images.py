"""What a base image must have."""

from __future__ import annotations

import pytest

from packager.facts.base_image import BaseImageFacts
from tests.unit.rule_cases import findings, sound_case

REFERENCE = "registry.example.com/debian"
# What the libraries of the cases link to, and more.
LIBRARIES = (
    "ld-linux-aarch64.so.1", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libstdc++.so.6",
)  # fmt: skip


def case_on(base, **settings):
    own = {"oci": {"base": f"{REFERENCE}@sha256:{'0' * 64}"}}
    return sound_case(own=own, formats=("oci",), **settings).model_copy(update={"base": base})


def test_HEX507_fires_for_a_library_that_neither_package_nor_base_has():
    base = BaseImageFacts(
        libraries=tuple(name for name in LIBRARIES if name != "libstdc++.so.6"), glibc="2.36"
    )

    (finding,) = findings(case_on(base))

    assert (finding.rule, finding.file) == ("HEX507", REFERENCE)
    assert finding.found == "no libstdc++.so.6 in its layers"
    assert finding.wanted.startswith("libstdc++.so.6, which ")


@pytest.mark.parametrize(
    ("versions", "found"),
    [
        ({"glibc": "2.31", "glibcxx": "3.4.33"}, "GLIBC_2.31 at most"),
        ({"glibc": "2.41", "glibcxx": "3.4.25"}, "GLIBCXX_3.4.25 at most"),
    ],
)
def test_HEX507_fires_for_a_base_that_is_older_than_the_libraries(versions, found):
    (finding,) = findings(case_on(BaseImageFacts(libraries=LIBRARIES, **versions)))

    assert (finding.rule, finding.found) == ("HEX507", found)
    assert "older" in finding.title


def test_HEX507_is_silent_about_a_base_that_has_everything_and_without_one():
    assert not findings(case_on(BaseImageFacts(libraries=LIBRARIES, glibc="2.41", glibcxx="3.4.33")))
    assert not findings(sound_case())


def test_HEX507_is_silent_about_versions_that_the_base_does_not_say():
    assert not findings(case_on(BaseImageFacts(libraries=LIBRARIES)))
