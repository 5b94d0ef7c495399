"""Small deep learning containers, as SNPE 1, SNPE 2 and QAIRT write them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import flatbuffers

from tests.make.flatbuffer import numbers, vector

FLOAT32, UFIXED8 = 0x232, 0x408
INPUT, OUTPUT, INSIDE, STATIC = 0, 1, 3, 4
BUILD = "2.51.0.260929181845"
_UNDEFINED, _WITH_BITWIDTH = 0x7FFFFFFF, 2
_ALIGNMENT = 8  # of the records that QAIRT writes


class Tensor(NamedTuple):
    """`quantized` is (scale, offset); fewer than 8 `bits` are encoded in a form of their own."""

    name: str
    kind: int = INPUT
    shape: tuple[int, ...] = (1, 3, 8, 8)
    dtype: int = FLOAT32
    quantized: tuple[float, int] | None = None
    bits: int = 8


class Graph(NamedTuple):
    name: str = "net"
    tensors: tuple[Tensor, ...] = (
        Tensor("x"), Tensor("w", STATIC), Tensor("between", INSIDE), Tensor("y", OUTPUT, (1, 10)),
    )  # fmt: skip


def head(major: int, minor: int = 0) -> bytes:
    """What stands before the FlatBuffer of a record."""
    return b"\xd5\x0a" + struct.pack("<HHH", major, minor, 0)


def topology(graphs: Sequence[Graph] = (Graph(),)) -> bytes:
    """A topology of version 4 without its head; of each graph the tensors alone."""
    builder = flatbuffers.Builder(1024)
    return _finished(builder, {0: vector(builder, [_graph(builder, graph) for graph in graphs])}, b"NETD")


def parameters() -> bytes:
    """Parameters without head and content."""
    return _finished(flatbuffers.Builder(64), {}, b"NETP")


def snpe1_dlc(
    major: int = 3, version: str = "1.68.0.3932", records: Mapping[str, bytes] | None = None
) -> bytes:
    """As of SNPE 1: `major` 0 is the form without heads. Its topology is one that nobody looks into."""
    before = head(major) if major else b""
    opaque = _finished(flatbuffers.Builder(64), {}, b"NETD")
    made = {"model": before + opaque, "model.params": before + parameters()}
    return plain_zip({**made, "dlc.metadata": metadata("snpe-onnx-to-dlc", version), **(records or {})})


def snpe2_dlc(graphs: Sequence[Graph] = (Graph(),), records: Mapping[str, bytes] | None = None) -> bytes:
    """As of SNPE 2: the records of version 4, the metadata as lines of text."""
    made = {"model": head(4) + topology(graphs), "model.params": head(4) + parameters()}
    return plain_zip({**made, "dlc.metadata": metadata("snpe-onnx-to-dlc", "2.10.0.4541"), **(records or {})})


def qairt_dlc(graphs: Sequence[Graph] = (Graph(),), records: Mapping[str, bytes] | None = None) -> bytes:
    """As of QAIRT 2.51: JSON, zip64 extras, CRCs of zero, and records at multiples of 8."""
    made = {
        "dlc.metadata.history.2.3.0": history("qairt-converter", BUILD),
        "dlc.metadata2.3.0": json.dumps({"header": {"artifact_type": "DLC_METADATA"}}).encode(),
        "model": head(4, 1) + topology(graphs),
        "model.params": head(4, 1) + parameters(),
        "model.params.bin": bytes(40),
    }
    return zip64_without_crc({**made, **(records or {})})


def metadata(tool: str, version: str) -> bytes:
    """Lines of key=value."""
    lines = (
        f"converter-command={tool} input_dim=[['x', '1,3,8,8']]",
        f"converter-version={version}",
        "model-copyright=N/A",
        "model-version=N/A",
    )
    return "\n".join(lines).encode() + b"\n"


def history(tool: str, version: str) -> bytes:
    """The JSON document that tells how the container came to be."""
    command = {
        "tool": tool,
        "converterVersion": version,
        "args": {"input_network": "net.onnx", "float_bitwidth": 16},
    }
    return json.dumps({"dlcGenerationInfo": [{"converterCommand": command}]}, indent=4).encode()


def plain_zip(records: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """An ordinary zip."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in records.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def zip64_without_crc(records: Mapping[str, bytes]) -> bytes:
    """A zip with sizes and offsets in zip64 extras alone, and the CRC of nothing."""
    content, directory = b"", b""
    for name, record in records.items():
        at, size, label = len(content), len(record), name.encode()
        gap = -(at + 30 + len(label) + 44) % _ALIGNMENT
        local = struct.pack("<3Q2I8x", size, size, 0, gap, _ALIGNMENT) + bytes(gap)
        central = struct.pack("<3Q16x", size, size, at)
        content += b"PK\x03\x04" + _entry(label, local) + label + _zip64(local) + record
        directory += b"PK\x01\x02" + struct.pack("<H", 45) + _entry(label, central)
        directory += struct.pack("<3H2I", 0, 0, 0, 0, 0xFFFFFFFF) + label + _zip64(central)
    at, count = len(content), len(records)
    end = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, len(directory), at)
    end += struct.pack("<4sIQI", b"PK\x06\x07", 0, at + len(directory), 1)
    end += struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(directory), 0xFFFFFFFF, 0)
    return content + directory + end


