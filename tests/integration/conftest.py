"""Real vendor files for everyone, fetched by hexpack's own code and kept between runs.

The folder is `HEXPACK_TEST_STORE`, or the user's cache; the first run fetches some 330 MB through pip.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import platformdirs
import pytest

from packager.sources import Fetched
from packager.sources.wheel import fetch_wheel
from packager.sources.zipped import member
from packager.store import Store
from tests.integration.program import EXAMPLE, run
from tests.integration.runtimes import everything, fetch_248, release_248


@pytest.fixture(scope="session")
def store() -> Store:
    """The store that outlives the test run."""
    named = os.environ.get("HEXPACK_TEST_STORE")
    return Store(Path(named) if named else Path(platformdirs.user_cache_dir("hexpack-tests")) / "store")


@pytest.fixture(scope="session")
def runtime_linux(store: Store) -> dict[str, Path]:
    """Every vendor file of QAIRT 2.51 for Linux on Arm, by name: all Hexagon architectures."""
    return everything(store, "oe-linux-gcc11.2")


@pytest.fixture(scope="session")
def runtime_windows(store: Store) -> dict[str, Path]:
    """Every vendor file of QAIRT 2.51 for Windows on Arm, by name, catalogues included."""
    return everything(store, "windows-arm64")


@pytest.fixture(scope="session")
def runtime_simulator(store: Store) -> dict[str, Path]:
    """The backend of QAIRT 2.51 that simulates the HTP on x86-64 Linux, and what it links to."""
    return everything(store, "x86_64-linux-clang")


@pytest.fixture(scope="session")
def wheel_248(store: Store) -> Fetched:
    """The Linux on Arm wheel that carries QAIRT 2.48."""
    return fetch_248(store)


@pytest.fixture(scope="session")
def runtime_248(store: Store) -> dict[str, Path]:
    """The HTP files of QAIRT 2.48 for Linux on Arm, by name: another release than everything else here."""
    return release_248(store)


@pytest.fixture(scope="session")
def wheel_of_models(store: Store) -> Fetched:
    """A wheel for any machine that carries ONNX models."""
    return fetch_wheel(
        "rapidocr-onnxruntime==1.4.4",
        pinned="971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
        store=store,
    )


@pytest.fixture(scope="session")
def classifier_onnx(wheel_of_models: Fetched, store: Store) -> Path:
    """A float model of 0.6 MB: x [?, 3, ?, ?] to two classes, upright or upside down."""
    return member(
        wheel_of_models, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", store
    ).path


@pytest.fixture(scope="session")
def built(store, tmp_path_factory) -> tuple[Path, dict]:
    """The example's packages, built once; the output folder and the report."""
    out = tmp_path_factory.mktemp("dist")
    done = run(
        "package", "--manifest", str(EXAMPLE / "app.toml"), "--out", str(out), "--json",
        HEXPACK_STORE=str(store.root),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out, json.loads(done.stdout)
