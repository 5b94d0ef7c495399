"""What the runner's tests share: the runner, compiled models with their references, a stand-in backend.

A test module takes the fixtures with `pytest_plugins = ["runner_kit"]`. It also imports from here, before
pytest can rewrite the asserts: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_qnn
import pytest

from packager import catalog, resources
from packager.runner import RunnerBuild, build
from packager.store import Store

HERE = Path(__file__).parent
SOURCES = Path(str(resources.folder("templates"))) / "runner"
VENDOR = Path(onnxruntime_qnn.__file__).parent
QCS9075 = (
    "variant soc=qcs9075 soc_model=77 accepts=- hexagon=73 vtcm_mb=8 linux_soc_ids=667,676 context=model.bin"
)
SM8650 = (
    "variant soc=sm8650 soc_model=57 accepts=157,158 hexagon=75 vtcm_mb=8 linux_soc_ids=557 context=model.bin"
)


@pytest.fixture(scope="session")
def hexrun(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runner for this machine, alone in a folder; HEXRUN_UNDER_TEST names another one to judge."""
    place = tmp_path_factory.mktemp("runner") / "hexrun"
    named = os.environ.get("HEXRUN_UNDER_TEST")
    shutil.copyfile(named or compiled(store, "x86_64-linux-clang")[1], place)
    place.chmod(0o755)
    return place


def compiled(store: Store, abi: str) -> tuple[RunnerBuild, Path]:
    """The runner of an ABI and its file in the store."""
    made = build(catalog.abis()[abi], store)
    return made, store.path(made.blob.sha256)


def zig(store: Store, folder: Path, *arguments: object) -> None:
    """Compile something of the tests' own for this machine."""
    cache = {"ZIG_GLOBAL_CACHE_DIR": str(store.root / "zig"), "ZIG_LOCAL_CACHE_DIR": str(store.root / "zig")}
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.31", "-std=c11", "-O1"]
    subprocess.run(
        [*command, f"-I{SOURCES}", *map(str, arguments)], cwd=folder, env={**os.environ, **cache}, check=True
    )


@pytest.fixture(scope="session")
def stand_in(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backend that does as it is told; see stand_in_qnn.c."""
    folder = tmp_path_factory.mktemp("stand-in")
    zig(store, folder, "-shared", "-fPIC", "-o", "libStandIn.so", HERE / "stand_in_qnn.c")
    return folder / "libStandIn.so"


class Model:
    """A compiled model, an input and reference outputs, in a folder with a runner.conf."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def array(self, name: str) -> np.ndarray:
        return np.load(self.folder / f"{name}.npy")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    """One model of each kind that runner_models.py makes, for soc_model 77."""
    made = {}
    for kind in ("float32", "float16", "quantized", "split"):
        folder = tmp_path_factory.mktemp(kind)
        script = [sys.executable, str(HERE / "runner_models.py"), str(folder), kind, "77"]
        done = subprocess.run(script, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        configure(folder)
        made[kind] = Model(folder)
    return made


def configure(folder: Path, *variants: str, **replaced: str | None) -> Path:
    """Write runner.conf; a key given as None is left out."""
    keys: dict[str, str | None] = {
        "format": "1",
        "package": "text-direction 1.0.0",
        "backend": str(VENDOR / "libQnnHtp.so"),
        "system": str(VENDOR / "libQnnSystem.so"),
        "simulator": "yes",
        "compute": "npu",
        "power": "burst",
        "rpc_latency_us": "100",
        **replaced,
    }
    lines = [f"{key} {value}" for key, value in keys.items() if value is not None]
    path = folder / "runner.conf"
    path.write_text("\n".join([*lines, *(variants or (QCS9075,)), ""]))
    return path


class Ran:
    """What a run left: exit code, both streams, and the JSON document where one was asked for."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        assert "Sanitizer" not in self.err, self.err

    @property
    def document(self) -> Any:
        return json.loads(self.out)


def run(program: Path, *arguments: object, **environment: object) -> Ran:
    return Ran(
        subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, **{key: str(value) for key, value in environment.items()}},
        )
    )


def run_model(hexrun: Path, model: Model, *arguments: object, config: Path | None = None) -> Ran:
    return run(hexrun, "--config", config or model.folder / "runner.conf", *arguments)