def _entry(label: bytes, extra: bytes) -> bytes:
    """What the two headers of a member have in common: stored, no CRC, sizes elsewhere."""
    return struct.pack("<5H3I2H", 45, 0, 0, 0, 0, 0, *[0xFFFFFFFF] * 2, len(label), len(_zip64(extra)))


def _zip64(numbers: bytes) -> bytes:
    return struct.pack("<HH", 1, len(numbers)) + numbers


def _finished(builder: flatbuffers.Builder, slots: Mapping[int, int], identifier: bytes) -> bytes:
    builder.Finish(_table(builder, slots), file_identifier=identifier)
    return bytes(builder.Output())


def _table(
    builder: flatbuffers.Builder, references: Mapping[int, int], numbers: Mapping[int, int] | None = None
) -> int:
    builder.StartObject(max([*references, *(numbers or {})], default=-1) + 1)
    for slot, reference in references.items():
        builder.PrependUOffsetTRelativeSlot(slot, reference, 0)
    for slot, number in (numbers or {}).items():
        builder.PrependUint32Slot(slot, number, 0)
    return builder.EndObject()


def _graph(builder: flatbuffers.Builder, graph: Graph) -> int:
    name = builder.CreateString(graph.name)
    tensors = vector(builder, [_tensor(builder, tensor) for tensor in graph.tensors])
    return _table(builder, {0: name, 1: vector(builder, []), 2: tensors})


def _tensor(builder: flatbuffers.Builder, tensor: Tensor) -> int:
    name = builder.CreateString(tensor.name)
    shape = numbers(builder, tensor.shape)
    encoding = _encoding(builder, tensor)
    return _table(
        builder, {1: name, 3: shape, 5: encoding}, {0: 1, 2: tensor.kind, 6: tensor.dtype, 7: tensor.dtype}
    )


def _encoding(builder: flatbuffers.Builder, tensor: Tensor) -> int:
    if tensor.quantized is None:
        return _table(builder, {}, {0: _UNDEFINED})
    scale, offset = tensor.quantized
    builder.StartObject(5)
    builder.PrependUint32Slot(0, tensor.bits, 0)
    builder.PrependFloat32Slot(3, scale, 0.0)
    builder.PrependInt32Slot(4, offset, 0)
    pair = builder.EndObject()
    builder.StartObject(3)
    builder.PrependUint32Slot(0, 0 if tensor.bits >= 8 else _WITH_BITWIDTH, 0)
    builder.PrependUint8Slot(1, 1, 0)
    builder.PrependUOffsetTRelativeSlot(2, pair, 0)
    return builder.EndObject()
