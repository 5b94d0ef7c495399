"""What each file is for, told from its bytes first and from its name where the bytes leave it open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from packager import catalog
from packager.bundle import DSP_LIBRARY, FOREIGN, MODEL_LIBRARY, SUPPORT
from packager.facts.types import (
    ContextFacts,
    DamagedFacts,
    DlcFacts,
    ElfFacts,
    Facts,
    OnnxFacts,
    OtherFacts,
    PeFacts,
)
from packager.files import Blob

HEXAGON = "HEXAGON"  # as ElfFacts.machine says it

_BY_FACTS: dict[type, str] = {ContextFacts: "context", DlcFacts: "dlc", OnnxFacts: "model"}
_LICENCE = re.compile(r"(?i)licen[cs]e|notice|copying|copyright|\beula\b")


class Item(NamedTuple):
    """A file that was found: its path inside what is audited, its digest and its facts."""

    path: str
    blob: Blob
    facts: Facts

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """All before the name; empty at the top."""
        return self.path.rpartition("/")[0]

    @property
    def for_the_dsp(self) -> bool:
        """Whether it is a library for the Hexagon."""
        return isinstance(self.facts, ElfFacts) and self.facts.machine == HEXAGON

    @property
    def for_the_cpu(self) -> bool:
        """Whether it is a library or program for the processor of the host."""
        return isinstance(self.facts, ElfFacts | PeFacts) and not self.for_the_dsp

    @property
    def linked(self) -> tuple[str, ...]:
        """Names of the libraries that it links to."""
        if isinstance(self.facts, ElfFacts):
            return self.facts.needed
        return self.facts.imports if isinstance(self.facts, PeFacts) else ()


class Role(NamedTuple):
    """A row of the table of vendor files, or one of the words above; and the Hexagon number in the name."""

    id: str
    arch: int | None = None


def roles_of(items: Sequence[Item]) -> dict[str, Role]:
    """The role of every file by its path."""
    vendor = {item.path: role for item in items if (role := _vendor_role(item))}
    on_the_cpu = {vendor[item.path] for item in items if item.for_the_cpu and item.path in vendor}
    for item in items:
        if item.for_the_dsp and vendor.get(item.path) in on_the_cpu:
            del vendor[item.path]  # an SDK has a second library of that name, built for the DSP
    needed = _needed(items, vendor)
    return {item.path: vendor.get(item.path) or Role(_plain(item, needed)) for item in items}


def _vendor_role(item: Item) -> Role | None:
    """By the name alone, so that a file of another kind under a vendor's name is noticed."""
    for role in catalog.roles():
        for pattern in dict.fromkeys(role.files.values()):
            words = re.escape(pattern).replace(r"\{arch\}", r"(\d\d)")
            if found := re.fullmatch(words, item.name, re.IGNORECASE):
                return Role(role.id, int(found[1]) if role.per_arch else None)
    return None


def _plain(item: Item, needed: set[str]) -> str:
    facts = item.facts
    if isinstance(facts, ElfFacts | PeFacts) and facts.model_prefix:
        return MODEL_LIBRARY
    if item.for_the_dsp:
        return DSP_LIBRARY
    if item.for_the_cpu:
        return SUPPORT if item.name.lower() in needed else FOREIGN
    if isinstance(facts, OtherFacts | DamagedFacts) and _LICENCE.search(item.name):
        return "licence"
    if isinstance(facts, OtherFacts):
        return "document"
    return _BY_FACTS.get(type(facts), facts.kind)


def _needed(items: Sequence[Item], vendor: dict[str, Role]) -> set[str]:
    """Names, in lower case, of all that vendor files and model libraries link to, directly or not."""
    linked = {item.name.lower(): item.linked for item in items}
    todo = [
        name
        for item in items
        if item.path in vendor or getattr(item.facts, "model_prefix", None)
        for name in item.linked
    ]
    found: set[str] = set()
    while todo:
        name = todo.pop().lower()
        if name not in found:
            found.add(name)
            todo += linked.get(name, ())
    return found
