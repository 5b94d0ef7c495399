"""Contexts by jobs at the AI Hub: a service on this machine that compiles with the real backends, and loses things."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto
from runner_models import float_model

from packager import catalog, compilers
from packager.assets import Inputs
from packager.compilers import generator as tools
from packager.contexts import Compilation, ContextAsset
from packager.errors import HexpackError, InputUnavailable, ManifestError, ToolFailed
from packager.facts.context_binary import read_context
from packager.facts.onnx import read_onnx
from packager.files import place
from packager.manifest import load
from packager.manifest_model import Input
from packager.plan import make_plan
from packager.runner import RunnerBuild, build
from packager.sources.local import fetch_path
from packager.store import Store
from tests.make.aihub import Hub, running

pytestmark = pytest.mark.usefixtures("quick")
pytest.importorskip("qai_hub", reason="the AI Hub's client is an extra: hexpack[aihub]")
INPUTS = {"x": Input(shape=(1, 3, 8, 8), dtype="float32")}
MANIFEST = """\
schema = 1

[package]
name = "linked"
version = "1.0.0"
vendor = "Example Devices"
license = "Apache-2.0"
description = "A graph that jobs compile"
maintainer = "Release Team <release@example.com>"

[model]
source = { path = "model.onnx" }
compiler = "aihub"
inputs = { x = { shape = [1, 3, 8, 8], dtype = "float32" } }
reference = { inputs = "x.npy", outputs = "y.npy", min_cosine = 0.999 }

[[targets]]
name = "boards"
soc = ["qcs9075", "sm8650"]
os = "linux"
formats = ["tar.zst"]
"""
CALIBRATION = '[model.calibration]\npath = "x.npy"\n\n[[targets]]'
ONE_SOC = MANIFEST.replace(', "sm8650"', "")
DEVICES = {
    "IQ-9075 EVK": ["soc-model:77", "framework:qnn", "framework:onnx"],
    "Samsung Galaxy S24": ["soc-model:57", "framework:qnn", "framework:onnx"],
}


@pytest.fixture
def quick(monkeypatch, store) -> None:
    """Jobs are asked after often, and hexrun is taken into a new store from where it was built before."""
    built = build(catalog.abis()["x86_64-linux-clang"], store)

    def lent(_abi: catalog.Abi, other: Store) -> RunnerBuild:
        other.add_file(store.path(built.blob.sha256))
        return built

    monkeypatch.setattr("packager.linked.build", lent)
    monkeypatch.setattr("packager.sources.aihub.POLL", 0.05)


class Service:
    """What makes the results of jobs, as the AI Hub does: with the IR backend and with the HTP's."""

    def __init__(self, store: Store) -> None:
        self.kinds: list[tuple[str, str]] = []
        self.calibration: Path | None = None
        self._runner = store.path(build(catalog.abis()["x86_64-linux-clang"], store).blob.sha256)

    def __call__(self, kind: str, model: bytes, options: str, device: str) -> bytes:
        self.kinds.append((kind, options))
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            if kind != "link_job":
                (work / "model.onnx").write_bytes(model)
                given = [self.calibration] if self.calibration else []
                precision = {"quantize_job": "w8a8"}.get(kind, "as-is" if given else "float")
                prepared = compilers.prepare(
                    work / "model.onnx", inputs=INPUTS, precision=precision, calibration=given, work=work
                )
                if kind == "quantize_job":
                    return prepared.model.read_bytes()
                return compilers.write_dlc(prepared, work).read_bytes()
            (work / "model.dlc").write_bytes(model)
            place(self._runner, work / "hexrun", mode=0o755)
            soc = catalog.soc({"IQ-9075 EVK": "qcs9075", "Samsung Galaxy S24": "sm8650"}[device])
            settings = tools.Settings(
                soc=soc, optimization=3, vtcm_mb=soc.vtcm_mb or 0, hvx_threads=0, fp16=True
            )
            source = tools.Source(path=work / "model.dlc", kind="dlc")
            return tools.generate(
                source, settings, tools.generator(work / "hexrun"), work
            ).context.read_bytes()


@pytest.fixture
def hub(store, tmp_path, monkeypatch) -> Iterator[Hub]:
    service = Hub(make=Service(store), devices=DEVICES, states=("CREATED",))
    with running(service, tmp_path) as config:
        monkeypatch.setenv("QAIHUB_CLIENT_INI", str(config))
        yield service


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    onnx.save(float_model(TensorProto.FLOAT), str(folder / "model.onnx"))
    x = np.random.default_rng(7).standard_normal((1, 3, 8, 8)).astype(np.float32)
    (y,) = onnxruntime.InferenceSession(str(folder / "model.onnx")).run(None, {"x": x})
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    (folder / "app.toml").write_text(MANIFEST)
    return folder


def compiled(project: Path, kept: Path, told: list[str] | None = None, **locked) -> tuple[ContextAsset, ...]:
    """The contexts of the project, with a store of its own."""
    store, plan = Store(kept), make_plan(load(project / "app.toml"))

    def fetch(name: str):
        return fetch_path(Path(name), store=store, base=project)

    inputs = Inputs(
        model=fetch("model.onnx"),
        facts=read_onnx(project / "model.onnx"),
        calibration=(fetch("x.npy"),),
        reference=(fetch("x.npy"),),
        expected=(fetch("y.npy"),),
    )
    tell = (told if told is not None else []).append
    return Compilation(store, inputs, tell, **locked).contexts(plan.targets, 1)["boards"]


def submitted(hub: Hub) -> int:
    return hub.asked.count("POST /api/v1/jobs/")


