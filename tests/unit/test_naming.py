"""How packages are called: file names, and versions in the words of each format."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager import catalog
from packager.naming import Inexpressible, file_name, inner_name, package_stem, version_word

STAGES = ("alpha", "beta", "rc", "")


def test_a_file_name_says_name_version_system_and_architecture():
    assert package_stem("text-direction", "1.2.0", "linux", "arm64") == "text-direction-1.2.0-linux-arm64"


def test_a_named_target_is_part_of_the_file_name():
    stem = package_stem("text-direction", "1.2.0", "linux", "arm64", "rb3gen2")

    assert stem == "text-direction-1.2.0-linux-arm64-rb3gen2"


@pytest.mark.parametrize(
    ("version", "style", "word"),
    [
        ("1.2.0", "debian", "1.2.0"),
        ("7", "debian", "7"),
        ("1.2.3.4", "debian", "1.2.3.4"),
        ("1.2.0-rc1", "debian", "1.2.0~rc1"),
        ("1.2.0rc1", "rpm", "1.2.0~rc1"),
        ("1.2.0.rc.1", "ipk", "1.2.0~rc1"),
        ("1.0a2", "debian", "1.0~alpha2"),
        ("1.0-alpha.10", "debian", "1.0~alpha10"),
        ("2.0b3", "debian", "2.0~beta3"),
        ("2.0.beta3", "debian", "2.0~beta3"),
        ("2.0.beta3", "verbatim", "2.0.beta3"),
        ("7", "msix", "7.0.0.0"),
        ("1.02.3", "msix", "1.2.3.0"),
        ("1.2", "nuget", "1.2.0"),
        ("1.2.3.4-rc1", "nuget", "1.2.3.4-rc.1"),
        ("1.2.3", "android-code", "10203099"),
        ("1.2.3.4-rc1", "android-code", "10203461"),
        ("0-alpha0", "android-code", "1"),
        ("209.99.99.9", "android-code", "2099999999"),
        ("1.0a2", "oci", "1.0-alpha.2"),
    ],
)
def test_a_version_is_written_in_the_words_of_its_format(version, style, word):
    assert version_word(version, style) == word


@pytest.mark.parametrize(("style", "word"), [("debian", "2:1.0"), ("rpm", "2:1.0"), ("verbatim", "1.0")])
def test_an_epoch_stands_before_the_version_where_versions_are_compared(style, word):
    assert version_word("1.0", style, epoch=2) == word


@pytest.mark.parametrize(
    ("version", "style", "epoch", "words"),
    [
        ("1.2.0-rc1", "msix", None, "is a pre-release, and msix versions have numbers only"),
        ("1.70000", "msix", None, "has the number 70000, and msix versions at most 65535"),
        ("1.100.0", "android-code", None, "has the number 100, and android-code versions at most 99"),
        ("1.0-rc39", "android-code", None, "is rc 39, and android-code versions count to 38"),
        ("1.0-alpha29", "android-code", None, "is alpha 29, and android-code versions count to 28"),
        ("1.0", "nuget", 1, "epoch 1 cannot be said"),
    ],
)
def test_a_version_that_a_format_cannot_express_is_refused_with_the_way_out(version, style, epoch, words):
    with pytest.raises(Inexpressible, match=re.escape(words)) as refused:
        version_word(version, style, epoch)

    assert refused.value.fix


def test_a_name_for_which_a_format_has_no_room_is_refused():
    row = catalog.formats()["nupkg"]

    assert len(inner_name("n" * 60, "t" * 39, row)) == 100
    with pytest.raises(
        Inexpressible, match="has 101 characters, and the name of a nupkg package at most 100"
    ):
        inner_name("n" * 60, "t" * 40, row)


def test_a_file_name_that_no_folder_can_hold_is_refused():
    row = catalog.formats()["deb"]

    assert file_name("x" * 236, row, "app", "1") == "x" * 236 + ".deb"
    with pytest.raises(Inexpressible, match="241 bytes in its name, and 240 is the most"):
        file_name("x" * 237, row, "app", "1")


def numbers(count: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*(st.integers(0, most) for most in (209, 99, 99, 9)[:count]))


versions = st.tuples(st.sampled_from(STAGES), st.integers(0, 28))


def written(base: tuple[int, ...], stage: str, number: int) -> str:
    return ".".join(map(str, base)) + (f"-{stage}{number}" if stage else "")


@given(st.integers(1, 4).flatmap(lambda n: st.tuples(numbers(n), numbers(n))), versions, versions)
def test_the_android_code_grows_exactly_as_versions_do(bases, one, other):
    keys = [
        (base, STAGES.index(stage), number if stage else 0)
        for base, (stage, number) in zip(bases, (one, other), strict=True)
    ]
    codes = [
        int(version_word(written(base, *stage), "android-code"))
        for base, stage in zip(bases, (one, other), strict=True)
    ]

    assert (keys[0] < keys[1]) == (codes[0] < codes[1])
    assert all(0 < code <= 2_100_000_000 for code in codes)


@given(st.integers(1, 4).flatmap(numbers), versions)
def test_every_word_has_the_shape_that_its_format_asks_for(base, stage):
    version = written(base, *stage)

    # NuGet's and the distribution specification's own grammars.
    assert re.fullmatch(
        r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2,3}(-[a-z]+\.(0|[1-9]\d*))?", version_word(version, "nuget")
    )
    assert re.fullmatch(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}", version_word(version, "oci"))
    assert re.fullmatch(r"\d[0-9a-z.~]*", version_word(version, "debian"))
