"""The tables of the world are complete, consistent and answer the words that people use."""

from __future__ import annotations

from typing import get_args

import pytest

from packager import catalog
from packager.errors import ManifestError
from packager.manifest_model import ComputeUnit, PowerProfile, Runtime


@pytest.mark.parametrize(
    ("word", "soc_model", "arch"),
    [
        ("qcs6490", 93, "v68"), ("QCM6490", 93, "v68"), ("rb3gen2", 93, "v68"), ("RB3 Gen 2", 93, "v68"),
        ("x-elite", 60, "v73"), ("Snapdragon X Elite", 60, "v73"), ("sm8650", 57, "v75"),
        ("qcs8550", 66, "v73"), ("sm8550", 43, "v73"), ("sa8775p", 52, "v73"), ("iq-9075-evk", 77, "v73"),
    ],
)  # fmt: skip
def test_a_chip_a_marketing_name_and_a_board_all_find_the_soc(word, soc_model, arch):
    soc = catalog.soc(word)

    assert (soc.soc_model, soc.arch) == (soc_model, arch)


def test_swapped_digits_are_answered_with_the_part_that_was_meant():
    with pytest.raises(ManifestError) as refused:
        catalog.soc("qcs6940")

    assert 'did you mean "qcs6490" (Dragonwing QCS6490, Hexagon v68)?' in refused.value.render()


def test_soc_ids_are_unique_and_every_row_has_a_source():
    ids = [soc.id for soc in catalog.socs()]

    assert len(set(ids)) == len(ids)
    assert all(soc.source for soc in catalog.socs())


def test_a_linux_soc_id_belongs_to_one_soc_only():
    owners: dict[int, str] = {}

    for soc in catalog.socs():
        for number in soc.linux_soc_ids:
            assert owners.setdefault(number, soc.id) == soc.id


def test_every_board_is_on_a_known_soc():
    words = {board.id: catalog.soc(board.id).id for board in catalog.boards()}

    assert words["rb3gen2"] == "qcs6490"
    assert len(words) == len(catalog.boards())


@pytest.mark.parametrize(("soc", "other"), [("qcs6490", 35), ("qcs8550", 43), ("sxr2230p", 36)])
def test_the_second_number_of_a_disputed_part_is_kept_with_its_reason(soc, other):
    row = catalog.soc(soc)

    assert other in row.accepts
    assert row.conflicts


def test_abis_formats_and_runtime_sets_refer_to_rows_that_exist():
    for abi in catalog.abis().values():
        assert abi.system in catalog.systems()
    for form in catalog.formats().values():
        assert set(form.systems + form.later) <= set(catalog.systems())
        assert form.systems or form.later
        assert form.version in catalog.version_rows()
    for known in catalog.runtime_sets():
        assert known.release in catalog.releases()
        assert set(known.abis) <= set(catalog.abis())
        assert len(known.sha256) == 64


def test_the_hexagon_architecture_of_every_stub_is_one_that_some_soc_has():
    archs = {soc.hexagon for soc in catalog.socs()}

    assert {arch for known in catalog.runtime_sets() for arch in known.archs} <= archs


def test_a_search_finds_by_architecture_by_number_and_by_part_of_a_name():
    assert {soc.arch for soc in catalog.find_socs("v68")} == {"v68"}
    assert [soc.id for soc in catalog.find_socs("qcs6490")] == ["qcs6490"]
    assert "sc8380xp" in [soc.id for soc in catalog.find_socs("elite")]


def test_the_words_of_the_manifest_are_those_of_the_tables():
    profiles = {row["id"] for row in catalog.table("power")["profile"]}

    assert set(get_args(PowerProfile)) <= profiles
    assert set(get_args(ComputeUnit)) == {row["id"] for row in catalog.table("systems")["compute"]}
    assert set(get_args(Runtime)) == {row["id"] for row in catalog.table("systems")["runtime"]}
