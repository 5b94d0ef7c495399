"""The tools of a QAIRT SDK by their recorded contract: no SDK can be had here, its files are made of real ones."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto
from runner_kit import HERE, VENDOR
from runner_models import float_model

from packager.assets import Inputs
from packager.compilers import qairt_tools
from packager.contexts import Compilation
from packager.errors import HexpackError, InputUnavailable, ToolFailed
from packager.facts.context_binary import read_context
from packager.facts.onnx import read_onnx
from packager.manifest import load
from packager.plan import make_plan
from packager.sources.local import fetch_path
from packager.store import Store

pytest_plugins = ["runner_kit"]

MANIFEST = """\
schema = 1

[package]
name = "converted"
version = "1.0.0"
vendor = "Example Devices"
license = "Apache-2.0"
description = "A graph that an SDK converts"
maintainer = "Release Team <release@example.com>"

[model]
source = { path = "model.onnx" }
compiler = "qairt"
inputs = { x = { shape = [1, 3, 8, 8], dtype = "float32" } }
reference = { inputs = "x.npy", outputs = "y.npy", min_cosine = 0.999 }

[[targets]]
name = "boards"
soc = ["qcs9075", "sm8650"]
os = "linux"
formats = ["tar.zst"]
"""


HEARD: list[str] = []


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the shape of an SDK, with the recorded converter and one real library."""
    root = tmp_path / "sdk"
    for part in ("bin", "lib"):
        (root / part / qairt_tools.HOST).mkdir(parents=True)
    (root / "lib" / qairt_tools.HOST / "libQnnIr.so").symlink_to(VENDOR / "libQnnIr.so")
    for name in ("converter", "quantizer"):
        program = root / "bin" / qairt_tools.HOST / f"qairt-{name}"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / f"recorded_{name}.py"}" "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("QAIRT_SDK_ROOT", str(root))
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    model = float_model(TensorProto.FLOAT)
    onnx.save(model, str(folder / "model.onnx"))
    x = np.random.default_rng(7).standard_normal((1, 3, 8, 8)).astype(np.float32)
    (y,) = onnxruntime.InferenceSession(str(folder / "model.onnx")).run(None, {"x": x})
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    (folder / "app.toml").write_text(MANIFEST)
    return folder


def contexts(folder: Path, store: Store):
    def fetched(name: str):
        return fetch_path(Path(name), store=store, base=folder)

    plan = make_plan(load(folder / "app.toml"))
    inputs = Inputs(
        model=fetched("model.onnx"),
        facts=read_onnx(folder / "model.onnx"),
        reference=(fetched("x.npy"),),
        expected=(fetched("y.npy"),),
        calibration=(fetched("x.npy"),),
    )
    return Compilation(store, inputs, HEARD.append).contexts(plan.targets, 2)["boards"]


def refusal(folder: Path, store: Store, kind: type[HexpackError]) -> str:
    with pytest.raises(kind) as raised:
        contexts(folder, store)
    return raised.value.render()


def test_an_onnx_model_goes_through_the_converter_of_an_sdk_to_proved_contexts(sdk, project, store):
    made = contexts(project, store)

    facts = [read_context(store.path(one.context.sha256)) for one in made]
    assert [(one.soc_model, one.hexagon_arch) for one in facts] == [(77, 73), (57, 75)]
    assert all(one.proofs[0].cosine > 0.99999 for one in made)
    assert made[0].tools[0] == "qairt-converter 2.51.0"
    assert made[0].inputs == ("path model.onnx",)


QUANTIZED = MANIFEST.replace(
    'compiler = "qairt"', 'compiler = "qairt"\nprecision = "w8a16"\ncalibration = { path = "x.npy" }'
)


def test_the_quantizer_of_an_sdk_makes_contexts_that_compute_in_integers(sdk, project, fresh):
    (project / "app.toml").write_text(QUANTIZED)

    HEARD.clear()
    made = contexts(project, fresh)

    assert {"qairt-converter: Processing network", "qairt-quantizer: Quantizing"} <= set(HEARD)
    graphs = [read_context(fresh.path(one.context.sha256)).graphs[0] for one in made]
    assert {tensor.dtype for graph in graphs for tensor in (*graph.inputs, *graph.outputs)} == {"ufixed16"}
    assert all(0.999 < one.proofs[0].cosine < 1 for one in made)
    assert made[0].tools[0] == "qairt-converter 2.51.0, qairt-quantizer 2.51.0"


def test_a_quantizer_that_left_the_graph_as_it_was_is_found_out(sdk, project, fresh, monkeypatch):
    (project / "app.toml").write_text(QUANTIZED)
    monkeypatch.setenv("WITH", "float")

    said = refusal(project, fresh, ToolFailed)

    assert "is not quantized as was asked for" in said
    assert "wanted  activations of 16 bits" in said
    assert "found   x float32" in said


@pytest.fixture
def fresh(tmp_path: Path) -> Store:
    """A store that remembers no conversion."""
    return Store(tmp_path / "store")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("kill", "was killed by the operating system (signal 9)"),
        ("nothing", "ended without an error and wrote no DLC"),
        ("operator", "No translation registered for op type onnx_thing"),
    ],
)
def test_a_converter_that_fails_is_told_with_its_own_words(sdk, project, fresh, monkeypatch, how, words):
    monkeypatch.setenv("WITH", how)

    assert words in refusal(project, fresh, ToolFailed)
    assert not list((fresh.root / "steps").rglob("*.json"))


def test_a_container_with_other_inputs_than_were_asked_for_is_refused(sdk, project, fresh, monkeypatch):
    monkeypatch.setenv("WITH", "shape")
    text = MANIFEST.replace("shape = [1, 3, 8, 8]", "shape = [2, 3, 8, 8]")
    (project / "app.toml").write_text(text)

    said = refusal(project, fresh, ToolFailed)

    assert "wanted  x 2×3×8×8" in said
    assert "found   x 1×3×8×8" in said


def test_a_flag_that_the_tool_does_not_know_is_explained(sdk, project, fresh, monkeypatch):
    known = qairt_tools.flags_of
    monkeypatch.setattr(qairt_tools, "flags_of", lambda *a: known(*a) | {"shape": "--input_shapes"})

    said = refusal(project, fresh, ToolFailed)

    assert "the tool does not know a flag" in said
    assert "unrecognized arguments: --input_shapes" in said


def test_without_an_sdk_it_is_told_how_to_name_one(project, fresh, monkeypatch):
    for name in qairt_tools.ROOTS:
        monkeypatch.delenv(name, raising=False)

    assert "not set: QAIRT_SDK_ROOT, QNN_SDK_ROOT" in refusal(project, fresh, InputUnavailable)


def test_a_tool_that_the_sdk_lacks_is_named_with_the_nearest_one(sdk, project, fresh):
    program = sdk / "bin" / qairt_tools.HOST / "qairt-converter"
    program.rename(program.with_name("qairt-convert"))

    said = refusal(project, fresh, InputUnavailable)

    assert "the QAIRT SDK has no qairt-converter" in said
    assert "nearest: qairt-convert" in said


def test_the_flags_of_a_release_before_the_table_are_not_guessed():
    with pytest.raises(ToolFailed, match=r"the flags of qairt-converter in QAIRT 2\.10\.0 are not known"):
        qairt_tools.flags_of("qairt-converter", "2.10.0")
