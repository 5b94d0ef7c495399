"""What the plan alone shows: whether the SoCs can do what the manifest asks."""

from __future__ import annotations

from packager import catalog
from packager.rules.core import Case, Stage, judge
from tests.make.bundle import target_plan
from tests.unit.rule_cases import with_plan


def at_plan(**settings):
    return judge(Case(plan=target_plan(**settings)), Stage.PLAN)


def test_HEX301_fires_for_float_on_a_soc_whose_npu_has_none():
    (finding,) = at_plan(socs=("qcs6490",), precision="float")

    assert (finding.rule, finding.file) == ("HEX301", "manifest")
    assert finding.found.startswith('precision = "float" for qcs6490')
    assert finding.wanted == '"w8a16" or "w8a8"'
    assert "calibration" in finding.fix


def test_HEX301_fires_only_for_the_socs_of_a_target_that_refuse():
    findings = at_plan(socs=("qcs9075", "qcs6490"), precision="float", name="two")

    assert [f.found.split()[4] for f in findings] == ["qcs6490"]


def test_HEX301_is_silent_for_a_quantized_model_and_for_one_taken_as_it_is():
    assert not at_plan(socs=("qcs6490",), precision="w8a16")
    assert not at_plan(socs=("qcs6490",), precision="as-is")


def test_HEX301_is_silent_where_nobody_has_tried():
    unknown = catalog.soc("qcs6490").model_copy(update={"fp16": None})

    case = with_plan(Case(plan=target_plan()), socs=(unknown,))

    assert not judge(case, Stage.PLAN)


def test_HEX308_fires_for_a_dsp_older_than_the_htp():
    case = with_plan(Case(plan=target_plan()), socs=(catalog.soc("qrb5165"),))

    (finding,) = [f for f in judge(case, Stage.PLAN) if f.rule == "HEX308"]

    assert "Hexagon v66" in finding.found
    assert finding.wanted == "Hexagon v68 or later"


def test_HEX308_fires_for_a_part_that_the_backend_does_not_know():
    case = with_plan(Case(plan=target_plan()), socs=(catalog.soc("sdm835"),))

    (finding,) = [f for f in judge(case, Stage.PLAN) if f.rule == "HEX308"]

    assert finding.found.endswith("no HTP")


def test_HEX308_is_silent_for_the_oldest_htp_and_for_targets_without_npu():
    without_npu = with_plan(Case(plan=target_plan(compute=("cpu",))), socs=(catalog.soc("qrb5165"),))

    assert not at_plan(socs=("qcs6490",), precision="w8a16")
    assert "HEX308" not in {f.rule for f in judge(without_npu, Stage.PLAN)}


def test_HEX309_fires_for_a_graph_to_be_composed_on_qnx():
    case = with_plan(Case(plan=target_plan(socs=("sa8295p",))), system="qnx", runtime="dlc")

    (finding,) = judge(case, Stage.PLAN)

    assert (finding.rule, finding.found) == ("HEX309", 'runtime = "dlc" on QNX')
    assert finding.wanted == '"context-binary"'


def test_HEX309_is_silent_for_a_context_binary_on_qnx():
    case = with_plan(Case(plan=target_plan(socs=("sa8295p",))), system="qnx")

    assert not judge(case, Stage.PLAN)


def test_HEX312_fires_for_more_vtcm_than_there_is():
    (finding,) = at_plan(socs=("qcs6490",), precision="w8a16", vtcm_mb=4)

    assert finding.rule == "HEX312"
    assert finding.found.startswith("vtcm_mb = 4 for qcs6490")
    assert finding.wanted == "at most 2, or 0 for all that the SoC has"


def test_HEX312_is_silent_for_all_of_it_and_for_the_socs_own_choice():
    assert not at_plan(socs=("qcs6490",), precision="w8a16", vtcm_mb=2)
    assert not at_plan(socs=("qcs6490",), precision="w8a16", vtcm_mb=0)


def test_HEX313_fires_as_a_warning_for_a_phone_soc_on_linux():
    (finding,) = at_plan(socs=("sm8650",))

    assert (finding.rule, finding.refuses, finding.wanted) == ("HEX313", False, '"android"')
    assert finding.found.startswith('os = "linux" for sm8650')


def test_HEX313_is_silent_on_the_simulator_and_where_the_table_does_not_say():
    unknown = catalog.soc("sm8650").model_copy(update={"systems": ()})

    assert not at_plan(socs=("sm8650",), abi="x86_64-linux-clang")
    assert not judge(with_plan(Case(plan=target_plan()), socs=(unknown,)), Stage.PLAN)
