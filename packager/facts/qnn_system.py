"""Asks the vendor's QnnSystem library what a context binary holds, in a process of its own.

    python qnn_system.py FILE LIBRARY [OFFSET SIZE]

prints one JSON document about the context that begins at OFFSET of the file, by default the whole file:
`{"context": …}`, `{"refused": {"call", "code"}}`, `{"implausible": reason}` or `{"unloadable": reason}`. A
malformed file can make the library crash or eat memory, and pointers that it hands back are followed here
without any way to check where they lead; so the caller treats a death of this process as an answer too. Only
the standard library is imported: starting takes some 20 ms.

Layouts are those of the public QNN API 2 on 64-bit systems; `context_binary` turns the numbers into words.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import sys
from collections.abc import Callable
from ctypes import POINTER, byref, c_char, c_float, c_int32, c_uint32, c_uint64, c_void_p
from typing import Any

ERROR_BITS = 0xFFFF  # the upper bits of an error handle mean something else
MOST_GRAPHS = 4096
MOST_TENSORS = 1 << 16
MOST_DIMENSIONS = 32
LONGEST_NAME = 4096
LARGEST_RECORD = 4096  # 112 bytes for a graph in files of QAIRT 2.51
LOWEST_ADDRESS = 4096  # no system maps the page of the null pointer
CPU_SECONDS = 30
MEMORY = 1 << 30  # beside the file itself, which is mapped whole and read only where the library looks

Json = dict[str, Any]


class ImplausibleError(Exception):
    """The library answered with something that no context binary holds."""


class RefusedError(Exception):
    """A call of the library returned an error code."""

    def __init__(self, call: str, code: int) -> None:
        super().__init__(call, code)
        self.call, self.code = call, code


class Version(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("patch", c_uint32)]

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class Quantization(ctypes.Structure):
    """Qnn_QuantizeParams_t; the union's arms other than the two used here are not described."""

    class Union(ctypes.Union):
        class ScaleOffset(ctypes.Structure):
            _fields_ = [("scale", c_float), ("offset", c_int32)]

        class WithBitwidth(ctypes.Structure):
            _fields_ = [("bitwidth", c_uint32), ("scale", c_float), ("offset", c_int32)]

        _fields_ = [("plain", ScaleOffset), ("bitwidth", WithBitwidth), ("room", c_uint64 * 4)]

    _fields_ = [("definition", c_uint32), ("encoding", c_uint32), ("value", Union)]


class Tensor(ctypes.Structure):
    """Qnn_Tensor_t as far as its versions 1 and 2 agree."""

    _fields_ = [
        ("version", c_uint32),
        ("padding", c_uint32),
        ("id", c_uint32),
        ("name", c_void_p),
        ("type", c_uint32),
        ("format", c_uint32),
        ("dtype", c_uint32),
        ("quantization", Quantization),
        ("rank", c_uint32),
        ("dimensions", c_void_p),
    ]


class Graph(ctypes.Structure):
    """QnnSystemContext_GraphInfo_t, version 3; versions 1 and 2 are its beginning."""

    _fields_ = [
        ("version", c_uint32),
        ("name", c_void_p),
        ("input_count", c_uint32),
        ("inputs", c_void_p),
        ("output_count", c_uint32),
        ("outputs", c_void_p),
        ("updatable_count", c_uint32),
        ("updatables", c_void_p),
        ("record_size", c_uint32),
        ("record", c_void_p),
        ("first_operation", c_uint32),
        ("last_operation", c_uint32),
    ]


class Beginning(ctypes.Structure):
    """What the three versions of QnnSystemContext_BinaryInfo_t begin with."""

    _fields_ = [
        ("version", c_uint32),
        ("padding", c_uint32),
        ("backend", c_uint32),
        ("build", c_void_p),
        ("core_api", Version),
        ("backend_api", Version),
        ("soc_version", c_void_p),
    ]


class InfoV1(Beginning):
    """Versions 1 and 2; the platform information at the end of version 2 is not read."""

    _fields_ = [
        ("hardware_blob_version", Version),
        ("blob_version", Version),
        ("hardware_blob_size", c_uint32),
        ("hardware_blob", c_void_p),
        ("blob_size", c_uint64),
        ("tensor_count", c_uint32),
        ("tensors", c_void_p),
        ("graph_count", c_uint32),
        ("graphs", c_void_p),
    ]


class InfoV3(Beginning):
    """Version 3, of QAIRT 2.36 and later."""

    _fields_ = [
        ("blob_version", Version),
        ("blob_size", c_uint64),
        ("tensor_count", c_uint32),
        ("tensors", c_void_p),
        ("graph_count", c_uint32),
        ("graphs", c_void_p),
        ("platform", c_void_p),
        ("metadata_size", c_uint32),
        ("metadata", c_void_p),
        ("soc_model", c_uint32),
    ]


INFO_OF_VERSION: dict[int, type[InfoV1 | InfoV3]] = {1: InfoV1, 2: InfoV1, 3: InfoV3}

