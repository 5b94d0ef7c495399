"""Containers, model libraries and shared weights as real tools write them: QAIRT's DLC writer and compiler, zig."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from packager.facts.context_binary import read_context
from packager.facts.context_head import read_head
from packager.facts.dlc import read_dlc
from packager.facts.dlc_records import Container
from packager.facts.identify import identify, read
from packager.facts.onnx import read_onnx
from tests.make.dlc import snpe2_dlc

SOC_MODEL = 57
SOC_MODEL_OF_V69 = 36
# Models that are saved under their names and what is done with them, one after the other.
MAKE = """
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime, onnxruntime_qnn
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.tools.onnx_model_utils import make_input_shape_fixed

ROOT = Path(onnxruntime_qnn.get_library_path()).parent
WEIGHTS = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def quantized(dtype):
    scale = helper.make_tensor("s", TensorProto.FLOAT, [], [0.25])
    zero = helper.make_tensor("z", dtype, [], [7])
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("QuantizeLinear", ["b", "s", "z"], ["y"]),
    ]
    shape = [1, 3, 8, 8]
    borders = [value("x", dtype, shape)], [value("y", dtype, shape)]
    return helper.make_graph(nodes, "quantized", *borders, [scale, zero])


def product(rows):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    borders = [[value(name, TensorProto.FLOAT, [rows, 256])] for name in "xy"]
    return helper.make_graph(nodes, f"product{rows}", *borders, [numpy_helper.from_array(WEIGHTS, "w")])


def session(graph, entries, backend):
    if isinstance(graph, str):
        model = onnx.load(graph)
        make_input_shape_fixed(model.graph, "x", [1, 3, 48, 48])
        model.graph.name = "classifier"
    else:
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    file = f"{model.graph.name}.onnx"  # the name of the graph in a context comes from the file's
    onnx.save(model, file)
    options = onnxruntime.SessionOptions()
    for key, setting in entries.items():
        options.add_session_config_entry(key, setting)
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNN"]
    options.add_provider_for_devices(devices[:1], backend)
    return onnxruntime.InferenceSession(file, options)


def container(graph):
    library = str(ROOT / "libQnnIr.so")
    return session(graph, {}, {"backend_path": library, "dump_qnn_ir_dlc": "1", "dump_qnn_ir_dlc_dir": "."})


def context(graph, name, **more):
    entries = {"ep.context_enable": "1", "ep.context_embed_mode": "0", "ep.context_file_path": name}
    backend = {"backend_path": onnxruntime_qnn.get_qnn_htp_path(), "soc_model": soc_model}
    if more:
        backend["enable_htp_weight_sharing"] = "1"
    return session(graph, {**entries, **more}, backend)


onnxruntime.register_execution_provider_library("QNN", onnxruntime_qnn.get_library_path())
what, soc_model = sys.argv[1:]
if what in ("UINT8", "INT4"):
    graph = quantized(TensorProto.DataType.Value(what))
    container(graph)
    try:
        context(graph, "compiled.onnx")
    except Exception as refusal:  # of the ONNX around the context, whose node takes no 4 bits
        assert "(EPContext)" in str(refusal), refusal
elif what == "sharing":
    kept = context(product(1), "alone.onnx")
    kept = context(product(1), "one.onnx", **{"ep.share_ep_contexts": "1"})
    last = {"ep.share_ep_contexts": "1", "ep.stop_share_ep_contexts": "1"}
    also = context(product(16), "sixteen.onnx", **last)
else:
    container(what)
"""


def made(folder: Path, what: str, soc_model: int = SOC_MODEL) -> Path:
    command = [sys.executable, "-c", MAKE, what, str(soc_model)]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return folder


def container_and_context(folder: Path, dtype: str) -> tuple[Path, Path]:
    (container,), (context,) = made(folder, dtype).glob("*.dlc"), folder.glob("*.bin")
    return container, context


@pytest.fixture(scope="module")
def quantized(tmp_path_factory):
    """A container and a context of the same quantized model."""
    return container_and_context(tmp_path_factory.mktemp("quantized"), "UINT8")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory, classifier_onnx):
    """A container of the classifier, and the model that it was made from."""
    folder = made(tmp_path_factory.mktemp("classifier"), str(classifier_onnx))
    (container,) = folder.glob("*.dlc")
    return container, folder / "classifier.onnx"


@pytest.fixture(scope="module")
def sharing(tmp_path_factory):
    """A context of one graph, and one of two graphs with the same weights."""
    folder = made(tmp_path_factory.mktemp("sharing"), "sharing")
    (alone,) = folder.glob("alone*.bin")
    (together,) = set(folder.glob("*.bin")) - {alone}
    return alone, together


def records_by_the_library(path: Path) -> dict[int, list[int]]:
    """The sizes of a container's records by the numbers that libQnnSystem gives to their types."""
    folder = Path(importlib.util.find_spec("onnxruntime_qnn").submodule_search_locations[0])
    library = ctypes.CDLL(str(folder / "libQnnSystem.so"))
    providers, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_uint32()
    library.QnnSystemInterface_getProviders.restype = ctypes.c_uint64
    assert library.QnnSystemInterface_getProviders(ctypes.byref(providers), ctypes.byref(count)) == 0
    functions = (ctypes.c_void_p * 32).from_address(providers[0] + 32)

    def call(number, *arguments):
        function = ctypes.CFUNCTYPE(ctypes.c_uint64, *map(type, arguments))(functions[number])
        assert function(*arguments) == 0

    handle, sizes = ctypes.c_void_p(), {}
    call(8, ctypes.c_void_p(), ctypes.c_char_p(os.fsencode(path)), ctypes.pointer(handle))
    for kind in range(1, 0x16):
        found, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_uint32()
        wanted = ctypes.c_uint32(kind), ctypes.c_uint8(0)
        call(17, handle, *wanted, ctypes.pointer(found), ctypes.pointer(count))
        for index in range(count.value):
            size = ctypes.c_uint64()
            call(18, ctypes.c_void_p(found[index]), ctypes.pointer(size))
            sizes.setdefault(kind, []).append(size.value)
    call(12, handle)
    return sizes


