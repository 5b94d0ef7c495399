"""The rules on a context binary that the vendor's compiler made: right for its SoC, wrong for every other."""

from __future__ import annotations

from pathlib import Path

import pytest

from packager import catalog
from packager.bundle import BundleFile
from packager.compilers.jobs import CompileJob
from packager.compilers.ort_qnn import compile_context
from packager.compilers.preparation import prepare
from packager.facts.identify import examine
from packager.files import digest
from packager.manifest_model import Input
from packager.plan_model import TargetPlan
from packager.rules.core import Case, Examined, Finding, Stage, judge
from tests.make.bundle import target_plan

INPUTS = {"x": Input(shape=(1, 3, 48, 48), dtype="float32")}


@pytest.fixture(scope="module")
def context(classifier_onnx: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The classifier for SM8650 (v75, 8 MB), optimization 2, all of its VTCM asked for by number."""
    work = tmp_path_factory.mktemp("context")
    prepared = prepare(classifier_onnx, inputs=INPUTS, precision="float", calibration=[], work=work)
    job = CompileJob(prepared=prepared, soc=catalog.soc("sm8650"), optimization=2, vtcm_mb=8)
    return compile_context(job, work).context


def on_soc(soc: str, **settings: object) -> TargetPlan:
    plan = target_plan(
        socs=(soc,), abi="x86_64-linux-clang", **({"optimization": 2, "vtcm_mb": 8} | settings)
    )
    return plan.model_copy(update={"model": plan.model.model_copy(update={"inputs": INPUTS})})


def findings(plan: TargetPlan, context: Path) -> list[Finding]:
    """What the rules for model assets say about this file as the context of the plan's only SoC."""
    file = BundleFile(
        path=f"share/models/{plan.socs[0].id}.bin",
        role="context",
        blob=digest(context),
        local=context,
        soc=plan.socs[0].id,
    )
    case = Case(plan=plan, files=(Examined(file=file, facts=examine(context)),))
    return [f for f in judge(case, Stage.FILES) if f.rule.startswith("HEX3") or f.rule == "HEX101"]


def test_a_context_for_its_own_soc_compiled_as_asked_has_no_finding(context):
    assert findings(on_soc("sm8650"), context) == []


def test_a_context_of_a_later_hexagon_is_refused_as_the_device_refuses_it(context):
    (finding,) = findings(on_soc("qcs9075"), context)

    assert (finding.rule, finding.found) == ("HEX302", "compiled for Hexagon v75")


def test_a_context_of_the_same_hexagon_is_still_for_another_soc(context):
    (finding,) = findings(on_soc("qcs8275"), context)

    assert (finding.rule, finding.found, finding.wanted) == (
        "HEX303",
        "compiled for soc_model 57, v75",
        "soc_model 82, v75",
    )


def test_a_context_of_an_earlier_hexagon_is_a_warning(context):
    (finding,) = findings(on_soc("sm8750"), context)

    assert (finding.rule, finding.refuses) == ("HEX314", False)


def test_an_older_runtime_does_not_read_the_context(context):
    plan = on_soc("sm8650")
    older = plan.runtime_set.model_copy(update={"release": catalog.releases()["2.48.0"]})

    (finding,) = findings(plan.model_copy(update={"runtime_set": older}), context)

    assert (finding.rule, finding.wanted) == ("HEX304", "2.48.0 or earlier, the runtime in this package")


def test_the_amount_of_vtcm_is_read_back_from_the_file(context):
    small = catalog.soc("sm8650").model_copy(update={"vtcm_mb": 2})
    plan = on_soc("sm8650", vtcm_mb=0).model_copy(update={"socs": (small,)})

    (finding,) = findings(plan, context)

    assert (finding.rule, finding.wanted) == ("HEX305", "at most 2 MB, as sm8650 has")


def test_other_options_than_those_asked_for_are_seen_in_the_file(context):
    (finding,) = findings(on_soc("sm8650", optimization=3, vtcm_mb=4), context)

    assert finding.rule == "HEX315"
    assert finding.found.endswith("optimization 2, vtcm_mb 8")
    assert finding.wanted == "optimization 3, vtcm_mb 4"


def test_a_context_that_was_cut_short_is_damaged_and_nothing_else(context, tmp_path):
    short = tmp_path / "short.bin"
    short.write_bytes(context.read_bytes()[:-1])

    (finding,) = findings(on_soc("sm8650"), short)

    assert finding.rule == "HEX101"
