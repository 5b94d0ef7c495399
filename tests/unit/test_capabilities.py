"""The tables of what SoCs, toolchains, releases and backends can do agree with each other and with the rest."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import pytest

from packager import catalog
from packager.manifest_model import ComputeUnit
from packager.rules.capabilities import (
    blob_formats,
    options,
    toolchains_that_accept,
    unreadable_blob,
    verdict_on,
    verdicts,
)
from packager.versions import numbers


def test_verdicts_are_about_socs_and_toolchains_of_the_tables():
    ids = {soc.id for soc in catalog.socs()}

    for row in verdicts():
        assert set(row.socs) <= ids
        assert set(row.abis) <= set(catalog.abis())
        assert row.releases


def test_no_two_measurements_of_one_release_contradict_each_other():
    for soc in catalog.socs():
        for abi in catalog.abis():
            said = {
                (release, row.accepted)
                for row in verdicts()
                if row.about(soc, abi) and row.confidence == "measured"
                for release in row.releases
            }
            assert len({release for release, _ in said}) == len(said)


@pytest.mark.parametrize(
    ("soc", "abi", "release", "about", "accepted"),
    [
        ("sm8550", "oe-linux-gcc11.2", "2.51.0", "2.51", False),
        ("sm8550", "oe-linux-gcc11.2", "2.47.0", "2.46", False),
        ("sm8550", "oe-linux-gcc11.2", "2.30.0", "2.36", False),
        ("qcs8550", "oe-linux-gcc11.2", "2.50.1", "2.50", True),
        ("x-elite", "oe-linux-gcc11.2", "2.45.0", "2.40", False),
    ],
)
def test_the_nearest_earlier_release_counts_and_else_the_nearest_later(soc, abi, release, about, accepted):
    best = verdict_on(catalog.soc(soc), abi, release)

    assert best is not None
    assert (best[1], best[0].accepted) == (about, accepted)


def test_nothing_is_said_where_nobody_has_looked():
    assert verdict_on(catalog.soc("sm8550"), "android-arm64", "2.51.0") is None
    assert verdict_on(catalog.soc("sm8550"), "oe-linux-gcc11.2", "") is None
    assert unreadable_blob("4.1.0", "") is None


def test_a_toolchain_that_accepts_is_found_among_those_of_a_system():
    here = [abi.id for abi in catalog.abis().values() if abi.system == "linux"]

    assert toolchains_that_accept(catalog.soc("qcs8550"), here, "2.50.0") == ("oe-linux-gcc11.2",)
    assert toolchains_that_accept(catalog.soc("sm8550"), here, "2.50.0") == ()


def test_every_compute_unit_of_the_manifest_has_one_backend():
    units = [row.compute for row in catalog.backends() if row.compute]

    assert sorted(units) == sorted(get_args(ComputeUnit))
    assert catalog.backend_of("npu").floats == "fp16"


def test_the_types_of_backends_are_words_of_the_onnx_table_and_in_one_list_only():
    words = {row["word"] for row in catalog.table("onnx_types")["dtype"]}

    for row in catalog.backends():
        said = [*row.half, *row.refused, *row.only_quantized]
        assert set(said) <= words
        assert len(set(said)) == len(said)


def test_no_part_is_served_by_the_htp_and_by_an_older_backend():
    htp = {arch for known in catalog.runtime_sets() for arch in known.archs}

    assert not htp & {arch for row in catalog.backends() for arch in row.archs}


def test_an_option_begins_with_a_release_or_with_an_architecture():
    assert all(row.since or row.oldest_arch for row in options().values())


def test_blob_formats_grow_with_the_releases_so_that_a_later_format_means_a_later_release():
    for earlier, later in pairwise(blob_formats()):
        assert numbers(earlier.version) <= numbers(later.version)


def test_blob_formats_agree_with_the_table_of_releases():
    for release in catalog.releases().values():
        if release.blob is not None:
            assert unreadable_blob(release.blob, release.version) is None
            assert release.blob in [row.version for row in blob_formats()]


@pytest.mark.parametrize("row", blob_formats(), ids=lambda row: row.release)
def test_a_release_reads_its_own_format_and_all_earlier_ones(row):
    for other in blob_formats():
        readable = unreadable_blob(other.version, row.release) is None

        assert readable or numbers(other.release) > numbers(row.release)
