"""Context binaries and proofs: for the right SoC, readable by the runtime, as asked for."""

from __future__ import annotations

import math

import pytest

from packager.manifest_model import Input
from packager.rules.core import Asked, Case
from tests.unit.rule_cases import (
    facts_of,
    findings,
    sound_case,
    staged,
    with_facts,
    with_file,
    with_graph,
    with_plan,
    without,
)

CONTEXT = "share/models/qcs9075.bin"
ON_2_MB = {"socs": ("qcs6490",), "precision": "w8a16"}


def test_HEX302_fires_alone_for_a_context_of_a_later_hexagon():
    case = with_facts(sound_case(), CONTEXT, hexagon_arch=79, soc_model=69)

    (finding,) = findings(case)

    assert (finding.rule, finding.file) == ("HEX302", CONTEXT)
    assert (finding.found, finding.wanted) == ("compiled for Hexagon v79", "v73, as qcs9075 has")
    assert "5005" in finding.on_device


def test_HEX302_is_silent_where_the_file_does_not_say():
    case = with_facts(sound_case(), CONTEXT, hexagon_arch=None)

    assert not findings(case)


def test_HEX303_fires_for_another_soc_of_the_same_hexagon():
    case = with_facts(sound_case(), CONTEXT, soc_model=43)

    (finding,) = findings(case)

    assert finding.rule == "HEX303"
    assert (finding.found, finding.wanted) == ("compiled for soc_model 43, v73", "soc_model 77, v73")


def test_HEX303_fires_for_a_context_of_a_recent_release_that_names_no_soc():
    case = with_facts(sound_case(), CONTEXT, soc_model=0, hexagon_arch=68)

    (finding,) = findings(case)

    assert (finding.rule, finding.found) == ("HEX303", "compiled for no SoC, v68")


def test_HEX303_is_silent_for_releases_that_did_not_write_the_soc():
    case = with_facts(sound_case(), CONTEXT, soc_model=0, qairt_build="v2.40.0.251030114326")

    assert not findings(case)


def test_HEX303_is_silent_for_another_number_of_the_same_silicon():
    case = with_facts(sound_case(**ON_2_MB), "share/models/qcs6490.bin", soc_model=35)

    assert not findings(case)


def test_HEX304_fires_for_a_context_newer_than_the_runtime():
    case = with_facts(sound_case(), CONTEXT, qairt_build="v2.52.0.261030114326")

    (finding,) = findings(case)

    assert finding.rule == "HEX304"
    assert finding.found == "compiled with v2.52.0.261030114326"
    assert finding.wanted == "2.51.0 or earlier, the runtime in this package"


def test_HEX304_fires_by_the_backend_api_where_the_file_has_no_build_id():
    case = with_facts(sound_case(), CONTEXT, qairt_build=None, backend_api="5.52.0")

    (finding,) = findings(case)

    assert (finding.rule, finding.found) == ("HEX304", "compiled with backend API 5.52.0")


def test_HEX304_fires_by_the_backend_api_where_the_build_id_says_otherwise():
    case = with_facts(
        sound_case(), CONTEXT, qairt_build="v2.48.0.260626120635", backend_api="5.52.0", blob_version="4.1.0"
    )

    (finding,) = findings(case)

    assert finding.rule == "HEX304"
    assert finding.found == "compiled with backend API 5.52.0, context blob 4.1.0"


def test_HEX304_is_silent_for_contexts_of_earlier_releases():
    case = with_facts(sound_case(), CONTEXT, qairt_build="v2.48.0.260626120635")

    assert not findings(case)


def with_release(case: Case, version: str) -> Case:
    """The case with a runtime of another release in its plan."""
    minor = version.split(".")[1]
    update = {"version": version, "backend_api": f"5.{minor}"}
    release = case.plan.runtime_set.release.model_copy(update=update)
    return with_plan(case, runtime_set=case.plan.runtime_set.model_copy(update={"release": release}))


def spoken(case: Case) -> set[str]:
    return {finding.rule for finding in findings(case) if finding.file == CONTEXT}


