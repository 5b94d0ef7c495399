"""The tree of one target: which staged file stands where. Places are rows of `targets/layouts.toml`."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Literal

from packager import catalog
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


def context_path(layout: Layout, soc: catalog.Soc) -> str:
    """Where the context binary of a SoC stands."""
    return layout.path("models", f"{soc.id}.bin")


def places(plan: TargetPlan) -> Places:
    """Where runner.conf finds everything."""
    layout = layout_of(plan.system)
    return Places(
        config=layout.path("config", "runner.conf"),
        backend=layout.path("host", catalog.role_file("backend", plan.system)),
        system=layout.path("host", catalog.role_file("system", plan.system)),
        dsp=None if plan.abi.simulator else layout.dsp,
        contexts={soc.id: context_path(layout, soc) for soc in plan.socs},
    )


def debian_depends(needs: Sequence[tuple[str | None, str | None]]) -> tuple[str, ...]:
    """Debian dependencies from (glibc, glibcxx) symbol versions needed by the host libraries.

    GLIBCXX_3.4.N came with gcc releases that Debian's libstdc++6 carries in its version:
    3.4.29 with 11, 3.4.30 with 12 (GCC's ABI policy page).
    """
    glibc = [_numbers(g) for g, _ in needs if g]
    glibcxx = [_numbers(x) for _, x in needs if x]
    depends = []
    if glibc:
        depends.append(f"libc6 (>= {'.'.join(map(str, max(glibc)))})")
    if glibcxx:
        rows = catalog.table("systems")["libstdcxx"]
        fitting = [row for row in rows if _numbers(row["glibcxx"]) >= max(glibcxx)]
        version = min(fitting, key=lambda row: _numbers(row["glibcxx"]))["debian"] if fitting else None
        depends.append(f"libstdc++6 (>= {version})" if version else "libstdc++6")
    return tuple(depends)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
