"""What takes the space in a package, and what of the release was left out of it, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packager import catalog
from packager.bundle import MODEL_LIBRARY, SPLIT_MODEL, SUPPORT, BundleFile
from packager.model import Frozen
from packager.plan_model import TargetPlan

_REST = "licences and texts"


class Part(Frozen):
    """Files of one kind: `size` in bytes, unpacked."""

    what: str
    files: int
    size: int


class LeftOut(Frozen):
    """Files of the release that the package does not carry, and why."""

    names: tuple[str, ...]
    why: str


class Sizes(Frozen):
    """The size report of a target: parts with the largest first."""

    parts: tuple[Part, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def total(self) -> int:
        """Bytes of all files, unpacked."""
        return sum(part.size for part in self.parts)


def sizes(plan: TargetPlan, files: Iterable[BundleFile]) -> Sizes:
    """The report on these files. The text that tells of it is not among them."""
    found: dict[str, list[int]] = {}
    for file in files:
        found.setdefault(_kind(file), []).append(file.blob.size)
    parts = [Part(what=what, files=len(each), size=sum(each)) for what, each in found.items()]
    return Sizes(
        parts=tuple(sorted(parts, key=lambda part: (-part.size, part.what))),
        left_out=tuple(_left_out(plan)),
    )


def _kind(file: BundleFile) -> str:
    role = next((row for row in catalog.roles() if row.id == file.role), None)
    if role is not None:
        return "CPU libraries" if role.machine == "host" else "DSP libraries"
    named = {
        SUPPORT: "CPU libraries",
        "context": "models",
        "container": "models",
        MODEL_LIBRARY: "models",
        SPLIT_MODEL: "models",
        "runner": "runner",
        "runner-library": "runner",
    }
    return named.get(file.role, _REST)


def _left_out(plan: TargetPlan) -> Iterator[LeftOut]:
    planned = {file.name for file in plan.runtime_set.files}
    rows = [row for row in catalog.roles() if plan.system in row.files]
    if plan.vendor_libraries == "require":
        yield LeftOut(names=tuple(sorted(planned)), why="the device has them (see above)")
    if plan.abi.simulator:
        return
    composing = [row.files[plan.system] for row in rows if row.needed == "compose"]
    if missing := [name for name in composing if name not in planned]:
        yield LeftOut(names=tuple(missing), why="composes graphs on the device, and these are composed")
    known = catalog.runtime_set(plan.runtime_set.release.version, plan.abi.id)
    others = tuple(arch for arch in (known.archs if known else ()) if arch not in plan.archs)
    per_arch = [row for row in rows if row.needed == "device" and row.per_arch]
    if others and per_arch:
        names = [row.files[plan.system].format(arch=arch) for row in per_arch for arch in others]
        yield LeftOut(names=tuple(names), why="for architectures that no SoC of this package has")
