"""The head of a QNN context binary, built with FlatBuffers; the blob behind it is zeros.

libQnnSystem reads these files and says the same about them; an integration test holds that.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import flatbuffers

from tests.make.flatbuffer import numbers, vector

FLOAT32, UFIXED16, UFIXED8 = 0x232, 0x416, 0x408
DEFINED, UNDEFINED = 1, 0x7FFFFFFF
HTP = 6
PAGE = 0x1000


class Tensor(NamedTuple):
    """`quantized` is (scale, offset); fewer than 8 `bits` have an encoding of their own."""

    name: str
    shape: tuple[int, ...] = (1, 3, 8, 8)
    dtype: int = FLOAT32
    quantized: tuple[float, int] | None = None
    bits: int = 8


class Graph(NamedTuple):
    """`vtcm` is the number in the file: bytes, or MiB as older releases wrote it.

    `shared` is the size of shared weights in a second record, which older releases do not write.
    """

    name: str = "graph"
    inputs: tuple[Tensor, ...] = (Tensor("x"),)
    outputs: tuple[Tensor, ...] = (Tensor("y"),)
    version: int = 3
    vtcm: int = 8 << 20
    optimization: int = 3
    threads: int = 4
    spill_fill: int = 0
    shared: int | None = None


class Information(NamedTuple):
    """What the metadata says beside the graphs; a string that is None is absent."""

    backend: int = HTP
    build: str | None = "v2.51.0.260929181845"
    core_api: tuple[int, int, int] = (2, 40, 0)
    backend_api: tuple[int, int, int] = (5, 51, 0)
    soc_version: str | None = ""
    blob_version: tuple[int, int, int] = (4, 0, 6)
    blob_size: int = PAGE
    soc_model: int = 77
    arch: int = 73
    version: int = 3


def context(graphs: Sequence[Graph] = (Graph(),), **information: Any) -> bytes:
    """A whole file: head, metadata, padding to the next page, blob. Equal graphs are stored once."""
    said = Information(**information)
    metadata = _metadata(graphs, said)
    blob_offset = -(-(0x28 + len(metadata)) // PAGE) * PAGE
    head = struct.pack(">4I", 2, 3, 0, 1) + struct.pack("<3Q", len(metadata), blob_offset, said.blob_size)
    return (head + metadata).ljust(blob_offset, b"\0") + bytes(said.blob_size)


def _metadata(graphs: Sequence[Graph], said: Information) -> bytes:
    builder = flatbuffers.Builder(1024)
    made = {graph: _graph(builder, graph) for graph in dict.fromkeys(graphs)}
    references = {
        8: vector(builder, []),
        10: vector(builder, [made[graph] for graph in graphs]),
        15: builder.CreateByteVector(struct.pack("<II", 1, said.arch)),
    }
    for slot, text in ((1, said.build), (4, said.soc_version)):
        if text is not None:
            references[slot] = builder.CreateString(text)
    builder.StartObject(17)
    builder.PrependUint32Slot(0, said.backend, 0)
    for slot, version in ((2, said.core_api), (3, said.backend_api), (5, said.blob_version)):
        builder.Prep(4, 12)
        for part in reversed(version):
            builder.PrependUint32(part)
        builder.PrependStructSlot(slot, builder.Offset(), 0)
    builder.PrependUint32Slot(9, len(graphs), 0)
    builder.PrependUint64Slot(11, said.blob_size, 0)
    builder.PrependUint32Slot(14, 8, 0)
    builder.PrependUint32Slot(16, said.soc_model, 0)
    for slot, reference in references.items():
        builder.PrependUOffsetTRelativeSlot(slot, reference, 0)
    entry = _entry(builder, said.version, builder.EndObject())
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, entry, 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def _entry(builder: flatbuffers.Builder, version: int, value: int) -> int:
    builder.StartObject(3)
    builder.PrependUint32Slot(0, version, 0)
    builder.PrependUint8Slot(1, version, 0)
    builder.PrependUOffsetTRelativeSlot(2, value, 0)
    return builder.EndObject()


def _graph(builder: flatbuffers.Builder, graph: Graph) -> int:
    name = builder.CreateString(graph.name)
    inputs = vector(builder, [_tensor(builder, tensor) for tensor in graph.inputs])
    outputs = vector(builder, [_tensor(builder, tensor) for tensor in graph.outputs])
    record_bytes = struct.pack(
        "<I4xQIIB7xQ", 1, graph.spill_fill, graph.vtcm, graph.optimization, 0, graph.threads
    )
    if graph.shared is not None:
        record_bytes += struct.pack("<I60xQ", 2, graph.shared)
    record = builder.CreateByteVector(record_bytes)
    builder.StartObject(5)
    builder.PrependUOffsetTRelativeSlot(0, name, 0)
    builder.PrependUint32Slot(1, len(graph.inputs), 0)
    builder.PrependUOffsetTRelativeSlot(2, inputs, 0)
    builder.PrependUint32Slot(3, len(graph.outputs), 0)
    builder.PrependUOffsetTRelativeSlot(4, outputs, 0)
    value = builder.EndObject()
    for version in range(2, graph.version + 1):
        builder.StartObject(3)
        builder.PrependUOffsetTRelativeSlot(0, value, 0)
        if version == 3:
            builder.PrependUint32Slot(1, len(record_bytes), 0)
            builder.PrependUOffsetTRelativeSlot(2, record, 0)
        value = builder.EndObject()
    return _entry(builder, graph.version, value)


def _tensor(builder: flatbuffers.Builder, tensor: Tensor) -> int:
    name = builder.CreateString(tensor.name)
    shape = numbers(builder, tensor.shape)
    scale, offset = tensor.quantized or (0.0, 0)
    told = int(tensor.bits < 8)
    builder.StartObject(2 + told)
    if told:
        builder.PrependUint32Slot(0, tensor.bits, 0)
    builder.PrependFloat32Slot(told, scale, 0.0)
    builder.PrependInt32Slot(told + 1, offset, 0)
    pair = builder.EndObject()
    dynamic = vector(builder, [])
    builder.StartObject(16)
    builder.PrependUint32Slot(3, tensor.dtype, 0)
    builder.PrependUint32Slot(4, DEFINED if tensor.quantized else UNDEFINED, 0)
    builder.PrependUint32Slot(6, len(tensor.shape), 0)
    builder.PrependUOffsetTRelativeSlot(7, shape, 0)
    builder.PrependUOffsetTRelativeSlot(8, dynamic, 0)
    builder.PrependUOffsetTRelativeSlot(9, name, 0)
    builder.PrependUint32Slot(13, 2 * told if tensor.quantized else UNDEFINED, UNDEFINED)
    builder.PrependUint8Slot(14, 1 + 2 * told, 0)
    builder.PrependUOffsetTRelativeSlot(15, pair, 0)
    return builder.EndObject()
