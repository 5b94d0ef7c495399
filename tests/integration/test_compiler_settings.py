"""Switches of the compiler, from the manifest to what the finished context says of itself or computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from runner_models import float_model, quantized_model

from packager.assets import Inputs
from packager.contexts import Compilation, ContextAsset
from packager.errors import ManifestError
from packager.facts.context_binary import read_context
from packager.facts.onnx import read_onnx
from packager.facts.types import GraphFacts
from packager.manifest import load
from packager.plan import make_plan
from packager.sources.local import fetch_path
from packager.store import Store

MANIFEST = """\
schema = 1

[package]
name = "switches"
version = "1.0.0"
vendor = "Example Devices"
license = "Apache-2.0"
description = "A graph compiled in several ways"
maintainer = "Release Team <release@example.com>"

[model]
source = { path = "model.onnx" }
precision = "as-is"
reference = { inputs = "x.npy" }

[[targets]]
name = "board"
soc = ["sm8650"]
os = "linux"
formats = ["tar.zst"]
"""


def compiled(folder: Path, store: Store, model: onnx.ModelProto, x: np.ndarray, **settings) -> ContextAsset:
    """The context of `model` with the words of `settings` in its target, proved with `x`."""
    onnx.save(model, str(folder / "model.onnx"))
    np.save(folder / "x.npy", x)
    words = "".join(f"{key} = {value}\n" for key, value in settings.items())
    (folder / "app.toml").write_text(MANIFEST + words)
    inputs = Inputs(
        model=fetch_path(Path("model.onnx"), store=store, base=folder),
        facts=read_onnx(folder / "model.onnx"),
        reference=(fetch_path(Path("x.npy"), store=store, base=folder),),
    )
    plan = make_plan(load(folder / "app.toml"))
    (made,) = Compilation(store, inputs, lambda _: None).contexts(plan.targets, 1)["board"]
    return made


def graph_of(made: ContextAsset, store: Store) -> GraphFacts:
    (graph,) = read_context(store.path(made.context.sha256)).graphs
    return graph


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(5).standard_normal((1, 3, 8, 8)).astype(np.float32)


def test_hvx_threads_of_an_onnx_model_are_in_its_context_which_still_computes_the_model(tmp_path, store, x):
    model = float_model(TensorProto.FLOAT)

    made = compiled(tmp_path, store, model, x, hvx_threads=3, optimization=2, vtcm_mb=4)

    graph = graph_of(made, store)
    assert (graph.hvx_threads, graph.optimization, graph.vtcm_mb) == (3, 2, 4.0)
    assert [tensor.name for tensor in graph.outputs] == ["y_0_out"]
    assert made.asked.hvx_threads == 3
    (proof,) = made.proofs
    assert (proof.output, proof.samples) == ("y:0/out", 1)
    assert proof.cosine > 0.99999


def test_a_quantized_border_takes_and_gives_integers_and_computes_the_same(tmp_path, store, x):
    made = compiled(tmp_path, store, quantized_model(), x, io='"quantized"')

    graph = graph_of(made, store)
    (taken,), (given,) = graph.inputs, graph.outputs
    assert (taken.name, taken.dtype, taken.scale, taken.offset) == ("x", "ufixed16", 1 / 8192, -30000)
    assert (given.name, given.dtype, given.scale, given.offset) == ("y", "ufixed16", 1 / 4096, -32768)
    assert made.asked.dtypes == {"x": "ufixed16", "y": "ufixed16"}
    (proof,) = made.proofs
    assert proof.cosine > 0.9999
    assert proof.max_abs < 0.01
    assert proof.quantized > 0.99999


def test_an_output_that_is_used_inside_too_is_given_as_integers_and_still_used(tmp_path, store, x):
    model = quantized_model()
    scale, zero = (
        numpy_helper.from_array(np.array(value), name)
        for value, name in ((np.float32(1 / 2048), "sz"), (np.uint16(32768), "zz"))
    )
    model.graph.initializer.extend([scale, zero])
    model.graph.node.extend(
        [
            helper.make_node("Add", ["y", "y"], ["twice"], name="twice"),
            helper.make_node("QuantizeLinear", ["twice", "sz", "zz"], ["tq"]),
            helper.make_node("DequantizeLinear", ["tq", "sz", "zz"], ["z"]),
        ]
    )
    model.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 3, 8, 8]))

    made = compiled(tmp_path, store, model, x, io='"quantized"')

    assert {tensor.dtype for tensor in graph_of(made, store).outputs} == {"ufixed16"}
    assert [proof.output for proof in made.proofs] == ["y", "z"]
    assert min(proof.cosine for proof in made.proofs) > 0.9999


def test_a_float_border_of_a_model_that_is_to_have_none_is_told_by_its_name(tmp_path, store, x):
    with pytest.raises(ManifestError) as caught:
        compiled(tmp_path, store, float_model(TensorProto.FLOAT), x, io='"quantized"')

    assert "input x is not quantized at the border" in caught.value.what
    assert caught.value.evidence == ("it goes to Conv",)
