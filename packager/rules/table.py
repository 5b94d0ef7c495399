"""The words and numbers of rules: `targets/rules/` and the tables that only rules read."""

from __future__ import annotations

import functools
import re
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field

from packager.catalog import rule_rows, table
from packager.model import Frozen


class FaultText(Frozen):
    """The words for one of the faults that a rule tells apart; without `on_device` it is the rule's own."""

    title: str
    on_device: str | None = None


class RuleText(Frozen):
    """What a person reads about a rule, and what the rule knows of the world.

    `title` is a clause that follows the file's name; `on_device` is what the fault looks like on the
    device; `catalogue` are the ids of the collection of field reports that the rule answers. `given` holds
    the rule's own numbers and names, so that they can be corrected without touching logic. `faults` are the
    words for single faults of a rule that has several, by the name that the rule gives them.
    """

    id: str
    title: str
    explanation: str
    on_device: str = ""
    catalogue: tuple[str, ...] = ()
    given: dict[str, int | str] = Field(default_factory=dict)
    faults: dict[str, FaultText] = Field(default_factory=dict)
    source: str

    def of(self, fault: str) -> tuple[str, str]:
        """(title, on_device) of a fault; those of the rule itself where it has none of its own."""
        words = self.faults.get(fault) or FaultText(title=self.title)
        return words.title, self.on_device if words.on_device is None else words.on_device


class HostLibrary(Frozen):
    """Libraries that the target system brings. Names may hold `*`; Windows ignores their case.

    `machine` says which processor loads them. `bundled` is `never` where a copy in a package does harm.
    """

    systems: tuple[str, ...]
    machine: Literal["host", "hexagon"]
    names: tuple[str, ...]
    bundled: Literal["never", "allowed"]
    source: str

    def holds(self, name: str) -> bool:
        """Whether this row is about the library of that file name."""
        return _named(name, self.names)


class DriverFile(Frozen):
    """Files that a driver installs for itself. Names may hold `*`; `driver` is what people call it."""

    driver: str
    names: tuple[str, ...]
    source: str

    def holds(self, name: str) -> bool:
        """Whether this row is about the file of that name."""
        return _named(name, self.names)


class FirmwareFolder(Frozen):
    """A folder, relative to the root, in which a system's image keeps what the DSP loads; `*` is one name."""

    system: str
    folder: str
    source: str


class Signer(Frozen):
    """A certificate owner whose signature a system demands; `what` is the kind of file it signs."""

    what: Literal["catalogue"]
    system: str
    name: str
    source: str


def _named(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


@functools.cache
def texts() -> dict[str, RuleText]:
    """The text of every rule by id, in the order of ids; one table file for each module of rules."""
    return {row["id"]: RuleText.model_validate(row) for row in rule_rows()}


def number(rule: str, key: str) -> int:
    """A number of a rule's row. Raises KeyError when the row does not have it."""
    return int(texts()[rule].given[key])


def word(rule: str, key: str) -> str:
    """A word of a rule's row. Raises KeyError when the row does not have it."""
    return str(texts()[rule].given[key])


_REPORTS = re.compile(r"P(\d)-(\d\d)(?:\s+to\s+P\1-(\d\d))?")


@functools.cache
def field_reports() -> dict[str, tuple[str, ...]]:
    """Where each field report was seen: public threads and documents by the report's id."""
    return {row["id"]: tuple(row["seen"]) for row in table("field_reports")["report"]}


def seen_at(source: str) -> tuple[str, ...]:
    """The threads behind the field reports that a source names (`P1-02`, `P1-06 to P1-11`), each once.

    Raises KeyError for a report that the table does not have.
    """
    named = [
        f"P{group}-{number:02}"
        for group, first, last in _REPORTS.findall(source)
        for number in range(int(first), int(last or first) + 1)
    ]
    return tuple(dict.fromkeys(place for report in named for place in field_reports()[report]))


@functools.cache
def host_libraries() -> tuple[HostLibrary, ...]:
    """The libraries that target systems bring, in the order of the table."""
    rows = table("host_libraries")["host_library"]
    return tuple(HostLibrary.model_validate(row) for row in rows)


@functools.cache
def driver_files() -> tuple[DriverFile, ...]:
    """The files of drivers, in the order of the table."""
    return tuple(DriverFile.model_validate(row) for row in table("drivers")["driver_file"])


@functools.cache
def firmware_folders() -> tuple[FirmwareFolder, ...]:
    """The folders of the boards' own DSP files, in the order of the table."""
    return tuple(FirmwareFolder.model_validate(row) for row in table("drivers")["firmware_folder"])


@functools.cache
def signers() -> tuple[Signer, ...]:
    """The signers that target systems demand."""
    return tuple(Signer.model_validate(row) for row in table("signers")["signer"])
