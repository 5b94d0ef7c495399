"""A model as a DLC, written by the real IR backend and read back by the vendor's System library."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from packager import compilers, files
from packager.errors import ToolFailed
from packager.facts.identify import examine
from packager.facts.types import DlcFacts
from tests.integration.program import EXAMPLE, run


def prepared(
    folder, *extra: onnx.NodeProto, out: str = "y", kind: int = TensorProto.FLOAT, shape=(1, 4, 6, 6)
):
    folder.mkdir()
    weights = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"], name="conv"), *extra]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info(out, kind, shape)],
        [numpy_helper.from_array(weights, "w")],
    )
    model = folder / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(model))
    return compilers.prepare(model, inputs=None, precision="float", calibration=[], work=folder / "p")


def test_a_dlc_holds_the_graph_with_the_models_names(tmp_path):
    container = compilers.write_dlc(prepared(tmp_path / "a"), tmp_path / "dlc")

    facts = examine(container)
    assert isinstance(facts, DlcFacts)
    (graph,) = facts.graphs
    assert [tensor.name for tensor in graph.inputs] == ["x"]
    assert [tensor.name for tensor in graph.outputs] == ["y"]


def test_the_same_model_gives_the_same_bytes_in_another_folder(tmp_path):
    digests = {
        files.digest(compilers.write_dlc(prepared(tmp_path / name), tmp_path / name / "deep" / "dlc"))
        for name in ("a", "b")
    }

    assert len(digests) == 1


def test_a_graph_that_does_not_fit_whole_leaves_no_container(tmp_path):
    spots = helper.make_node("NonZero", ["y"], ["z"], name="spots")

    with pytest.raises(ToolFailed, match="only in pieces, or not at all"):
        compilers.write_dlc(
            prepared(tmp_path / "a", spots, out="z", kind=TensorProto.INT64, shape=(4, None)),
            tmp_path / "dlc",
        )

    assert not (tmp_path / "dlc" / "model.dlc").exists()


def test_a_package_with_a_dlc_runs_on_the_simulator_as_the_float_model_does(store, tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "app")
    manifest = tmp_path / "app" / "app.toml"
    head, _, _ = manifest.read_text(encoding="utf-8").partition("[[targets]]")
    target = 'soc = ["qcs9075"]\nos = "linux"\nabi = "x86_64-linux-clang"\nruntime = "dlc"\nformats = ["tar.zst"]\n'
    manifest.write_text(f"{head}[[targets]]\n{target}", encoding="utf-8")

    done = run(
        "package", "--manifest", str(manifest), "--out", str(tmp_path / "dist"), HEXPACK_STORE=str(store.root)
    )

    assert done.returncode == 0, done.stderr
    (package,) = (tmp_path / "dist").iterdir()
    subprocess.run(["tar", "--zstd", "-xf", package, "-C", tmp_path], check=True)
    (runner,) = tmp_path.glob("text-direction-*/bin/*")
    sample = min((EXAMPLE / "samples").glob("*.npy"))
    subprocess.run(
        [runner, "--input", f"x={sample}", "--output", tmp_path / "out"], check=True, capture_output=True
    )
    (output,) = (tmp_path / "out").iterdir()
    assert not list(tmp_path.glob("text-direction-*/share/models/*.bin"))
    assert np.load(output).sum() == pytest.approx(1, abs=0.01)  # two probabilities
