"""Where loaders are told to look: the paths that scripts, units and compose files set.

A path that is wrong in its form is HEX407's or HEX408's alone; its folders are judged when it can be taken
apart as it was meant.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Literal

from packager import catalog
from packager.bundle import BundleFile
from packager.facts.config_types import Assignment, EnvironmentFacts
from packager.facts.types import ElfFacts
from packager.model import Frozen
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import dsp_roles, folder_of

# A colon between two folders; not the one in front of a default, as in ${X:-/dsp}.
_COLON = re.compile(r"(?<=[\w}\"'./*-]):(?=[/$.~%])")
_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")


class Variable(Frozen):
    """A variable that a loader reads; see the head of `targets/search_paths.toml`."""

    name: str
    loader: Literal["dsp", "host"]
    delimiter: str
    overrides: str | None = None
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


def _assignments(case: Case, loader: str) -> Iterator[tuple[BundleFile, Assignment, Variable]]:
    for file, facts in case.of_kind(EnvironmentFacts):
        for assignment in facts.assignments:
            variable = _variables()[assignment.variable]
            if variable.loader == loader:
                yield file, assignment, variable


def _wrong_colon(assignment: Assignment, variable: Variable) -> bool:
    value = _DRIVE.sub("", assignment.value)
    return variable.delimiter not in assignment.value and _COLON.search(value) is not None


def _entries(assignment: Assignment, variable: Variable) -> list[str]:
    parts = (part.strip().rstrip("/") for part in assignment.value.split(variable.delimiter))
    return [part for part in parts if part]


def _sound(case: Case, loader: str) -> Iterator[tuple[BundleFile, Assignment, list[str]]]:
    """Assignments that can be taken apart, with their folders."""
    for file, assignment, variable in _assignments(case, loader):
        if loader == "host" or not (_wrong_colon(assignment, variable) or not assignment.quoted):
            yield file, assignment, _entries(assignment, variable)


def _where(file: BundleFile, assignment: Assignment) -> str:
    return f"{file.path}:{assignment.line}"


@rule("HEX407", severity=Severity.ERROR)
def dsp_folders_apart(case: Case) -> Iterable[Said]:
    """FastRPC takes a path with colons for one folder, on every system."""
    for file, assignment, variable in _assignments(case, "dsp"):
        if _wrong_colon(assignment, variable):
            yield Said(
                file=_where(file, assignment),
                found=f"{assignment.variable}={assignment.value}",
                wanted=f'"{variable.delimiter}" between the folders',
                fix=f"write {_COLON.sub(variable.delimiter, assignment.value)}, in quotes",
            )


@rule("HEX408", severity=Severity.ERROR)
def dsp_path_in_quotes(case: Case) -> Iterable[Said]:
    """For a shell, a `;` outside quotes ends the command."""
    for file, assignment, _ in _assignments(case, "dsp"):
        if not assignment.quoted:
            yield Said(
                file=_where(file, assignment),
                found=f"{assignment.variable}={assignment.value} without quotes",
                wanted="the whole value in quotes",
                fix=f'write {assignment.variable}="{assignment.value}"',
            )


@rule("HEX409", severity=Severity.WARNING)
def both_dsp_variables(case: Case) -> Iterable[Said]:
    """Where a board sets the variable that wins, the other one is not read."""
    for file, facts in case.of_kind(EnvironmentFacts):
        names = {assignment.variable for assignment in facts.assignments}
        for variable in _variables().values():
            if variable.overrides in names and variable.name not in names:
                yield Said(
                    file=file.path,
                    found=f"sets {variable.overrides} and not {variable.name}",
                    wanted="both, with the same folders",
                    fix=f"set {variable.name} too; where a board sets it, {variable.overrides} is ignored",
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
    for file, assignment, entries in _sound(case, "dsp"):
        if entries and entries[0] in _board_folders("dsp"):
            yield Said(
                file=_where(file, assignment),
                found=f"{assignment.variable} begins with {entries[0]}",
                wanted="the folder of the package's own skels first",
                fix="put the package's folder before those of the board",
            )


@rule("HEX411", severity=Severity.WARNING)
def folders_with_skels(case: Case) -> Iterable[Said]:
    """FastRPC looks into the folders that it is given and not below them."""
    with_skels = {
        folder_of(examined.file)
        for examined in case.files
        if examined.file.role in dsp_roles() and isinstance(examined.facts, ElfFacts)
    }
    parents = {parent for folder in with_skels for parent in _parents(folder)} - with_skels
    for file, assignment, entries in _sound(case, "dsp"):
        for entry in entries:
            name = entry.replace("\\", "/").rpartition("/")[2]
            hollow = [folder for folder in parents if folder.rpartition("/")[2] == name]
            if hollow and not any(folder.rpartition("/")[2] == name for folder in with_skels):
                inside = min(folder for folder in with_skels if folder.startswith(f"{hollow[0]}/"))
                yield Said(
                    file=_where(file, assignment),
                    found=f"{assignment.variable} has {entry}, in which no skel lies",
                    wanted=f"{entry}{inside.removeprefix(hollow[0])}",
                    fix="name the folder in which the skel lies itself",
                )


def _parents(folder: str) -> Iterator[str]:
    while "/" in folder:
        folder = folder.rpartition("/")[0]
        yield folder