def test_HEX304_tells_the_format_too_when_it_is_what_the_runtime_cannot_read():
    case = with_release(sound_case(), "2.48.0")

    (finding,) = [f for f in findings(case) if f.rule == "HEX304"]

    assert finding.found == "compiled with v2.51.0.260929181845, context blob 4.0.6"
    assert "HEX319" not in spoken(case)


def test_HEX319_fires_for_a_format_that_is_later_than_the_release_in_the_file():
    case = with_facts(sound_case(), CONTEXT, blob_version="4.1.0")

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.refuses) == ("HEX319", CONTEXT, False)
    assert finding.found == "context blob 4.1.0, in a file that says it is of v2.51.0.260929181845"
    assert finding.wanted == "4.0.6 or earlier, which QAIRT 2.51.0 reads"


def test_HEX319_fires_across_the_change_of_format_between_known_releases():
    said = {"qairt_build": "v2.45.0.260326154327", "backend_api": "5.45.0"}
    case = with_facts(with_release(sound_case(), "2.45.0"), CONTEXT, **said)

    (finding,) = [f for f in findings(case) if f.file == CONTEXT]

    assert (finding.rule, finding.wanted) == ("HEX319", "3.x or earlier, which QAIRT 2.45.0 reads")


def test_HEX319_is_silent_for_earlier_formats_and_for_releases_after_the_last_known():
    older = with_facts(sound_case(), CONTEXT, blob_version="3.3.4", qairt_build="v2.43.0.260127150333_193827")
    between = with_facts(with_release(sound_case(), "2.38.0"), CONTEXT, blob_version="3.3.0")
    later = with_facts(with_release(sound_case(), "2.60.0"), CONTEXT, blob_version="4.2.0")

    assert not findings(older)
    assert "HEX319" not in spoken(later) | spoken(between)


def test_HEX321_fires_as_a_warning_where_the_manifest_is_permissive():
    case = with_facts(sound_case(compatibility="permissive"), CONTEXT, soc_model=43)

    (finding,) = findings(case)

    assert (finding.rule, finding.refuses) == ("HEX321", False)
    assert (finding.found, finding.wanted) == ("compiled for soc_model 43, v73", "soc_model 77, v73")


def test_HEX321_is_silent_in_strict_mode_and_for_the_soc_itself():
    assert spoken(with_facts(sound_case(), CONTEXT, soc_model=43)) == {"HEX303"}
    assert not findings(sound_case(compatibility="permissive"))


@pytest.mark.parametrize("facts", [{"soc_model": 0}, {"soc_model": 43, "hexagon_arch": None}])
def test_being_permissive_does_not_help_a_context_that_does_not_say_what_it_is_for(facts):
    assert spoken(with_facts(sound_case(compatibility="permissive"), CONTEXT, **facts)) == {"HEX303"}


def test_the_vtcm_of_a_tolerated_context_is_still_compared():
    case = sound_case(
        socs=("sm8635",), abi="x86_64-linux-clang", compatibility="permissive", precision="w8a16"
    )
    path = "share/models/sm8635.bin"

    case = with_graph(with_facts(case, path, soc_model=43), path, vtcm_mb=8)

    assert {f.rule for f in findings(case)} == {"HEX305", "HEX321"}


def test_HEX305_fires_for_a_context_prepared_for_a_bigger_soc():
    case = with_graph(sound_case(**ON_2_MB), "share/models/qcs6490.bin", vtcm_mb=8)

    (finding,) = findings(case)

    assert finding.rule == "HEX305"
    assert finding.found == "graph g asks for 8 MB of VTCM"
    assert finding.wanted == "at most 2 MB, as qcs6490 has"


def test_HEX305_is_silent_for_the_amount_that_is_recorded_when_none_was_asked():
    case = sound_case(**ON_2_MB)

    assert facts_of(case, "share/models/qcs6490.bin").graphs[0].vtcm_mb == 4
    assert not findings(case)


def test_HEX337_fires_for_what_a_board_records_when_it_is_asked_for_nothing():
    case = with_graph(sound_case(**ON_2_MB), "share/models/qcs6490.bin", vtcm_mb=8, hvx_threads=2)

    (finding,) = findings(case)

    assert (finding.rule, finding.refuses) == ("HEX337", False)
    assert finding.found == "graph g: 8 MB of VTCM, 2 HVX threads"


