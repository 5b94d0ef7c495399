"""What several rules read out of a case.

One fault is to give one finding, so rules stand in an order of precedence: a damaged file is HEX101's and
nobody else's, one that stands for another HEX505's, a file of the wrong kind HEX107's, and `libraries` hands
out only what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from packager import catalog
from packager.bundle import DSP_LIBRARY, FOREIGN, BundleFile
from packager.catalog import Abi, Soc
from packager.facts.stand_in import StandIn
from packager.facts.types import ContextFacts, DamagedFacts, DlcFacts, ElfFacts, OtherFacts, PeFacts
from packager.plan_model import TargetPlan
from packager.rules.core import Case, Examined
from packager.rules.table import host_libraries, texts, word
from packager.versions import numbers

HEXAGON = "HEXAGON"  # as ElfFacts.machine says it
MANIFEST = "manifest"  # stands for a file's name where the fault is in what was asked for


class Library(NamedTuple):
    """A staged library or program whose bytes could be read and that is for the right processor."""

    file: BundleFile
    facts: ElfFacts | PeFacts

    @property
    def release(self) -> str | None:
        """The QAIRT release it names: the whole build id where it has one, else three numbers."""
        return self.facts.qairt_build or self.facts.qairt_release


def same_release(one: str, other: str) -> bool:
    """Whether two releases agree as far as both of them say."""
    a, b = numbers(one), numbers(other)
    shared = min(len(a), len(b))
    return a[:shared] == b[:shared]


def newer(one: str, other: str) -> bool:
    """Whether the first release is newer, compared as far as both of them say."""
    a, b = numbers(one), numbers(other)
    shared = min(len(a), len(b))
    return a[:shared] > b[:shared]


def vendor_roles() -> dict[str, catalog.Role]:
    """The roles of vendor files by id."""
    return {role.id: role for role in catalog.roles()}


def dsp_roles() -> tuple[str, ...]:
    """The roles of vendor files that the DSP loads."""
    return tuple(role.id for role in catalog.roles() if role.machine == "hexagon")


def per_arch_roles() -> tuple[str, ...]:
    """The roles of vendor files whose names say which Hexagon they are for."""
    return tuple(role.id for role in catalog.roles() if role.per_arch)


def folder_of(file: BundleFile) -> str:
    """The folder of a file inside the package; empty at the top."""
    return file.path.rpartition("/")[0]


def parents(path: str) -> Iterator[str]:
    """The folders above a path, the nearest first, without the top."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def on_npu(plan: TargetPlan) -> bool:
    """Whether the target means to use the NPU at all."""
    return "npu" in plan.compute


def socs_of(plan: TargetPlan, arch: int) -> str:
    """The plan's SoCs of one Hexagon architecture, in words."""
    return ", ".join(soc.id for soc in plan.socs if soc.hexagon == arch)


def soc_of(plan: TargetPlan, file: BundleFile) -> Soc | None:
    """The SoC that a model file is for: the one it is marked with, or the target's only one."""
    if file.soc is None:
        return plan.socs[0] if len(plan.socs) == 1 else None
    return next((soc for soc in plan.socs if soc.id == file.soc), None)


def stand_in(case: Case, examined: Examined) -> StandIn | None:
    """What a file is whose name promises something else; HEX505 speaks of it, and no other rule."""
    facts = examined.facts
    if not isinstance(facts, OtherFacts) or facts.stand_in is None:
        return None
    if facts.stand_in == "lfs-pointer":
        return facts.stand_in
    name = examined.file.name.lower()
    promises = any(fnmatchcase(name, pattern) for pattern in word("HEX505", "names").split())
    data = any(fnmatchcase(name, pattern) for pattern in word("HEX505", "data").split())
    if not promises or (data and facts.stand_in == "zeros"):
        return None
    return facts.stand_in if _for_the_npu(case) else None


def _for_the_npu(case: Case) -> bool:
    """Whether any file of the case is the vendor's, or a model for its backends."""
    return any(
        e.file.role in vendor_roles() or isinstance(e.facts, ContextFacts | DlcFacts) for e in case.files
    )