def test_contexts_come_from_jobs_are_read_back_and_proved_and_then_need_no_hub(hub, project, tmp_path):
    made = compiled(project, tmp_path / "store")
    jobs = submitted(hub)
    again = compiled(project, tmp_path / "store")

    assert [asset.soc.id for asset in made] == ["qcs9075", "sm8650"]
    assert [asset.jobs for asset in made] == [("j00000000", "j00000001"), ("j00000000", "j00000002")]
    assert all(asset.proofs[0].cosine >= 0.999 for asset in made)
    contexts = [read_context(Store(tmp_path / "store").path(asset.context.sha256)) for asset in made]
    assert [facts.soc_model for facts in contexts] == [77, 57]
    assert hub.make.kinds == [
        ("compile_job", "--target_runtime qnn_dlc --qairt_version 2.51"),
        ("link_job", "--qairt_version 2.51 --qnn_options default_graph_htp_optimizations=O=3"),
        ("link_job", "--qairt_version 2.51 --qnn_options default_graph_htp_optimizations=O=3"),
    ]
    assert (jobs, submitted(hub)) == (3, 3)
    assert [asset.context for asset in again] == [asset.context for asset in made]


def test_a_job_is_taken_up_by_the_next_run_when_the_network_fails_while_it_runs(
    hub, project, tmp_path, monkeypatch
):
    hub.states = ("CREATED",) * 4
    (project / "app.toml").write_text(ONE_SOC)

    def lose_the_network(*_: object) -> bytes:
        raise ConnectionError

    real, hub.make = hub.make, lose_the_network
    monkeypatch.setattr("packager.sources.aihub._WORKER", impatient(tmp_path))
    with pytest.raises(InputUnavailable) as lost:
        compiled(project, tmp_path / "store")
    hub.make = real
    told: list[str] = []
    made = compiled(project, tmp_path / "store", told)

    assert "taken up" in lost.value.fix
    assert made[0].jobs == ("j00000000", "j00000001")
    assert submitted(hub) == 2


def impatient(tmp_path: Path) -> Path:
    """The worker with the client's own waiting cut short, so that a test need not wait for half a minute."""
    import packager.sources.aihub as source

    text = source._WORKER.read_text(encoding="utf-8")
    head = "import qai_hub.util.session as session\n    session.MAX_RETRIES = 0\n    session.BACKOFF_FACTOR = 0\n    "
    changed = text.replace(
        "import json\n", "import json\ntry:\n    " + head + "pass\nexcept ImportError:\n    pass\n", 1
    )
    path = tmp_path / "worker.py"
    path.write_text(changed, encoding="utf-8")
    return path


def test_a_job_that_failed_is_told_with_its_reason_and_submitted_anew_by_the_next_run(hub, project, tmp_path):
    (project / "app.toml").write_text(ONE_SOC)
    add = hub.add_job
    hub.add_job = lambda kind, job: add(kind, job, "no such operator")  # type: ignore[method-assign]
    with pytest.raises(ToolFailed) as failed:
        compiled(project, tmp_path / "store")
    hub.add_job = add  # type: ignore[method-assign]

    made = compiled(project, tmp_path / "store")

    assert "no such operator" in failed.value.render()
    assert made[0].jobs == ("j00000001", "j00000002")


def test_another_machine_takes_the_jobs_that_the_lock_names_and_gets_the_same_bytes(hub, project, tmp_path):
    from packager.staging import compiles_of

    made = compiled(project, tmp_path / "mine")
    (target,) = make_plan(load(project / "app.toml")).targets
    rows = [row.model_copy(update={"read_qairt_build": "v2.51.0"}) for row in compiles_of(target, made, ())]
    locked = {row.place: row for row in rows}

    theirs = compiled(project, tmp_path / "theirs", locked=locked)

    assert submitted(hub) == 3
    assert [(asset.context, asset.jobs) for asset in theirs] == [
        (asset.context, asset.jobs) for asset in made
    ]


def test_a_precision_is_reached_by_a_quantize_job_that_gets_the_samples(hub, project, tmp_path):
    quantized = ONE_SOC.replace('compiler = "aihub"', 'compiler = "aihub"\nprecision = "w8a8"')
    (project / "app.toml").write_text(quantized.replace("[[targets]]", CALIBRATION))
    hub.make.calibration = project / "x.npy"

    (made,) = compiled(project, tmp_path / "store")

    assert made.jobs == ("j00000000", "j00000001", "j00000002")
    assert [kind for kind, _ in hub.make.kinds] == ["quantize_job", "compile_job", "link_job"]
    (sent,) = hub.datasets.values()
    begin = sent.index(b"\x89HDF\r\n\x1a\n")
    with h5py.File(io.BytesIO(sent[begin:])) as dataset:
        arrays = [np.asarray(one) for group in dataset["data"].values() for one in group.values()]
    assert [array.tolist() for array in arrays] == [np.load(project / "x.npy").tolist()]
    assert made.proofs[0].cosine >= 0.99


@pytest.mark.parametrize(
    ("old", "new", "kind", "words"),
    [
        ('os = "linux"', 'os = "linux"\nvtcm_mb = 4', ManifestError, "vtcm_mb = 4"),
        ('soc = ["qcs9075", "sm8650"]', 'soc = ["sm8750"]', HexpackError, "is not available"),
        ('inputs = { x = { shape = [1, 3, 8, 8], dtype = "float32" } }\n', "", ManifestError, "sizes"),
    ],
)
def test_what_jobs_cannot_do_is_refused_in_words(hub, project, tmp_path, old, new, kind, words):
    (project / "app.toml").write_text(MANIFEST.replace(old, new))

    with pytest.raises(kind) as refused:
        compiled(project, tmp_path / "store")

    assert words in refused.value.render()