# An array's stride is the size of the largest version that the library knows, and nothing tells it:
# 48, 64 and 88 bytes for graphs, 120 (up to core API 2.10) and 144 for tensors. The shortest stride at
# which every element looks like one is the right one; going upwards keeps the probe inside the array.
GRAPH_STRIDES = (48, 64, 88)
SIZE_OF_GRAPH_VERSION = {1: 48, 2: 64, 3: 88}  # what follows a description may look like a shorter one
TENSOR_STRIDES = (120, 144)
GRAPH_VERSIONS = range(1, 4)
TENSOR_VERSIONS = range(1, 3)
DEFINED = 1
SCALE_OFFSET = 0
BITWIDTH_SCALE_OFFSET = 2


class SystemTable(ctypes.Structure):
    """The first entries of the function table, stable since system API 1.0."""

    _fields_ = [
        ("create", ctypes.CFUNCTYPE(c_uint64, POINTER(c_void_p))),
        ("binary_info", c_void_p),
        (
            "metadata",
            ctypes.CFUNCTYPE(c_uint64, c_void_p, c_void_p, c_uint64, POINTER(POINTER(Beginning))),
        ),
        ("free", ctypes.CFUNCTYPE(c_uint64, c_void_p)),
    ]


class Provider(ctypes.Structure):
    """QnnSystemInterface_t."""

    _fields_ = [
        ("backend", c_uint32),
        ("name", c_void_p),
        ("version", Version),
        ("table", SystemTable),
    ]


class Buffer(ctypes.Structure):
    """Py_buffer of the stable ABI: ctypes itself gives no address of a read-only map."""

    _fields_ = [
        ("address", c_void_p),
        ("owner", ctypes.py_object),
        ("length", ctypes.c_ssize_t),
        ("item_size", ctypes.c_ssize_t),
        ("read_only", ctypes.c_int),
        ("dimensions", ctypes.c_int),
        ("rest", c_void_p * 5),
    ]


def at(address: int | None, what: str) -> int:
    """The address, if it can be one. Raises ImplausibleError."""
    if address is None or address < LOWEST_ADDRESS:
        raise ImplausibleError(f"no address for {what}")
    return address


def within(count: int, most: int, what: str) -> int:
    """The count, if it is not absurd. Raises ImplausibleError."""
    if count > most:
        raise ImplausibleError(f"{count} {what}, at most {most} make sense")
    return count


def text(address: int | None) -> str | None:
    """A copy of a C string, or None for the null pointer."""
    if not address:
        return None
    letters = ctypes.cast(at(address, "a string"), POINTER(c_char))
    copied = bytearray()
    while (letter := letters[len(copied)]) != b"\0":
        copied += letter
        within(len(copied), LONGEST_NAME, "letters in a name")
    return copied.decode("utf-8", "replace")


def copy(address: int | None, size: int, what: str) -> str:
    """`size` bytes in hex."""
    return (
        ctypes.string_at(at(address, what), within(size, LARGEST_RECORD, f"bytes of {what}")).hex()
        if size
        else ""
    )


def array(
    address: int | None, count: int, strides: tuple[int, ...], looks_right: Callable[[int], bool], what: str
) -> list[int]:
    """The addresses of an array's elements, with the stride at which all of them look right."""
    if not count:
        return []
    first = at(address, what)
    for stride in strides:
        elements = [first + index * stride for index in range(count)]
        if all(map(looks_right, elements)):
            return elements
    raise ImplausibleError(f"the array of {count} {what} has none of the strides {strides}")


def is_graph(address: int) -> bool:
    """Whether a graph can begin here."""
    graph = Graph.from_address(address)
    tensors = ((graph.input_count, graph.inputs), (graph.output_count, graph.outputs))
    return (
        graph.version in GRAPH_VERSIONS
        and (graph.name or 0) >= LOWEST_ADDRESS
        and all(
            count <= MOST_TENSORS and (not count or (start or 0) >= LOWEST_ADDRESS)
            for count, start in tensors
        )
    )


def is_tensor(address: int) -> bool:
    """Whether a tensor can begin here."""
    found = Tensor.from_address(address)
    return (
        found.version in TENSOR_VERSIONS
        and (found.name or 0) >= LOWEST_ADDRESS
        and found.rank <= MOST_DIMENSIONS
        and (not found.rank or (found.dimensions or 0) >= LOWEST_ADDRESS)
    )


def tensor(address: int) -> Json:
    """One tensor; `scale` and `offset` are null for every encoding but one pair for the whole tensor."""
    found = Tensor.from_address(address)
    quantization, pair = found.quantization, None
    if quantization.definition == DEFINED and quantization.encoding == SCALE_OFFSET:
        pair = quantization.value.plain
    elif quantization.definition == DEFINED and quantization.encoding == BITWIDTH_SCALE_OFFSET:
        pair = quantization.value.bitwidth
    return {
        "name": text(found.name),
        "dtype": found.dtype,
        "shape": list((c_uint32 * found.rank).from_address(found.dimensions)) if found.rank else [],
        "scale": pair.scale if pair else None,
        "offset": pair.offset if pair else None,
    }


