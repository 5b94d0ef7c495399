"""What the plan alone shows: whether the SoCs can do what the manifest asks."""

from __future__ import annotations

import pytest

from packager import catalog
from packager.errors import ManifestError
from packager.rules.core import Case, Stage, judge
from tests.make.bundle import target_plan
from tests.unit.rule_cases import with_plan


def at_plan(**settings):
    return judge(Case(plan=target_plan(**settings)), Stage.PLAN)


def own_libraries(case: Case, release: str | None = None) -> Case:
    """The case with device libraries from a folder of the user's, perhaps of another release."""
    old = case.plan.runtime_set
    row = old.release.model_copy(update={"version": release or old.release.version})
    return with_plan(
        case, runtime_set=old.model_copy(update={"wheel": None, "path": "/opt/qairt", "release": row})
    )


def on_toolchain(soc: str, abi: str, release: str | None = None) -> Case:
    """A target for the libraries of a toolchain of the tables."""
    return own_libraries(with_plan(Case(plan=target_plan(socs=(soc,))), abi=catalog.abi(abi)), release)


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
    case = own_libraries(with_plan(Case(plan=target_plan(socs=("sa8295p",))), system="qnx", runtime="dlc"))

    (finding,) = [found for found in judge(case, Stage.PLAN) if found.refuses]

    assert (finding.rule, finding.found) == ("HEX309", 'runtime = "dlc" on QNX')
    assert finding.wanted == '"context-binary"'


def test_HEX309_is_silent_for_a_context_binary_on_qnx():
    case = own_libraries(with_plan(Case(plan=target_plan(socs=("sa8295p",))), system="qnx"))

    assert "HEX309" not in {finding.rule for finding in judge(case, Stage.PLAN)}


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


def test_HEX313_is_silent_where_the_libraries_are_known_to_refuse_the_soc():
    assert [f.rule for f in at_plan(socs=("sm8550",))] == ["HEX318"]


def test_HEX308_tells_which_backend_an_older_dsp_has():
    case = with_plan(Case(plan=target_plan()), socs=(catalog.soc("qrb5165"),))

    (finding,) = [f for f in judge(case, Stage.PLAN) if f.rule == "HEX308"]

    assert finding.fix.endswith("v66 has the DSP backend, for quantized models only")


@pytest.mark.parametrize("soc", ["sm8350", "sm8450", "sm8475", "sm8550", "sm8635"])
def test_HEX318_fires_for_a_soc_that_refused_these_very_libraries(soc):
    findings = at_plan(socs=(soc,), precision="w8a16")

    (finding,) = findings
    assert (finding.rule, finding.file, finding.refuses) == ("HEX318", "manifest", True)
    assert finding.found.startswith(f'abi = "oe-linux-gcc11.2" and QAIRT 2.51.0 for {soc}')
    assert "measured with QAIRT 2.51" in finding.wanted
    assert "Unsupported SoC model" in finding.wanted


def test_HEX318_fires_for_the_releases_before_a_soc_was_known():
    (finding,) = judge(on_toolchain("x-elite", "oe-linux-gcc11.2", "2.40.0"), Stage.PLAN)

    assert (finding.rule, finding.wanted.split(";")[1].split(":")[0]) == (
        "HEX318",
        " measured with QAIRT 2.40",
    )


@pytest.mark.parametrize("soc", ["qcs9075", "qcs8550", "x-elite", "qcs8275"])
def test_HEX318_is_silent_for_a_soc_that_the_libraries_accept(soc):
    assert not at_plan(socs=(soc,))


def test_HEX318_is_silent_on_other_systems_and_for_targets_without_npu():
    without_npu = {f.rule for f in at_plan(socs=("sm8550",), compute=("cpu",))}

    assert not at_plan(socs=("sm8550",), abi="x86_64-linux-clang")
    assert "HEX318" not in without_npu


@pytest.mark.parametrize("compute", ["gpu", "cpu"])
def test_HEX325_fires_for_a_quantized_model_on_a_backend_of_floats(compute):
    (finding,) = at_plan(compute=("npu", compute), precision="w8a16")

    assert (finding.rule, finding.refuses) == ("HEX325", True)
    assert finding.found == f'precision = "w8a16" with "{compute}" in compute'
    assert finding.wanted == f'"float", as the {compute.upper()} backend takes'


def test_HEX325_is_silent_for_what_each_backend_takes():
    assert not at_plan(compute=("npu", "gpu", "cpu"), precision="float")
    assert not at_plan(precision="w8a8")
    assert not at_plan(compute=("gpu",), precision="as-is")


@pytest.mark.parametrize("runtime", ["dlc", "model-library"])
def test_HEX326_fires_for_a_graph_to_be_composed_on_automotive_linux(runtime):
    case = own_libraries(Case(plan=target_plan(socs=("sa8295p",), runtime=runtime)))

    (finding,) = judge(case, Stage.PLAN)

    assert (finding.rule, finding.refuses, finding.wanted) == ("HEX326", True, '"context-binary"')
    assert finding.found.startswith(f'runtime = "{runtime}" for sa8295p')


def test_HEX326_is_silent_for_boards_that_are_no_cars_and_for_context_binaries():
    assert not at_plan(socs=("qcs9075",), runtime="dlc")
    assert not judge(own_libraries(Case(plan=target_plan(socs=("sa8295p",)))), Stage.PLAN)


def test_HEX331_fires_as_a_warning_for_what_people_reported():
    (finding,) = judge(on_toolchain("qcs8550", "oe-linux-gcc9.3", "2.50.0"), Stage.PLAN)

    assert (finding.rule, finding.refuses) == ("HEX331", False)
    assert "reported with QAIRT 2.50" in finding.wanted
    assert finding.fix == 'set `abi = "oe-linux-gcc11.2"`'


def test_HEX331_fires_for_evidence_about_another_release():
    (finding,) = judge(on_toolchain("qcs9075", "ubuntu-gcc9.4"), Stage.PLAN)
    (without_htp,) = judge(on_toolchain("qcs9075", "oe-linux-gcc8.2"), Stage.PLAN)

    assert (finding.rule, without_htp.rule) == ("HEX331", "HEX331")
    assert finding.wanted.endswith("reported with QAIRT 2.50: the set has no stub for Hexagon v73")
    assert without_htp.wanted.endswith("measured with QAIRT 2.13: the set has no HTP library")


def test_HEX331_is_silent_where_nobody_has_looked_and_where_it_was_measured():
    assert not judge(on_toolchain("qcs8275", "ubuntu-gcc9.4"), Stage.PLAN)
    assert "HEX331" not in {f.rule for f in at_plan(socs=("sm8550",))}


def test_HEX333_fires_as_a_warning_for_the_libraries_of_a_wheel_on_an_automotive_part():
    (finding,) = at_plan(socs=("sa8775p",))

    assert (finding.rule, finding.refuses) == ("HEX333", False)
    assert finding.found.startswith("QAIRT 2.51.0 of onnxruntime-qnn==2.7.0 for sa8255p")


def test_HEX333_is_silent_for_libraries_of_the_users_own_and_for_other_parts():
    assert not judge(own_libraries(Case(plan=target_plan(socs=("sa8775p",)))), Stage.PLAN)
    assert not at_plan(socs=("sa8775p",), abi="x86_64-linux-clang")
    assert not at_plan(socs=("qcs9075",))


def test_a_proxy_of_the_ai_hub_is_not_the_name_of_a_soc():
    with pytest.raises(ManifestError) as refused:
        catalog.soc("Dragonwing QCS8550 (Proxy)")

    assert "QCS8550" in refused.value.render()
