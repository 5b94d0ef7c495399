"""What a Linux package must not carry: links to nowhere, and files where the board keeps its own."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from fnmatch import fnmatchcase

from packager.bundle import BundleLink
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.table import firmware_folders, host_libraries


def _destination(link: BundleLink) -> str:
    """Where a link leads, as a path from the package's root; `..` in front where it leaves the package."""
    if link.target.startswith("/"):
        return link.target
    return posixpath.normpath(posixpath.join(posixpath.dirname(link.path), link.target))


def _leaves(destination: str) -> bool:
    return destination.startswith("/") or destination.partition("/")[0] == ".."


def _there(case: Case, destination: str) -> bool:
    """Whether the package has a file, link or folder there; `/` is any folder at which a root may begin."""
    paths = (*(e.file.path for e in case.files), *(link.path for link in case.links))
    if destination.startswith("/"):
        return any(f"{destination}/" in f"/{path}/" for path in paths)
    return destination == "." or any(f"{path}/".startswith(f"{destination}/") for path in paths)


@rule("HEX231", severity=Severity.ERROR)
def links_lead_somewhere(case: Case) -> Iterable[Said]:
    """A link inside the package to a file that the package does not have."""
    for link in case.links:
        destination = _destination(link)
        if not _leaves(destination) and not _there(case, destination):
            yield Said(
                file=link.path,
                found=f"a link to {link.target}, which is not in the package",
                wanted="a link to a file of the package",
                fix=f"add {destination}, or remove the link",
                absent=True,
            )


@rule("HEX232", severity=Severity.WARNING)
def links_stay_inside(case: Case) -> Iterable[Said]:
    """A link out of the package leads to whatever the device has there.

    A name for a library that every board brings is no fault: some boards have it under another name only.
    """
    for link in case.links:
        destination = _destination(link)
        name = posixpath.basename(destination)
        brought = any(row.holds(name) for row in host_libraries() if case.plan.system in row.systems)
        if _leaves(destination) and not brought and not _there(case, destination):
            yield Said(
                file=link.path,
                found=f"a link to {link.target}, outside the package",
                wanted="a link to a file of the package, relative to its own folder",
                fix="pack the file that is meant, or create the link when the package is installed",
            )


@rule("HEX233", severity=Severity.WARNING)
def nothing_in_the_boards_folders(case: Case) -> Iterable[Said]:
    """Folders that FastRPC searches for every program of the board belong to the board's image."""
    for examined in case.files:
        folder = next(
            (
                row.folder
                for row in firmware_folders()
                if row.system == case.plan.system and _below(examined.file.path, row.folder)
            ),
            None,
        )
        if folder:
            yield Said(
                file=examined.file.path,
                found=f"in /{folder}",
                wanted="in a folder of the package's own, which the search path names first",
                fix=f"move {examined.file.name} to the package's dsp folder; `hexrun` sets the path",
            )


def _below(path: str, folder: str) -> bool:
    """Whether a path goes through a folder, name by name; an archive may begin above the root."""
    parts, wanted = path.split("/")[:-1], folder.split("/")
    return any(
        len(parts) - start >= len(wanted)
        and all(map(fnmatchcase, parts[start : start + len(wanted)], wanted))
        for start in range(len(parts))
    )
