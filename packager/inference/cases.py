"""Cases for groups of files, each with the plan that somebody must have had who put them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from packager import catalog
from packager.bundle import MODEL_LIBRARY, BundleFile, BundleLink
from packager.catalog import Abi, Release, Soc
from packager.facts.config_types import AndroidManifestFacts, EnvironmentFacts
from packager.facts.types import ContextFacts, DlcFacts, ElfFacts, PeFacts
from packager.inference.groups import UNTOLD, Family, Group, groups_of
from packager.inference.roles import Item, Role, roles_of
from packager.manifest_model import Model, Package
from packager.manifest_schema import default_abis, defaults
from packager.manifest_sources import PathSource
from packager.plan_model import RuntimePlan, TargetPlan
from packager.rules.core import Case, Examined
from packager.versions import numbers

_READ_OFF = "read off the files"

# Rules look at files, SoCs and releases; who ships them is known to nobody.
_PACKAGE = Package(
    name="audited",
    version="0",
    vendor="unknown",
    license="unknown",
    description=_READ_OFF,
    maintainer="unknown <unknown@unknown.invalid>",
)


class Asks(NamedTuple):
    """What the user says because the files do not: the SoCs and the ABI that they are meant for."""

    socs: tuple[Soc, ...] = ()
    abi: Abi | None = None


def infer(
    name: str, items: Sequence[Item], links: Iterable[BundleLink] = (), asks: Asks | None = None
) -> tuple[Case, ...]:
    """A case for each set of host libraries among the files, or one for all files if there is no such set.

    `name` is what was audited; it labels the findings.
    """
    asks = asks or Asks()
    roles = roles_of(items)
    groups = groups_of(items, roles)
    links = tuple(sorted(links, key=lambda link: link.path))
    if not groups:
        return (_case(name, None, items, roles, links, asks),)
    grouped = frozenset[str]().union(*(group.paths for group in groups))
    cases = []
    for group in groups:
        shared = [item for item in items if item.path not in grouped]
        if len(groups) > 1:
            shared = [item for item in shared if _is_for(group, item, items, roles)]
        mine = [item for item in items if item.path in group.paths] + shared
        case = _case(name, group.family, mine, roles, links, asks)
        label = name if len(groups) == 1 else f"{name} ({_where(group.paths) or case.plan.abi.id})"
        cases.append(case.model_copy(update={"plan": case.plan.model_copy(update={"label": label})}))
    return tuple(cases)


def _is_for(group: Group, item: Item, items: Sequence[Item], roles: dict[str, Role]) -> bool:
    """Whether a file apart from all sets is of use to this one: what the DSP loads is for its stubs."""
    role = roles[item.path]
    if role.arch is None:
        return True
    stubs = {
        roles[one.path].arch for one in items if one.path in group.paths and roles[one.path].id == "stub"
    }
    vendor = next(row for row in catalog.roles() if row.id == role.id)
    return role.arch in stubs and group.family.system in vendor.files


def _where(paths: Iterable[str]) -> str:
    """The folder in which most of a set lies."""
    return Counter(path.rpartition("/")[0] for path in sorted(paths)).most_common(1)[0][0]


def _case(
    name: str,
    family: Family | None,
    items: Sequence[Item],
    roles: dict[str, Role],
    links: tuple[BundleLink, ...],
    asks: Asks,
) -> Case:
    abi = asks.abi or _abi(family, items)
    socs = _socs(items, roles, asks)
    plan = TargetPlan.model_validate(
        defaults()["defaults"]
        | {
            "label": name,
            "package": _PACKAGE,
            "system": abi.system,
            "abi": abi,
            "socs": socs,
            "runtime": _runtime(items, roles, abi),
            "precision": "as-is",
            "model": Model(source=PathSource(path=_READ_OFF), precision="as-is"),
            "runtime_set": RuntimePlan(release=_release(items), files=()),
            "packages": (),
            "formats": defaults()["formats"],
        }
    )
    files = tuple(
        Examined(
            file=BundleFile(
                path=item.path,
                role=roles[item.path].id,
                blob=item.blob,
                local=Path(item.path),
                arch=roles[item.path].arch,
                soc=_soc_of(item, socs),
                origin=_READ_OFF,
            ),
            facts=item.facts,
        )
        for item in items
    )
    return Case(plan=plan, files=files, links=links, inferred=True)


def _abi(family: Family | None, items: Sequence[Item]) -> Abi:
    """The ABI of the tables whose name is in a path, else the family's with the newest C library."""
    if family is None or family.libc == UNTOLD:
        usual = catalog.abis()[default_abis()["linux"]]
        machine = family.machine if family else usual.machine
        scripts = {item.facts.dialect for item in items if isinstance(item.facts, EnvironmentFacts)}
        if any(isinstance(item.facts, AndroidManifestFacts) for item in items):
            family = Family("android", "bionic", machine)
        elif family is None and scripts == {"batch"}:
            usual = catalog.abis()[default_abis()["windows"]]
            family = Family(usual.system, usual.libc, usual.machine)
        else:
            family = family or Family(usual.system, usual.libc, machine)
    known = [abi for abi in catalog.abis().values() if (abi.system, abi.libc, abi.machine) == family]
    folders = {part for item in items for part in item.folder.split("/")}
    named = [abi for abi in known if folders & {abi.id, *abi.aliases}]
    linked = {name for item in items for name in item.linked}
    fitting = [abi for abi in named or known if not abi.c_library or linked & set(abi.c_library)]
    if found := fitting or named or known:
        return max(found, key=lambda abi: numbers(abi.glibc or "0"))
    with_npu = {abi.machine for abi in catalog.abis().values() if not abi.simulator}
    return Abi(
        id=f"{family.machine.lower()}-{family.libc}",
        system=family.system,
        machine=family.machine,
        arch=family.machine.lower(),
        libc=family.libc,
        simulator=family.machine not in with_npu,
        source=_READ_OFF,
    )


