"""Where loaders are told to look: the paths that scripts, units and compose files set.

A path that is wrong in its form is HEX407's or HEX408's alone; its folders are judged when it can be taken
apart as it was meant.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Literal

from packager import catalog
from packager.bundle import BundleFile
from packager.facts.config_types import Assignment, EnvironmentFacts
from packager.model import Frozen
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import dsp_roles, folder_of, parents

# What stands between two folders and is no semicolon. Not one: the colon in front of a default, as in
# ${X:-/dsp}, and that of a Windows drive.
_JOINT = re.compile(r"(?<=[\w}\"'./*)-])(?<!^[A-Za-z])(?<![;:,][A-Za-z])[:,](?=[/$.~%]|[A-Za-z]:[\\/])")


class Variable(Frozen):
    """A variable that a loader reads; see the head of `targets/search_paths.toml`."""

    name: str
    loader: Literal["dsp", "host"]
    delimiter: str
    source: str


class Pair(Frozen):
    """A variable that does not suffice alone."""

    variable: str
    needs: str
    systems: tuple[str, ...]
    source: str


class BoardFolder(Frozen):
    """A folder of the board's own libraries."""

    path: str
    loader: Literal["dsp", "host"]
    allowed_on: tuple[str, ...] = ()
    source: str


@functools.cache
def _variables() -> dict[str, Variable]:
    rows = (Variable.model_validate(row) for row in catalog.table("search_paths")["variable"])
    return {row.name: row for row in rows}


@functools.cache
def _board_folders(loader: str) -> dict[str, BoardFolder]:
    rows = (BoardFolder.model_validate(row) for row in catalog.table("search_paths")["board_folder"])
    return {row.path: row for row in rows if row.loader == loader}


@functools.cache
def _pairs() -> tuple[Pair, ...]:
    return tuple(Pair.model_validate(row) for row in catalog.table("search_paths")["pair"])


@functools.cache
def _domains() -> frozenset[str]:
    return frozenset(row["name"] for row in catalog.table("search_paths")["domain"])


def _assignments(case: Case, loader: str) -> Iterator[tuple[BundleFile, Assignment, Variable]]:
    for file, facts in case.of_kind(EnvironmentFacts):
        for assignment in facts.assignments:
            variable = _variables()[assignment.variable]
            if variable.loader == loader:
                yield file, assignment, variable


def _is_joined_wrongly(assignment: Assignment) -> bool:
    return _JOINT.search(assignment.value) is not None


def _entries(assignment: Assignment, variable: Variable) -> list[str]:
    parts = (part.strip().rstrip("/") for part in assignment.value.split(variable.delimiter))
    return [part for part in parts if part]


def _sound(case: Case, loader: str) -> Iterator[tuple[BundleFile, Assignment, list[str]]]:
    """Assignments that can be taken apart, with their folders."""
    for file, assignment, variable in _assignments(case, loader):
        if loader == "host" or (assignment.quoted and not _is_joined_wrongly(assignment)):
            yield file, assignment, _entries(assignment, variable)


def _where(file: BundleFile, assignment: Assignment) -> str:
    return f"{file.path}:{assignment.line}"


@rule("HEX407", severity=Severity.ERROR)
def dsp_folders_apart(case: Case) -> Iterable[Said]:
    """FastRPC takes what stands between two semicolons for one folder, on every system."""
    for file, assignment, variable in _assignments(case, "dsp"):
        if _is_joined_wrongly(assignment):
            yield Said(
                file=_where(file, assignment),
                found=f"{assignment.variable}={assignment.value}",
                wanted=f'"{variable.delimiter}" between the folders',
                fix=f"write {_JOINT.sub(variable.delimiter, assignment.value)}, in quotes",
            )


@rule("HEX408", severity=Severity.ERROR)
def dsp_path_in_quotes(case: Case) -> Iterable[Said]:
    """For a shell, a `;` outside quotes ends the command."""
    for file, assignment, _ in _assignments(case, "dsp"):
        if not assignment.quoted and not _is_joined_wrongly(assignment):
            yield Said(
                file=_where(file, assignment),
                found=f"{assignment.variable}={assignment.value} without quotes",
                wanted="the whole value in quotes",
                fix=f'write {assignment.variable}="{assignment.value}"',
            )


