"""A model of which the NPU takes parts only: refused, or split between NPU and CPU where the manifest says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto
from runner_models import float_model, split_model

from packager import catalog, compilers
from packager.facts.context_binary import read_context
from packager.store import Store
from tests.integration.program import run

MANIFEST = """\
schema = 1

[package]
name = "split"
version = "1.0.0"
vendor = "Example Devices"
license = "Apache-2.0"
description = "A graph for two processors"
maintainer = "Release Team <release@example.com>"

[model]
source = { path = "model.onnx" }
reference = { inputs = "x.npy", min_cosine = 0.9999 }

[[targets]]
name = "simulator"
soc = ["sm8650"]
os = "linux"
abi = "x86_64-linux-clang"
formats = ["tar.gz"]
"""
SPLIT = 'compute = ["npu", "cpu"]\n'
# What an application does: onnxruntime, its QNN provider, and the package's ONNX file.
APPLICATION = """
import sys
import numpy as np, onnxruntime, onnxruntime_qnn
onnxruntime.register_execution_provider_library("QNN", onnxruntime_qnn.get_library_path())
options = onnxruntime.SessionOptions()
npu = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNN"]
options.add_provider_for_devices(npu[:1], {"backend_path": onnxruntime_qnn.get_qnn_htp_path(), "soc_model": "57"})
session = onnxruntime.InferenceSession(sys.argv[1], options)
np.savez(sys.argv[3], *session.run(None, {"x": np.load(sys.argv[2])}))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A convolution, an operator that the HTP lacks, a convolution; one sample; a manifest."""
    onnx.save(split_model(), str(tmp_path / "model.onnx"))
    np.save(tmp_path / "x.npy", np.random.default_rng(3).standard_normal((1, 3, 8, 8)).astype(np.float32))
    return tmp_path


def package(folder: Path, store: Store, manifest: str) -> subprocess.CompletedProcess[str]:
    (folder / "app.toml").write_text(manifest)
    return run(
        "package", "--manifest", str(folder / "app.toml"), "--out", str(folder / "dist"), "--json",
        HEXPACK_STORE=str(store.root),
    )  # fmt: skip


def test_without_a_word_about_the_cpu_the_model_is_refused_with_the_node(project, store):
    done = package(project, store, MANIFEST)

    assert done.returncode == 4
    assert "has no operator for 1 node of the model" in done.stderr
    assert "1 Shrink (float32 rank 4 → float32 rank 4)" in done.stderr
    assert not (project / "dist").exists()


def test_a_split_model_is_packaged_proved_and_run_by_an_application_with_onnxruntime(project, store):
    done = package(project, store, MANIFEST + SPLIT)

    assert done.returncode == 0, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    (context,) = target["contexts"]
    assert [line.split()[:2] for line in context["on_cpu"]] == [["1", "Shrink"]]
    assert [proof["output"] for proof in target["proofs"]] == ["a", "b", "c"]
    assert min(proof["cosine"] for proof in target["proofs"]) > 0.99999
    (archive,) = (project / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(project / "tree", filter="data")
    (model,) = (project / "tree").rglob("sm8650.onnx")
    assert model.with_suffix(".bin").is_file()
    assert "compute npu" in next((project / "tree").rglob("runner.conf")).read_text()
    ran = subprocess.run(
        [sys.executable, "-c", APPLICATION, str(model), str(project / "x.npy"), str(project / "out.npz")],
        env=os.environ, capture_output=True, check=False, cwd=project,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    wanted = onnxruntime.InferenceSession(str(project / "model.onnx")).run(
        None, {"x": np.load(project / "x.npy")}
    )
    found = np.load(project / "out.npz")
    for array, name in zip(wanted, found.files, strict=True):
        np.testing.assert_allclose(found[name], array, atol=0.005)


def test_a_model_of_which_the_npu_takes_nothing_is_not_called_split(project, store):
    model = onnx.load(str(project / "model.onnx"))
    del model.graph.node[2], model.graph.node[0]
    model.graph.node[0].input[0] = "x"
    del model.graph.output[2], model.graph.output[0], model.graph.initializer[:]
    onnx.save(model, str(project / "model.onnx"))

    done = package(project, store, MANIFEST + SPLIT)

    assert done.returncode == 4
    assert "takes no node of the model, and all of it would run on the CPU" in done.stderr


@pytest.fixture(scope="module")
def wrapper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that onnxruntime compiled whole: its wrapper, its context, a sample, the output."""
    folder = tmp_path_factory.mktemp("wrapper")
    onnx.save(float_model(TensorProto.FLOAT), str(folder / "float.onnx"))
    prepared = compilers.prepare(
        folder / "float.onnx", inputs=None, precision="float", calibration=[], work=folder / "p"
    )
    job = compilers.CompileJob(prepared=prepared, soc=catalog.soc("sm8650"), optimization=3)
    made = compilers.compile_context(job, folder)
    made.wrapper.rename(folder / "model.onnx")
    x = np.random.default_rng(4).standard_normal((1, 3, 8, 8)).astype(np.float32)
    np.save(folder / "x.npy", x)
    (y,) = onnxruntime.InferenceSession(str(folder / "float.onnx")).run(None, {"x": x})
    np.save(folder / "y.npy", y)
    return folder


