"""What QNX and the guests that run on it ask of a package."""

from __future__ import annotations

from collections.abc import Iterable

from packager import catalog
from packager.facts.config_types import BuildEntry, BuildFileFacts
from packager.facts.types import ElfFacts
from packager.plan_model import TargetPlan
from packager.rules.capabilities import untried_runners
from packager.rules.core import Case, Said, Severity, Stage, rule
from packager.rules.reading import MANIFEST, elves, folder_of, foreign, packed_for
from packager.rules.table import word


def _without_dsp_runtime(plan: TargetPlan) -> bool:
    """Whether the target is QNX, or a guest on a SoC that is sold for it."""
    host = word("HEX241", "host")
    return plan.system == host or (any(host in soc.systems for soc in plan.socs) and not plan.abi.simulator)


@rule("HEX241", severity=Severity.WARNING)
def dsp_runtime_packed(case: Case) -> Iterable[Said]:
    """What skels link to is in the image of the QNX host, and not in that of a guest.

    A file by such a name beside a skel that is not for the DSP is HEX113's.
    """
    if not _without_dsp_runtime(case.plan):
        return
    skels = list(elves(case, "skel"))
    folders = {folder_of(file) for file, _ in skels}
    packed = packed_for(case, "hexagon")
    packed |= {e.file.name.lower() for e in case.files if folder_of(e.file) in folders}
    missing = {name: file for file, facts in skels for name in facts.needed if name.lower() not in packed}
    if missing:
        yield Said(
            file=next(iter(missing.values())).path,
            found=f"links to {', '.join(missing)}, not in the package",
            wanted=f"{', '.join(missing)} beside it, copied from the QNX image of this board",
            fix="name a copy of the image's cdsp0 folder as dsp_runtime; or allow it if the device has them",
        )


@rule("HEX242", severity=Severity.ERROR, wish=True)
def right_qnx(case: Case) -> Iterable[Said]:
    """QNX changed its binary interface with SDP 8; the name of the C library tells the two apart."""
    abi = case.plan.abi
    if not abi.c_library:
        return
    for file, facts in elves(case):
        other = _other_c_library(facts, abi.c_library) if facts.machine == abi.machine else []
        if other and not foreign(facts, abi):
            yield Said(
                file=file.path,
                found=f"links to {', '.join(other)}",
                wanted=f"{' or '.join(abi.c_library)}, the C library of {abi.id}",
                fix=f"take {file.name} from the {abi.aliases[0]} folder of QAIRT, or name the other ABI",
            )


@rule("HEX243", severity=Severity.ERROR)
def images_of_what_is_packed(case: Case) -> Iterable[Said]:
    """A build file of the package takes files from the unpacked package, below one variable.

    Other variables lead to files of the SDP or of a board support package.
    """
    packed = {examined.file.path for examined in case.files} | {link.path for link in case.links}
    for examined in case.files:
        if not isinstance(examined.facts, BuildFileFacts):
            continue
        told = [_below_a_variable(entry) for entry in examined.facts.entries]
        ours = {variable for variable, path in filter(None, told) if path in packed}
        missing = [path for variable, path in filter(None, told) if variable in ours and path not in packed]
        if missing:
            yield Said(
                file=examined.file.path,
                found=f"takes {missing[0]}{f' and {len(missing) - 1} more' if len(missing) > 1 else ''}",
                wanted="files of this package",
                fix="write the build file anew for the files that are packed",
            )


@rule("HEX244", severity=Severity.WARNING, stage=Stage.PLAN, wish=True)
def untried_runner(case: Case) -> Iterable[Said]:
    """Where a system's SDK cannot be had, hexrun is made without it, and nobody has seen it start."""
    reservation = untried_runners().get(case.plan.system)
    if reservation:
        yield Said(
            file=MANIFEST,
            found=f"hexrun for {case.plan.abi.id}: {reservation}",
            wanted="a runner that was started on this system",
            fix="try the package on a board before it ships, or start the model through an app of your own; "
            "allow this finding once that was done",
        )


def _below_a_variable(entry: BuildEntry) -> tuple[str, str] | None:
    """(variable, path below it) of a source like `${TREE}/bin/hexrun`; None for links and other sources."""
    if entry.attributes.get("type", "file") != "file" or entry.source is None:
        return None
    variable, slash, path = entry.source.partition("/")
    return (variable, path) if slash and variable.startswith("$") else None


def _other_c_library(facts: ElfFacts, right: tuple[str, ...]) -> list[str]:
    """C libraries of a known ABI that a file links to, other than these."""
    known = {name for abi in catalog.abis().values() for name in abi.c_library}
    return [name for name in facts.needed if name in known - set(right)]
