"""Libraries: whole, present, for the right processor, and with everything they link to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from packager import catalog
from packager.catalog import Abi, role_file
from packager.facts.types import DamagedFacts, ElfFacts, PeFacts
from packager.plan_model import TargetPlan
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import HEXAGON, elves, libraries, misfit, misnamed, socs_of
from packager.rules.table import host_libraries
from packager.versions import numbers


@rule("HEX101", severity=Severity.ERROR)
def whole_files(case: Case) -> Iterable[Said]:
    """A file that cannot be read to its end. No other rule speaks about it."""
    for examined in case.files:
        if isinstance(examined.facts, DamagedFacts):
            yield Said(
                file=examined.file.path,
                found=f"at byte {examined.facts.offset}: {examined.facts.reason}",
                wanted="a file that can be read to its end",
                fix="fetch the file again, and compare its size and sha256 with the original",
            )


@rule("HEX106", severity=Severity.ERROR)
def every_needed_library_once(case: Case) -> Iterable[Said]:
    """What the target's SoCs load has to be there, and in one place only."""
    there = defaultdict(list)
    for examined in case.files:
        there[examined.file.role, examined.file.arch].append(examined.file.path)
    for (role, arch), name in _needed(case.plan).items():
        paths = there[role, arch]
        reason = f"for {socs_of(case.plan, arch)}" if arch else "for every SoC"
        if not paths:
            yield Said(
                file=name,
                found="no such file in the package",
                wanted=f"one, {reason}",
                fix=f"add {name} from QAIRT {case.plan.runtime_set.release.version}",
            )
        elif len(paths) > 1:
            yield Said(
                file=paths[1],
                found=f"{len(paths)} copies: {', '.join(paths)}",
                wanted=f"one, {reason}",
                fix=f"keep {paths[0]} only; which of them is loaded depends on search paths",
            )


def _needed(plan: TargetPlan) -> dict[tuple[str, int | None], str]:
    """File name by (role, Hexagon architecture). Catalogues have a rule of their own."""
    needed = {
        (wanted.role, wanted.arch): wanted.name
        for wanted in plan.runtime_set.files
        if wanted.role != "catalogue"
    }
    if not plan.abi.simulator:
        for role in catalog.roles():
            if role.needed == "device" and plan.system in role.files:
                needed |= {(role.id, arch): role_file(role.id, plan.system, arch) for arch in plan.archs}
    return needed


@rule("HEX107", severity=Severity.ERROR)
def right_processor(case: Case) -> Iterable[Said]:
    """Skels are for the Hexagon, all else for the CPU of the target."""
    for examined in case.files:
        fault = misfit(case, examined)
        if fault:
            found, wanted = fault
            file, arch = examined.file, examined.file.arch
            folder = f"Hexagon v{arch}" if file.role == "skel" else case.plan.abi.id
            yield Said(
                file=file.path,
                found=found,
                wanted=wanted,
                fix=f"take {file.name} from what QAIRT ships for {folder}",
            )


@rule("HEX108", severity=Severity.ERROR)
def right_hexagon(case: Case) -> Iterable[Said]:
    """The architecture in a skel's ELF header is the one that its name promises."""
    for file, facts in elves(case, "skel"):
        if misnamed(file, facts):
            yield Said(
                file=file.path,
                found=f"v{facts.hexagon_arch}" if facts.hexagon_arch else f"e_flags 0x{facts.flags:x}",
                wanted=f"v{file.arch}, as its name says",
                fix=f"take the {file.name} that QAIRT ships for v{file.arch}; renaming another does not help",
            )


@rule("HEX109", severity=Severity.ERROR)
def right_c_library(case: Case) -> Iterable[Said]:
    """A library built for another C library does not load, whatever its processor."""
    abi = case.plan.abi
    for file, facts in elves(case):
        if _foreign(facts, abi):
            yield Said(
                file=file.path,
                found=f"built for {facts.abi}",
                wanted=f"built for {abi.libc}, as {abi.id} asks",
                fix=f"take {file.name} from the {abi.id} folder of QAIRT",
            )


def _foreign(facts: ElfFacts, abi: Abi) -> bool:
    """Whether a host library is for another C library; one that does not say is not."""
    return facts.machine == abi.machine and facts.abi not in (abi.libc, "unknown")


@rule("HEX110", severity=Severity.ERROR)
def old_enough_symbols(case: Case) -> Iterable[Said]:
    """The system must have the symbol versions that its libraries ask for."""
    abi = case.plan.abi
    for file, facts in elves(case):
        if facts.machine != abi.machine or _foreign(facts, abi):
            continue
        for family, needed, offered in (
            ("GLIBC", facts.glibc_needed, abi.glibc),
            ("GLIBCXX", facts.glibcxx_needed, abi.glibcxx),
        ):
            if needed and offered and numbers(needed) > numbers(offered):
                yield Said(
                    file=file.path,
                    found=f"needs {family}_{needed}",
                    wanted=f"{family}_{offered} or older, the newest of {abi.id}",
                    fix=f"take {file.name} built for {abi.id}, or name the ABI of a newer system",
                )


@rule("HEX111", severity=Severity.ERROR)
def everything_linked_to(case: Case) -> Iterable[Said]:
    """Every library that a file links to is in the package or on every system of that kind."""
    plan = case.plan
    for library in libraries(case):
        file, facts = library.file, library.facts
        side = "hexagon" if file.role == "skel" else "host"
        if isinstance(facts, ElfFacts) and side == "host" and _foreign(facts, plan.abi):
            continue
        declared = [row for row in host_libraries() if row.machine == side and plan.system in row.systems]
        if not declared:
            continue
        packed = _packed(case, side)
        wanted = facts.needed if isinstance(facts, ElfFacts) else facts.imports
        missing = [
            name
            for name in wanted
            if name.lower() not in packed and not any(row.holds(name) for row in declared)
        ]
        if missing:
            yield Said(
                file=file.path,
                found=f"links to {', '.join(missing)}",
                wanted=f"in the package, or part of every {catalog.systems()[plan.system].name} with an NPU",
                fix=f"add {'it' if len(missing) == 1 else 'them'} beside {file.name}",
            )


def _packed(case: Case, side: str) -> set[str]:
    """Names under which the loader of one processor finds packed libraries, in lower case.

    A damaged library counts: that it is damaged has been said.
    """
    names = set()
    for examined in case.files:
        facts = examined.facts
        machine = facts.machine if isinstance(facts, ElfFacts | PeFacts) else None
        if machine is None and not isinstance(facts, DamagedFacts):
            continue
        if (machine == HEXAGON or examined.file.role == "skel") == (side == "hexagon"):
            names.add(examined.file.name.lower())
            if isinstance(facts, ElfFacts) and facts.soname:
                names.add(facts.soname.lower())
    return names


@rule("HEX112", severity=Severity.ERROR)
def nothing_of_the_board(case: Case) -> Iterable[Said]:
    """Some libraries belong to the board's firmware; a second copy breaks what it was meant to help."""
    for examined in case.files:
        rows = [row for row in host_libraries() if case.plan.system in row.systems]
        if any(row.bundled == "never" and row.holds(examined.file.name) for row in rows):
            yield Said(
                file=examined.file.path,
                found="in the package",
                wanted=f"only on the target, from its own {catalog.systems()[case.plan.system].name} image",
                fix=f"leave {examined.file.name} out of the package",
            )