def _socs(items: Sequence[Item], roles: dict[str, Role], asks: Asks) -> tuple[Soc, ...]:
    """The SoCs that contexts name, else one for each Hexagon architecture that stubs and skels are for."""
    if asks.socs:
        return asks.socs
    contexts = [item.facts for item in items if isinstance(item.facts, ContextFacts)]
    numbered = {facts.soc_model for facts in contexts if facts.soc_model}
    named = tuple(
        next(soc for soc in catalog.socs() if soc.soc_model == number)
        for number in sorted(numbered & {soc.soc_model for soc in catalog.socs()})
    )
    covered = {soc.hexagon for soc in named}
    archs = {facts.hexagon_arch for facts in contexts if facts.hexagon_arch}
    if not contexts:
        loaded = {role.id for role in catalog.roles() if role.needed == "device"}
        archs = {role.arch for item in items if (role := roles[item.path]).arch and role.id in loaded}
    return named + tuple(_any_soc(arch) for arch in sorted(archs - covered))


def _any_soc(arch: int) -> Soc:
    """Stands for whichever SoC has this architecture."""
    return Soc(id=f"v{arch}", soc_model=0, hexagon=arch, source=_READ_OFF)


def _soc_of(item: Item, socs: Sequence[Soc]) -> str | None:
    facts = item.facts
    if not isinstance(facts, ContextFacts):
        return None
    for soc in socs:
        if facts.soc_model and facts.soc_model in (soc.soc_model, *soc.accepts):
            return soc.id
    return next((soc.id for soc in socs if soc.hexagon == facts.hexagon_arch), None)


def _runtime(items: Sequence[Item], roles: dict[str, Role], abi: Abi) -> str:
    kinds = {type(item.facts) for item in items}
    if ContextFacts in kinds:
        return "context-binary"
    if any(roles[item.path].id == MODEL_LIBRARY for item in items):
        return "model-library"
    return "dlc" if DlcFacts in kinds else catalog.systems()[abi.system].runtimes[-1]


def _release(items: Sequence[Item]) -> Release:
    """The release of most libraries, from the tables if they know it; an empty one where none says."""
    builds = [
        build
        for item in items
        if isinstance(item.facts, ElfFacts | PeFacts)
        and (build := item.facts.qairt_build or item.facts.qairt_release)
    ]
    if not builds:
        return Release(version="", build="", core_api="", backend_api="", source=_READ_OFF)
    build = max(sorted(set(builds)), key=builds.count)
    version = ".".join(map(str, numbers(build)[:3]))
    known = catalog.releases().get(version)
    if known and known.build == build:
        return known
    return Release(version=version, build=build, core_api="", backend_api="", source=_READ_OFF)
