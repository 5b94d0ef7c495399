"""File names of packages, and versions in Debian's words."""

from __future__ import annotations

import pytest

from packager.naming import debian_version, package_stem


def test_a_file_name_says_name_version_system_and_architecture():
    assert package_stem("text-direction", "1.2.0", "linux", "arm64") == "text-direction-1.2.0-linux-arm64"


def test_a_named_target_is_part_of_the_file_name():
    stem = package_stem("text-direction", "1.2.0", "linux", "arm64", "rb3gen2")

    assert stem == "text-direction-1.2.0-linux-arm64-rb3gen2"


@pytest.mark.parametrize(
    ("version", "debian"),
    [
        ("1.2.0", "1.2.0"),
        ("7", "7"),
        ("1.2.3.4", "1.2.3.4"),
        ("1.2.0-rc1", "1.2.0~rc1"),
        ("1.2.0rc1", "1.2.0~rc1"),
        ("1.2.0.rc.1", "1.2.0~rc1"),
        ("1.0a2", "1.0~alpha2"),
        ("1.0-alpha.10", "1.0~alpha10"),
        ("2.0b3", "2.0~beta3"),
        ("2.0.beta3", "2.0~beta3"),
    ],
)
def test_a_pre_release_gets_a_tilde_for_debian(version, debian):
    assert debian_version(version) == debian