def misfit(case: Case, examined: Examined) -> tuple[str, str] | None:
    """(found, wanted) when a readable file is not for the processor that its role needs."""
    facts = examined.facts
    wanted = _processor(case.plan, examined)
    if wanted is None or isinstance(facts, DamagedFacts) or stand_in(case, examined):
        return None
    machine, bits = wanted
    if isinstance(facts, ElfFacts):
        right = (facts.machine, facts.bits) == wanted
        found = f"{facts.machine}, {facts.bits} bit"
    elif isinstance(facts, PeFacts):
        right = facts.machine in (machine, texts()["HEX107"].given.get(machine))
        found = facts.machine
    else:
        right, found = False, "no library or program"
    return None if right else (found, f"{machine}, {bits} bit")


def _processor(plan: TargetPlan, examined: Examined) -> tuple[str, int] | None:
    role = vendor_roles().get(examined.file.role)
    if examined.file.role in (DSP_LIBRARY, FOREIGN):
        return None
    if role is not None:
        side = role.machine
    elif examined.file.role == "runner" or isinstance(examined.facts, ElfFacts | PeFacts):
        side = "host"
    else:
        return None
    return {"host": (plan.abi.machine, 64), "hexagon": (HEXAGON, 32), "any": None}[side]


def libraries(case: Case, *roles: str) -> Iterator[Library]:
    """Readable libraries and programs for the right processor; of all our roles when none is named."""
    for examined in case.files:
        facts = examined.facts
        if examined.file.role not in roles if roles else examined.file.role == FOREIGN:
            continue
        if isinstance(facts, ElfFacts | PeFacts) and misfit(case, examined) is None:
            yield Library(examined.file, facts)


def elves(case: Case, *roles: str) -> Iterator[tuple[BundleFile, ElfFacts]]:
    """The ELF files among `libraries`."""
    for library in libraries(case, *roles):
        if isinstance(library.facts, ElfFacts):
            yield library.file, library.facts


def foreign(facts: ElfFacts, abi: Abi) -> bool:
    """Whether a host library is for another C library; one that does not say is not."""
    return facts.machine == abi.machine and facts.abi not in (abi.libc, "unknown")


def packed_for(case: Case, side: str) -> set[str]:
    """Names under which the loader of one processor finds packed libraries, in lower case.

    A library that cannot be read or was not fetched counts, and a link to nothing: other rules say so.
    """
    names = {link.path.rpartition("/")[2].lower() for link in case.links}
    for examined in case.files:
        facts = examined.facts
        machine = facts.machine if isinstance(facts, ElfFacts | PeFacts) else None
        if machine is None and not isinstance(facts, DamagedFacts) and not stand_in(case, examined):
            continue
        if (machine == HEXAGON or examined.file.role == "skel") == (side == "hexagon"):
            names.add(examined.file.name.lower())
            if isinstance(facts, ElfFacts) and facts.soname:
                names.add(facts.soname.lower())
    return names


def of_the_board(name: str, system: str) -> bool:
    """Whether a library for the CPU is half of the board's own driver, which no package may bring."""
    return any(
        row.bundled == "never" and row.machine == "host" and system in row.systems and row.holds(name)
        for row in host_libraries()
    )


def quarrels(case: Case) -> Iterator[tuple[Library, Library, str, str]]:
    """(stub, skel, release of the stub, release of the skel) where the two disagree."""
    for stub, skel in pairs(case):
        ours, theirs = stub.release, skel.release
        if ours and theirs and not same_release(ours, theirs):
            yield stub, skel, ours, theirs


def misnamed(file: BundleFile, facts: ElfFacts) -> bool:
    """Whether a skel's own architecture is another than the one it is packed for."""
    return facts.hexagon_arch != file.arch


def pairs(case: Case) -> Iterator[tuple[Library, Library]]:
    """(stub, skel) of every Hexagon architecture that has both."""
    skels = {skel.file.arch: skel for skel in libraries(case, "skel")}
    for stub in libraries(case, "stub"):
        if stub.file.arch in skels:
            yield stub, skels[stub.file.arch]
