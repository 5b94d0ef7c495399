"""The plan: everything resolved, nothing left to look up. JSON in, JSON out, digestible."""

from __future__ import annotations

from typing import Literal

from packager.catalog import Abi, Release, Soc
from packager.manifest_formats import FormatSettings
from packager.manifest_linux import LinuxSystem
from packager.manifest_model import Allow, Model, Package, Settings
from packager.model import Frozen


class WantedFile(Frozen):
    """A vendor file that the package needs. `folder` is inside the package tree."""

    role: str
    name: str
    folder: str
    machine: str
    arch: int | None = None


class RuntimePlan(Frozen):
    """The runtime set of one target: which files, and what holds them.

    `wheel`, with its platform, Python and root, goes with kind `wheel`; `artifact` (a Maven coordinate) or
    `path` with `aar`; `path` with `path`, and with `sdk`, where it may be left to the environment.
    `dsp_runtime` is a folder with what skels link to on boards with QNX.
    `toolchains` are the SDK's names of the target's ABI, best first.
    """

    kind: Literal["wheel", "sdk", "aar", "path"] = "wheel"
    release: Release
    flavour: str = "community"
    toolchains: tuple[str, ...] = ()
    artifact: str | None = None
    wheel: str | None = None
    platform: str | None = None
    python: str | None = None
    sha256: str | None = None
    root: str = ""
    path: str | None = None
    files: tuple[WantedFile, ...]
    extra: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    dsp_runtime: str | None = None


class PackagePlan(Frozen):
    """One file that will appear in the output folder. `name` and `version` are in the format's own words."""

    format: str
    file_name: str
    name: str
    version: str


_ASSETS: dict[str, Literal["context", "dlc", "library"]] = {
    "context-binary": "context",
    "dlc": "dlc",
    "model-library": "library",
}


class TargetPlan(Settings):
    """One target with every word resolved. `label` is how reports call it, `name` the manifest's name."""

    label: str
    name: str | None = None
    package: Package
    system: str
    abi: Abi
    socs: tuple[Soc, ...]
    precision: str
    model: Model
    runtime_set: RuntimePlan
    packages: tuple[PackagePlan, ...]
    linux: LinuxSystem | None = None
    formats: FormatSettings

    @property
    def archs(self) -> tuple[int, ...]:
        """Hexagon architectures of the SoCs, ascending, each once."""
        return tuple(sorted({soc.hexagon for soc in self.socs if soc.hexagon}))

    @property
    def splits(self) -> bool:
        """Whether nodes that the NPU does not take are left to the CPU, in onnxruntime."""
        return self.runtime == "context-binary" and "cpu" in self.compute

    @property
    def asset(self) -> Literal["context", "dlc", "library"]:
        """What hexrun opens: a context binary for each SoC, or one file of which it composes graphs."""
        return _ASSETS[self.runtime]

    def package_of(self, format_id: str) -> PackagePlan:
        """The package of this format. Raises ValueError when the target has none."""
        for package in self.packages:
            if package.format == format_id:
                return package
        raise ValueError(f"{self.label} has no {format_id} package")


class Plan(Frozen):
    """All targets of a manifest, in its order."""

    schema_version: int = 1
    package: Package
    targets: tuple[TargetPlan, ...]
    allow: tuple[Allow, ...]
