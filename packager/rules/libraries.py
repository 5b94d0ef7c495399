"""Libraries: whole, present, for the right processor, and with everything they link to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from packager import catalog
from packager.bundle import BundleFile
from packager.catalog import role_file
from packager.errors import Fault
from packager.facts.types import DamagedFacts, ElfFacts, PeFacts
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import (
    HEXAGON,
    dsp_roles,
    elves,
    foreign,
    libraries,
    misfit,
    misnamed,
    packed_for,
    parents,
    socs_of,
    vendor_roles,
)
from packager.rules.table import host_libraries, word
from packager.versions import numbers

# What is wanted of a file that could not be read, and the way there.
_WAYS_OUT: dict[Fault, tuple[str, str]] = {
    "damaged": (
        "a file that can be read to its end",
        "fetch the file again, and compare its size and sha256 with the original",
    ),
    "encrypted": (
        "a file that can be read without a password",
        "unpack the archive with its password, and audit the folder",
    ),
    "unsafe": (
        "an archive that can be unpacked without harm",
        "pack it again without that member; do not unpack it as it is",
    ),
    "repeated": (
        "one file of this name",
        "pack the archive again; programs disagree whether the first or the last one counts",
    ),
    "unreadable": ("a file that may be read", "get the right to read it, and audit again"),
    "closed": ("a folder that may be read", "get the right to read it; what is in it was not judged"),
}


@rule("HEX101", severity=Severity.ERROR)
def whole_files(case: Case) -> Iterable[Said]:
    """A file that cannot be read to its end. No other rule speaks about it."""
    for examined in case.files:
        if isinstance(examined.facts, DamagedFacts):
            facts = examined.facts
            wanted, fix = _WAYS_OUT[facts.fault]
            yield Said(
                file=examined.file.path,
                found=f"at byte {facts.offset}: {facts.reason}" if facts.fault == "damaged" else facts.reason,
                wanted=wanted,
                fix=fix,
                fault=facts.fault,
            )


@rule("HEX106", severity=Severity.ERROR)
def every_needed_library_once(case: Case) -> Iterable[Said]:
    """What the target's SoCs load has to be there, in one place, and under the very name that is opened."""
    there = defaultdict(list)
    for examined in case.files:
        there[examined.file.role, examined.file.arch].append(examined.file)
    for (role, arch), name in _needed(case).items():
        files = _as_loaded(there[role, arch])
        reason = f"for {socs_of(case.plan, arch)}" if arch else "for every SoC"
        if not files:
            yield Said(
                file=name,
                found="no such file in the package",
                wanted=f"one, {reason}",
                fix=f"add {name} from QAIRT {case.plan.runtime_set.release.version}".rstrip(),
                fault="missing",
                absent=True,
            )
        elif len(files) > 1:
            yield Said(
                file=files[1].path,
                found=f"{len(files)} copies: {', '.join(file.path for file in files)}",
                wanted=f"one, {reason}",
                fix=f"keep {files[0].path} only; which of them is loaded depends on search paths",
                fault="twice",
            )
    yield from _misspelt(case)


def _as_loaded(files: list[BundleFile]) -> list[BundleFile]:
    """The files of one role. Equal ones count as one where each lies in a folder of another DSP."""
    domains = {_domain(file) for file in files}
    equal = len({file.blob.sha256 for file in files}) == 1
    return files[:1] if equal and None not in domains and len(domains) == len(files) else files


def _domain(file: BundleFile) -> str | None:
    """The nearest folder above that is named for a DSP."""
    patterns = word("HEX106", "domains").split()
    return next(
        (
            folder
            for folder in parents(file.path)
            if any(fnmatchcase(folder.rpartition("/")[2].lower(), pattern) for pattern in patterns)
        ),
        None,
    )


def _misspelt(case: Case) -> Iterator[Said]:
    """Loaders open files by their exact names, unless the system ignores capitals."""
    system = case.plan.system
    for examined in case.files:
        file, role = examined.file, vendor_roles().get(examined.file.role)
        if role is None or system not in role.files or system == word("HEX106", "ignores_case"):
            continue
        name = role.files[system].format(arch=file.arch)
        if file.name != name and file.name.lower() == name.lower():
            yield Said(
                file=file.path,
                found=file.name,
                wanted=name,
                fix=f"rename it to {name}",
                fault="letters",
            )


