"""What people read when a SoC does not take their model, made from log lines of the compiler's shape."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from packager import catalog
from packager.compilers import CompileJob, Prepared, refusal, worker
from packager.compilers.jobs import NodeFacts, NodeTensor
from packager.errors import ToolFailed

LINE = "\x1b[0;93m2026-01-02 03:04:05.678901234 [{level}:onnxruntime:, {place}] {text}\x1b[m"


def listed(*nodes: tuple[str, str]) -> str:
    text = "".join(f"{{ name: {name}, type: {operator} }}" for name, operator in nodes)
    return LINE.format(
        level="E",
        place="qnn_execution_provider.cc:1 GetCapabilityImpl",
        text=f"Unsupported nodes in QNN EP: {text}",
    )


def refused(name: str, qnn_type: str, code: int = 3110) -> str:
    node = f"node `{name}` of type `{qnn_type}`"
    text = f"QNN.backendValidateOpConfig() failed for {node} with error code {code}\n"
    return LINE.format(level="W", place="qnn_model_wrapper.cc:1 CreateQnnNode", text=text)


def job(soc: str, precision: str) -> CompileJob:
    prepared = Prepared(
        model=Path("model.onnx"),
        reference=Path("reference.onnx"),
        precision=precision,
        quantized=precision.startswith("w"),
        inputs=(),
        outputs=(),
    )
    return CompileJob(prepared=prepared, soc=catalog.soc(soc), optimization=3)


def nodes(*said: tuple[str, str], **more) -> list[NodeFacts]:
    return [NodeFacts(name=name, operator=operator, **more) for name, operator in said]


def of(dtype: str, *shape: int, name: str = "t", quantized: str | None = None) -> NodeTensor:
    return NodeTensor(name=name, dtype=dtype, shape=shape, quantized=quantized)


FLOAT_MODEL = nodes(
    ("conv_a", "Conv"), ("relu", "Relu"), ("conv_b", "Conv"), ("weights", "Constant"), ("sum", "Add")
)
FLOAT_LOG = "\n".join(
    [
        refused("relu", "Relu"),
        refused("sum", "ElementWiseAdd"),
        listed(("relu", "Relu"), ("sum", "Add")),
        refused("conv_a_token_1", "Conv2d"),
        refused("relu_2", "Relu"),
        refused("conv_b_token_5", "DepthWiseConv2d"),
        refused("sum_9", "ElementWiseAdd"),
        listed(("conv_a_token_1", "Conv"), ("relu", "Relu"), ("conv_b_token_5", "Conv"), ("sum", "Add")),
    ]
)


def test_a_soc_without_fp16_is_told_to_take_a_quantized_model():
    error = refusal.explain(job("qcs6490", "float"), "FAIL : ...", FLOAT_MODEL, FLOAT_LOG)

    assert error.render() == (
        "error: Dragonwing QCS6490 (qcs6490, Hexagon v68) takes no float model: it refuses 4 nodes\n"
        "     2 Conv: conv_a, conv_b\n"
        "     1 Add: sum\n"
        "     1 Relu: relu\n"
        "  its HTP takes no float models (SoC table: fp16 = false)\n"
        '  fix: set precision = "w8a16" for this target and name calibration samples '
        "under `model.calibration`"
    )


def test_a_float_model_refused_whole_is_explained_without_claiming_a_table_that_says_otherwise():
    error = refusal.explain(job("sm8650", "float"), "FAIL : ...", FLOAT_MODEL, FLOAT_LOG)

    assert "fp16 = false" not in error.render()
    assert 'precision = "w8a16"' in error.fix


def test_one_node_that_8_bits_do_not_fit_leads_to_16_bit_activations():
    others = nodes(("conv", "Conv"), ("q", "QuantizeLinear"), ("dq", "DequantizeLinear"))
    pooled = {
        "inputs": (of("float32", 1, 8, 8, 8, quantized="uint8"),),
        "outputs": (of("float32", 1, 8, 4, 4),),
    }
    model = [*others, *nodes(("pool", "MaxPool"), **pooled)]
    log = refused("pool_token_437", "PoolMax2d") + "\n" + listed(("pool_token_437", "MaxPool"))

    error = refusal.explain(job("qcs6490", "w8a8"), "FAIL : ...", model, log)

    assert error.render() == (
        "error: Dragonwing QCS6490 (qcs6490, Hexagon v68) refuses 1 of 2 nodes of the w8a8 model\n"
        "     1 MaxPool (uint8 rank 4 → float32 rank 4): pool\n"
        "  QNN error 3110 from the backend (`hexpack explain 3110`)\n"
        '  fix: set precision = "w8a16" for this target: 16-bit activations fit operators '
        "that 8-bit ones do not"
    )


def test_an_operator_without_translation_is_to_leave_the_graph():
    model = nodes(("conv", "Conv"), ("find_spots", "NonZero"))

    error = refusal.explain(job("sm8650", "float"), "FAIL : ...", model, listed(("find_spots", "NonZero")))

    assert error.render() == (
        "error: Snapdragon 8 Gen 3 Mobile (sm8650, Hexagon v75) has no operator for 1 node of the model\n"
        "     1 NonZero: find_spots\n"
        "  fix: remove these nodes from the graph and do their work before or after the model, on the CPU; "
        "or export the model with other operators in their place"
    )


def test_nodes_of_one_operator_are_told_apart_by_types_and_ranks():
    def add(name: str, *shape: int) -> NodeFacts:
        one = (of("float32", *shape, name=f"{name}_y"),)
        return NodeFacts(name=name, operator="Add", inputs=(of("float32", *shape), *one), outputs=one)

    model = [add("flat", 4), add("deep", 1, 1, 1, 2, 2, 2), add("deep_too", 1, 1, 1, 2, 2, 2)]
    log = "\n".join(
        [refused(node.name, "ElementWiseAdd") for node in model]
        + [listed(*((node.name, "Add") for node in model))]
    )

    error = refusal.explain(job("sm8650", "w8a8"), "FAIL", model, log)

    assert error.evidence[:4] == (
        "   2 Add (float32 rank 6 → float32 rank 6): deep, deep_too",
        "   1 Add (float32 rank 1 → float32 rank 1): flat",
        "t of deep is 1×1×1×2×2×2, rank 6; the HTP takes at most 5 dimensions",
        "deep_y of deep is 1×1×1×2×2×2, rank 6; the HTP takes at most 5 dimensions",
    )


@pytest.mark.parametrize(
    ("dtype", "soc", "precision", "reason"),
    [
        ("float64", "sm8650", "w8a8", "the HTP takes no float64"),
        ("int8", "sm8650", "float", "the HTP takes no int8 unless the model is quantized"),
        ("int8", "sm8650", "w8a8", None),
        ("float32", "sm8650", "w8a8", None),
    ],
)
def test_a_type_that_the_npu_takes_nowhere_is_given_as_the_reason(dtype, soc, precision, reason):
    model = [
        *nodes(("conv", "Conv"), ("other", "Conv")),
        *nodes(("sum", "Add"), inputs=(of(dtype, 2, name="a"),), outputs=(of(dtype, 2, name="y"),)),
    ]
    log = refused("sum", "ElementWiseAdd") + "\n" + listed(("sum", "Add"))

    said = refusal.explain(job(soc, precision), "FAIL", model, log).evidence

    assert said[0] == f"   1 Add ({dtype} rank 1 → {dtype} rank 1): sum"
    reasons = [line for line in said if " of sum is " in line]
    assert reasons == ([f"{name} of sum is {dtype}; {reason}" for name in "ay"] if reason else [])


def test_a_branch_is_to_be_decided_before_the_export():
    model = nodes(("conv", "Conv"), ("by_rate", "If"))

    error = refusal.explain(job("sm8650", "float"), "FAIL : ...", model, listed(("by_rate", "If")))

    assert error.evidence == ("   1 If: by_rate",)
    assert "export the model for the one case that is wanted" in error.fix


def test_a_graph_that_onnxruntime_cannot_load_is_no_refusal_of_the_soc():
    status = "FAIL : Node (lstm) Op (LSTM) [ShapeInferenceError] First input tensor must have rank 3"

    error = refusal.explain(job("sm8650", "float"), status, nodes(("lstm", "LSTM")), "")

    assert error.what.startswith("onnxruntime cannot load the model")
    assert error.evidence == (status,)
    assert "the shapes in `inputs`" in error.fix


def test_a_model_of_one_untranslated_node_is_not_taken_for_a_dislike_of_float():
    error = refusal.explain(job("sm8650", "float"), "FAIL : ...", nodes(("d", "Det")), listed(("d", "Det")))

    assert "has no operator for 1 node" in error.what


def test_many_operators_are_counted_and_not_listed_to_the_end():
    operators = ["Acosh", "Asinh", "Atanh", "Det", "NonZero", "Shape", "Unique", "Compress", "Hardmax", "Mod"]
    said = [(f"{operator.lower()}_x{i}", operator) for operator in operators for i in range(5)]

    error = refusal.explain(job("sm8650", "float"), "FAIL", nodes(*said), listed(*said))

    assert error.evidence[0] == "   5 Acosh: acosh_x0, acosh_x1, acosh_x2, …"
    assert error.evidence[-1] == "     and 10 nodes of 2 more kinds"
    assert len(error.evidence) == 9


def test_a_failure_that_names_no_node_shows_the_compilers_own_last_errors_once():
    log = "\n".join(
        [
            LINE.format(level="W", place="a.cc:1 F", text="a warning that explains nothing"),
            LINE.format(
                level="E",
                place="b.cc:2 FinalizeGraphs",
                text="Failed to finalize QNN graph. Error code: 1002",
            ),
            LINE.format(
                level="E",
                place="b.cc:2 FinalizeGraphs",
                text="Failed to finalize QNN graph. Error code: 1002",
            ),
        ]
    )

    error = refusal.explain(job("sm8650", "w8a16"), "FAIL : no QNN graph", nodes(("conv", "Conv")), log)

    assert error.what == "Snapdragon 8 Gen 3 Mobile (sm8650, Hexagon v75) does not take the model"
    assert error.evidence == ("FAIL : no QNN graph", "Failed to finalize QNN graph. Error code: 1002")


@pytest.mark.parametrize(
    ("in_log", "original"),
    [
        ("pool_token_7", "pool"),
        ("relu_2", "relu"),
        ("layer_2", "layer_2"),
        ("dense/MatMulAddFusion", "dense"),
        ("dense/MatMulAddFusion_3", "dense"),
        ("inserted_token_9", "inserted"),
        ("made_up_12", "made_up_12"),
    ],
)
def test_nodes_are_told_by_the_names_the_user_gave_them(in_log, original):
    own = nodes(*((name, "Op") for name in ("pool", "relu", "layer_2", "dense")))

    (node,) = refusal.read_log(listed((in_log, "Op")), own)

    assert node.name == original


def test_a_worker_killed_from_outside_is_put_down_to_memory(tmp_path):
    suicide = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"

    returncode = worker.wait([sys.executable, "-c", suicide], tmp_path, doing="compiling", seconds=30)

    error = worker.died(returncode, "compiling", "")
    assert isinstance(error, ToolFailed)
    assert "killed by the operating system (signal 9)" in error.what
    assert "memory" in error.evidence[0]


def test_a_crash_of_the_vendors_library_is_no_defect_of_ours(tmp_path):
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"

    returncode = worker.wait([sys.executable, "-c", crash], tmp_path, doing="compiling", seconds=30)

    error = worker.died(returncode, "compiling", "")
    assert isinstance(error, ToolFailed)
    assert "SIGSEGV" in error.what


def test_a_worker_that_fails_in_our_own_code_is_a_defect_with_its_traceback():
    error = worker.died(1, "compiling", "Traceback …\nKeyError: 'x'")

    assert isinstance(error, RuntimeError)
    assert "KeyError: 'x'" in str(error)


def test_a_worker_that_does_not_end_is_stopped(tmp_path):
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]

    with pytest.raises(ToolFailed, match=r"compiling took longer than 0\.3 s and was stopped"):
        worker.wait(sleep, tmp_path, doing="compiling", seconds=0.3)


def test_what_a_tool_says_is_heard_while_it_runs_line_by_line(tmp_path):
    go_on = tmp_path / "go-on"
    tool = (
        "import pathlib, sys, time\n"
        "print('first', flush=True)\n"
        f"while not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.01)\n"
        "sys.stderr.write('x' * 1000 + '\\n'); print('half', end='')\n"
    )
    heard = []

    def hear(line: str) -> None:
        heard.append(line)
        go_on.touch()  # the tool ends only once its first line was heard

    assert worker.wait([sys.executable, "-c", tool], tmp_path, doing="x", seconds=60, hear=hear) == 0
    assert heard == ["first", "x" * 300]
    assert worker.log(tmp_path).endswith("half")


def test_what_a_worker_writes_is_kept_out_of_sight(tmp_path, capfd):
    loud = [sys.executable, "-c", "import sys; print('to out'); print('to err', file=sys.stderr)"]

    worker.wait(loud, tmp_path, doing="compiling", seconds=30)

    assert capfd.readouterr() == ("", "")
    assert sorted(worker.log(tmp_path).split("\n")) == ["", "to err", "to out"]
