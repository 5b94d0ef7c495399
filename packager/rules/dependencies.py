"""What the libraries of a package need from the DSP, from FastRPC and from each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from packager.facts.types import ElfFacts
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import (
    HEXAGON,
    elves,
    folder_of,
    misfit,
    of_the_board,
    per_arch_roles,
    socs_of,
)
from packager.rules.table import host_libraries


def _of_dsp_runtime(name: str) -> bool:
    """Whether skels look for a library of this name in the board's own DSP folder."""
    return any(row.machine == "hexagon" and row.holds(name) for row in host_libraries())


@rule("HEX113", severity=Severity.ERROR)
def runtime_beside_a_skel_is_for_the_dsp(case: Case) -> Iterable[Said]:
    """Beside a skel, a library by the name of the DSP's runtime that no host library needs is for the DSP."""
    skels = {folder_of(file): file for file, _ in elves(case, "skel")}
    on_host = {
        name
        for examined in case.files
        if isinstance(examined.facts, ElfFacts) and not _of_dsp_runtime(examined.file.name)
        if examined.facts.machine != HEXAGON
        for name in examined.facts.needed
    }
    for examined in case.files:
        file, facts = examined.file, examined.facts
        if not isinstance(facts, ElfFacts) or facts.machine == HEXAGON or misfit(case, examined):
            continue
        if _of_dsp_runtime(file.name) and file.name not in on_host and folder_of(file) in skels:
            yield Said(
                file=file.path,
                found=f"{facts.machine}, {facts.bits} bit, beside {skels[folder_of(file)].name}",
                wanted=f"{HEXAGON}, 32 bit, as the skel that links to it",
                fix=f"copy {file.name} from the DSP folder of the board's image, not from a toolchain",
            )


@rule("HEX114", severity=Severity.WARNING)
def one_name_for_fastrpc(case: Case) -> Iterable[Said]:
    """A set that asks for the board's FastRPC library by two names needs a board that has both."""
    linked_here = {link.path.rpartition("/")[2] for link in case.links}
    askers: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file, facts in elves(case):
        for name in facts.needed:
            if name not in linked_here and of_the_board(name, case.plan.system):
                askers[name.partition(".so")[0]][name].append(file.path)
    for names in askers.values():
        counts = Counter({name: len(files) for name, files in names.items()})
        common = counts.most_common(1)[0][0]
        for name in sorted(names.keys() - {common}):
            yield Said(
                file=names[name][0],
                found=f"links to {name}",
                wanted=f"{common}, as {names[common][0]}",
                fix="take all files as the release ships them, or change the name in all of them alike",
            )


@rule("HEX115", severity=Severity.ERROR)
def dsp_libraries_old_enough(case: Case) -> Iterable[Said]:
    """A Hexagon runs code of its own architecture and of older ones.

    Every SoC needs the DSP's runtime; of other libraries only what no SoC of the target can run is at fault.
    """
    archs = case.plan.archs
    copies = defaultdict(list)
    for file, facts in elves(case):
        if facts.machine == HEXAGON and facts.hexagon_arch and file.role not in per_arch_roles():
            copies[file.name].append((facts.hexagon_arch, file))
    for name, files in copies.items():
        oldest, file = min(files, key=lambda pair: pair[0])
        for_whom = archs if _of_dsp_runtime(name) else archs[-1:]
        unserved = [arch for arch in for_whom if arch < oldest]
        if unserved:
            yield Said(
                file=file.path,
                found=f"Hexagon v{oldest}",
                wanted=f"v{unserved[0]} or older, for {socs_of(case.plan, unserved[0])}",
                fix=f"take {name} from the board with the oldest Hexagon, or split the target",
            )
