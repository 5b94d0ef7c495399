"""hexrun.h for Python, as ctypes wants it: the structs field by field, and a model with checked calls.

Imported by tests before pytest can rewrite the asserts: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import ctypes as c
from pathlib import Path
from typing import Any

import numpy as np

NATIVE, FLOAT32 = 0, 1
INPUT, OUTPUT = 0, 1


class Options(c.Structure):
    _fields_ = [
        ("size", c.c_size_t), ("conf", c.c_char_p), ("soc", c.c_char_p), ("graph", c.c_char_p),
        ("power", c.c_char_p), ("memory", c.c_uint32), ("describe_only", c.c_uint32),
    ]  # fmt: skip


class Description(c.Structure):
    _fields_ = [
        ("size", c.c_size_t), ("package", c.c_char_p), ("version", c.c_char_p), ("soc", c.c_char_p),
        ("chosen_because", c.c_char_p), ("unit", c.c_char_p), ("backend_build", c.c_char_p),
        ("compiled_by", c.c_char_p), ("soc_model", c.c_uint32), ("hexagon", c.c_uint32),
        ("graph_count", c.c_uint32), ("simulated", c.c_uint32),
    ]  # fmt: skip


class Graph(c.Structure):
    _fields_ = [
        ("size", c.c_size_t), ("name", c.c_char_p), ("input_count", c.c_uint32), ("output_count", c.c_uint32),
    ]  # fmt: skip


class Tensor(c.Structure):
    _fields_ = [
        ("size", c.c_size_t), ("name", c.c_char_p), ("dtype", c.c_char_p), ("stored_as", c.c_char_p),
        ("rank", c.c_uint32), ("dims", c.c_uint32 * 8), ("elements", c.c_uint64), ("bytes", c.c_uint64),
        ("takes_float32", c.c_uint32), ("quantized", c.c_uint32), ("bits", c.c_uint32),
        ("channels", c.c_uint32), ("axis", c.c_uint32), ("scale", c.c_float), ("offset", c.c_int32),
    ]  # fmt: skip


class Buffer(c.Structure):
    _fields_ = [
        ("data", c.c_void_p), ("bytes", c.c_uint64), ("form", c.c_uint32), ("reserved", c.c_uint32),
    ]  # fmt: skip


class Call(c.Structure):
    _fields_ = [
        ("size", c.c_size_t), ("graph", c.c_char_p), ("inputs", c.POINTER(Buffer)),
        ("outputs", c.POINTER(Buffer)), ("input_count", c.c_uint32), ("output_count", c.c_uint32),
        ("took_us", c.c_uint64), ("copied_bytes", c.c_uint64),
    ]  # fmt: skip


class Error(c.Structure):
    _fields_ = [
        ("size", c.c_size_t), ("status", c.c_int), ("code", c.c_uint32), ("what", c.c_char * 1024),
        ("evidence", c.c_char * 4096), ("fix", c.c_char * 1024), ("code_name", c.c_char * 128),
        ("sentence", c.c_char * 1024), ("look_first", c.c_char * 1024),
    ]  # fmt: skip


def buffer(array: np.ndarray, form: int | None = None) -> Buffer:
    """Of the array's own memory; float32 unless it has another type or `form` says what it is."""
    assumed = FLOAT32 if array.dtype == np.float32 else NATIVE
    return Buffer(array.ctypes.data, array.nbytes, assumed if form is None else form, 0)


class Model:
    """A handle of the library. Every call gives the status; `error` tells the last failure."""

    def __init__(self, library: Path, folder: Path | None, **options: Any) -> None:
        self.library = c.CDLL(str(library))
        self.handle = c.c_void_p()
        words = {key: value.encode() if isinstance(value, str) else value for key, value in options.items()}
        asked = Options(**{"size": c.sizeof(Options), **words})
        place = str(folder).encode() if folder else None
        self.opened = self.library.hexrun_open(place, c.byref(asked), c.byref(self.handle))

    def describe(self) -> Description:
        out = Description(size=c.sizeof(Description))
        assert self.library.hexrun_describe(self.handle, c.byref(out)) == 0
        return out

    def tensor(self, side: int, index: int = 0, graph: int = 0) -> Tensor:
        out = Tensor(size=c.sizeof(Tensor))
        assert self.library.hexrun_describe_tensor(self.handle, graph, side, index, c.byref(out)) == 0
        return out

    def graph(self, index: int) -> Graph:
        out = Graph(size=c.sizeof(Graph))
        assert self.library.hexrun_describe_graph(self.handle, index, c.byref(out)) == 0
        return out

    def run(self, inputs: list[Buffer], outputs: list[Buffer], **more: Any) -> tuple[int, Call]:
        call = Call(
            **{
                "size": c.sizeof(Call),
                "inputs": (Buffer * len(inputs))(*inputs) if inputs else None,
                "input_count": len(inputs),
                "outputs": (Buffer * len(outputs))(*outputs) if outputs else None,
                "output_count": len(outputs),
                **more,
            }
        )
        return self.library.hexrun_run(self.handle, c.byref(call)), call

    def own(self, side: int, dtype: Any, graph: bytes | None = None) -> np.ndarray:
        """The handle's own buffer of the only tensor on that side."""
        data, size = c.c_void_p(), c.c_uint64()
        assert not self.library.hexrun_own_buffer(
            self.handle, graph, side, 0, c.byref(data), c.byref(size)
        ), self.error.what
        assert data.value is not None
        return np.frombuffer((c.c_char * size.value).from_address(data.value), dtype=dtype)

    @property
    def error(self) -> Error:
        out = Error(size=c.sizeof(Error))
        assert self.library.hexrun_last_error(self.handle, c.byref(out)) == 0
        return out

    def close(self) -> None:
        self.library.hexrun_close(c.byref(self.handle))