def tensors(address: int | None, count: int) -> list[Json]:
    """The tensors of an array."""
    return [tensor(one) for one in array(address, count, TENSOR_STRIDES, is_tensor, "tensors")]


def graph(address: int) -> Json:
    """One graph; `record` is the backend's own, in hex, empty before version 3."""
    found = Graph.from_address(address)
    return {
        "name": text(found.name),
        "inputs": tensors(found.inputs, found.input_count),
        "outputs": tensors(found.outputs, found.output_count),
        "record": copy(found.record, found.record_size, "a graph's record") if found.version == 3 else "",
    }


def context(address: int) -> Json:
    """What a QnnSystemContext_BinaryInfo_t of any version at this address says."""
    version = Beginning.from_address(at(address, "the metadata")).version
    if version not in INFO_OF_VERSION:
        raise ImplausibleError(f"metadata of version {version}; 1 to 3 are known")
    info = INFO_OF_VERSION[version].from_address(address)
    count = within(info.graph_count, MOST_GRAPHS, "graphs")
    least = (
        SIZE_OF_GRAPH_VERSION.get(Graph.from_address(at(info.graphs, "graphs")).version, 0) if count else 0
    )
    strides = tuple(stride for stride in GRAPH_STRIDES if stride >= least)
    graphs = array(info.graphs, count, strides, is_graph, "graphs")
    described = map(Graph.from_address, graphs)
    within(sum(one.input_count + one.output_count for one in described), MOST_TENSORS, "tensors")
    recorded = isinstance(info, InfoV3)
    return {
        "backend_id": info.backend,
        "qairt_build": text(info.build),
        "core_api": str(info.core_api),
        "backend_api": str(info.backend_api),
        "blob_version": str(info.blob_version),
        "soc_model": info.soc_model if recorded else None,
        "metadata": copy(info.metadata, info.metadata_size, "the backend's metadata") if recorded else "",
        "graphs": [graph(one) for one in graphs],
    }


def ask(library: ctypes.CDLL, address: int, size: int) -> Json:
    """What the library says about the file mapped at `address`. Raises RefusedError or ImplausibleError."""
    providers, count = POINTER(POINTER(Provider))(), c_uint32()
    status = library.QnnSystemInterface_getProviders(byref(providers), byref(count))
    done("QnnSystemInterface_getProviders", status)
    if not count.value:
        raise ImplausibleError("the library has no provider")
    table = providers[0].contents.table
    handle, info = c_void_p(), POINTER(Beginning)()
    done("QnnSystemContext_create", table.create(byref(handle)))
    try:
        done("QnnSystemContext_getMetaData", table.metadata(handle, address, size, byref(info)))
        return context(ctypes.cast(info, c_void_p).value or 0)
    finally:
        table.free(handle)


def done(call: str, status: int) -> None:
    """Raise RefusedError unless the call succeeded."""
    if code := status & ERROR_BITS:
        raise RefusedError(call, code)


def report(file: str, library: str, offset: int = 0, size: int | None = None) -> Json:
    """The JSON document for a file, or for `size` bytes at `offset` in it."""
    with open(file, "rb") as stream:  # noqa: PTH123 - pathlib would double the time to start
        end = stream.seek(0, os.SEEK_END)
        size = end - offset if size is None else size
        if not 0 < size <= end - offset:
            return {"implausible": f"{max(end - offset, 0)} bytes where the context should be"}
        limit(end)
        try:
            loaded = ctypes.CDLL(library)
            loaded.QnnSystemInterface_getProviders.restype = c_uint64
        except (OSError, AttributeError) as error:
            return {"unloadable": str(error)}
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    buffer = Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(content), byref(buffer), 0)
    try:
        return {"context": ask(loaded, buffer.address + offset, size)}
    except RefusedError as error:
        return {"refused": {"call": error.call, "code": error.code}}
    except ImplausibleError as error:
        return {"implausible": str(error)}
    finally:
        ctypes.pythonapi.PyBuffer_Release(byref(buffer))


def limit(file_size: int) -> None:
    """Bound processor time and memory, and leave no core file, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    bounds = (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, file_size + MEMORY),
    )
    for kind, wanted in bounds:
        hard = resource.getrlimit(kind)[1]  # a user may already have less than is wanted here
        resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def main() -> None:
    """Write the document to standard output, which the library must not write to."""
    own = os.dup(1)
    os.dup2(2, 1)
    file, library, *extent = sys.argv[1:]
    document = json.dumps(report(file, library, *map(int, extent)))
    with open(own, "w", encoding="utf-8") as out:  # noqa: PTH123
        out.write(document)


if __name__ == "__main__":
    main()
