"""What a run reports: the models of the one JSON document that `package --json` and `check --json` print."""

from __future__ import annotations

from packager import __version__
from packager.bundle import HostFile
from packager.emission import Written
from packager.layouts.sizes import Sizes
from packager.model import Frozen
from packager.rules.core import Finding, Proof


class ContextReport(Frozen):
    """A context binary; `size` in bytes, `seconds` what its compilation took when it was done.

    `on_cpu` says in words which nodes of a split model are left to the CPU.
    """

    soc: str
    sha256: str
    size: int
    seconds: float
    on_cpu: tuple[str, ...] = ()


class FileReport(Frozen):
    """A file of a package's tree; `size` in bytes, `origin` in words."""

    path: str
    role: str
    size: int
    sha256: str
    origin: str


class TargetReport(Frozen):
    """What became of one target; `reused` means that nothing had to be done.

    `files` is what every package of the target holds, largest first; `required` what the device has to hold
    beside them, `sizes` what takes the space and what was left out.
    """

    label: str
    system: str
    abi: str
    socs: tuple[str, ...]
    contexts: tuple[ContextReport, ...] = ()
    proofs: tuple[Proof, ...] = ()
    files: tuple[FileReport, ...] = ()
    required: tuple[HostFile, ...] = ()
    sizes: Sizes | None = None
    packages: tuple[Written, ...] = ()
    reused: bool = False


class Report(Frozen):
    """The one document of a run, printed by `--json`."""

    schema_version: int = 1
    hexpack: str = __version__
    manifest: str
    package: str
    version: str
    refused: bool
    findings: tuple[Finding, ...]
    targets: tuple[TargetReport, ...] = ()
