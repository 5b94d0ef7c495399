"""Real device libraries, fetched by hexpack's own code and kept in its store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packager import catalog
from packager.catalog import Abi, Role, RuntimeSet
from packager.plan_model import RuntimePlan, WantedFile
from packager.sources import Fetched
from packager.sources.runtime_set import fetch_runtime
from packager.sources.wheel import fetch_wheel
from packager.sources.zipped import file_names, member
from packager.store import Store


def fetch_248(store: Store) -> Fetched:
    """The Linux on Arm wheel that carries QAIRT 2.48."""
    return fetch_wheel(
        "qnnruntime==2.48.0.2",
        platform="manylinux_2_34_aarch64",
        python="3.11",
        pinned="0543be989fef3fc48df53edfbe4746f4bf1bef8e2c80a6d055cc3afe74121aa4",
        store=store,
    )


def release_248(store: Store) -> dict[str, Path]:
    """The HTP files of QAIRT 2.48 for Linux on Arm, by name."""
    wheel = fetch_248(store)
    wanted = {
        role.files["linux"].format(arch=arch)
        for role in shipped_roles()
        for arch in (68, 69, 73, 75, 79, 81)
        if "linux" in role.files
    }
    found = (name for name in file_names(wheel, store) if name.rpartition("/")[2] in wanted)
    return {name.rpartition("/")[2]: member(wheel, name, store).path for name in found}


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


def everything(store: Store, abi_id: str) -> dict[str, Path]:
    """Every vendor file that a known runtime set of QAIRT 2.51 has, by name."""
    fetched = fetch_runtime(whole_plan(abi_id), base=Path(), store=store)
    return {name: file.path for name, file in fetched.items()}


def shipped_roles() -> list[Role]:
    """The roles that packages have files for."""
    return [role for role in catalog.roles() if role.needed != "never" and role.unit in (None, "npu")]


def _wanted(known: RuntimeSet, abi: Abi) -> Iterator[WantedFile]:
    for role in shipped_roles():
        if abi.system in role.files and not (abi.simulator and role.needed != "always"):
            for arch in _archs(role, known):
                name = role.files[abi.system].format(arch=arch)
                yield WantedFile(role=role.id, name=name, folder=role.folder, machine=role.machine, arch=arch)


def _archs(role: Role, known: RuntimeSet) -> tuple[int | None, ...]:
    if not role.per_arch:
        return (None,)
    return known.catalogues if role.needed == "catalogue" else known.archs
