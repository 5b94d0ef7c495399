"""Which libraries one process loads together: the sets that an SDK or a package for several systems holds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from packager.bundle import FOREIGN, SUPPORT
from packager.facts.types import ElfFacts, PeFacts
from packager.inference.roles import Item, Role

UNTOLD = "unknown"  # the C library of a library that links to nothing
_SYSTEMS = {"glibc": "linux", "musl": "linux", "bionic": "android", "qnx": "qnx", UNTOLD: "linux"}


class Family(NamedTuple):
    """What libraries of one process have in common; `libc` is `msvc` on Windows."""

    system: str
    libc: str
    machine: str


class Group(NamedTuple):
    """Files that belong together: libraries for the CPU, and what lies in their folders for the DSP."""

    family: Family
    paths: frozenset[str]


def groups_of(items: Sequence[Item], roles: dict[str, Role]) -> list[Group]:
    """The sets of host libraries in which the vendor has a part, in the order of their folders.

    A folder is one set, whatever strays into it. Folders of one family are one set too, unless several have
    a backend: then each of these has the folders that are nearest to it.
    """
    folders: dict[str, list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.path):
        if item.for_the_cpu:
            folders[item.folder].append(item)
    families = _told({folder: _family(members, roles) for folder, members in folders.items()})
    of_vendor = {item.folder for item in items if item.for_the_cpu and _is_vendors(roles[item.path])}
    for item in items:
        if roles[item.path].arch is not None and not item.for_the_cpu and item.folder in of_vendor:
            folders[item.folder].append(item)
    return [
        Group(family, frozenset(item.path for folder in together for item in folders[folder]))
        for family in dict.fromkeys(families.values())
        for together in _sets([f for f in families if families[f] == family], folders, roles)
        if any(roles[item.path].id != FOREIGN for folder in together for item in folders[folder])
    ]


def _is_vendors(role: Role) -> bool:
    return role.id not in (FOREIGN, SUPPORT)


def _told(families: dict[str, Family]) -> dict[str, Family]:
    """A folder whose libraries do not say their C library goes with those of its processor that do."""
    known = Counter(family for family in families.values() if family.libc != UNTOLD)
    return {
        folder: family
        if family.libc != UNTOLD
        else max(
            (one for one in known if one.machine == family.machine), key=known.__getitem__, default=family
        )
        for folder, family in families.items()
    }


def _sets(mine: list[str], folders: dict[str, list[Item]], roles: dict[str, Role]) -> Iterator[list[str]]:
    heads = [folder for folder in mine if any(roles[i.path].id == "backend" for i in folders[folder])]
    joined = {head: [head] for head in heads or mine[:1]}
    for folder in mine:
        if folder not in joined:
            joined[max(joined, key=lambda head: _in_common(head, folder))].append(folder)
    yield from joined.values()


def _in_common(one: str, other: str) -> int:
    """How many folders two paths share, from the root on."""
    count = 0
    for a, b in zip(one.split("/"), other.split("/"), strict=False):
        if a != b:
            break
        count += 1
    return count


def _family(members: Sequence[Item], roles: dict[str, Role]) -> Family:
    """What most of a folder's libraries are: of the vendor's if there are any, and of those that say it."""
    of_vendor = [item for item in members if _is_vendors(roles[item.path])]
    found = Counter(family_of(item) for item in of_vendor or members)
    telling = [family for family in found if family.libc != UNTOLD] or list(found)
    return max(sorted(telling), key=lambda family: found[family])


def family_of(item: Item) -> Family:
    """The family of one library for the CPU."""
    facts = item.facts
    if isinstance(facts, PeFacts):
        return Family("windows", "msvc", "ARM64" if facts.machine.startswith("ARM64") else facts.machine)
    if isinstance(facts, ElfFacts):
        return Family(_SYSTEMS[facts.abi], facts.abi, facts.machine)
    raise ValueError(f"{item.path} is no library")
