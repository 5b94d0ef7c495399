"""ONNX models, read without their weights.

onnx itself parses a file whole, which takes as much memory as the file has bytes, and stops at 2 GiB. So
the protobuf wire format is walked here, from one length to the next; the bytes of tensors are stepped
over. Field numbers are those of onnx.proto, which never change.
"""

from __future__ import annotations

import functools
import mmap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packager import catalog
from packager.errors import UnreadableFile
from packager.facts.reading import opened
from packager.facts.types import OnnxFacts, OnnxTensorFacts

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZE = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT = 10
_LONGEST_TEXT = 1 << 16
_MOST_FIELDS = 10_000_000  # a model of 100,000 nodes has about two million beside its weights
_DEEPEST_GRAPH = 32
_FIRST_WITH_OPERATOR_SETS = 3
_EXTERNAL = 1
_STANDARD_DOMAINS = ("", "ai.onnx")
_FREE = "?"
_UNKNOWN = "unknown"

# The fields of each message that are looked at: (number, wire type) → what it is.
_Fields = dict[tuple[int, int], str]
_MODEL: _Fields = {
    (1, _VARINT): "ir_version",
    (2, _LENGTH): "producer_name",
    (3, _LENGTH): "producer_version",
    (7, _LENGTH): "graph",
    (8, _LENGTH): "opset_import",
    (25, _LENGTH): "function",
}
_OPERATOR_SET: _Fields = {(1, _LENGTH): "domain", (2, _VARINT): "version"}
_FUNCTION: _Fields = {(7, _LENGTH): "node"}
_GRAPH: _Fields = {
    (1, _LENGTH): "node",
    (5, _LENGTH): "initializer",
    (11, _LENGTH): "input",
    (12, _LENGTH): "output",
    (13, _LENGTH): "value_info",
    (15, _LENGTH): "sparse_initializer",
}
_NODE: _Fields = {(4, _LENGTH): "op_type", (5, _LENGTH): "attribute"}
_ATTRIBUTE: _Fields = {
    (1, _LENGTH): "name",
    (3, _VARINT): "number",
    (4, _LENGTH): "string",
    (5, _LENGTH): "tensor",
    (6, _LENGTH): "graph",
    (10, _LENGTH): "tensor",
    (11, _LENGTH): "graph",
    (22, _LENGTH): "sparse_tensor",
    (23, _LENGTH): "sparse_tensor",
}
_TENSOR: _Fields = {
    (1, _LENGTH): "packed_dims",
    (1, _VARINT): "dim",
    (2, _VARINT): "data_type",
    (8, _LENGTH): "name",
    (13, _LENGTH): "external_data",
    (14, _VARINT): "data_location",
}
_SPARSE_TENSOR: _Fields = {(1, _LENGTH): "values", (2, _LENGTH): "indices"}
_PAIR: _Fields = {(1, _LENGTH): "key", (2, _LENGTH): "value"}
_VALUE_INFO: _Fields = {(1, _LENGTH): "name", (2, _LENGTH): "type"}
_TYPE: _Fields = {
    (1, _LENGTH): "tensor",
    (4, _LENGTH): "sequence",
    (5, _LENGTH): "map",
    (7, _LENGTH): "opaque",
    (8, _LENGTH): "tensor",
    (9, _LENGTH): "optional",
}
_TENSOR_TYPE: _Fields = {(1, _VARINT): "elem_type", (2, _LENGTH): "shape"}
_SHAPE: _Fields = {(1, _LENGTH): "dim"}
_DIMENSION: _Fields = {(1, _VARINT): "dim_value", (2, _LENGTH): "dim_param"}