def _needed(case: Case) -> dict[tuple[str, int | None], str]:
    """File name by (role, Hexagon architecture). Catalogues have a rule of their own.

    Somebody else's package without a backend is not expected to bring what goes with one; but one with both
    a stub and its skel needs the backend that opens them.
    """
    plan = case.plan
    if case.inferred and case.one("backend") is None:
        paired = {e.file.arch for e in case.files if e.file.role == "stub" and case.one("skel", e.file.arch)}
        return {("backend", None): role_file("backend", plan.system)} if paired else {}
    needed = {
        (wanted.role, wanted.arch): wanted.name
        for wanted in plan.runtime_set.files
        if wanted.role != "catalogue"
    }
    if not plan.abi.simulator:
        for role in catalog.roles():
            on_unit = role.unit is None or role.unit in plan.compute
            if role.needed == "device" and on_unit and plan.system in role.files:
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
            for_dsp = file.role in dsp_roles()
            folder = f"Hexagon{f' v{arch}' if arch else ''}" if for_dsp else case.plan.abi.id
            yield Said(
                file=file.path,
                found=found,
                wanted=wanted,
                fix=f"take {file.name} from what QAIRT ships for {folder}",
            )


@rule("HEX108", severity=Severity.ERROR)
def right_hexagon(case: Case) -> Iterable[Said]:
    """The architecture in the ELF header of a file for the DSP is the one that its name promises."""
    for file, facts in elves(case, *dsp_roles()):
        if file.arch is not None and misnamed(file, facts):
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
        if foreign(facts, abi):
            yield Said(
                file=file.path,
                found=f"built for {facts.abi}",
                wanted=f"built for {abi.libc}, as {abi.id} asks",
                fix=f"take {file.name} from the {abi.id} folder of QAIRT",
            )


@rule("HEX110", severity=Severity.ERROR)
def old_enough_symbols(case: Case) -> Iterable[Said]:
    """The system must have the symbol versions that its libraries ask for.

    GLIBCXX and CXXABI are both libstdc++'s; the second is named only where the first does not say it.
    """
    abi = case.plan.abi
    for file, facts in elves(case):
        if facts.machine != abi.machine or foreign(facts, abi):
            continue
        too_new = {
            family: (needed, offered)
            for family, needed, offered in (
                ("GLIBC", facts.glibc_needed, abi.glibc),
                ("GLIBCXX", facts.glibcxx_needed, abi.glibcxx),
                ("CXXABI", facts.cxxabi_needed, abi.cxxabi),
            )
            if needed and offered and numbers(needed) > numbers(offered)
        }
        if "GLIBCXX" in too_new:
            too_new.pop("CXXABI", None)
        if too_new:
            needs = " and ".join(f"{family}_{needed}" for family, (needed, _) in too_new.items())
            offers = " and ".join(f"{family}_{offered}" for family, (_, offered) in too_new.items())
            yield Said(
                file=file.path,
                found=f"needs {needs}",
                wanted=f"{offers} or older, the newest of {abi.id}",
                fix=f"take {file.name} built for {abi.id}, or name the ABI of a newer system",
            )


@rule("HEX111", severity=Severity.ERROR)
def everything_linked_to(case: Case) -> Iterable[Said]:
    """Every library that a file links to is in the package or on every system of that kind."""
    plan = case.plan
    for library in libraries(case):
        file, facts = library.file, library.facts
        side = "hexagon" if facts.machine == HEXAGON else "host"
        if isinstance(facts, ElfFacts) and side == "host" and foreign(facts, plan.abi):
            continue
        if side == "hexagon" and file.role not in dsp_roles():
            continue  # the table lists what the vendor's files need
        declared = [row for row in host_libraries() if row.machine == side and plan.system in row.systems]
        if all(row.bundled == "never" for row in declared):
            continue  # the table does not say what this system consists of
        packed = packed_for(case, side)
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
                absent=True,
            )


@rule("HEX116", severity=Severity.ERROR)
def its_own_name(case: Case) -> Iterable[Said]:
    """What a device needs is linked under the name that it has. A skel that is misnamed is HEX108's.

    Of the vendor's other libraries some are shipped under a second name.
    """
    needed = [role.id for role in vendor_roles().values() if role.needed not in ("never", "unit")]
    for library in libraries(case, *needed):
        file, linked_as = library.file, _linked_as(library.facts)
        if linked_as is None or linked_as.lower() == file.name.lower():
            continue
        if file.role in dsp_roles() and isinstance(library.facts, ElfFacts) and misnamed(file, library.facts):
            continue
        yield Said(
            file=file.path,
            found=f"linked as {linked_as}",
            wanted=file.name,
            fix=f"take the {file.name} that QAIRT ships; another library under its name does not do its work",
        )


def _linked_as(facts: ElfFacts | PeFacts) -> str | None:
    """The SONAME, or the name of a DLL as its debug information has it."""
    if isinstance(facts, ElfFacts):
        return facts.soname
    if facts.debug_path is None:
        return None
    stem = facts.debug_path.replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    return f"{stem}.dll" if stem else None


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
