"""Quantization, pictures and budgets on the real quantizer, compiler and simulator."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from packager import catalog, compilers
from packager.compilers import CompileJob, Prepared
from packager.compilers.worker import TookTooLong
from packager.errors import ManifestError
from packager.manifest_samples import Preprocessing, Quantization

PICTURES = Preprocessing(
    resize="stretch", layout="NCHW", colours="RGB", divisor=255.0, mean=(0.5,), std=(0.5,)
)


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Two convolutions and a mean over the picture: x 1×3×16×16 → y 1×8."""
    rng = np.random.default_rng(2)

    def weight(name, *shape):
        return numpy_helper.from_array((rng.standard_normal(shape) * 0.3).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "k1"], ["a"], name="one", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Conv", ["b", "k2"], ["c"], name="two"),
        helper.make_node("GlobalAveragePool", ["c"], ["d"], name="pool"),
        helper.make_node("Flatten", ["d"], ["y"], name="flat"),
    ]
    borders = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])]
    out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])]
    graph = helper.make_graph(nodes, "g", borders, out, [weight("k1", 8, 3, 3, 3), weight("k2", 8, 8, 3, 3)])
    path = tmp_path_factory.mktemp("model") / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(7)
    paths = [folder / f"{number}.png" for number in range(3)]
    for path in paths:
        Image.fromarray(rng.integers(0, 256, (20, 24, 3)).astype(np.uint8)).save(path)
    return paths


def prepare(model, pictures, work, precision, **mixed) -> Prepared:
    said = Quantization(per_channel=True, mixed=mixed)
    return compilers.prepare(
        model, inputs=None, precision=precision, calibration=pictures, work=work, preprocessing=PICTURES, quantization=said,
    )  # fmt: skip


def compiled(prepared, work):
    return compilers.compile_context(
        CompileJob(prepared=prepared, soc=catalog.soc("sm8650"), optimization=2), work
    )


def types(prepared: Prepared) -> dict[str, int]:
    """Element type of the zero point of every quantized tensor, by the tensor's name."""
    graph = onnx.load(str(prepared.model)).graph
    kinds = {tensor.name: tensor.data_type for tensor in graph.initializer}
    return {n.input[0]: kinds[n.input[2]] for n in graph.node if n.op_type.endswith("antizeLinear")}


def test_pictures_calibrate_and_prove_and_the_loss_before_compiling_is_told(model, pictures, tmp_path):
    made = compiled(prepare(model, pictures, tmp_path / "p", "w8a16"), tmp_path / "c")

    (result,) = compilers.prove(made, pictures, tmp_path)

    assert result.cosine > 0.99
    assert 0.99 < result.quantized <= 1.0
    assert (result.top1, result.samples) == (1.0, 3)


def test_four_bit_weights_are_compiled_and_lose_what_the_report_says(model, pictures, tmp_path):
    made = compiled(prepare(model, pictures, tmp_path / "p", "w4a16"), tmp_path / "c")

    (result,) = compilers.prove(made, pictures[:1], tmp_path)

    assert TensorProto.INT4 in types(made.job.prepared).values()
    assert 0.5 < result.quantized < 0.99999


def test_single_nodes_and_weights_get_the_precision_that_the_manifest_names(model, pictures, tmp_path):
    prepared = prepare(model, pictures, tmp_path / "p", "w8a8", k2="w4", two="a16")

    kinds = types(prepared)
    assert TensorProto.INT4 in kinds.values()
    assert {TensorProto.UINT8, TensorProto.UINT16} <= set(kinds.values())
    (result,) = compilers.prove(compiled(prepared, tmp_path / "c"), pictures[:1], tmp_path)
    assert result.cosine > 0.9


def test_a_name_that_the_model_does_not_have_is_told_before_anything_is_compiled(model, pictures, tmp_path):
    with pytest.raises(ManifestError, match='"tow" = "a16" does not fit') as caught:
        prepare(model, pictures, tmp_path, "w8a8", tow="a16")

    assert 'did you mean "two"?' in caught.value.evidence


def test_a_proof_stops_at_its_budget_and_counts_what_it_ran(model, pictures, tmp_path):
    float_model = compilers.prepare(model, inputs=None, precision="float", calibration=[], work=tmp_path / "p", preprocessing=PICTURES)  # fmt: skip
    made = compiled(float_model, tmp_path / "c")

    (few,) = compilers.prove(made, pictures * 20_000, tmp_path, seconds=10)

    assert 0 < few.samples < 60_000
    assert few.quantized is None
    with pytest.raises(TookTooLong, match="took longer than"):
        compilers.prove(made, pictures, tmp_path, seconds=0.01)
