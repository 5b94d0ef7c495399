"""One QAIRT release over all files: the set stands or falls together.

The four rules divide the ground, so that one wrong file is reported once. A stub and a skel that disagree
are HEX104's; when their build ids do not disagree but the skel's entry symbol does, HEX105's. Any other
file that is not of the set's release is HEX102's, whether it tells its release or only when it was built.
The set's release is the planned one if a single file has it, else the commonest; then the set as a whole is
HEX103's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from packager.facts.types import ElfFacts
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import (
    Library,
    elves,
    libraries,
    newer,
    pairs,
    quarrels,
    same_release,
    vendor_roles,
)
from packager.rules.table import word


def _dated(case: Case) -> list[tuple[Library, str]]:
    return [(library, library.release) for library in libraries(case) if library.release]


def _set_release(case: Case) -> str:
    planned = case.plan.runtime_set.release.build
    found = [release for _, release in _dated(case)]
    if not found or any(same_release(release, planned) for release in found):
        return planned
    return Counter(found).most_common(1)[0][0]


@rule("HEX102", severity=Severity.ERROR)
def one_release(case: Case) -> Iterable[Said]:
    """A file of another release than the rest of the set."""
    release = _set_release(case)
    quarrelling = {library.file.path for stub, skel, _, _ in quarrels(case) for library in (stub, skel)}
    witness = next((lib.file.path for lib, found in _dated(case) if same_release(found, release)), None)
    for library, found in _dated(case):
        if library.file.path in quarrelling or same_release(found, release):
            continue
        yield Said(
            file=library.file.path,
            found=found,
            wanted=f"{release}, as {witness}",
            fix=f"take {library.file.name} from the QAIRT release that the other files came from",
        )
    yield from _of_another_day(case, release, witness)


def _of_another_day(case: Case, release: str, witness: str | None) -> Iterable[Said]:
    """Vendor files that tell no release, only the last number of their build id."""
    built = release.partition("_")[0].split(".")[3:]
    for file, facts in elves(case, *vendor_roles()):
        if built and facts.qairt_stamp and facts.qairt_stamp != built[0]:
            yield Said(
                file=file.path,
                found=f"a build of {facts.qairt_stamp}",
                wanted=f"{release}, as {witness or 'planned'}",
                fix=f"take {file.name} from the QAIRT release that the other files came from",
            )


@rule("HEX103", severity=Severity.ERROR)
def planned_release(case: Case) -> Iterable[Said]:
    """A whole set of another release than the manifest names."""
    planned = case.plan.runtime_set.release
    release = _set_release(case)
    if same_release(release, planned.build):
        return
    of_set = [library for library, found in _dated(case) if same_release(found, release)]
    backend = next((library for library in of_set if library.file.role == "backend"), of_set[0])
    yield Said(
        file=backend.file.path,
        found=f"{release}, in {len(of_set)} files",
        wanted=f"{planned.build}, as [qairt] version {planned.version}",
        fix=f"take the libraries of QAIRT {planned.version}, or name in [qairt] the release that they are of",
    )


@rule("HEX104", severity=Severity.ERROR)
def skel_and_stub_of_one_release(case: Case) -> Iterable[Said]:
    """A stub refuses a skel of another release when the device opens it."""
    release = _set_release(case)
    for stub, skel, of_stub, of_skel in quarrels(case):
        if same_release(of_skel, release):
            wrong, found, right, wanted = stub, of_stub, skel, of_skel
        else:
            wrong, found, right, wanted = skel, of_skel, stub, of_stub
        if same_release(wanted, release):
            fix = f"take {wrong.file.name} from the QAIRT release that {right.file.name} came from"
        else:
            fix = f"take both {stub.file.name} and {skel.file.name} from QAIRT {release}"
        yield Said(file=wrong.file.path, found=found, wanted=f"{wanted}, as {right.file.path}", fix=fix)


@rule("HEX105", severity=Severity.ERROR)
def skel_has_the_entry_that_its_stub_calls(case: Case) -> Iterable[Said]:
    """From a release on, a stub calls its skel by a symbol with the release in its name.

    Releases between `unversioned_until` and `versioned_since` were not seen; a skel without a release in
    its entry is judged only beside a stub that certainly asks for one.
    """
    quarrelling = {skel.file.path for _, skel, _, _ in quarrels(case)}
    for stub, skel in pairs(case):
        asked = stub.release
        if asked is None or skel.file.path in quarrelling or not isinstance(skel.facts, ElfFacts):
            continue
        offered = skel.facts.skel_release
        if offered is None:
            wrong = not newer(word("HEX105", "versioned_since"), asked)
        else:
            wrong = not same_release(offered, asked)
        if wrong:
            yield Said(
                file=skel.file.path,
                found=_entry(offered) if offered else "no entry with a release in its name",
                wanted=f"{_entry(asked)}, which {stub.file.path} calls",
                fix=f"take {skel.file.name} from the QAIRT release that {stub.file.name} came from",
            )


def _entry(release: str) -> str:
    """The entry symbol of a release, `qnn_2_51_0_skel_handle_invoke`."""
    first_three = "_".join(release.lstrip("v").split(".")[:3])
    return word("HEX105", "entry").format(release=first_three)