AS_IT_IS = MANIFEST.replace('inputs = "x.npy"', 'inputs = "x.npy", outputs = "y.npy"').replace(
    "reference", 'precision = "as-is"\nreference'
)


@pytest.mark.parametrize("embedded", [False, True])
def test_a_compiled_model_is_taken_apart_and_its_context_packaged_as_it_is(
    wrapper, store, embedded, tmp_path
):
    model = onnx.load(str(wrapper / "model.onnx"))
    (node,) = model.graph.node
    attributes = {attribute.name: attribute for attribute in node.attribute}
    context = wrapper / attributes["ep_cache_context"].s.decode()
    for name in ("x.npy", "y.npy", *([] if embedded else [context.name])):
        (tmp_path / name).symlink_to(wrapper / name)
    if embedded:
        attributes["embed_mode"].i, attributes["ep_cache_context"].s = 1, context.read_bytes()
    onnx.save(model, str(tmp_path / "model.onnx"))

    done = package(tmp_path, store, AS_IT_IS)

    assert done.returncode == 0, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    assert target["proofs"][0]["cosine"] > 0.99999
    with tarfile.open(next((tmp_path / "dist").glob("*.tar.gz"))) as opened:
        opened.extractall(tmp_path / "tree", filter="data")
    (packed,) = (tmp_path / "tree").rglob("sm8650.bin")
    assert packed.read_bytes() == context.read_bytes()


def test_a_context_binary_is_a_source_too_and_is_held_against_soc_and_settings(wrapper, store, tmp_path):
    for name in ("x.npy", "y.npy"):
        (tmp_path / name).symlink_to(wrapper / name)
    (context,) = wrapper.glob("*.bin")
    (tmp_path / "model.bin").symlink_to(context)
    manifest = AS_IT_IS.replace("model.onnx", "model.bin")

    assert package(tmp_path, store, manifest).returncode == 0
    other = package(tmp_path, store, manifest.replace("sm8650", "sm8550"))
    slower = package(tmp_path, store, manifest + "optimization = 2\n")

    assert read_context(context).hexagon_arch == 75
    assert (other.returncode, slower.returncode) == (1, 1)
    assert "HEX302" in other.stdout
    assert "HEX315" in slower.stdout


def test_a_split_model_cannot_be_shipped_in_parts(project, store):
    assert package(project, store, MANIFEST + SPLIT).returncode == 0
    with tarfile.open(next((project / "dist").glob("*.tar.gz"))) as opened:
        opened.extractall(project / "tree", filter="data")
    (model,) = (project / "tree").rglob("sm8650.onnx")
    for path in (model, model.with_suffix(".bin")):
        (project / path.name).symlink_to(path)
    manifest = MANIFEST.replace("model.onnx", model.name).replace("reference", 'precision = "as-is"\n#')

    done = package(project, store, manifest)

    assert done.returncode == 3
    assert "is a split model" in done.stderr
