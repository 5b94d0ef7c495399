"""libQnnSystem is the authority: what our own reader says of a head must be what it says."""

import random
import re
import subprocess
import sys

import pytest

from packager.errors import UnreadableFile
from packager.facts.context_binary import read_context
from packager.facts.context_head import METADATA_OFFSET, read_head
from tests.make.context import FLOAT32, UFIXED8, UFIXED16, Graph, Tensor, context

SOC_MODEL = 77
COMPILE = """
import sys
import onnx
from onnx import TensorProto, helper
import onnxruntime, onnxruntime_qnn

def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)

def number(name, dtype, content):
    return helper.make_tensor(name, dtype, [], [content])

QUANTIZED = helper.make_graph(
    [
        helper.make_node("DequantizeLinear", ["x", "sx", "zx"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("QuantizeLinear", ["b", "sx", "zx"], ["y"]),
    ],
    "quantized",
    [value("x", TensorProto.UINT8, [1, 3, 8, 8])],
    [value("y", TensorProto.UINT8, [1, 3, 8, 8])],
    [number("sx", TensorProto.FLOAT, 0.25), number("zx", TensorProto.UINT8, 7)],
)
# Det runs on the processor, which leaves two graphs for the NPU in one context.
TWO_GRAPHS = helper.make_graph(
    [
        helper.make_node("Add", ["x", "z"], ["a"]),
        helper.make_node("Det", ["a"], ["d"]),
        helper.make_node("Sigmoid", ["d"], ["y"]),
    ],
    "two",
    [value("x", TensorProto.FLOAT, [1, 3, 8, 8]), value("z", TensorProto.FLOAT, [1, 3, 8, 8])],
    [value("y", TensorProto.FLOAT, [1, 3])],
)
name, soc_model = sys.argv[1:]
graph = {"quantized": QUANTIZED, "two": TWO_GRAPHS}[name]
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "model.onnx")
onnxruntime.register_execution_provider_library("QNN", onnxruntime_qnn.get_library_path())
options = onnxruntime.SessionOptions()
for key, setting in (("enable", "1"), ("file_path", "context.onnx"), ("embed_mode", "0")):
    options.add_session_config_entry("ep.context_" + key, setting)
devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNN"]
backend = {"backend_path": onnxruntime_qnn.get_qnn_htp_path(), "soc_model": soc_model}
options.add_provider_for_devices(devices, {**backend, "htp_graph_finalization_optimization_mode": "3"})
onnxruntime.InferenceSession("model.onnx", options)
"""


def compiled(folder, name):
    command = [sys.executable, "-c", COMPILE, name, str(SOC_MODEL)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    (path,) = folder.glob("*.bin")
    return path


@pytest.fixture(scope="module")
def quantized(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("quantized"), "quantized")


@pytest.fixture(scope="module")
def two_graphs(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("two"), "two")


def same(path):
    authority, head = read_context(path), read_head(path)
    assert (authority.authority, head.authority) == ("libQnnSystem", "head")
    return authority.model_dump(exclude={"authority"}) == head.model_dump(exclude={"authority"})


def test_a_compiled_model_names_its_silicon_release_and_quantization(quantized):
    facts = read_context(quantized)

    (graph,) = facts.graphs
    (tensor,) = graph.inputs
    assert (facts.authority, facts.soc_model, facts.hexagon_arch) == ("libQnnSystem", SOC_MODEL, 73)
    assert facts.qairt_build.startswith("v2.")
    assert graph.optimization == 3
    assert 1 <= graph.vtcm_mb <= 16
    assert (tensor.dtype, tensor.shape, tensor.scale, tensor.offset) == ("ufixed8", (1, 3, 8, 8), 0.25, -7)


def test_the_head_of_a_compiled_model_says_what_the_library_says(quantized):
    assert same(quantized)


def test_two_graphs_in_one_context_are_both_found_by_library_and_head(two_graphs):
    facts = read_context(two_graphs)

    assert [sorted(tensor.name for tensor in graph.inputs) for graph in facts.graphs] == [["x", "z"], ["d"]]
    assert same(two_graphs)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("dtype", [FLOAT32, UFIXED8, UFIXED16])
def test_the_library_reads_the_heads_that_the_tests_make_as_we_do(tmp_path, version, dtype):
    inputs = (Tensor("image", (1, 224, 224, 3), dtype, (0.5, -3)), Tensor("mask", (7,)), Tensor("scalar", ()))
    graphs = [
        Graph(f"graph {n}", inputs, (Tensor("y", (1, n), dtype),), version, n << 20) for n in range(1, 5)
    ]
    path = tmp_path / "made.bin"
    path.write_bytes(context(graphs))

    assert same(path)


def test_a_truncated_context_is_refused_with_the_code_of_the_library_and_the_place(quantized, tmp_path):
    path = tmp_path / "cut.bin"
    path.write_bytes(quantized.read_bytes()[:30_000])

    with pytest.raises(UnreadableFile) as refusal:
        read_context(path)

    assert "30010" in refusal.value.reason
    assert refusal.value.offset == 30_000


def test_random_bytes_are_refused_with_a_code_of_the_library(tmp_path):
    path = tmp_path / "random.bin"
    path.write_bytes(random.Random(1).randbytes(9000))

    with pytest.raises(UnreadableFile) as refusal:
        read_context(path)

    assert "QnnSystemContext_getMetaData returned 300" in refusal.value.reason


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "empty.bin"
    path.touch()

    with pytest.raises(UnreadableFile):
        read_context(path)


def test_metadata_with_damaged_bytes_is_read_or_refused_and_nothing_else(quantized, tmp_path):
    content = quantized.read_bytes()
    end = int.from_bytes(content[0x10:0x18], "little") + METADATA_OFFSET
    path = tmp_path / "damaged.bin"
    chance = random.Random(7)
    refused = 0

    for _ in range(40):
        damaged = bytearray(content)
        for place in chance.sample(range(METADATA_OFFSET, end), 3):
            damaged[place] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            read_context(path)
        except UnreadableFile:
            refused += 1

    assert refused > 20


def test_a_file_of_which_the_library_dies_is_refused_and_hexpack_lives(tmp_path):
    path = tmp_path / "deadly.bin"
    path.write_bytes(context(soc_version=None))  # the library follows the absent string

    with pytest.raises(UnreadableFile) as refusal:
        read_context(path)

    assert re.fullmatch(r"the QnnSystem library ended with status -?\d+ on this file", refusal.value.reason)


def test_without_a_library_that_this_host_can_load_the_head_is_read(quantized, tmp_path):
    library = tmp_path / "libQnnSystem.so"
    library.write_bytes(b"\x7fELF of another machine")

    facts = read_context(quantized, library)

    assert facts == read_head(quantized)
