"""The vendor's structures are laid out in memory here, so that layouts of old releases are read too."""

import ctypes
import struct

import pytest

from packager.facts import qnn_system
from packager.facts.qnn_system import ImplausibleError

V73 = struct.pack("<II", 1, 73)


class Memory:
    """Structures in memory that stays where it is, addressed as C would."""

    def __init__(self):
        self._kept = []

    def put(self, content: bytes) -> int:
        buffer = ctypes.create_string_buffer(content, len(content) + 256)  # room for a stride too long
        self._kept.append(buffer)
        return ctypes.addressof(buffer)

    def tensor(self, name, shape, version=1, quantized=None, bitwidth=None) -> bytes:
        definition, encoding, value = (
            (1, 0, struct.pack("<fi", *quantized)) if quantized else (0x7FFFFFFF, 0, b"")
        )
        if bitwidth:
            encoding, value = 2, struct.pack("<I", bitwidth) + value
        body = struct.pack("<I4xQIII", 1, self.put(name.encode() + b"\0"), 0, 0, 0x408).ljust(32, b"\0")
        body += struct.pack("<II", definition, encoding) + value.ljust(32, b"\0")
        body += struct.pack("<I4xQ", len(shape), self.put(struct.pack(f"<{len(shape)}I", *shape)))
        return struct.pack("<I4x", version) + body.ljust(112, b"\0")

    def graph(self, name, inputs, outputs, version, tensor_stride=144, record=b"", updateable=0) -> bytes:
        body = struct.pack("<Q", self.put(name.encode() + b"\0"))
        for tensors in (inputs, outputs):
            array = b"".join(one.ljust(tensor_stride, b"\0") for one in tensors)
            body += struct.pack("<I4xQ", len(tensors), self.put(array))
        if version >= 2:
            body += struct.pack("<I4xQ", updateable, self.put(bytes(144)) if updateable else 0)
        if version >= 3:
            body += struct.pack("<I4xQII", len(record), self.put(record), 0, 5)
        return struct.pack("<I4x", version) + body

    def context(self, version, graphs, stride, metadata=V73, count=None) -> int:
        array = self.put(b"".join(one.ljust(stride, b"\0") for one in graphs))
        versions = struct.pack("<3I", 2, 10, 0), struct.pack("<3I", 5, 13, 0), struct.pack("<3I", 3, 2, 1)
        core, backend, blob = versions
        body = struct.pack("<I4xQ", 6, self.put(b"v2.36.0.1\0")) + core + backend + struct.pack("<Q", 0)
        tail = struct.pack("<QI4xQI4xQ", 4096, 0, 0, len(graphs) if count is None else count, array)
        if version == 3:
            body += blob + b"\0" * 4 + tail
            body += struct.pack("<QI4xQI", 0, len(metadata), self.put(metadata), 77)
        else:
            body += struct.pack("<3I", 1, 0, 0) + blob + struct.pack("<I4xQ", 0, 0) + tail
        return self.put(struct.pack("<I4x", version) + body)


@pytest.fixture
def memory():
    return Memory()


def small_graphs(memory, version, **layout):
    return [
        memory.graph(name, [memory.tensor("x", (1, 2))], [memory.tensor("y", (3,))], version, **layout)
        for name in ("first", "second", "third")
    ]


def large_graphs(memory):
    """Two graphs of so many tensors that only one of them would do."""
    inputs = [memory.tensor("x", ())] * 40_000
    return [memory.graph("one", inputs, [], 3), memory.graph("two", inputs, [], 3)]


@pytest.mark.parametrize(("version", "stride"), [(1, 48), (1, 64), (1, 88), (2, 64), (2, 88), (3, 88)])
def test_the_stride_of_graphs_is_found_for_every_version_a_library_may_know(memory, version, stride):
    address = memory.context(3, small_graphs(memory, version), stride)

    context = qnn_system.context(address)

    assert [graph["name"] for graph in context["graphs"]] == ["first", "second", "third"]
    assert [graph["outputs"][0]["shape"] for graph in context["graphs"]] == [[3], [3], [3]]


