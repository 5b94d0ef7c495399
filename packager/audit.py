"""Judges what somebody else put together: an archive, a folder or an SDK, file by file.

The files are read as they come out of their archive, one at a time, and only their facts are kept.
"""

from __future__ import annotations

from pathlib import Path

from packager.bundle import FOREIGN, BundleLink
from packager.errors import UnreadableFile
from packager.facts.identify import examine
from packager.facts.reading import check_place
from packager.facts.tree import INSIDE, examine_tree
from packager.facts.types import ArchiveFacts, DamagedFacts
from packager.files import Blob, digest
from packager.inference import Asks, Item, infer
from packager.model import Frozen
from packager.rules.core import Case, Finding, Stage, judge
from packager.rules.reading import vendor_roles

_UNKNOWN = Blob(sha256="", size=0)  # of a member that could not be unpacked


class AuditedFile(Frozen):
    """A file that was found, with the role it was given. `size` is in bytes."""

    path: str
    role: str
    kind: str
    size: int
    sha256: str

    @property
    def judged(self) -> bool:
        """Whether it matters by itself, and not only as something that others need."""
        return self.role not in (FOREIGN, "document", "archive", "licence")


class AuditedSet(Frozen):
    """One set of libraries, with all that goes with it, and what the rules say about it.

    `release` is the QAIRT release of most of its libraries; `socs` are the SoCs of its contexts, or `v73` for
    each Hexagon architecture that it has libraries for. Both are empty where no file says it.
    """

    label: str
    system: str
    abi: str
    release: str
    socs: tuple[str, ...]
    files: tuple[AuditedFile, ...]
    findings: tuple[Finding, ...]


class Audit(Frozen):
    """What was found in one archive or folder. `refused` is whether any finding is an error.

    `judged` counts the files that a rule looks at: none of them means that the verdict is worth nothing.
    """

    path: str
    refused: bool
    judged: int
    sets: tuple[AuditedSet, ...]


def audit(path: Path, asks: Asks | None = None) -> Audit:
    """Read everything in an archive or a folder, and judge it.

    A damaged archive is a finding. Raises InputUnavailable when there is nothing there, UnreadableFile for a
    folder that exceeds the limits of archives.
    """
    items, links = _contents(path)
    cases = infer(path.name or str(path), items, links, asks)
    sets = tuple(_judged(case, on_known_system=bool(asks and asks.abi)) for case in cases)
    findings = [finding for one in sets for finding in one.findings]
    return Audit(
        path=str(path),
        refused=any(finding.refuses for finding in findings),
        judged=len({file.path for one in sets for file in one.files if file.judged}) or len(findings),
        sets=sets,
    )


def _judged(case: Case, *, on_known_system: bool) -> AuditedSet:
    """A set with its findings. Models alone do not say for which system they are, unless the user does."""
    plan = case.plan
    on_known_system |= any(examined.file.role in vendor_roles() for examined in case.files)
    early = judge(case, Stage.PLAN) if on_known_system else ()
    return AuditedSet(
        label=plan.label,
        system=plan.system,
        abi=plan.abi.id,
        release=plan.runtime_set.release.build,
        socs=tuple(soc.id for soc in plan.socs),
        files=tuple(
            AuditedFile(
                path=examined.file.path,
                role=examined.file.role,
                kind=examined.facts.kind,
                size=examined.file.blob.size,
                sha256=examined.file.blob.sha256,
            )
            for examined in case.files
        ),
        findings=early + judge(case, Stage.FILES),
    )


def _contents(path: Path) -> tuple[list[Item], list[BundleLink]]:
    """Files and links by their paths below what is audited; an archive in an archive counts as a folder."""
    check_place(path)
    if path.is_file() and not isinstance(facts := examine(path), ArchiveFacts):
        return [Item(path.name, digest(path), facts)], []
    items: dict[str, Item] = {}
    links: list[BundleLink] = []
    try:
        for found in examine_tree(path, "", digests=True):
            name = found.name.removeprefix(INSIDE).replace(INSIDE, "/")
            if found.about.link is not None:
                links.append(BundleLink(path=name, target=found.about.link))
            elif found.facts is not None:
                item = Item(name, found.blob or _UNKNOWN, found.facts)
                known = items.setdefault(name, item)
                if known.blob != item.blob:
                    items[name] = _repeated(known)
    except UnreadableFile as error:
        if path.is_dir():
            raise
        return [Item(path.name, digest(path), DamagedFacts.of(error))], []
    return list(items.values()), links


def _repeated(item: Item) -> Item:
    reason = "another file of this name is in the archive, with other bytes"
    return item._replace(facts=DamagedFacts(offset=0, reason=reason, fault="repeated"))
