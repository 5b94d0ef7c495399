"""Packages for the CPU backend, and packages with a model library: built, and run where their libraries run."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from arm_linux import Board
from runner_container import Model, cosine
from runner_kit import HERE, run, zig
from runtimes import fetch_248

from packager.sources.zipped import file_names, member
from packager.store import Store
from tests.integration.program import run as hexpack

pytest_plugins = ["runner_kit", "runner_container"]

MANIFEST = """\
schema = 1

[package]
name = "units"
version = "1.0.0"
vendor = "Example Devices"
license = "Apache-2.0"
description = "A graph for another unit"
maintainer = "Release Team <release@example.com>"

[model]
source = {{ path = "{model}" }}
precision = "{precision}"

[[targets]]
name = "board"
soc = ["{soc}"]
os = "linux"
formats = ["tar.gz"]
"""
CPU = """\
runtime = "dlc"
compute = ["cpu"]
libraries = { from = "path", path = "libraries" }

[qairt]
version = "2.48.0"
"""
SIMULATOR = 'abi = "x86_64-linux-clang"\n'
LIBRARY = 'runtime = "model-library"\n'
INTERFACE_LENGTH = 75  # functions in the interface of QAIRT 2.51


def packaged(folder: Path, store: Store, text: str) -> tuple[Path, dict]:
    """The unpacked tree of the only package, and its target's part of the report."""
    (folder / "app.toml").write_text(text)
    done = hexpack(
        "package", "--manifest", str(folder / "app.toml"), "--out", str(folder / "dist"), "--json",
        HEXPACK_STORE=str(store.root),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    (archive,) = (folder / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "tree", filter="data")
    (conf,) = (folder / "tree").rglob("runner.conf")
    (target,) = json.loads(done.stdout)["targets"]
    return conf.parents[1], target


@pytest.mark.parametrize("model", ["model.onnx", "model.dlc"])
def test_a_package_for_the_cpu_runs_on_the_real_arm_backend(container: Model, store, tmp_path, model):
    wheel = fetch_248(store)
    (tmp_path / "libraries").mkdir()
    for name in file_names(wheel, store):
        if name.rpartition("/")[2] in ("libQnnCpu.so", "libQnnSystem.so"):
            shutil.copyfile(member(wheel, name, store).path, tmp_path / "libraries" / Path(name).name)
    (tmp_path / "libraries" / "LICENSE.txt").write_text("of the vendor, in a package of its own")
    shutil.copyfile(container.folder / model, tmp_path / model)

    text = MANIFEST.format(model=model, precision="float", soc="qcs8550")
    tree, target = packaged(tmp_path, store, text + CPU)

    assert {path.name for path in (tree / "lib").iterdir()} == {"libQnnCpu.so", "libQnnSystem.so"}
    assert target["proofs"] == []
    ran = Board(tmp_path / "board").run(
        tree / "bin" / "hexrun", "--input", container.folder / "x.npy", "--output", tmp_path, "--json"
    )
    assert ran.code == 0, ran.err
    (said,) = ran.document["outputs"]
    found, wanted = np.load(said["file"]), np.load(container.folder / "y.npy")
    assert cosine(found, wanted) > 0.9999999


@pytest.fixture(scope="module")
def library(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model library for this machine: two graphs of one operator, written in C."""
    folder = tmp_path_factory.mktemp("library")
    flags = (f"-DINTERFACE_LENGTH={INTERFACE_LENGTH}", "-shared", "-fPIC", "-fvisibility=hidden", "-s")
    zig(store, folder, *flags, "-o", "model.so", HERE / "model_library.c")
    return folder / "model.so"


def test_a_model_library_is_packaged_as_it_is_and_composed_where_it_is_installed(library, store, tmp_path):
    shutil.copyfile(library, tmp_path / "model.so")
    text = MANIFEST.format(model="model.so", precision="float", soc="sm8650")

    tree, _ = packaged(tmp_path, store, text + SIMULATOR + LIBRARY)

    assert (tree / "share" / "models" / "units.so").read_bytes() == library.read_bytes()
    ran = run(tree / "bin" / "hexrun", "--describe", "--json")
    assert ran.code == 0, ran.err
    assert len(ran.document["graphs"]) == 2


def test_a_model_library_of_another_machine_than_the_targets_is_refused(library, store, tmp_path):
    shutil.copyfile(library, tmp_path / "model.so")
    (tmp_path / "app.toml").write_text(
        MANIFEST.format(model="model.so", precision="float", soc="qcs9075") + LIBRARY
    )

    done = hexpack("check", "--manifest", str(tmp_path / "app.toml"), HEXPACK_STORE=str(store.root))

    assert done.returncode == 3
    assert "found   machine X86_64" in done.stderr
    assert "wanted  machine AARCH64, for oe-linux-gcc11.2" in done.stderr


def test_a_model_library_for_arm_is_shipped_with_what_prepares_its_graphs(library, store, tmp_path):
    source = HERE / "model_library.c"
    flags = (f"-DINTERFACE_LENGTH={INTERFACE_LENGTH}", "-shared", "-fPIC", "-fvisibility=hidden", "-s")
    zig(store, tmp_path, "-target", "aarch64-linux-gnu.2.17", *flags, "-o", "model.so", source)
    text = MANIFEST.format(model="model.so", precision="float", soc="qcs9075")

    tree, target = packaged(tmp_path, store, text + LIBRARY)

    assert (tree / "lib" / "libQnnHtpPrepare.so").is_file()
    assert "library=models/units.so" in (tree / "share" / "runner.conf").read_text()
    assert target["proofs"] == []
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=tree, check=True)
