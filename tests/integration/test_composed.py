"""Context binaries from a DLC and from a model library, through the QNN API on the vendor's real backend."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from runner_container import Model
from runner_kit import HERE, compiled, zig

from packager import catalog, composable
from packager.assets import Inputs
from packager.compilers import generator, worker
from packager.compilers.generator import Generator, Settings, Source
from packager.contexts import Compilation
from packager.errors import HexpackError, InputUnavailable, ManifestError, ToolFailed
from packager.facts.context_binary import read_context
from packager.manifest import load
from packager.plan import make_plan
from packager.sources.local import fetch_path, glob_paths
from packager.store import Store
from tests.integration.program import run as run_program

pytest_plugins = ["runner_kit", "runner_container"]

MANIFEST = """\
schema = 1

[package]
name = "composed"
version = "1.0.0"
vendor = "Example Devices"
license = "Apache-2.0"
description = "Graphs out of a container"
maintainer = "Release Team <release@example.com>"

[model]
source = { path = "MODEL" }
reference = { inputs = "in/*.npy", outputs = "expected/*.npy", min_cosine = 0.999 }

[[targets]]
name = "boards"
soc = ["qcs9075", "sm8650"]
os = "linux"
formats = ["tar.zst"]
"""
INTERFACE_LENGTH = 75  # functions in the interface of QAIRT 2.51


@pytest.fixture(scope="module")
def tool(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Generator:
    place = tmp_path_factory.mktemp("tool") / "hexrun"
    shutil.copyfile(compiled(store, "x86_64-linux-clang")[1], place)
    place.chmod(0o755)
    return generator.generator(place)


@pytest.fixture(scope="module")
def library(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    flags = (f"-DINTERFACE_LENGTH={INTERFACE_LENGTH}", "-shared", "-fPIC", "-fvisibility=hidden")
    zig(store, folder, *flags, "-o", "model.so", HERE / "model_library.c")
    return folder / "model.so"


@pytest.fixture
def project(container: Model, tmp_path: Path) -> Path:
    """A folder with the container, one sample, what is expected of it, and a manifest."""
    for name, folder in (("x.npy", "in"), ("y.npy", "expected")):
        (tmp_path / folder).mkdir()
        shutil.copyfile(container.folder / name, tmp_path / folder / name)
    shutil.copyfile(container.folder / "model.dlc", tmp_path / "model.dlc")
    (tmp_path / "app.toml").write_text(MANIFEST.replace("MODEL", "model.dlc"))
    return tmp_path


def settings(soc: str | catalog.Soc = "sm8650", **changed: object) -> Settings:
    words = {
        "soc": catalog.soc(soc) if isinstance(soc, str) else soc,
        "optimization": 2,
        "vtcm_mb": 4,
        "hvx_threads": 2,
        "fp16": True,
    }
    return Settings.model_validate(words | changed)


def dlc(folder: Path) -> Source:
    return Source(path=folder / "model.dlc", kind="dlc")


def contexts(folder: Path, store: Store, *changes: tuple[str, str]):
    """The contexts of the manifest in `folder`, made as `hexpack package` makes them."""
    text = (folder / "app.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "app.toml").write_text(text)
    plan = make_plan(load(folder / "app.toml"))
    model = plan.targets[0].model
    reference = model.reference

    def fetched(pattern: str | None):
        return (
            tuple(fetch_path(p, store=store, base=folder) for p in glob_paths(pattern, folder))
            if pattern
            else ()
        )

    inputs = Inputs(
        model=fetch_path(Path(model.source.path), store=store, base=folder),
        reference=fetched(reference.inputs if reference else None),
        expected=fetched(reference.outputs if reference else None),
    )
    return Compilation(store, inputs, lambda _: None).contexts(plan.targets, 2)["boards"]


def refusal(call, kind: type[HexpackError]) -> str:
    with pytest.raises(kind) as raised:
        call()
    return raised.value.render()


# ---- through the manifest ----


def test_a_container_becomes_a_package_with_a_proved_context_for_each_soc(project, store):
    done = run_program(
        "package", "--manifest", str(project / "app.toml"), "--out", str(project / "dist"), "--json",
        HEXPACK_STORE=str(store.root),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    assert [context["soc"] for context in target["contexts"]] == ["qcs9075", "sm8650"]
    assert [proof["output"] for proof in target["proofs"]] == ["y_0_out"] * 2
    assert all(proof["cosine"] > 0.99999 for proof in target["proofs"])
    assert [path.suffix for path in (project / "dist").iterdir()] == [".zst"]


def test_the_context_is_for_its_soc_and_has_the_settings_of_the_manifest(project, store):
    made = contexts(
        project, store, ("[model]", '[model]\ncompiler = "qnn"'), ("formats", "hvx_threads = 3\nformats")
    )

    facts = [read_context(store.path(one.context.sha256)) for one in made]
    assert [(one.soc_model, one.hexagon_arch) for one in facts] == [(77, 73), (57, 75)]
    assert {(one.graphs[0].optimization, one.graphs[0].hvx_threads) for one in facts} == {(3, 3)}
    assert all(one.asked.inputs == {"x": (1, 3, 8, 8)} for one in made)


def test_outputs_far_from_the_expected_ones_show_in_the_proof(project, store):
    path = project / "expected" / "y.npy"
    np.save(path, -np.load(path))

    made = contexts(project, store)

    assert all(one.proofs[0].cosine < -0.999 for one in made)


def test_a_container_cut_short_is_refused_at_its_place_and_leaves_nothing(project, store):
    whole = (project / "model.dlc").read_bytes()
    (project / "model.dlc").write_bytes(whole[:2000])

    done = run_program(
        "package", "--manifest", str(project / "app.toml"), "--out", str(project / "dist"),
        HEXPACK_STORE=str(store.root),
    )  # fmt: skip

    assert done.returncode == 3
    assert "at byte" in done.stderr
    assert not (project / "dist").exists()
    assert not (project / "app.lock").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([(', outputs = "expected/*.npy"', "")], "there is nothing to compare model.dlc with"),
        ([("[model]", '[model]\ncompiler = "ort-qnn"')], 'compiler = "ort-qnn" does not take model.dlc'),
        (
            [("[model]", '[model]\nprecision = "w8a8"\ncalibration = { path = "in/*.npy" }')],
            'precision = "w8a8" asks to quantize model.dlc',
        ),
        (
            [("[model]", '[model]\ninputs = { x = { shape = [1, 3, 9, 9], dtype = "float32" } }')],
            "x: float32 1×3×8×8",
        ),
    ],
)
def test_a_manifest_that_does_not_fit_a_container_is_told_so(project, store, changes, words):
    assert words in refusal(lambda: contexts(project, store, *changes), ManifestError)


def test_samples_and_expected_outputs_must_be_as_many(project, store):
    shutil.copyfile(project / "in" / "x.npy", project / "in" / "z.npy")

    assert "2 inputs, 1 outputs" in refusal(lambda: contexts(project, store), ManifestError)


# ---- the generator ----


def test_the_bytes_of_a_context_depend_on_no_folder_and_no_run(tool, container, tmp_path):
    made = []
    for name in ("one", "another/folder"):
        (work := tmp_path / name).mkdir(parents=True)
        made.append(generator.generate(dlc(container.folder), settings(), tool, work).context.read_bytes())

    assert made[0] == made[1]


def test_all_graphs_of_a_model_library_are_in_its_context(tool, library, tmp_path):
    made = generator.generate(Source(path=library, kind="library"), settings(), tool, tmp_path)

    assert [graph.name for graph in made.graphs] == ["rectified", "negated"]
    assert [graph.name for graph in read_context(made.context).graphs] == ["rectified", "negated"]
    assert [path.name for path in tmp_path.iterdir()] == ["model.bin"]


def test_a_soc_without_float_refuses_a_float_container_in_words(tool, container, tmp_path):
    said = refusal(
        lambda: generator.generate(dlc(container.folder), settings("qcs6490", vtcm_mb=2), tool, tmp_path),
        ToolFailed,
    )

    assert "Dragonwing QCS6490 (qcs6490): its HTP computes no float graphs" in said
    assert "backend: <E> The SocModel doesn't support FP16" in said
    assert "take a quantized DLC" in said
    assert not list(tmp_path.iterdir())


def test_a_context_of_another_architecture_than_asked_for_is_not_kept(tool, container, tmp_path):
    wrong = catalog.soc("sm8650").model_copy(update={"hexagon": 79})

    said = refusal(
        lambda: generator.generate(dlc(container.folder), settings(soc=wrong), tool, tmp_path), ToolFailed
    )

    assert "Hexagon: found 75, wanted 79" in said
    assert not list(tmp_path.iterdir())


def stand_in(tool: Generator, folder: Path, script: str) -> Generator:
    program = folder / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return tool.model_copy(update={"program": program})


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGKILL, "was killed by the operating system (signal 9)"), (signal.SIGSEGV, "SIGSEGV")],
)
def test_a_generator_that_dies_leaves_an_error_and_no_file(tool, container, tmp_path, number, words):
    (work := tmp_path / "work").mkdir()
    dying = stand_in(tool, tmp_path, f"kill -{int(number)} $$")

    said = refusal(lambda: generator.generate(dlc(container.folder), settings(), dying, work), ToolFailed)

    assert words in said
    assert not list(work.iterdir())


def test_a_generator_that_does_not_come_to_an_end_is_stopped(tool, container, tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "COMPILE_SECONDS", 0.2)
    (work := tmp_path / "work").mkdir()
    endless = stand_in(tool, tmp_path, "exec sleep 60")

    said = refusal(lambda: generator.generate(dlc(container.folder), settings(), endless, work), ToolFailed)

    assert "took longer than 0.2 s and was stopped" in said
    assert not list(work.iterdir())


# ---- what graphs are composed from ----


def inputs_of(path: Path, store: Store) -> Inputs:
    return Inputs(model=fetch_path(path, store=store, base=path.parent))


def test_a_container_of_a_newer_release_than_the_compiler_is_refused_with_both(container, store):
    inputs = inputs_of(container.folder / "model.dlc", store)

    said = refusal(lambda: composable.source_of(inputs, "v2.48.0.260626120635"), InputUnavailable)

    assert "found   v2.51.0.260929181845" in said
    assert "wanted  v2.48.0.260626120635 or older" in said


def test_a_model_library_for_this_machine_is_taken(library, store):
    assert composable.source_of(inputs_of(library, store), "v2.51.0").kind == "library"


def test_a_library_that_composes_nothing_is_refused(tool, store):
    said = refusal(lambda: composable.source_of(inputs_of(tool.system, store), "v2.51.0"), InputUnavailable)

    assert "found   no function that composes graphs" in said


def test_a_model_library_for_another_machine_is_refused(store, tmp_path):
    flags = (
        "-target",
        "aarch64-linux-gnu.2.31",
        f"-DINTERFACE_LENGTH={INTERFACE_LENGTH}",
        "-shared",
        "-fPIC",
    )
    zig(store, tmp_path, *flags, "-o", "model.so", HERE / "model_library.c")

    said = refusal(
        lambda: composable.source_of(inputs_of(tmp_path / "model.so", store), "v2.51.0"), InputUnavailable
    )

    assert "found   machine AARCH64" in said
