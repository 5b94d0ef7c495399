"""What the source model shows before it is compiled: dimensions, types, float or quantized."""

from __future__ import annotations

import pytest

from packager.facts.types import OnnxFacts, OnnxTensorFacts
from packager.rules.core import Case, Finding, Stage, judge
from tests.make.bundle import target_plan

FLOAT = ("float32", (1, 3, 48, 48))


def onnx(
    x: tuple[str, tuple[int | str, ...]] = FLOAT,
    y: tuple[str, tuple[int | str, ...]] = ("float32", (1, 2)),
    **facts: object,
) -> OnnxFacts:
    return OnnxFacts.model_validate(
        {
            "ir_version": 9,
            "opset": 17,
            "producer": "a test",
            "inputs": (OnnxTensorFacts(name="x", dtype=x[0], shape=x[1]),),
            "outputs": (OnnxTensorFacts(name="y", dtype=y[0], shape=y[1]),),
            "operators": {"Conv": 1},
            "quantized": False,
        }
        | facts
    )


def at_model(model: OnnxFacts | None, *, inferred: bool = False, **settings: object) -> tuple[Finding, ...]:
    return judge(Case(plan=target_plan(**settings), model=model, inferred=inferred), Stage.MODEL)


def test_a_target_without_an_onnx_model_has_nothing_to_say():
    assert not at_model(None)


def test_HEX322_fires_for_a_wrapper_around_a_context_binary():
    model = onnx(operators={"EPContext": 1}, context_binaries=("net_qnn.bin",))

    (finding,) = at_model(model, optimization=2)

    assert (finding.rule, finding.file, finding.refuses) == ("HEX322", "model.onnx", True)
    assert finding.found == "EPContext nodes for net_qnn.bin"
    assert finding.wanted.endswith('precision = "float", optimization = 2, vtcm_mb = 0')


def test_HEX322_fires_alone_for_a_wrapper_with_other_faults_and_a_context_inside():
    (finding,) = at_model(onnx(x=("float64", (1,) * 6), operators={"EPContext": 1}))

    assert (finding.rule, finding.found) == ("HEX322", "EPContext nodes for a context binary inside")


def test_HEX322_is_silent_about_a_wrapper_that_is_shipped_as_it_is():
    assert not at_model(onnx(operators={"EPContext": 1}), precision="as-is")


def test_HEX322_is_silent_for_a_model_that_can_be_compiled_and_where_nobody_asks():
    assert not at_model(onnx())
    assert not at_model(onnx(operators={"EPContext": 1}), inferred=True)


@pytest.mark.parametrize("side", ["x", "y"])
def test_HEX323_fires_for_six_dimensions_at_a_border(side):
    (finding,) = at_model(onnx(**{side: ("float32", (1, "n", 2, 2, 2, 2))}))

    assert (finding.rule, finding.file, finding.refuses) == ("HEX323", "model.onnx", True)
    assert (finding.found, finding.wanted) == (f"{side} has 6 dimensions", "at most 5, as the HTP takes")


def test_HEX323_is_silent_for_five_dimensions_and_on_another_backend():
    assert not at_model(onnx(x=("float32", (1, 2, 2, 2, 2))))
    assert not at_model(onnx(x=("float32", (1, 2, 2, 2, 2, 2))), compute=("cpu",))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "uint64", "complex64", "string"])
def test_HEX324_fires_for_a_type_that_no_operator_takes(dtype):
    (finding,) = at_model(onnx(y=(dtype, (1, 2))))

    assert (finding.rule, finding.refuses, finding.found) == ("HEX324", True, f"y is {dtype}")


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16"])
def test_HEX324_fires_for_a_type_of_quantized_models_in_another(dtype):
    (finding,) = at_model(onnx(x=(dtype, (1, 2))))

    assert (finding.rule, finding.found) == ("HEX324", f"x is {dtype}")
    assert finding.wanted.startswith("a quantized model around it")


def test_HEX324_is_silent_for_types_that_the_compiler_takes():
    for dtype in ("float16", "int32", "int64", "uint8", "uint32", "bool"):
        assert not at_model(onnx(x=(dtype, (1, 2))))
    assert not at_model(onnx(x=("int16", (1, 2)), quantized=True), precision="as-is")


def test_HEX332_fires_for_a_float_model_on_a_soc_without_half_precision():
    (finding,) = at_model(onnx(), socs=("qcs6490",), precision="as-is")

    assert (finding.rule, finding.refuses, finding.wanted) == ("HEX332", True, "a quantized model")
    assert finding.found.startswith("a float32 model for qcs6490")


def test_HEX332_fires_for_a_quantized_model_on_a_backend_of_floats():
    (finding,) = at_model(onnx(quantized=True), precision="as-is", compute=("gpu",))

    assert (finding.rule, finding.found) == ("HEX332", "a quantized model")
    assert finding.wanted == "a float model, as the GPU backend takes"


def test_HEX332_is_silent_where_the_model_fits_and_where_the_precision_says_what_becomes_of_it():
    whole_numbers = onnx(x=("int32", (1, 2)), y=("int32", (1, 2)))

    assert not at_model(onnx(), precision="as-is")
    assert not at_model(onnx(quantized=True), socs=("qcs6490",), precision="as-is")
    assert not at_model(whole_numbers, socs=("qcs6490",), precision="as-is")
    assert not at_model(onnx(), socs=("qcs6490",), precision="w8a16")


def test_HEX335_fires_as_a_warning_for_the_most_dimensions_inside():
    (finding,) = at_model(onnx(ranks={4: "x", 6: "windows", 7: "shifted"}))

    assert (finding.rule, finding.refuses, finding.found) == ("HEX335", False, "shifted has 7 dimensions")


def test_HEX335_is_silent_for_few_dimensions_and_for_those_of_a_border():
    assert not at_model(onnx(ranks={4: "x", 5: "windows"}))
    assert {f.rule for f in at_model(onnx(x=("float32", (1,) * 6), ranks={6: "x"}))} == {"HEX323"}


def test_HEX336_fires_as_a_warning_for_a_type_inside():
    (finding,) = at_model(onnx(dtypes={"float32": "x", "float64": "scaled", "int64": "index"}))

    assert (finding.rule, finding.refuses, finding.found) == ("HEX336", False, "scaled is float64")


def test_HEX336_is_silent_for_types_that_are_taken_and_for_those_of_a_border():
    assert not at_model(onnx(dtypes={"float32": "x", "int64": "index", "bool": "mask"}))
    assert not at_model(onnx(dtypes={"int8": "x_quantized"}, quantized=True), precision="as-is")
    assert {f.rule for f in at_model(onnx(x=("float64", (1,)), dtypes={"float64": "x"}))} == {"HEX324"}
