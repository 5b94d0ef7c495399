"""Deep learning containers (DLC): models of SNPE and QAIRT, as graphs, compiled ahead of time, or both."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, cast

from packager import catalog
from packager.errors import UnreadableFile
from packager.facts import dlc_topology
from packager.facts.context_binary import read_context
from packager.facts.context_head import METADATA_OFFSET, is_context
from packager.facts.dlc_metadata import Origin, origin
from packager.facts.dlc_records import (
    CACHE,
    HEAD_SIZE,
    HISTORY,
    METADATA,
    PARAMETERS,
    TOPOLOGY,
    Container,
    Head,
    Record,
)
from packager.facts.flatbuffer import Buffer
from packager.facts.reading import opened
from packager.facts.types import ContextFacts, DlcCache, DlcFacts, DlcRecord, GraphFacts

Lineage = Literal["snpe1", "snpe2", "qairt"]

_LARGEST_TOPOLOGY = 64 << 20  # 182 operators with 293 tensors take 112 KB
_LARGEST_METADATA = 4 << 20


def read_dlc(path: Path, system_library: Path | None = None) -> DlcFacts:
    """What a DLC holds and who made it.

    The graphs are read from the topology record itself, where it is of version 4; the topologies of the
    first SNPE are not looked into, and there is none where only a compiled model is left. Models that were
    compiled ahead are read where they lie, as context binaries are, with `system_library` as for
    `read_context`; each says on whose authority.

    Raises UnreadableFile with an offset when a record lies outside the file or inside another one, when none
    tells what wrote it, or when the metadata, the topology or a compiled model is damaged.
    """
    with opened(path) as (stream, size):
        container = Container(path, stream, size)
        heads = {record: container.head(record) for record in container.records}
        contexts = {
            record
            for record in container.records
            if record.role in (None, CACHE) and is_context(container.beginning(record, METADATA_OFFSET))
        }
        made = _origin(path, container)
        major = _major(path, heads, contexts)
        graphs = _graphs(path, container, heads)
    return DlcFacts(
        lineage=_lineage(major, made.tool),
        records=tuple(
            DlcRecord(
                name=record.name,
                size=record.size,
                role=CACHE if record in contexts else record.role,
                version=f"{head.major}.{head.minor}" if head and head.major else None,
                identifier=head.identifier if head else None,
            )
            for record, head in heads.items()
        ),
        graphs=graphs,
        caches=tuple(
            DlcCache(
                record=record.name,
                size=record.size,
                context=_context(path, record, system_library) if record in contexts else None,
            )
            for record in container.records
            if record in contexts or record.role == CACHE
        ),
        converter_version=made.version,
        converter_command=made.command,
        qairt_build=made.build,
        copyright=made.copyright,
    )


def _origin(path: Path, container: Container) -> Origin:
    """What the metadata says, and for what it leaves out the history."""
    found, left = Origin(), _LARGEST_METADATA
    for role in (METADATA, HISTORY):
        for record in container.records:
            if record.role == role:
                left -= record.size
                if left < 0:
                    raise UnreadableFile(
                        path, record.offset, f"more than {_LARGEST_METADATA} bytes of metadata"
                    )
                try:
                    found |= origin(path, container.beginning(record, _LARGEST_METADATA))
                except UnreadableFile as error:
                    raise _inside(record, path, record.offset + error.offset, error) from error
    return found


def _major(path: Path, heads: dict[Record, Head | None], contexts: set[Record]) -> int:
    """The version of the records that hold the model.

    Where only the compiled form of it is left, that of the writers which compile for QNN.
    """
    for role in (TOPOLOGY, PARAMETERS):
        for record, head in heads.items():
            if record.role == role and head:
                return head.major
    if contexts:
        return dlc_topology.MAJOR
    raise UnreadableFile(path, 0, "no record of it is a model's topology or parameters")


def _graphs(path: Path, container: Container, heads: dict[Record, Head | None]) -> tuple[GraphFacts, ...]:
    found: list[GraphFacts] = []
    for record, head in heads.items():
        if record.role == TOPOLOGY and head and head.major == dlc_topology.MAJOR:
            if record.size > _LARGEST_TOPOLOGY:
                raise UnreadableFile(path, record.offset, f"a topology of {record.size} bytes")
            content = container.beginning(record, _LARGEST_TOPOLOGY)[HEAD_SIZE:]
            found += dlc_topology.graphs(
                Buffer(path, content, record.offset + HEAD_SIZE, "topology", dlc_topology.MOST_TABLES)
            )
    return tuple(found)


def _context(path: Path, record: Record, system_library: Path | None) -> ContextFacts | None:
    """A compiled model; None where it is compressed, which no writer of DLCs does."""
    if record.part is None:
        return None
    try:
        return read_context(path, system_library, record.part)
    except UnreadableFile as error:
        raise _inside(record, path, error.offset, error) from error


def _inside(record: Record, path: Path, offset: int, error: UnreadableFile) -> UnreadableFile:
    return UnreadableFile(path, offset, f"record {record.name}: {error.reason}")


def _lineage(major: int, tool: str) -> Lineage:
    """By the first row of the table of which everything holds; the last one has no conditions."""
    return next(
        cast("Lineage", row["id"])
        for row in catalog.table("dlc")["lineage"]
        if major in row.get("majors", [major]) and re.fullmatch(row.get("tool", ".*"), tool)
    )
