"""What one operating system asks for. So far that is Windows: a skel needs a signed catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packager import catalog
from packager.bundle import BundleFile
from packager.catalog import role_file
from packager.facts.types import CatalogueFacts, PeFacts
from packager.plan_model import TargetPlan
from packager.rules.core import Case, Said, Severity, Stage, rule
from packager.rules.reading import elves, folder_of, libraries, misnamed, quarrels, socs_of, vendor_roles
from packager.rules.table import signers, word


def _asks_for_catalogues(plan: TargetPlan) -> bool:
    return plan.system in vendor_roles()["catalogue"].files and not plan.abi.simulator


def _archs_with_catalogue(plan: TargetPlan) -> set[int]:
    """Hexagon architectures for which the planned release has a catalogue, as far as the tables know."""
    known = catalog.runtime_set(plan.runtime_set.release.version, plan.abi.id)
    planned = {file.arch for file in plan.runtime_set.files if file.role == "catalogue" and file.arch}
    return planned | set(known.catalogues if known else ())


def _catalogues(case: Case) -> Iterator[tuple[BundleFile, CatalogueFacts]]:
    for examined in case.files:
        if isinstance(examined.facts, CatalogueFacts):
            yield examined.file, examined.facts


@rule("HEX201", severity=Severity.ERROR)
def catalogue_beside_its_skel(case: Case) -> Iterable[Said]:
    """Windows looks for the catalogue of a skel in the skel's folder."""
    for skel, catalogue in _without_catalogue(case):
        name = role_file("catalogue", case.plan.system, skel.arch)
        yield Said(
            file=skel.path,
            found=f"its catalogue is {catalogue.path}" if catalogue else f"no {name} in the package",
            wanted=f"{name} in the same folder",
            fix=f"put the {name} of the skel's QAIRT release beside {skel.name}, both unchanged",
            absent=catalogue is None,
        )


def _without_catalogue(case: Case) -> Iterator[tuple[BundleFile, BundleFile | None]]:
    """Skels without their catalogue beside them, and where that is."""
    if not _asks_for_catalogues(case.plan):
        return
    for skel, _ in elves(case, "skel"):
        if skel.arch in _archs_with_catalogue(case.plan):
            catalogue = case.one("catalogue", skel.arch)
            if catalogue is None or folder_of(catalogue.file) != folder_of(skel):
                yield skel, catalogue.file if catalogue else None


@rule("HEX202", severity=Severity.ERROR)
def catalogue_names_its_skel(case: Case) -> Iterable[Said]:
    """A catalogue vouches for one digest; a skel with another is as good as unsigned.

    A skel of another release or architecture is no news here: HEX104 and HEX108 have said so.
    """
    if not _asks_for_catalogues(case.plan):
        return
    of_other_release = {skel.file.path for _, skel, _, _ in quarrels(case)}
    skels = {
        file.arch: file
        for file, facts in elves(case, "skel")
        if not misnamed(file, facts) and file.path not in of_other_release
    }
    for file, facts in _catalogues(case):
        skel = skels.get(file.arch)
        digests = [member.sha256 for member in facts.members if member.sha256]
        if skel is not None and skel.blob.sha256 not in digests:
            yield Said(
                file=skel.path,
                found=f"sha256 {skel.blob.sha256}",
                wanted=f"{' or '.join(digests) or 'no sha256 at all'}, as {file.path} says",
                fix=f"take {skel.name} and {file.name} from one QAIRT release, and change neither",
            )


@rule("HEX203", severity=Severity.ERROR)
def catalogue_is_signed(case: Case) -> Iterable[Said]:
    """An unsigned or altered catalogue vouches for nothing."""
    for file, facts in _catalogues(case):
        if _asks_for_catalogues(case.plan) and not facts.signature_valid:
            yield Said(
                file=file.path,
                found=facts.problem or "no valid signature",
                wanted="a signature that covers the whole catalogue",
                fix=f"take {file.name} as QAIRT ships it; one made by an own build has to be signed first",
            )


@rule("HEX204", severity=Severity.ERROR)
def catalogue_signer(case: Case) -> Iterable[Said]:
    """Windows accepts catalogues for the NPU from one signer."""
    wanted = [row.name for row in signers() if row.what == "catalogue" and row.system == case.plan.system]
    for file, facts in _catalogues(case):
        if _asks_for_catalogues(case.plan) and facts.signature_valid and facts.signer not in wanted:
            yield Said(
                file=file.path,
                found=f"signed by {facts.signer}",
                wanted=f"signed by {' or '.join(wanted)}",
                fix=f"take {file.name} from a released QAIRT, not from a build before its certification",
            )


@rule("HEX205", severity=Severity.WARNING, stage=Stage.PLAN)
def catalogue_is_known(case: Case) -> Iterable[Said]:
    """For some architectures no release has a catalogue; that can only be tried on the device."""
    if not _asks_for_catalogues(case.plan):
        return
    known = _archs_with_catalogue(case.plan)
    have = ", ".join(f"v{arch}" for arch in sorted(known)) or "none"
    for arch in case.plan.archs:
        if arch not in known:
            yield Said(
                file=role_file("skel", case.plan.system, arch),
                found=f"catalogues in QAIRT {case.plan.runtime_set.release.version} known for: {have}",
                wanted=f"one for v{arch} ({socs_of(case.plan, arch)})",
                fix="try the package on such a device before it ships, then allow this finding",
            )


@rule("HEX206", severity=Severity.WARNING)
def catalogues_on_windows_only(case: Case) -> Iterable[Said]:
    """Elsewhere a catalogue is dead weight, and a sign that a folder was copied whole."""
    where = ", ".join(catalog.systems()[system].name for system in vendor_roles()["catalogue"].files)
    for file, _ in _catalogues(case):
        if not _asks_for_catalogues(case.plan):
            yield Said(
                file=file.path,
                found=f"a catalogue in a package for {catalog.systems()[case.plan.system].name}",
                wanted=f"catalogues only in packages for {where}",
                fix=f"leave {file.name} out",
            )


@rule("HEX207", severity=Severity.ERROR)
def signed_libraries_unaltered(case: Case) -> Iterable[Said]:
    """A signature that does not fit its file says that the file was changed after it was signed."""
    for examined in case.files:
        if isinstance(examined.facts, PeFacts) and examined.facts.signature_valid is False:
            yield Said(
                file=examined.file.path,
                found=f"the signature of {examined.facts.signer or 'its signer'} does not fit the file",
                wanted="a file as it was signed, or an unsigned one",
                fix=f"take {examined.file.name} from its origin again, and sign only after the last change",
            )


@rule("HEX209", severity=Severity.WARNING)
def one_folder_on_windows(case: Case) -> Iterable[Said]:
    """Stub and skel lie beside the backend; a skel that was torn from its catalogue is HEX201's.

    An SDK, from which packages are made, keeps its skels in folders of their own.
    """
    backend = case.one("backend")
    if backend is None or not _asks_for_catalogues(case.plan):
        return
    torn = {skel.path for skel, _ in _without_catalogue(case)}
    for library in libraries(case, "stub", "skel"):
        file = library.file
        if case.inferred and folder_of(file).endswith(word("HEX209", "sdk_folder").format(arch=file.arch)):
            continue
        if folder_of(file) != folder_of(backend.file) and file.path not in torn:
            yield Said(
                file=file.path,
                found=f"in {folder_of(file) or 'the top folder'}",
                wanted=f"beside {backend.file.path}",
                fix=f"put {file.name} into the folder of {backend.file.name}, a skel with its catalogue",
            )