@pytest.mark.parametrize("facts", [{"vtcm_mb": 2, "hvx_threads": 2}, {"vtcm_mb": 4, "hvx_threads": 2}])
def test_HEX337_is_silent_where_the_amount_fits_or_says_nothing(facts):
    assert not findings(with_graph(sound_case(**ON_2_MB), "share/models/qcs6490.bin", **facts))


def test_HEX337_leaves_amounts_that_no_board_records_by_itself_to_HEX305():
    for facts in ({"vtcm_mb": 16, "hvx_threads": 2}, {"vtcm_mb": 8, "hvx_threads": 0}):
        case = with_graph(sound_case(**ON_2_MB), "share/models/qcs6490.bin", **facts)
        assert {finding.rule for finding in findings(case)} == {"HEX305"}


def test_HEX306_fires_for_another_shape_than_the_manifest_declares():
    case = sound_case()
    model = case.plan.model.model_copy(update={"inputs": {"x": Input(shape=(1, 3, 32, 48), dtype="float32")}})

    (finding,) = findings(with_plan(case, model=model))

    assert (finding.rule, finding.file) == ("HEX306", CONTEXT)
    assert (finding.found, finding.wanted) == ("x 1×3×48×48", "x 1×3×32×48, as [model] inputs says")


def test_HEX306_fires_for_a_renamed_input():
    case = sound_case()
    (tensor,) = facts_of(case, CONTEXT).graphs[0].inputs

    (finding,) = findings(with_graph(case, CONTEXT, inputs=(tensor.model_copy(update={"name": "input_0"}),)))

    assert (finding.rule, finding.found) == ("HEX306", "input_0 1×3×48×48")


def test_HEX306_is_silent_when_the_manifest_leaves_the_inputs_to_the_model():
    case = sound_case()

    assert not findings(with_plan(case, model=case.plan.model.model_copy(update={"inputs": None})))


def asked_of(case: Case, **tensors: dict[str, tuple[int | None, ...]]) -> Case:
    """The case with what its first context was compiled from."""
    sides = {"inputs": {"x": (1, 3, 48, 48)}, "outputs": {"y": (1, 2)}} | tensors
    plan = case.plan
    asked = Asked(soc=plan.socs[0].id, optimization=plan.optimization, vtcm_mb=4, **sides)
    return case.model_copy(update={"asked": (asked,)})


@pytest.mark.parametrize(
    "tensors",
    [
        {"outputs": {"output_0": (1, 2)}},
        {"outputs": {"y": (1, 3)}},
        {"inputs": {"x": (3, 48, 48)}},
        {"inputs": {"x": (1, 3, 48, 48), "mask": (1,)}},
    ],
)
def test_HEX317_fires_for_a_tensor_that_was_renamed_resized_or_lost(tensors):
    (finding,) = findings(asked_of(sound_case(), **tensors))

    assert (finding.rule, finding.file) == ("HEX317", CONTEXT)
    assert finding.found == "x 1×3×48×48 → y 1×2"


def test_HEX317_is_silent_where_names_and_known_sizes_agree():
    assert findings(asked_of(sound_case(), outputs={"y": (None, 2)})) == ()


def test_HEX315_fires_when_all_the_vtcm_was_asked_for_and_less_was_recorded():
    case = asked_of(sound_case())
    asked = case.asked[0].model_copy(update={"vtcm_mb": 8})

    (finding,) = findings(case.model_copy(update={"asked": (asked,)}))

    assert finding.rule == "HEX315"
    assert (finding.found.rpartition(": ")[2], finding.wanted) == ("vtcm_mb 4", "vtcm_mb 8")


@pytest.mark.parametrize("cosine", [0.97, math.nan, -1.0])
def test_HEX307_fires_for_an_output_that_is_far_from_the_reference(cosine):
    case = sound_case()
    (proof,) = case.proofs

    (finding,) = findings(case.model_copy(update={"proofs": (proof.model_copy(update={"cosine": cosine}),)}))

    assert (finding.rule, finding.file, finding.wanted) == ("HEX307", CONTEXT, "cosine 0.99 or more")
    assert finding.found == f"output y: cosine {cosine:.9g} over 4 samples, largest difference 0.001"