@pytest.mark.parametrize("updateable", [1, 2, 3])
def test_updateable_tensors_of_a_graph_are_not_taken_for_the_next_graph(memory, updateable):
    # Their count, the record's size and the pointers between look just like a graph of 48 bytes further on.
    layout = {"record": bytes(112), "updateable": updateable}
    address = memory.context(3, small_graphs(memory, 3, **layout)[:2], 88)

    context = qnn_system.context(address)

    assert [graph["name"] for graph in context["graphs"]] == ["first", "second"]


@pytest.mark.parametrize("stride", [120, 144])
@pytest.mark.parametrize("version", [1, 2])
def test_the_stride_of_tensors_is_found_too(memory, version, stride):
    tensors = [memory.tensor(name, (1, size), version) for size, name in enumerate(("a", "b", "c"))]
    graph = memory.graph("only", tensors, tensors[:1], 1, tensor_stride=stride)
    address = memory.context(3, [graph], 88)

    (read,) = qnn_system.context(address)["graphs"]

    assert [(tensor["name"], tensor["shape"]) for tensor in read["inputs"]] == [
        ("a", [1, 0]),
        ("b", [1, 1]),
        ("c", [1, 2]),
    ]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_information_of_every_version_is_read(memory, version):
    address = memory.context(version, small_graphs(memory, 1), 48)

    context = qnn_system.context(address)

    assert (context["backend_id"], context["qairt_build"]) == (6, "v2.36.0.1")
    assert (context["core_api"], context["backend_api"], context["blob_version"]) == (
        "2.10.0",
        "5.13.0",
        "3.2.1",
    )
    recorded = (77, "0100000049000000") if version == 3 else (None, "")
    assert (context["soc_model"], context["metadata"]) == recorded
    assert len(context["graphs"]) == 3


def test_scale_and_offset_are_read_from_both_encodings_that_have_one_pair(memory):
    tensors = [
        memory.tensor("plain", (1,), quantized=(0.5, -3)),
        memory.tensor("with bitwidth", (1,), quantized=(0.25, -8), bitwidth=4),
        memory.tensor("none", (1,)),
    ]
    address = memory.context(3, [memory.graph("only", tensors, tensors[:1], 3, record=b"abc")], 88)

    (graph,) = qnn_system.context(address)["graphs"]

    assert [(tensor["scale"], tensor["offset"]) for tensor in graph["inputs"]] == [
        (0.5, -3),
        (0.25, -8),
        (None, None),
    ]
    assert graph["record"] == b"abc".hex()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda memory: memory.context(9, [], 48), "metadata of version 9; 1 to 3 are known"),
        (lambda memory: memory.context(3, [], 48, count=1 << 20), "1048576 graphs, at most 4096 make sense"),
        (lambda memory: memory.context(3, small_graphs(memory, 7), 88), "has none of the strides"),
        (lambda memory: memory.context(3, large_graphs(memory), 88), "80000 tensors, at most 65536 make"),
        (lambda memory: 0, "no address for the metadata"),
    ],
    ids=["version", "count", "graphs", "tensors", "null"],
)
def test_nonsense_is_refused_before_it_is_followed(memory, spoil, reason):
    address = spoil(memory)

    with pytest.raises(ImplausibleError, match=reason):
        qnn_system.context(address)


def test_the_structures_have_the_sizes_of_the_public_interface():
    sizes = {
        kind.__name__: ctypes.sizeof(kind)
        for kind in (qnn_system.Graph, qnn_system.InfoV1, qnn_system.InfoV3, qnn_system.Quantization)
    }

    assert sizes == {"Graph": 88, "InfoV1": 136, "InfoV3": 144, "Quantization": 40}
    assert qnn_system.Tensor.dimensions.offset == 8 + 80
    assert qnn_system.InfoV3.soc_model.offset == 8 + 128
    assert qnn_system.Provider.table.offset == 32
