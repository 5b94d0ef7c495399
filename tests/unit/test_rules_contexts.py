"""Compiled models: features that their SoC and release have, and who they were made by and for."""

from __future__ import annotations

import pytest

from packager.facts.config_types import AiHubFacts, HtpConfigFacts
from packager.facts.types import ContextFacts, DlcCache, DlcFacts
from packager.rules.core import Case
from tests.unit.rule_cases import (
    facts_of,
    findings,
    sound_case,
    staged,
    with_facts,
    with_file,
    with_graph,
    with_plan,
)

CONTEXT = "share/models/qcs9075.bin"
ON_V68 = {"socs": ("qcs6490",), "precision": "w8a16"}


def spoken(case: Case) -> list[str]:
    return [finding.rule for finding in findings(case)]


def with_config(case: Case, **facts: object) -> Case:
    config = HtpConfigFacts.model_validate({"keys": ("graphs.vtcm_mb",)} | facts)
    return with_file(case, staged("share/models/htp.json", "vendor-config", config))


def with_dlc(case: Case, *soc_models: int, lineage: str = "qairt") -> Case:
    """The case with a DLC that has a compiled graph for each of these SoCs."""
    context: ContextFacts = next(facts for _, facts in case.contexts())
    caches = tuple(
        DlcCache(
            record=f"cache{number}",
            size=4096,
            context=context.model_copy(update={"soc_model": number}),
        )
        for number in soc_models
    )
    dlc = DlcFacts.model_validate({"lineage": lineage, "records": (), "caches": caches})
    return with_file(case, staged("share/models/net.dlc", "model", dlc))


def at_release(case: Case, version: str) -> Case:
    """The case with libraries of another release; rules that compare builds with it will speak too."""
    release = case.plan.runtime_set.release.model_copy(update={"version": version})
    return with_plan(case, runtime_set=case.plan.runtime_set.model_copy(update={"release": release}))


def test_HEX320_fires_for_shared_weights_before_v73():
    case = with_graph(sound_case(**ON_V68), "share/models/qcs6490.bin", shared_weights_bytes=1 << 20)

    (finding,) = findings(case)

    assert (finding.rule, finding.refuses) == ("HEX320", True)
    assert finding.found == "graphs that share weights (g), for Hexagon v68"
    assert finding.wanted == "Hexagon v73 or later"


def test_HEX320_fires_for_the_configuration_that_asks_for_it_and_not_for_the_context_too():
    case = with_graph(sound_case(**ON_V68), "share/models/qcs6490.bin", shared_weights_bytes=1 << 20)

    said = [f for f in findings(with_config(case, weight_sharing=True)) if f.rule == "HEX320"]

    assert [f.file for f in said] == ["share/models/htp.json"]
    assert said[0].found == "asks for weight sharing between graphs on qcs6490 (v68)"


def test_HEX320_is_silent_from_v73_on_and_for_graphs_that_share_nothing():
    sharing = with_graph(sound_case(), CONTEXT, shared_weights_bytes=1 << 20)
    alone = with_graph(sound_case(**ON_V68), "share/models/qcs6490.bin", shared_weights_bytes=0)

    assert not findings(sharing)
    assert not findings(alone)
    assert "HEX320" not in spoken(with_config(sharing, weight_sharing=True))


@pytest.mark.parametrize("field", ["device", "chipset"])
def test_HEX327_fires_for_metadata_of_a_stand_in(field):
    facts = AiHubFacts.model_validate({field: "Dragonwing QCS8550 (Proxy)"})
    case = with_file(sound_case(), staged("share/models/metadata.json", "document", facts))

    said = [f for f in findings(case) if f.rule == "HEX327"]

    assert [(f.file, f.refuses) for f in said] == [("share/models/metadata.json", True)]
    assert said[0].found == 'made for the device "Dragonwing QCS8550 (Proxy)"'


def test_HEX327_is_silent_for_metadata_of_a_real_device():
    facts = AiHubFacts(device="Dragonwing IQ-9075 EVK")

    case = with_file(sound_case(), staged("share/models/metadata.json", "document", facts))

    assert "HEX327" not in spoken(case)


