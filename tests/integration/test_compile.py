"""Preparation, compilation and proof on the real compiler and simulator."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from packager import catalog, compilers, files
from packager.compilers import CompileJob, Prepared
from packager.errors import InputUnavailable, ManifestError, ToolFailed
from packager.facts.context_binary import read_context
from packager.manifest_model import Input

EXAMPLE = Path(__file__).parents[2] / "examples" / "text-direction"
CALIBRATION = sorted((EXAMPLE / "calibration").glob("*.npy"))
SAMPLES = sorted((EXAMPLE / "samples").glob("*.npy"))
INPUTS = {"x": Input(shape=(1, 3, 48, 48), dtype="float32")}


def prepare(model: Path, work: Path, precision: str = "float", **more) -> Prepared:
    given = {"inputs": None, "calibration": [], **more}
    return compilers.prepare(model, precision=precision, work=work, **given)


def job(prepared: Prepared, soc: str, **more) -> CompileJob:
    return CompileJob(
        prepared=prepared, soc=catalog.soc(soc), optimization=more.pop("optimization", 3), **more
    )


def tensor(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def save(path: Path, nodes, inputs, outputs, weights=(), opset=17) -> Path:
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(made, str(path))
    return path


def node(operator, inputs, outputs, **attributes):
    return helper.make_node(operator, inputs, outputs, name=f"my_{operator.lower()}", **attributes)


@pytest.fixture(scope="session")
def kernel():
    values = np.random.default_rng(0).normal(size=(8, 3, 3, 3)).astype(np.float32)
    return numpy_helper.from_array(values, "w")


@pytest.fixture(scope="session")
def prepared(classifier_onnx, tmp_path_factory) -> dict[str, Prepared]:
    """The classifier at every precision."""
    return {
        precision: prepare(
            classifier_onnx,
            tmp_path_factory.mktemp(precision),
            precision,
            inputs=INPUTS,
            calibration=CALIBRATION,
        )
        for precision in ("float", "w8a8", "w8a16")
    }


@pytest.mark.parametrize(
    ("precision", "soc", "cosine"),
    [
        ("float", "qcs9075", 0.9995),
        ("float", "x-elite", 0.9995),
        ("w8a16", "qcs6490", 0.995),
        ("w8a16", "sm8650", 0.995),
        ("w8a8", "sm8650", 0.95),
        ("w8a8", "qcs6490", 0.95),
    ],
)
def test_the_classifier_runs_on_the_simulator_as_it_does_on_the_cpu(
    prepared, tmp_path, precision, soc, cosine
):
    compiled = compilers.compile_context(job(prepared[precision], soc), tmp_path)

    (result,) = compilers.prove(compiled, SAMPLES, tmp_path)

    assert result.cosine >= cosine
    assert 0 < result.max_abs < 0.5
    assert (result.output, result.samples) == ("save_infer_model/scale_0.tmp_1", len(SAMPLES))


def test_the_context_says_what_was_asked_and_keeps_float_borders(prepared, tmp_path):
    asked = job(prepared["w8a16"], "qcs6490", optimization=2)

    compiled = compilers.compile_context(asked, tmp_path)

    facts = read_context(compiled.context)
    (graph,) = facts.graphs
    assert (facts.soc_model, facts.hexagon_arch) == (93, 68)
    assert graph.optimization == 2
    assert graph.vtcm_mb == 2
    assert [(t.name, t.dtype, t.shape) for t in graph.inputs] == [("x", "float32", (1, 3, 48, 48))]
    assert [t.dtype for t in graph.outputs] == ["float32"]
    assert compiled.asked["soc_model"] == "93"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [compiled.context.name, compiled.wrapper.name]
    )


def test_a_soc_without_fp16_refuses_the_float_model_and_points_to_w8a16(prepared, tmp_path):
    with pytest.raises(ToolFailed) as caught:
        compilers.compile_context(job(prepared["float"], "qcs6490"), tmp_path)

    assert caught.value.what == (
        "Dragonwing QCS6490 (qcs6490, Hexagon v68) takes no float model: it refuses 178 nodes"
    )
    assert caught.value.evidence[0] == (
        "  53 Conv (float32 rank 4 → float32 rank 4): Conv@0, Conv@1, Conv@2, …"
    )
    assert 'precision = "w8a16"' in caught.value.fix
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("precision", ["float", "w8a16"])
def test_two_runs_in_different_folders_give_the_same_bytes(classifier_onnx, tmp_path, precision):
    digests = []
    for folder in (tmp_path / "a", tmp_path / "much" / "deeper" / "b"):
        made = prepare(classifier_onnx, folder, precision, inputs=INPUTS, calibration=CALIBRATION[:4])
        compiled = compilers.compile_context(job(made, "qcs9075"), folder / "compiled")
        digests.append(
            [files.digest(path) for path in (made.model, made.reference, compiled.context, compiled.wrapper)]
        )

    assert digests[0] == digests[1]


def test_simulating_a_sample_gives_the_value_that_its_proof_compared(prepared, tmp_path):
    compiled = compilers.compile_context(job(prepared["float"], "qcs9075"), tmp_path / "c")

    (one,) = compilers.simulate(compiled, SAMPLES[2], tmp_path / "one").values()
    many = compilers.run_simulator(compiled, SAMPLES, tmp_path / "many")

    assert len(many) == len(SAMPLES)
    (same,) = many[2].values()
    np.testing.assert_array_equal(np.load(one), np.load(same))
    assert np.load(one).shape == (1, 2)


def test_several_inputs_and_integer_outputs_are_proven_too(tmp_path):
    model = save(
        tmp_path / "m.onnx",
        [
            node("Add", ["a", "b"], ["y"]),
            node("ArgMax", ["y"], ["best"], axis=1, keepdims=0),
            helper.make_node("Cast", ["best"], ["k"], name="to_int32", to=TensorProto.INT32),
        ],
        [tensor("a", [2, 8]), tensor("b", [2, 8])],
        [tensor("y", [2, 8]), tensor("k", [2], TensorProto.INT32)],
    )
    rng = np.random.default_rng(3)
    paths = [tmp_path / f"{number}.npz" for number in range(2)]
    for path in paths:
        np.savez(
            path, b=rng.normal(size=(2, 8)).astype(np.float32), a=rng.normal(size=(2, 8)).astype(np.float32)
        )
    compiled = compilers.compile_context(job(prepare(model, tmp_path / "p"), "sm8650"), tmp_path / "c")

    y, k = compilers.prove(compiled, paths, tmp_path)

    assert (y.output, k.output) == ("y", "k")
    assert y.cosine > 0.99999
    assert (k.cosine, k.max_abs) == (1.0, 0.0)


def test_an_operator_that_the_npu_lacks_is_named_though_the_rest_was_compiled(kernel, tmp_path):
    model = save(
        tmp_path / "m.onnx",
        [node("Conv", ["x", "w"], ["c"]), node("NonZero", ["c"], ["y"])],
        [tensor("x", [1, 3, 16, 16])],
        [tensor("y", [4, None], TensorProto.INT64)],
        [kernel],
    )

    with pytest.raises(ToolFailed) as caught:
        compilers.compile_context(job(prepare(model, tmp_path / "p"), "sm8650"), tmp_path / "c")

    assert "has no operator for 1 node of the model" in caught.value.what
    assert caught.value.evidence == ("   1 NonZero (float32 rank 4 → int64 rank 2): my_nonzero",)
    assert not list((tmp_path / "c").iterdir())


def test_a_node_of_six_dimensions_is_refused_for_its_rank(kernel, tmp_path):
    shape = numpy_helper.from_array(np.array([1, 2, 2, 2, 14, 14], np.int64), "shape")
    back = numpy_helper.from_array(np.array([1, 8, 14, 14], np.int64), "back")
    model = save(
        tmp_path / "m.onnx",
        [
            node("Conv", ["x", "w"], ["c"]),
            helper.make_node("Reshape", ["c", "shape"], ["six"], name="to_six"),
            node("Softmax", ["six"], ["soft"], axis=3),
            helper.make_node("Reshape", ["soft", "back"], ["y"], name="to_four"),
        ],
        [tensor("x", [1, 3, 16, 16])],
        [tensor("y", [1, 8, 14, 14])],
        [kernel, shape, back],
    )

    with pytest.raises(ToolFailed) as caught:
        compilers.compile_context(job(prepare(model, tmp_path / "p"), "sm8650"), tmp_path / "c")

    said = caught.value.render()
    assert "   1 Softmax (float32 rank 6 → float32 rank 6): my_softmax" in said
    assert "six of my_softmax is 1×2×2×2×14×14, rank 6; the HTP takes at most 5 dimensions" in said


def quantized_pool(path: Path, opset: int) -> Path:
    weights = [
        numpy_helper.from_array(np.array(0.01, np.float32), "s"),
        numpy_helper.from_array(np.array(128, np.uint8), "z"),
    ]

    def around(inner, name):
        return [
            helper.make_node("QuantizeLinear", [inner, "s", "z"], [f"{name}_q"], f"{name}_q"),
            helper.make_node("DequantizeLinear", [f"{name}_q", "s", "z"], [name], f"{name}_dq"),
        ]

    pool = node("MaxPool", ["a"], ["p"], kernel_shape=[2, 2], strides=[2, 2])
    nodes = [*around("x", "a"), pool, *around("p", "y")]
    return save(path, nodes, [tensor("x", [1, 4, 8, 8])], [tensor("y", [1, 4, 4, 4])], weights, opset)


def test_a_single_node_that_does_not_fit_is_told_with_the_backends_error_code(tmp_path):
    # Below opset 12 a MaxPool does not count as quantized, and v68 takes no float.
    made = prepare(quantized_pool(tmp_path / "m.onnx", opset=11), tmp_path / "p", "as-is")

    with pytest.raises(ToolFailed) as caught:
        compilers.compile_context(job(made, "qcs6490"), tmp_path / "c")

    assert "refuses 1 of 1 node of the quantized model" in caught.value.what
    assert caught.value.evidence[0] == "   1 MaxPool (uint8 rank 4 → uint8 rank 4): my_maxpool"
    assert caught.value.evidence[1].startswith("QNN error 3110")


def test_a_quantized_model_is_taken_as_it_is(tmp_path):
    made = prepare(quantized_pool(tmp_path / "m.onnx", opset=13), tmp_path / "p", "as-is")

    compiled = compilers.compile_context(job(made, "qcs6490"), tmp_path / "c")

    assert made.quantized
    assert made.model == made.reference
    assert read_context(compiled.context).soc_model == 93


@pytest.mark.parametrize("precision", ["float", "w8a8"])
def test_a_quantized_model_is_not_quantized_again_or_called_float(tmp_path, precision):
    model = quantized_pool(tmp_path / "m.onnx", opset=13)

    with pytest.raises(ManifestError, match="already quantized") as caught:
        prepare(model, tmp_path / "p", precision, calibration=SAMPLES[:1])

    assert caught.value.fix == 'set precision = "as-is"'


@pytest.mark.parametrize("precision", ["w8a8", "w8a16"])
def test_a_layer_normalization_is_quantized_as_the_npu_wants_it(tmp_path, precision):
    rng = np.random.default_rng(5)
    weights = [
        numpy_helper.from_array(rng.normal(size=16).astype(np.float32), name) for name in ("scale", "bias")
    ]
    model = save(
        tmp_path / "m.onnx",
        [node("LayerNormalization", ["x", "scale", "bias"], ["y"])],
        [tensor("x", [1, 4, 16])],
        [tensor("y", [1, 4, 16])],
        weights,
    )
    paths = [tmp_path / f"{number}.npy" for number in range(4)]
    for path in paths:
        np.save(path, rng.normal(size=(1, 4, 16)).astype(np.float32))
    made = prepare(model, tmp_path / "p", precision, calibration=paths)

    (result,) = compilers.prove(
        compilers.compile_context(job(made, "qcs6490"), tmp_path / "c"), paths, tmp_path
    )

    assert result.cosine > 0.999


def test_a_graph_of_constants_gives_nothing_to_compile(kernel, tmp_path):
    model = save(tmp_path / "m.onnx", [node("Relu", ["w"], ["y"])], [], [tensor("y", [8, 3, 3, 3])], [kernel])

    with pytest.raises(ToolFailed, match="nothing to compile for Snapdragon 8 Gen 3"):
        compilers.compile_context(job(prepare(model, tmp_path / "p"), "sm8650"), tmp_path / "c")


def test_quantizing_without_samples_asks_for_them(classifier_onnx, tmp_path):
    with pytest.raises(ManifestError, match='precision "w8a16" needs calibration samples'):
        prepare(classifier_onnx, tmp_path, "w8a16", inputs=INPUTS)


def test_a_calibration_sample_of_the_wrong_shape_is_named_before_anything_is_quantized(
    classifier_onnx, tmp_path
):
    np.save(tmp_path / "odd.npy", np.zeros((1, 3, 48, 47), np.float32))

    with pytest.raises(InputUnavailable, match=r"odd\.npy does not fit model input x"):
        prepare(
            classifier_onnx,
            tmp_path / "p",
            "w8a8",
            inputs=INPUTS,
            calibration=[*CALIBRATION, tmp_path / "odd.npy"],
        )


def test_a_proof_sample_of_the_wrong_type_is_named(prepared, tmp_path):
    compiled = compilers.compile_context(job(prepared["float"], "qcs9075"), tmp_path / "c")
    np.save(tmp_path / "double.npy", np.zeros((1, 3, 48, 48)))

    with pytest.raises(InputUnavailable, match=r"double\.npy does not fit model input x"):
        compilers.prove(compiled, [tmp_path / "double.npy"], tmp_path)


def test_a_proof_without_samples_is_no_proof(prepared, tmp_path):
    compiled = compilers.compile_context(job(prepared["float"], "qcs9075"), tmp_path / "c")

    with pytest.raises(ManifestError, match="needs at least one sample"):
        compilers.prove(compiled, [], tmp_path)


def test_the_proof_notices_a_model_that_computes_something_else(kernel, tmp_path):
    def convolution(folder, weights):
        folder.mkdir()
        nodes, borders = (
            [node("Conv", ["x", "w"], ["y"])],
            ([tensor("x", [1, 3, 8, 8])], [tensor("y", [1, 8, 6, 6])]),
        )
        return prepare(save(folder / "m.onnx", nodes, *borders, [weights]), folder / "p")

    ours = convolution(tmp_path / "ours", kernel)
    other_weights = numpy_helper.from_array(numpy_helper.to_array(kernel)[::-1].copy(), "w")
    other = convolution(tmp_path / "other", other_weights)
    np.save(tmp_path / "s.npy", np.random.default_rng(9).normal(size=(1, 3, 8, 8)).astype(np.float32))
    mixed = ours.model_copy(update={"reference": other.model})

    compiled = compilers.compile_context(job(mixed, "sm8650"), tmp_path / "c")
    (result,) = compilers.prove(compiled, [tmp_path / "s.npy"], tmp_path)

    assert result.cosine < 0.9
    assert result.max_abs > 0.1


def test_open_dimensions_are_refused_with_their_names(classifier_onnx, tmp_path):
    with pytest.raises(ManifestError) as caught:
        prepare(classifier_onnx, tmp_path)

    assert caught.value.evidence == ("x: ?×3×?×?",)


def test_the_compilers_versions_are_known_without_loading_it():
    before = set(sys.modules)

    versions = compilers.toolchain()

    assert set(versions) == {"onnxruntime", "onnxruntime-qnn", "onnx", "numpy"}
    assert not {name for name in set(sys.modules) - before if name.startswith("onnx")}
