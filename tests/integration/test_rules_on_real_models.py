"""What the rules say about small models, and what the vendor's compiler says about the same models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from packager import catalog
from packager.compilers import CompileJob, compile_context, prepare
from packager.errors import ToolFailed
from packager.facts.onnx import read_onnx
from packager.rules.core import Case, Severity, Stage, judge
from tests.make.bundle import target_plan

SIX = [1, 2, 2, 2, 2, 2]
FOUR = [1, 4, 4, 8]


class Small(NamedTuple):
    """A model of one operator; its input and its output have the same shape unless `to` says otherwise."""

    operator: str
    dtype: int
    shape: Sequence[int]
    to: Sequence[int] | None = None


def reshape_of(kind: int) -> Small:
    return Small("Reshape", kind, FOUR, [1, 16, 8])


def saved(small: Small, path: Path) -> Path:
    """The model as a file. A shape to go to is its second input, a weight."""
    import numpy as np

    goal = [] if small.to is None else [numpy_helper.from_array(np.array(small.to, np.int64), "goal")]
    graph = helper.make_graph(
        [helper.make_node(small.operator, ["x", *(one.name for one in goal)], ["y"], name="the_node")],
        "g",
        [helper.make_tensor_value_info("x", small.dtype, small.shape)],
        [helper.make_tensor_value_info("y", small.dtype, small.to or small.shape)],
        goal,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def rules_refuse(model: Path, soc: str, precision: str = "as-is") -> set[str]:
    """The errors of the rules that look at a source model."""
    case = Case(plan=target_plan(socs=(soc,), precision=precision), model=read_onnx(model))
    return {f.rule for f in judge(case, Stage.MODEL) if f.severity is Severity.ERROR}


def compiler_refuses(model: Path, soc: str, work: Path) -> bool:
    prepared = prepare(model, inputs=None, precision="as-is", calibration=[], work=work)
    try:
        compile_context(CompileJob(prepared=prepared, soc=catalog.soc(soc), optimization=3), work)
    except ToolFailed:
        return True
    return False


@pytest.mark.parametrize(
    ("small", "soc", "rules"),
    [
        pytest.param(Small("Relu", TensorProto.FLOAT, SIX), "sm8650", {"HEX323"}, id="six dimensions"),
        pytest.param(
            Small("Reshape", TensorProto.FLOAT, SIX, [1, 32]), "sm8650", {"HEX323"}, id="six at the input"
        ),
        pytest.param(
            Small("Reshape", TensorProto.FLOAT, [1, 32], SIX), "sm8650", {"HEX323"}, id="six at the output"
        ),
        pytest.param(Small("Relu", TensorProto.FLOAT, SIX[:5]), "sm8650", set(), id="five dimensions"),
        pytest.param(reshape_of(TensorProto.DOUBLE), "sm8650", {"HEX324"}, id="float64"),
        pytest.param(reshape_of(TensorProto.BFLOAT16), "sm8650", {"HEX324"}, id="bfloat16"),
        pytest.param(reshape_of(TensorProto.UINT64), "sm8650", {"HEX324"}, id="uint64"),
        pytest.param(reshape_of(TensorProto.INT8), "sm8650", {"HEX324"}, id="int8"),
        pytest.param(reshape_of(TensorProto.INT16), "sm8650", {"HEX324"}, id="int16"),
        pytest.param(reshape_of(TensorProto.UINT16), "sm8650", {"HEX324"}, id="uint16"),
        pytest.param(reshape_of(TensorProto.UINT8), "sm8650", set(), id="uint8"),
        pytest.param(reshape_of(TensorProto.UINT32), "sm8650", set(), id="uint32"),
        pytest.param(reshape_of(TensorProto.INT64), "sm8650", set(), id="int64"),
        pytest.param(Small("Not", TensorProto.BOOL, FOUR), "sm8650", set(), id="bool"),
        pytest.param(Small("Relu", TensorProto.FLOAT, FOUR), "qcs6490", {"HEX332"}, id="float on v68"),
        pytest.param(Small("Relu", TensorProto.FLOAT16, FOUR), "qcs6490", {"HEX332"}, id="half on v68"),
        pytest.param(Small("Relu", TensorProto.FLOAT16, FOUR), "sm8650", set(), id="half on v75"),
    ],
)
def test_the_rules_refuse_before_the_compiler_what_the_compiler_refuses(small, soc, rules, tmp_path):
    model = saved(small, tmp_path / "small.onnx")

    assert rules_refuse(model, soc) == rules
    assert compiler_refuses(model, soc, tmp_path) == bool(rules)


def test_the_wrapper_that_the_compiler_writes_is_told_from_a_model(tmp_path):
    model = saved(Small("Relu", TensorProto.FLOAT, FOUR), tmp_path / "small.onnx")
    prepared = prepare(model, inputs=None, precision="float", calibration=[], work=tmp_path)

    job = CompileJob(prepared=prepared, soc=catalog.soc("sm8650"), optimization=3)
    wrapper = compile_context(job, tmp_path).wrapper

    assert rules_refuse(model, "sm8650", "float") == set()
    assert rules_refuse(wrapper, "sm8650", "float") == {"HEX322"}