def test_HEX328_fires_for_a_container_of_several_socs_with_an_older_release():
    case = with_dlc(at_release(sound_case(), "2.47.0"), 77, 57)

    said = [f for f in findings(case) if f.rule == "HEX328"]

    assert [(f.file, f.refuses, f.wanted) for f in said] == [
        ("share/models/net.dlc", False, "QAIRT 2.48 or later")
    ]


def test_HEX328_fires_for_graph_splitting_with_an_older_release():
    case = with_config(at_release(sound_case(), "2.48.0"), keys=("context.graph_splitting_enabled",))

    said = [f for f in findings(case) if f.rule == "HEX328"]

    assert [(f.found, f.wanted) for f in said] == [
        ("graph splitting, with QAIRT 2.48.0", "QAIRT 2.49 or later")
    ]


def test_HEX328_is_silent_where_the_release_has_the_feature_and_where_nothing_uses_it():
    several = with_dlc(sound_case(), 77, 57)
    splitting = with_config(sound_case(), keys=("context.graph_splitting_enabled",))
    old_and_plain = with_dlc(at_release(sound_case(), "2.40.0"), 77)

    for case in (several, splitting, old_and_plain):
        assert "HEX328" not in spoken(case)


def test_HEX329_fires_for_a_dlc_that_was_prepared_for_others():
    case = with_dlc(sound_case(), 57, 43)

    (finding,) = [f for f in findings(case) if f.rule == "HEX329"]

    assert (finding.file, finding.refuses) == ("share/models/net.dlc", False)
    assert finding.found == "compiled graphs for soc_model 43, 57"
    assert finding.wanted == "one for soc_model 77, qcs9075"


def test_HEX329_is_silent_for_a_fitting_graph_and_for_a_dlc_without_any():
    assert "HEX329" not in spoken(with_dlc(sound_case(), 57, 77))
    assert "HEX329" not in spoken(with_dlc(sound_case()))


def test_HEX330_fires_for_a_dlc_of_the_first_snpe():
    (finding,) = [f for f in findings(with_dlc(sound_case(), lineage="snpe1")) if f.rule == "HEX330"]

    assert (finding.file, finding.refuses) == ("share/models/net.dlc", True)
    assert (finding.found, finding.wanted) == ("written by SNPE 1", "a DLC of QAIRT")


def test_HEX330_is_silent_for_a_dlc_of_qairt_and_where_no_qnn_backend_reads_it():
    without_qnn = with_dlc(sound_case(), lineage="snpe1")
    files = tuple(examined for examined in without_qnn.files if examined.file.role != "backend")

    assert "HEX330" not in spoken(with_dlc(sound_case()))
    assert "HEX330" not in spoken(without_qnn.model_copy(update={"files": files}))


def test_HEX334_fires_for_a_context_of_the_stand_in():
    path = "share/models/qcs8550.bin"
    case = with_facts(sound_case(socs=("qcs8550",)), path, soc_model=43)

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.refuses) == ("HEX334", path, False)
    assert finding.found == "compiled for soc_model 43, sm8550, which stands in for qcs8550"
    assert finding.wanted == "soc_model 66"


def test_HEX334_is_silent_for_the_socs_own_number_and_for_a_second_number_of_the_same_silicon():
    own = sound_case(socs=("qcs8550",))
    same_silicon = with_facts(sound_case(**ON_V68), "share/models/qcs6490.bin", soc_model=35)

    assert facts_of(own, "share/models/qcs8550.bin").soc_model == 66
    assert not findings(own)
    assert not findings(same_silicon)


def test_HEX334_is_silent_where_the_metadata_says_so_already():
    case = with_facts(sound_case(socs=("qcs8550",)), "share/models/qcs8550.bin", soc_model=43)
    metadata = staged("share/models/metadata.json", "document", AiHubFacts(device="QCS8550 (Proxy)"))

    assert [rule for rule in spoken(with_file(case, metadata)) if rule in ("HEX327", "HEX334")] == ["HEX327"]
