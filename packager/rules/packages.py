"""What is in a package besides what makes it work: dead weight, licences, traces of the build machine."""

from __future__ import annotations

from collections.abc import Iterable

from packager import catalog
from packager.bundle import MODEL_LIBRARY, BundleFile
from packager.plan_model import TargetPlan
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import elves, libraries, soc_of, stand_in, vendor_roles


@rule("HEX501", severity=Severity.WARNING)
def nothing_superfluous(case: Case) -> Iterable[Said]:
    """Files that none of the target's SoCs loads cost space, and sometimes hide the right one."""
    for examined in case.files:
        reason = _superfluous(case.plan, examined.file)
        if reason:
            yield Said(
                file=examined.file.path,
                found=f"{examined.file.blob.size} bytes {reason}",
                wanted="only what the target's SoCs load",
                fix=f"leave {examined.file.name} out, or name the SoC that needs it",
            )


def _superfluous(plan: TargetPlan, file: BundleFile) -> str | None:
    role = vendor_roles().get(file.role)
    if file.role == "context" and soc_of(plan, file) is None:
        return f"for {file.soc or 'no SoC by name'}, which the target does not list"
    if role is None or plan.system not in role.files:
        return None
    if role.needed == "device" and plan.abi.simulator:
        return "for a device, in a package for the simulator"
    if role.needed == "compose" and plan.runtime == "context-binary":
        return "to compose graphs, beside context binaries that are composed already"
    if role.per_arch and file.arch is not None and file.arch not in plan.archs:
        return f"for Hexagon v{file.arch}"
    return None


@rule("HEX502", severity=Severity.WARNING)
def licences_of_vendor_files(case: Case) -> Iterable[Said]:
    """Whoever passes on the vendor's libraries passes on their licence."""
    vendor = [e.file for e in case.files if e.file.role in vendor_roles()]
    if not vendor:
        return
    there = {e.file.name for e in case.files if e.file.role == "licence"}
    planned = {path.rpartition("/")[2] for path in case.plan.runtime_set.licences}
    missing = sorted(planned - there)
    if missing or not there:
        yield Said(
            file=missing[0] if missing else "licence",
            found=f"{len(vendor)} vendor files without {', '.join(missing) or 'any licence text'}",
            wanted="the licence texts that came with them",
            fix="add the licence files of the QAIRT release, or allow this and say how they are delivered",
            absent=True,
        )


@rule("HEX503", severity=Severity.WARNING)
def no_search_outside_the_package(case: Case) -> Iterable[Said]:
    """A search path of the build machine is a trace of it, and on a device an invitation."""
    for file, facts in elves(case):
        outside = [entry for entry in facts.search_path if not entry.startswith(("$ORIGIN", "${ORIGIN}"))]
        if outside:
            yield Said(
                file=file.path,
                found=f"searches {', '.join(outside)}",
                wanted="only folders below its own, written with $ORIGIN",
                fix=f"build {file.name} without an absolute rpath",
            )


@rule("HEX504", severity=Severity.WARNING)
def no_traces_of_the_build_machine(case: Case) -> Iterable[Said]:
    """Paths of the machine that compiled the runner or a model library; the vendor's files all have some."""
    for library in libraries(case, "runner", MODEL_LIBRARY):
        paths = library.facts.build_paths
        if paths:
            yield Said(
                file=library.file.path,
                found=f"holds {paths[0]}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''}",
                wanted="no path of the machine that built it",
                fix=f"compile {library.file.name} with -ffile-prefix-map, or without assertions",
            )


_FOUND = {
    "lfs-pointer": "a text that names a file in Git LFS",
    "html": "a web page",
    "empty": "0 bytes",
    "zeros": "nothing but zeros",
}


@rule("HEX505", severity=Severity.ERROR)
def files_that_are_themselves(case: Case) -> Iterable[Said]:
    """What a download or a checkout left in the place of a file."""
    for examined in case.files:
        found = stand_in(case, examined)
        if found:
            yield Said(
                file=examined.file.path,
                found=_FOUND[found],
                wanted="the file that its name promises",
                fix="run `git lfs pull`, and pack again"
                if found == "lfs-pointer"
                else "fetch the file again, and compare its sha256 with the original",
                fault=found,
            )


@rule("HEX506", severity=Severity.ERROR)
def files_that_their_format_can_hold(case: Case) -> Iterable[Said]:
    """A format of 32-bit sizes cannot hold what is larger; its tool says so minutes later, if at all."""
    rows = [catalog.formats()[package.format] for package in case.plan.packages]
    for row in rows:
        if row.file_most is not None:
            yield from (
                _too_large(row, e.file, row.file_most) for e in case.files if e.file.blob.size > row.file_most
            )
        whole = sum(e.file.blob.size for e in case.files)
        if row.whole_most is not None and whole > row.whole_most:
            yield Said(
                file=f"{row.id} package",
                found=f"{whole} bytes in all",
                wanted=f"at most {row.whole_most} bytes, which is all that the format can count",
                fix=f"remove {row.id} from the formats of this target, or ship the model beside the package",
                absent=True,
            )


def _too_large(row: catalog.FormatRow, file: BundleFile, most: int) -> Said:
    return Said(
        file=file.path,
        found=f"{file.blob.size} bytes",
        wanted=f"at most {most} bytes, which is all that {row.id} can count",
        fix=f"remove {row.id} from the formats of this target, or split the model",
    )
