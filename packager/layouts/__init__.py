"""The tree of one target: which staged file stands where. Places are rows of `targets/layouts.toml`."""

from __future__ import annotations

import posixpath
from typing import Literal

from packager import catalog
from packager.manifest_host import Host
from packager.model import Frozen
from packager.plan_model import TargetPlan
from packager.runtime_config import Places

Place = Literal["runner", "host", "dsp", "models", "config", "htp", "licences", "documents"]


class Layout(Frozen):
    """Folders of one operating system's tree, relative to its top."""

    system: str
    runner: str
    host: str
    dsp: str
    models: str
    config: str
    htp: str
    licences: str
    documents: str
    source: str

    def path(self, place: Place, name: str) -> str:
        """Where a file of this name stands."""
        return posixpath.join(getattr(self, place), name)


def layout_of(system: str) -> Layout:
    """The layout of an operating system. Raises KeyError where packages are not written yet."""
    for row in catalog.table("layouts")["layout"]:
        if row["system"] == system:
            return Layout.model_validate(row)
    raise KeyError(system)


def vendor_place(folder: str) -> Place:
    """The place of a role's folder (`lib` or `dsp` in `targets/qairt.toml`)."""
    return "dsp" if folder == "dsp" else "host"


def required_of(plan: TargetPlan) -> Host | None:
    """Where the device has the vendor's libraries; None for a target that brings them."""
    return plan.host if plan.vendor_libraries == "require" else None


def model_path(layout: Layout, plan: TargetPlan, soc: catalog.Soc) -> str:
    """Where the context binary of a SoC stands, or the one DLC or model library of all of them."""
    library = ".dll" if plan.system == "windows" else ".so"
    ending = {"context": ".bin", "dlc": ".dlc", "library": library}[plan.asset]
    name = f"{soc.id if plan.asset == 'context' else plan.package.name}{ending}"
    return layout.path("models", name)


def split_path(layout: Layout, soc: catalog.Soc) -> str:
    """Where the ONNX file of a split model stands: beside the context binary, which it names."""
    return layout.path("models", f"{soc.id}.onnx")


def places(plan: TargetPlan) -> Places:
    """Where runner.conf finds everything; what the device holds has an absolute path."""
    layout = layout_of(plan.system)
    host, dsp = layout.host, layout.dsp
    if on_device := required_of(plan):
        host, dsp = on_device.libraries, on_device.dsp_folder
    return Places(
        config=layout.path("config", "runner.conf"),
        backends={
            role.unit: posixpath.join(host, role.files[plan.system])
            for role in catalog.roles()
            if role.backend and role.unit and plan.system in role.files
        },
        system=posixpath.join(host, catalog.role_file("system", plan.system)),
        dsp=None if plan.abi.simulator else dsp,
        models={soc.id: model_path(layout, plan, soc) for soc in plan.socs},
    )