def test_a_container_of_a_real_model_tells_its_graph_and_the_release_that_wrote_it(classifier):
    container, model = classifier

    facts = read(container)

    (graph,) = facts.graphs
    onnx = read_onnx(model)
    borders = [(tensor.name, tensor.dtype, tensor.shape) for tensor in (*onnx.inputs, *onnx.outputs)]
    assert (identify(container), facts.lineage, facts.caches) == ("dlc", "qairt", ())
    assert [(t.name, t.dtype, t.shape) for t in (*graph.inputs, *graph.outputs)] == [
        borders[0], (borders[1][0], "float32", (1, 2)),
    ]  # fmt: skip
    assert facts.qairt_build == f"v{facts.converter_version}"
    assert facts.qairt_build.startswith("v2.51.0.")


def test_the_container_and_the_context_of_one_model_agree_on_its_quantization(quantized):
    container, context = quantized

    (graph,), (compiled,) = read_dlc(container).graphs, read_context(context).graphs

    assert (graph.inputs, graph.outputs) == (compiled.inputs, compiled.outputs)
    assert (graph.inputs[0].scale, graph.inputs[0].offset) == (0.25, -7)


def test_four_bits_have_the_same_scale_and_offset_in_container_context_and_head(tmp_path):
    container, context = container_and_context(tmp_path, "INT4")

    (graph,), (compiled,), (head,) = (
        read(container).graphs, read_context(context).graphs, read_head(context).graphs,
    )  # fmt: skip

    assert (graph.inputs, graph.outputs) == (compiled.inputs, compiled.outputs)
    assert (head.inputs, head.outputs) == (compiled.inputs, compiled.outputs)
    assert (compiled.inputs[0].scale, compiled.inputs[0].offset) == (0.25, -7)


def test_the_library_counts_the_same_records_of_the_same_roles_and_sizes(quantized):
    container, _ = quantized
    roles = {"metadata": 1, "topology": 2, "parameters": 3, "weights": 4, "history": 0x15}

    facts = read_dlc(container)

    ours = {}
    for record in facts.records:
        ours.setdefault(roles[record.role], []).append(record.size)
    assert ours == records_by_the_library(container)


def test_a_context_inside_a_container_is_read_by_the_library_as_if_it_were_a_file(quantized, tmp_path):
    container, context = quantized
    with container.open("rb") as stream:
        whole = Container(container, stream, container.stat().st_size)
        (topology,) = (record for record in whole.records if record.name == "model")
        records = {"model": whole.beginning(topology, topology.size), "any.name": context.read_bytes()}
    path = tmp_path / "prepared.dlc"
    path.write_bytes(snpe2_dlc(records=records))

    facts = read_dlc(path)

    (cache,) = facts.caches
    assert cache.context == read_context(context)
    assert (cache.context.authority, cache.context.soc_model) == ("libQnnSystem", SOC_MODEL)
    assert facts.graphs == read_dlc(container).graphs


def test_graphs_that_share_weights_tell_their_size_by_library_and_head(sharing):
    alone, together = sharing

    (single,), several = read_context(alone).graphs, read_context(together).graphs

    # 256 times 256 weights of two bytes, and what the compiler adds
    assert [graph.shared_weights_bytes // (256 * 256 * 2) for graph in several] == [1, 1]
    assert not single.shared_weights_bytes
    assert several == read_head(together).graphs
    assert (single,) == read_head(alone).graphs


def test_the_compiler_shares_weights_even_for_a_hexagon_that_cannot_and_the_file_tells(tmp_path):
    folder = made(tmp_path, "sharing", SOC_MODEL_OF_V69)
    (together,) = set(folder.glob("*.bin")) - set(folder.glob("alone*"))

    facts = read_context(together)

    assert (facts.soc_model, facts.hexagon_arch) == (SOC_MODEL_OF_V69, 69)
    assert all(graph.shared_weights_bytes for graph in facts.graphs)


@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "x86_64-linux-musl", "aarch64-windows-gnu"])
def test_a_model_library_tells_its_prefix_whatever_its_format(store, tmp_path, target):
    source, library = tmp_path / "net.c", tmp_path / "net"
    source.write_text(
        "#ifdef _WIN32\n"
        "#define API __declspec(dllexport)\n"
        "int DllMainCRTStartup(void) { return 1; }\n"
        "#else\n"
        "#define API\n"
        "#endif\n"
        "API int Net_composeGraphs(void) { return 0; }\n"
        "API int Net_freeGraphsInfo(void) { return 0; }\n"
    )
    cache = str(store.root / "zig")
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-shared", "-nostdlib"]
    subprocess.run(
        [*command, "-o", library, source],
        env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache},
        check=True,
    )

    facts = read(library)

    assert facts.kind == ("pe" if "windows" in target else "elf")
    assert (facts.model_prefix, facts.qnn_entries) == ("Net", ("Net_composeGraphs", "Net_freeGraphsInfo"))
