"""A Debian package depends on what its libraries link to and does not bring itself."""

from __future__ import annotations

import pytest

from packager.facts.types import ElfFacts
from packager.layouts.debian import depends, in_rpm_words, requires


def library(
    *needed: str, abi: str = "glibc", glibc: str | None = None, glibcxx: str | None = None
) -> ElfFacts:
    return ElfFacts(
        machine="AARCH64", bits=64, abi=abi, flags=0, needed=needed, glibc_needed=glibc, glibcxx_needed=glibcxx
    )  # fmt: skip


def test_the_newest_symbol_version_of_all_libraries_counts():
    libraries = [
        library("libc.so.6", glibc="2.17"),
        library("libc.so.6", "libstdc++.so.6", glibc="2.34", glibcxx="3.4.21"),
        library("libstdc++.so.6", glibcxx="3.4.29"),
    ]

    assert depends(libraries, []) == ("libc6 (>= 2.34)", "libstdc++6 (>= 11)")


def test_every_library_of_the_gnu_system_brings_its_package():
    libraries = [library("libatomic.so.1", "libgcc_s.so.1", "libm.so.6", glibc="2.9")]

    assert depends(libraries, []) == ("libatomic1", "libc6 (>= 2.9)", "libgcc-s1")


def test_what_the_package_brings_itself_is_no_dependency():
    assert depends([library("libatomic.so.1", "libc.so.6")], ["libatomic.so.1"]) == ("libc6",)


def test_a_skel_links_to_the_dsp_and_a_device_library_to_the_image():
    libraries = [library("libc++.so.1", abi="hexagon"), library("libcdsprpc.so")]

    assert depends(libraries, []) == ()


def test_a_symbol_version_newer_than_the_table_leaves_the_dependency_without_a_version():
    assert depends([library("libstdc++.so.6", glibcxx="3.4.99")], []) == ("libstdc++6",)


def test_opkg_calls_some_packages_by_other_names():
    libraries = [library("libatomic.so.1", "libgcc_s.so.1", "libc.so.6", glibc="2.34")]

    assert depends(libraries, [], "opkg") == ("libatomic1", "libc6 (>= 2.34)", "libgcc1")


def test_rpm_names_libraries_and_symbol_versions_instead_of_packages():
    libraries = [
        library(
            "libc.so.6",
            "libstdc++.so.6",
            "libcdsprpc.so",
            "ld-linux-aarch64.so.1",
            glibc="2.34",
            glibcxx="3.4.29",
        )
    ]

    assert requires(libraries, []) == (
        "libc.so.6()(64bit)",
        "libc.so.6(GLIBC_2.34)(64bit)",
        "libstdc++.so.6()(64bit)",
        "libstdc++.so.6(GLIBCXX_3.4.29)(64bit)",
    )
    assert requires(libraries, ["libc.so.6", "libstdc++.so.6"]) == ()


@pytest.mark.parametrize(
    ("debian", "rpm"),
    [
        ("qairt-runtime", "qairt-runtime"),
        ("qairt-runtime (= 2.51.0)", "qairt-runtime = 2.51.0"),
        ("qairt-runtime (<< 2.52)", "qairt-runtime < 2.52"),
        ("qairt-runtime (>= 1:2.48)", "qairt-runtime >= 1:2.48"),
    ],
)
def test_a_dependency_that_people_declare_is_written_in_rpms_words_too(debian, rpm):
    assert in_rpm_words(debian) == rpm