def test_HEX307_is_silent_at_the_bound_itself():
    case = sound_case()
    (proof,) = case.proofs

    assert not findings(case.model_copy(update={"proofs": (proof.model_copy(update={"cosine": 0.99}),)}))


def test_HEX310_fires_alone_for_a_context_of_another_backend():
    case = with_facts(sound_case(), CONTEXT, backend_id=3, soc_model=None, hexagon_arch=None)

    (finding,) = findings(case)

    assert (finding.rule, finding.found, finding.wanted) == (
        "HEX310",
        "written by backend 3",
        "backend 6, the HTP",
    )


def test_HEX310_is_silent_for_targets_without_npu():
    case = with_facts(sound_case(compute=("cpu",)), CONTEXT, backend_id=3)

    assert "HEX310" not in {finding.rule for finding in findings(case)}


def test_HEX311_fires_for_a_soc_without_its_context():
    case = without(sound_case(socs=("qcs9075", "qcs8550"), name="two"), CONTEXT)

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.found) == ("HEX311", "qcs9075.bin", "no context binary")


def test_HEX311_fires_for_two_contexts_of_one_soc():
    case = sound_case()
    second = staged("share/models/again.bin", "context", facts_of(case, CONTEXT), soc="qcs9075")

    (finding,) = findings(with_file(case, second))

    assert (finding.rule, finding.found) == ("HEX311", f"{CONTEXT}, share/models/again.bin")


def test_HEX311_is_silent_for_one_context_per_soc():
    assert not findings(sound_case(socs=("qcs9075", "qcs8550"), name="two"))


def test_HEX314_fires_as_a_warning_for_a_context_of_an_earlier_hexagon():
    case = with_facts(sound_case(), CONTEXT, hexagon_arch=68, soc_model=93)

    (finding,) = findings(case)

    assert (finding.rule, finding.refuses, finding.found) == ("HEX314", False, "compiled for Hexagon v68")


def test_HEX314_is_silent_for_a_context_of_the_socs_own_hexagon():
    assert "HEX314" not in {
        finding.rule for finding in findings(with_facts(sound_case(), CONTEXT, soc_model=43))
    }


def test_HEX315_fires_for_options_that_the_compiler_ignored():
    case = with_graph(sound_case(vtcm_mb=2), CONTEXT, optimization=1, vtcm_mb=4)

    (finding,) = findings(case)

    assert finding.rule == "HEX315"
    assert finding.found == "graph g: optimization 1, vtcm_mb 4"
    assert finding.wanted == "optimization 3, vtcm_mb 2"


def test_HEX315_fires_for_threads_and_integer_borders_that_were_asked_for_and_are_not_there():
    case = asked_of(with_graph(sound_case(), CONTEXT, hvx_threads=0))
    asked = case.asked[0].model_copy(update={"hvx_threads": 4, "dtypes": {"x": "ufixed8"}})

    (finding,) = findings(case.model_copy(update={"asked": (asked,)}))

    assert finding.rule == "HEX315"
    assert finding.found == "graph g: hvx_threads 0, x float32"
    assert finding.wanted == "hvx_threads 4, x ufixed8"


def test_HEX315_is_silent_about_files_of_which_nobody_knows_what_was_asked():
    case = with_graph(sound_case(), CONTEXT, optimization=1)

    assert "HEX315" not in spoken(case.model_copy(update={"inferred": True}))


def test_HEX315_is_silent_about_what_was_not_asked_and_what_is_not_recorded():
    case = with_graph(sound_case(), CONTEXT, optimization=None, vtcm_mb=8)

    assert not findings(case)


def test_HEX316_fires_for_a_proof_that_was_asked_for_and_not_made():
    case = sound_case().model_copy(update={"proofs": ()})

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.found) == ("HEX316", CONTEXT, "no output was compared")


def test_HEX316_is_silent_when_no_reference_was_given():
    case = sound_case()
    unproved = with_plan(case, model=case.plan.model.model_copy(update={"reference": None}))

    assert not findings(unproved.model_copy(update={"proofs": ()}))
