"""Whether a file is an ONNX model, told from its outermost protobuf fields without reading the weights."""

from __future__ import annotations

from typing import BinaryIO, NamedTuple

# ModelProto of onnx.proto3: field number → wire type (0 number, 2 length-delimited).
_MODEL_FIELDS = {1: 0, 2: 2, 3: 2, 4: 2, 5: 0, 6: 2, 7: 2, 8: 2, 14: 2, 20: 2, 25: 2, 26: 2}
_IR_VERSION, _GRAPH = 1, 7
_NAMES = (2, 3, 4)  # producer_name, producer_version, domain
_GRAPH_FIELDS = (1, 2, 5, 10, 11, 12, 13, 14, 15, 16)  # GraphProto, all length-delimited
_MAX_IR_VERSION = 100  # 13 in 2025, one or two a year
_MAX_NAME = 256
_MAX_FIELDS = 10_000  # metadata and functions are repeated fields


class _Field(NamedTuple):
    number: int
    wire: int
    value: int  # the number, or the length of what follows


def is_onnx(stream: BinaryIO, size: int) -> bool:
    """Whether the file begins with an ir_version and goes on as a ModelProto to a graph.

    A file cut short before its graph is one as well, when it has a producer's name; a protobuf file of
    another kind fails on a field that ModelProto does not have, or on a name that is no text.
    """
    stream.seek(0)
    named = False
    for index in range(_MAX_FIELDS):
        field = _field(stream)
        if field is None:
            return named
        if _MODEL_FIELDS.get(field.number) != field.wire:
            return False
        if index == 0 and not (field.number == _IR_VERSION and 0 < field.value <= _MAX_IR_VERSION):
            return False
        if field.number == _GRAPH:
            return _begins_like_graph(stream, field.value)
        if field.wire == 0:
            continue
        start = stream.tell()
        if field.number in _NAMES:
            if not _is_text(stream, field.value):
                return False
            named = True
        if start + field.value > size:
            return named
        stream.seek(start + field.value)
    return False


def _number(stream: BinaryIO) -> int | None:
    """A varint, None where there is none."""
    value = 0
    for shift in range(0, 70, 7):
        byte = stream.read(1)
        if not byte:
            return None
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    return None


def _field(stream: BinaryIO) -> _Field | None:
    tag = _number(stream)
    if tag is None:
        return None
    value = _number(stream) if tag & 7 in (0, 2) else 0
    return None if value is None else _Field(tag >> 3, tag & 7, value)


def _begins_like_graph(stream: BinaryIO, length: int) -> bool:
    if length == 0:
        return True
    tag = _number(stream)
    return tag is None or (tag & 7 == 2 and tag >> 3 in _GRAPH_FIELDS)


def _is_text(stream: BinaryIO, length: int) -> bool:
    if length > _MAX_NAME:
        return False
    try:
        return stream.read(length).decode("utf-8").isprintable()
    except UnicodeDecodeError:
        return False