def read_onnx(path: Path) -> OnnxFacts:
    """Inputs, outputs and operators of a model, and the files that it refers to.

    `operators` and `quantized` are of the main graph: nodes inside `If`, `Loop` and functions are not
    counted. Files are named as the model names them, relative to its folder, and those that the graphs
    inside nodes refer to are among them. Inputs that have an initializer are weights, not inputs.

    Raises UnreadableFile with the offset at which a length leads out of the file or of the message around
    it, and with the number of bytes that a truncated file lacks at least.
    """
    with opened(path) as (stream, size):
        if not size:
            raise UnreadableFile(path, 0, "the file is empty")
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Model(_Wire(path, data)).facts()


class _Field(NamedTuple):
    """The bytes of a field's value; `value` is that of a varint."""

    number: int
    wire: int
    start: int
    end: int
    value: int


class _Wire:
    """The protobuf wire format in a mapped file."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path, self.data, self.size = path, data, len(data)
        self._left = _MOST_FIELDS

    def damaged(self, position: int, reason: str) -> UnreadableFile:
        return UnreadableFile(self.path, position, reason)

    def fields(self, message: _Field | None, known: _Fields) -> Iterator[tuple[str, _Field]]:
        """The known fields of a message, in the order of the file; None is the whole file."""
        position, end = (message.start, message.end) if message else (0, self.size)
        while position < end:
            field = self._field(position, end)
            name = known.get((field.number, field.wire))
            if name:
                yield name, field
            position = field.end

    def _field(self, at: int, end: int) -> _Field:
        self._left -= 1
        if self._left < 0:
            raise self.damaged(at, f"more than {_MOST_FIELDS} fields beside the weights")
        key, start = self._varint(at, end)
        number, wire, value = key >> 3, key & 7, 0
        if wire == _VARINT:
            value, stop = self._varint(start, end)
        elif wire == _LENGTH:
            length, start = self._varint(start, end)
            stop = start + length
        elif wire in _FIXED_SIZE:
            stop = start + _FIXED_SIZE[wire]
        else:
            raise self.damaged(at, f"wire type {wire}, which ONNX does not use")
        if not number:
            raise self.damaged(at, "a field with the number 0")
        self._must_fit(at, stop, end)
        return _Field(number, wire, start, stop, value)

    def _must_fit(self, at: int, position: int, end: int) -> None:
        beyond = position - end
        if beyond > 0 and end == self.size:
            raise self.damaged(
                at, f"truncated: at least {beyond} bytes of the field that begins here are missing"
            )
        if beyond > 0:
            raise self.damaged(at, f"a field that ends {beyond} bytes after the message around it")

    def _varint(self, position: int, end: int) -> tuple[int, int]:
        value = 0
        for index in range(_LONGEST_VARINT):
            if position + index >= end:
                cut = end == self.size
                raise self.damaged(
                    position, "truncated inside a number" if cut else "a number without an end"
                )
            byte = self.data[position + index]
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                return value, position + index + 1
        raise self.damaged(position, f"a number of more than {_LONGEST_VARINT} bytes")

    def count(self, field: _Field) -> int:
        """How many numbers a packed field has."""
        length = field.end - field.start
        if length > _LONGEST_TEXT:
            raise self.damaged(field.start, f"the sizes of a tensor in {length} bytes")
        return sum(byte < 0x80 for byte in self.data[field.start : field.end])

    def text(self, field: _Field) -> str:
        length = field.end - field.start
        if length > _LONGEST_TEXT:
            raise self.damaged(field.start, f"a name of {length} bytes")
        return self.data[field.start : field.end].decode("utf-8", "replace")


class _Tensor(NamedTuple):
    """A tensor with its data, of which only the frame is read."""

    name: str
    dtype: str
    rank: int


class _Examples:
    """For each number of dimensions and each type the first tensor that has it."""

    def __init__(self) -> None:
        self.ranks: dict[int, str] = {}
        self.dtypes: dict[str, str] = {}

    def add(self, name: str, dtype: str, rank: int | None) -> None:
        """Note a tensor; `rank` is None where the model does not say."""
        if rank is not None:
            self.ranks.setdefault(rank, name)
        if dtype != _UNKNOWN:
            self.dtypes.setdefault(dtype, name)


class _Model:
    """What is gathered on the way through the file."""

    def __init__(self, wire: _Wire) -> None:
        self._wire = wire
        self._ir_version = self._opset = self._operator_sets = self._graphs = 0
        self._producer: dict[str, str] = {}
        self._inputs: list[OnnxTensorFacts] = []
        self._outputs: list[OnnxTensorFacts] = []
        self._weights: set[str] = set()
        self._values, self._constants = _Examples(), _Examples()
        self._operators: Counter[str] = Counter()
        # Dictionaries as ordered sets.
        self._contexts: dict[str, None] = {}
        self._external: dict[str, None] = {}

    def facts(self) -> OnnxFacts:
        for name, field in self._wire.fields(None, _MODEL):
            if name == "ir_version":
                self._ir_version = _signed(field.value)
            elif name == "opset_import":
                self._operator_sets += 1
                self._operator_set(field)
            elif name == "graph":
                self._graphs += 1
                self._graph(field, 0)
            elif name == "function":
                for _, node in self._wire.fields(field, _FUNCTION):
                    self._node(node, 1)
            else:
                self._producer[name] = self._wire.text(field)
        if not self._graphs:
            raise self._wire.damaged(0, "no graph in it: not an ONNX model")
        if not self._operator_sets and self._ir_version >= _FIRST_WITH_OPERATOR_SETS:
            # They come after the graph, so this is also what a cut between the two looks like.
            raise self._wire.damaged(
                self._wire.size, "truncated: the file ends before it names an operator set"
            )
        producer = (self._producer.get("producer_name"), self._producer.get("producer_version"))
        return OnnxFacts(
            ir_version=self._ir_version,
            opset=self._opset,
            producer=" ".join(filter(None, producer)),
            inputs=tuple(tensor for tensor in self._inputs if tensor.name not in self._weights),
            outputs=tuple(self._outputs),
            operators=dict(sorted(self._operators.items())),
            quantized="QuantizeLinear" in self._operators,
            context_binaries=tuple(self._contexts),
            external_data=tuple(self._external),
            # A constant is an example only where nothing else is.
            ranks=dict(sorted({**self._constants.ranks, **self._values.ranks}.items())),
            dtypes=dict(sorted({**self._constants.dtypes, **self._values.dtypes}.items())),
        )

    def _operator_set(self, message: _Field) -> None:
        domain, version = "", 0
        for name, field in self._wire.fields(message, _OPERATOR_SET):
            if name == "domain":
                domain = self._wire.text(field)
            else:
                version = _signed(field.value)
        if domain in _STANDARD_DOMAINS:
            self._opset = version

    def _graph(self, message: _Field, depth: int) -> None:
        """The main graph at depth 0; of a graph inside a node only the files that it refers to."""
        if depth > _DEEPEST_GRAPH:
            raise self._wire.damaged(message.start, f"graphs more than {_DEEPEST_GRAPH} deep in each other")
        for name, field in self._wire.fields(message, _GRAPH):
            if name == "node":
                operator = self._node(field, depth)
                if depth == 0:
                    self._operators[operator] += 1
            elif name in ("initializer", "sparse_initializer"):
                weight = self._tensor(field) if name == "initializer" else self._sparse_tensor(field)
                if depth == 0 and weight:
                    self._weights.add(weight.name)
                    self._constants.add(weight.name, weight.dtype, weight.rank)
            elif depth == 0:
                value = self._value_info(field)
                if name != "value_info":
                    (self._inputs if name == "input" else self._outputs).append(value)

    def _node(self, message: _Field, depth: int) -> str:
        """Its operator. The attributes are looked at for files."""
        operator, attributes = "", {}
        for name, field in self._wire.fields(message, _NODE):
            if name == "op_type":
                operator = self._wire.text(field)
            else:
                attribute, value = self._attribute(field, depth)
                attributes[attribute] = value
        # A node of onnxruntime's: in embed mode 0 it names a context binary, otherwise it holds one.
        mode, cache = attributes.get("embed_mode"), attributes.get("ep_cache_context")
        if operator == "EPContext" and mode and cache and mode.wire == _VARINT and not mode.value:
            self._contexts[self._wire.text(cache)] = None
        return operator

    def _attribute(self, message: _Field, depth: int) -> tuple[str, _Field | None]:
        """Its name, and its value if that is a number or a string."""
        attribute, value = "", None
        for name, field in self._wire.fields(message, _ATTRIBUTE):
            if name == "name":
                attribute = self._wire.text(field)
            elif name == "tensor":
                self._tensor(field)
            elif name == "sparse_tensor":
                self._sparse_tensor(field)
            elif name == "graph":
                self._graph(field, depth + 1)
            else:
                value = field
        return attribute, value

    def _tensor(self, message: _Field) -> _Tensor:
        """Its frame. The bytes of the tensor are stepped over."""
        tensor, dtype, location = "", _UNKNOWN, ""
        rank, external = 0, False
        for name, field in self._wire.fields(message, _TENSOR):
            if name == "name":
                tensor = self._wire.text(field)
            elif name == "dim":
                rank += 1
            elif name == "packed_dims":
                rank += self._wire.count(field)
            elif name == "data_type":
                dtype = _dtype(field.value)
            elif name == "data_location":
                external = field.value == _EXTERNAL
            else:
                pair = {key: self._wire.text(word) for key, word in self._wire.fields(field, _PAIR)}
                if pair.get("key") == "location":
                    location = pair.get("value", "")
        if external and location:
            self._external[location] = None
        return _Tensor(tensor, dtype, rank)

    def _sparse_tensor(self, message: _Field) -> _Tensor | None:
        """Its values, a list, under the name of the whole."""
        named = {name: self._tensor(field) for name, field in self._wire.fields(message, _SPARSE_TENSOR)}
        return named.get("values")

    def _value_info(self, message: _Field) -> OnnxTensorFacts:
        tensor, dtype = "", _UNKNOWN
        shape: tuple[int | str, ...] | None = None
        for name, field in self._wire.fields(message, _VALUE_INFO):
            if name == "name":
                tensor = self._wire.text(field)
                continue
            for kind, value in self._wire.fields(field, _TYPE):
                dtype, shape = (kind, None) if kind != "tensor" else self._tensor_type(value)
        self._values.add(tensor, dtype, None if shape is None else len(shape))
        return OnnxTensorFacts(name=tensor, dtype=dtype, shape=shape or ())

    def _tensor_type(self, message: _Field) -> tuple[str, tuple[int | str, ...] | None]:
        """Its element type, and its shape where there is one."""
        dtype, shape = _UNKNOWN, None
        for name, field in self._wire.fields(message, _TENSOR_TYPE):
            if name == "elem_type":
                dtype = _dtype(field.value)
            else:
                sizes = [self._dimension(dimension) for _, dimension in self._wire.fields(field, _SHAPE)]
                shape = (*(shape or ()), *sizes)
        return dtype, shape

    def _dimension(self, message: _Field) -> int | str:
        dimension: int | str = _FREE
        for name, field in self._wire.fields(message, _DIMENSION):
            # Some exporters write a free dimension as -1 or as an empty name.
            known = self._wire.text(field) if name == "dim_param" else max(_signed(field.value), -1)
            dimension = _FREE if known in ("", -1) else known
        return dimension


@functools.cache
def _dtypes() -> dict[int, str]:
    return {row["id"]: row["word"] for row in catalog.table("onnx_types")["dtype"]}


def _dtype(number: int) -> str:
    """The word for an element type; the number where the table does not know it."""
    return _dtypes().get(number, str(number))


def _signed(value: int) -> int:
    """A varint as the int64 that it stands for."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value