def _set_together(case: Case) -> dict[str, set[str]]:
    """For each file the variables that it sets together with files that it reads or is read by."""
    files = list(case.of_kind(EnvironmentFacts))
    names = {file.path: {assignment.variable for assignment in facts.assignments} for file, facts in files}
    together = {path: set(own) for path, own in names.items()}
    for file, facts in files:
        for named in facts.files:
            for path in names:
                if path != file.path and fnmatchcase(_last(path), _last(named)):
                    together[file.path] |= names[path]
                    together[path] |= names[file.path]
    return together


@rule("HEX409", severity=Severity.WARNING)
def both_dsp_variables(case: Case) -> Iterable[Said]:
    """Which of two variables is read depends on the board."""
    together = _set_together(case)
    for file, facts in case.of_kind(EnvironmentFacts):
        names = {assignment.variable for assignment in facts.assignments}
        for pair in _pairs():
            if case.plan.system not in pair.systems or pair.variable not in names:
                continue
            if pair.needs not in together[file.path]:
                yield Said(
                    file=file.path,
                    found=f"sets {pair.variable} and not {pair.needs}",
                    wanted="both, with the same folders",
                    fix=f"set {pair.needs} too: on some boards it is the one that is read",
                )


@rule("HEX410", severity=Severity.WARNING)
def own_folders_first(case: Case) -> Iterable[Said]:
    """In the board's folders lies another release, and the first library that fits its name is loaded."""
    for file, assignment, entries in _sound(case, "host"):
        systems = {case.plan.system, *(system for soc in case.plan.socs for system in soc.systems)}
        for entry in entries:
            row = _board_folders("host").get(entry)
            if row is not None and systems.isdisjoint(row.allowed_on):
                yield Said(
                    file=_where(file, assignment),
                    found=f"{assignment.variable} has {entry}",
                    wanted="the package's own folder alone",
                    fix=f"take {entry} out, and load what is needed from there by its whole path",
                )
    if not _with_skels(case):
        return
    for file, assignment, entries in _sound(case, "dsp"):
        inherited = len(entries) > 1 and _is_itself(entries[0], assignment.variable)
        if entries and (inherited or entries[0] in _board_folders("dsp")):
            yield Said(
                file=_where(file, assignment),
                found=f"{assignment.variable} begins with {entries[0]}",
                wanted="the folder of the package's own skels first",
                fix="put the package's folder before those of the board",
            )


def _is_itself(entry: str, variable: str) -> bool:
    """Whether an entry stands for what the variable held before."""
    return re.match(rf"\$(?:env:)?\{{?{variable}\b|%{variable}%", entry, re.IGNORECASE) is not None


def _with_skels(case: Case) -> set[str]:
    """The folders of the package in which FastRPC finds a file for the DSP."""
    folders = {folder_of(examined.file) for examined in case.files if examined.file.role in dsp_roles()}
    return folders | {folder.rpartition("/")[0] for folder in folders if _last(folder) in _domains()}


def _last(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


@rule("HEX411", severity=Severity.WARNING)
def folders_with_skels(case: Case) -> Iterable[Said]:
    """FastRPC looks into the folders that it is given, and below them only into those of a domain."""
    with_skels = _with_skels(case)
    above = {parent for folder in with_skels for parent in parents(folder)} - with_skels
    found_by_name = {_last(folder) for folder in with_skels}
    for file, assignment, entries in _sound(case, "dsp"):
        for entry in entries:
            hollow = next((folder for folder in sorted(above) if _last(folder) == _last(entry)), None)
            if hollow and _last(entry) not in found_by_name:
                inside = min(folder for folder in with_skels if folder.startswith(f"{hollow}/"))
                yield Said(
                    file=_where(file, assignment),
                    found=f"{assignment.variable} has {entry}, in which no skel lies",
                    wanted=f"{entry}{inside.removeprefix(hollow)}",
                    fix="name the folder in which the skel lies itself",
                )
