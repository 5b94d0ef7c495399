"""The metadata at the head of a QNN context binary, read without the vendor's library.

The layout is not documented. It is known from looking at files that were compiled with QAIRT 2.36 to
2.51; libQnnSystem says the same about them (of quantization, only files of 2.51 were compared). Where that
library can be had, it is the authority, and this reader serves the hosts on which it cannot.

    0x00  four big-endian u32: 2, 3, 0, 1
    0x10  u64: bytes of metadata; 0x18: offset of the blob; 0x20: bytes of the blob, which ends the file
    0x28  a FlatBuffer, whose root refers to (version, kind, information)
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

from packager.errors import UnreadableFile
from packager.facts import qnn_metadata
from packager.facts.flatbuffer import Buffer, Table
from packager.facts.part import Part, opened_part
from packager.facts.reading import must_end_within, opened, piece
from packager.facts.types import ContextFacts, GraphFacts, TensorFacts

_HEAD = struct.Struct(">4I")
_EXTENT = struct.Struct("<3Q")
METADATA_OFFSET = _HEAD.size + _EXTENT.size
_LARGEST_METADATA = 16 << 20  # one graph takes about 1 KB, and 150 bytes for each input or output
_MOST_TABLES = 1 << 17  # one for each input or output, two where it is quantized, a few for each graph
_OLDEST_FORMAT, _NEWEST_FORMAT, _NEWEST_KIND = 1, 4, 8
_INFORMATION_VERSION = 3
_GRAPH_VERSIONS = range(1, 4)
_DEFINED = 1
_UNDEFINED = 0x7FFFFFFF  # what an absent encoding means; an absent number of any other slot is 0
# Encodings that have one pair for the whole tensor: its slots. The second one tells a number of bits first.
_SCALE_AND_OFFSET = {0: (0, 1), 2: (1, 2)}

# Slots of the tables; in a graph or tensor of a later version, slot 0 holds the earlier version.
_ENTRY_VERSION, _ENTRY_VALUE = 0, 2
_BACKEND, _BUILD, _CORE_API, _BACKEND_API, _BLOB_VERSION = 0, 1, 2, 3, 5
_GRAPHS, _METADATA, _SOC_MODEL = 10, 15, 16
_GRAPH_BASE, _GRAPH_RECORD = 0, 2
_NAME, _INPUTS, _OUTPUTS = 0, 2, 4
_TENSOR_DTYPE, _TENSOR_DEFINITION, _TENSOR_DIMENSIONS, _TENSOR_NAME = 3, 4, 7, 9
_TENSOR_ENCODING, _TENSOR_QUANTIZATION = 13, 15


class _Extent(NamedTuple):
    metadata: int
    blob_offset: int
    blob: int


def looks_like_context(path: Path) -> bool:
    """Whether the first bytes are those of a context binary, whole or cut short."""
    with opened(path) as (stream, _):
        return is_context(stream.read(METADATA_OFFSET))


def is_context(head: bytes) -> bool:
    """Whether a file that begins with `head` (0x28 bytes suffice) is a context binary.

    Its length is not looked at, so that a truncated file is recognised and then refused.
    """
    if len(head) < METADATA_OFFSET:
        return False
    form, kind, _, _ = _HEAD.unpack_from(head)
    extent = _Extent(*_EXTENT.unpack_from(head, _HEAD.size))
    plausible = (
        METADATA_OFFSET + extent.metadata <= extent.blob_offset and 0 < extent.metadata <= _LARGEST_METADATA
    )
    return _OLDEST_FORMAT <= form <= _NEWEST_FORMAT and kind <= _NEWEST_KIND and plausible


def check_extent(path: Path, part: Part | None = None) -> None:
    """Raise UnreadableFile unless the file, or the part of it, is as long as its head says."""
    with opened_part(path, part) as (stream, size):
        _extent(path, stream, size)


def _extent(path: Path, stream: BinaryIO, size: int) -> _Extent:
    head = piece(path, stream, 0, METADATA_OFFSET, "head of the context binary")
    if not is_context(head):
        raise UnreadableFile(path, 0, "this is not the head of a context binary")
    extent = _Extent(*_EXTENT.unpack_from(head, _HEAD.size))
    end = extent.blob_offset + extent.blob
    must_end_within(path, size, end, "the blob")
    if end < size:
        raise UnreadableFile(path, end, f"the blob ends here, {size - end} bytes before the file")
    return extent


def read_head(path: Path, part: Part | None = None) -> ContextFacts:
    """The facts of a context binary from its metadata alone; `authority` is `head`.

    `part` is where in the file it lies, by default the whole file.

    Raises UnreadableFile when it is not as long as its head says, or when the metadata is damaged or of
    another version than 3 (QAIRT releases before 2.36 may have written others).
    """
    with opened_part(path, part) as (stream, size):
        extent = _extent(path, stream, size)
        metadata = piece(path, stream, METADATA_OFFSET, extent.metadata, "metadata")
        return _facts(Buffer(path, metadata, METADATA_OFFSET, "metadata", _MOST_TABLES))


def _facts(buffer: Buffer) -> ContextFacts:
    entry = buffer.root().table(0)
    version = entry.number(_ENTRY_VERSION)
    if version != _INFORMATION_VERSION:
        raise buffer.damaged(entry.start, f"information of version {version}, not {_INFORMATION_VERSION}")
    information = entry.table(_ENTRY_VALUE)
    backend = information.number(_BACKEND)
    return ContextFacts(
        authority="head",
        backend_id=backend,
        qairt_build=information.text(_BUILD),
        core_api=information.version(_CORE_API),
        backend_api=information.version(_BACKEND_API),
        blob_version=information.version(_BLOB_VERSION),
        soc_model=information.number(_SOC_MODEL),
        hexagon_arch=qnn_metadata.hexagon_arch(backend, information.bytes(_METADATA)),
        graphs=tuple(_graph(backend, graph) for graph in information.tables(_GRAPHS)),
    )


def _graph(backend: int, entry: Table) -> GraphFacts:
    version = entry.number(_ENTRY_VERSION)
    if version not in _GRAPH_VERSIONS:
        raise entry.buffer.damaged(entry.start, f"a graph of version {version}")
    value = base = entry.table(_ENTRY_VALUE)
    for _ in range(version - 1):
        base = base.table(_GRAPH_BASE)
    return qnn_metadata.graph_facts(
        backend,
        base.text(_NAME) or "",
        tuple(map(_tensor, base.tables(_INPUTS))),
        tuple(map(_tensor, base.tables(_OUTPUTS))),
        value.bytes(_GRAPH_RECORD) if version == _GRAPH_VERSIONS[-1] else b"",
    )


def _tensor(table: Table) -> TensorFacts:
    scale = offset = None
    slots = _SCALE_AND_OFFSET.get(table.number(_TENSOR_ENCODING, _UNDEFINED))
    if table.number(_TENSOR_DEFINITION) == _DEFINED and slots:
        pair = table.table(_TENSOR_QUANTIZATION)
        scale, offset = pair.real(slots[0]), pair.signed(slots[1])
    return TensorFacts(
        name=table.text(_TENSOR_NAME) or "",
        dtype=qnn_metadata.dtype_word(table.number(_TENSOR_DTYPE)),
        shape=table.numbers(_TENSOR_DIMENSIONS),
        scale=scale,
        offset=offset,
    )
