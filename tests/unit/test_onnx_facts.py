import tracemalloc

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from packager.errors import UnreadableFile
from packager.facts.onnx import read_onnx


def value(name, shape=(1, 3), dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs=None, outputs=None, initializers=(), **fields):
    graph = helper.make_graph(
        nodes, "g", inputs or [value("x")], outputs or [value("y")], initializer=list(initializers)
    )
    fields = {"opset_imports": [helper.make_opsetid("", 17)], "ir_version": 9, **fields}
    return helper.make_model(graph, **fields)


@pytest.fixture
def saved(tmp_path):
    def save(content):
        path = tmp_path / "model.onnx"
        path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
        return path

    return save


def test_a_model_says_who_made_it_and_what_goes_in_and_out(saved):
    path = saved(
        model(
            [helper.make_node("Relu", ["x"], ["y"])],
            [value("x", ("batch", 3, None, 48)), value("lengths", (2,), TensorProto.INT64)],
            [value("y", (), TensorProto.FLOAT16)],
            producer_name="exporter",
            producer_version="1.2",
        )
    )

    facts = read_onnx(path)

    first, second = facts.inputs
    assert (facts.ir_version, facts.opset, facts.producer) == (9, 17, "exporter 1.2")
    assert (first.name, first.dtype, first.shape) == ("x", "float32", ("batch", 3, "?", 48))
    assert (second.name, second.dtype, second.shape) == ("lengths", "int64", (2,))
    assert [(output.dtype, output.shape) for output in facts.outputs] == [("float16", ())]


def test_operators_of_the_main_graph_are_counted(saved):
    branch = helper.make_graph([helper.make_node("Sin", ["x"], ["b"])], "branch", [], [value("b")])
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Relu", ["a"], ["c"]),
        helper.make_node("If", ["condition"], ["y"], then_branch=branch, else_branch=branch),
    ]
    path = saved(model(nodes))

    facts = read_onnx(path)

    assert facts.operators == {"If": 1, "Relu": 2}
    assert not facts.quantized


def test_quantize_nodes_make_a_model_quantized(saved):
    path = saved(model([helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])]))

    assert read_onnx(path).quantized


def test_weights_that_old_exporters_list_among_the_inputs_are_not_inputs(saved):
    weight = numpy_helper.from_array(np.zeros((3, 3), np.float32), "w")
    path = saved(
        model(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x"), value("w", (3, 3))], None, [weight]
        )
    )

    assert [tensor.name for tensor in read_onnx(path).inputs] == ["x"]


def test_each_rank_and_type_has_one_tensor_as_an_example(saved):
    inner = [value("windows", (1, 2, 3, 4, 5, "n")), value("scaled", (7,), TensorProto.DOUBLE)]
    weights = [
        numpy_helper.from_array(np.zeros((2, 3, 4), np.int8), "w"),
        numpy_helper.from_array(np.zeros((3,), np.float64), "b"),
        numpy_helper.from_array(np.array(1.0, np.float32), "one"),
    ]
    made = model([helper.make_node("Relu", ["x"], ["y"])], initializers=weights)
    made.graph.value_info.extend(inner)

    facts = read_onnx(saved(made))

    assert facts.ranks == {0: "one", 1: "scaled", 2: "x", 3: "w", 6: "windows"}
    assert facts.dtypes == {"float32": "x", "float64": "scaled", "int8": "w"}


def test_a_value_without_a_shape_is_no_example_of_a_scalar(saved):
    unknown = helper.make_tensor_value_info("unknown", TensorProto.FLOAT16, None)
    made = model([helper.make_node("Relu", ["x"], ["y"])])
    made.graph.value_info.append(unknown)

    facts = read_onnx(saved(made))

    assert (facts.ranks, facts.dtypes) == ({2: "x"}, {"float16": "unknown", "float32": "x"})


def test_sizes_of_a_weight_that_are_not_packed_count_too(saved):
    weight = b"\x08\x02\x08\x83\x01\x08\x04\x10\x03\x42\x01w"  # 2x131x4 of int8
    made = model([helper.make_node("Relu", ["x"], ["y"])]).SerializeToString()
    graph = b"\x2a" + bytes([len(weight)]) + weight

    facts = read_onnx(saved(made + b"\x3a" + bytes([len(graph)]) + graph))

    assert (facts.ranks[3], facts.dtypes["int8"]) == ("w", "w")


def test_the_operator_set_is_that_of_the_standard_domain(saved):
    opsets = [
        helper.make_opsetid("com.microsoft", 1),
        helper.make_opsetid("", 21),
        helper.make_opsetid("ai.onnx.ml", 3),
    ]
    path = saved(model([helper.make_node("Relu", ["x"], ["y"])], opset_imports=opsets))

    assert read_onnx(path).opset == 21


def external(name, location):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[1], raw_data=bytes(4))
    set_external_data(tensor, location, offset=0, length=4)
    tensor.ClearField("raw_data")
    return tensor


def test_files_of_external_weights_are_named_once_wherever_they_are_used(saved):
    branch = helper.make_graph(
        [helper.make_node("Relu", ["w3"], ["b"])],
        "branch",
        [],
        [value("b")],
        initializer=[external("w3", "branch.data")],
    )
    nodes = [
        helper.make_node("Constant", [], ["k"], value=external("k", "constant.data")),
        helper.make_node("If", ["x"], ["y"], then_branch=branch, else_branch=branch),
    ]
    path = saved(model(nodes, initializers=[external("w1", "model.data"), external("w2", "model.data")]))

    facts = read_onnx(path)

    assert sorted(facts.external_data) == ["branch.data", "constant.data", "model.data"]


def context_node(**attributes):
    return helper.make_node("EPContext", ["x"], ["y"], domain="com.microsoft", **attributes)


@pytest.mark.parametrize(
    ("attributes", "named"),
    [
        ({"embed_mode": 0, "ep_cache_context": "model_qnn.bin", "main_context": 1}, ("model_qnn.bin",)),
        ({"embed_mode": 1, "ep_cache_context": bytes(200_000), "main_context": 1}, ()),
        ({"ep_cache_context": "embedded by default"}, ()),
        ({"embed_mode": 0, "main_context": 0}, ()),
    ],
    ids=["beside", "embedded", "default", "second node of a context"],
)
def test_a_context_binary_is_named_when_it_lies_beside_the_model(saved, attributes, named):
    path = saved(model([context_node(**attributes)]))

    assert read_onnx(path).context_binaries == named


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None), "sequence"),
        (helper.make_value_info("x", helper.make_optional_type_proto(value("t").type)), "optional"),
        (helper.make_sparse_tensor_value_info("x", TensorProto.DOUBLE, [2, 2]), "float64"),
        (value("x", (1,), TensorProto.UINT4), "uint4"),
    ],
    ids=["sequence", "optional", "sparse", "uint4"],
)
def test_inputs_of_every_kind_have_a_word(saved, kind, word):
    path = saved(model([helper.make_node("Identity", ["x"], ["y"])], [kind]))

    assert [tensor.dtype for tensor in read_onnx(path).inputs] == [word]


def test_every_element_type_of_onnx_has_a_word(saved):
    numbers = [number for number in TensorProto.DataType.values() if number]
    path = saved(
        model([helper.make_node("Identity", ["0"], ["y"])], [value(str(n), (1,), n) for n in numbers])
    )

    words = [tensor.dtype for tensor in read_onnx(path).inputs]

    assert not [word for word in words if word.isdigit()]
    assert len(set(words)) == len(numbers)


def test_the_reader_agrees_with_onnx_on_a_model_of_many_parts(saved):
    rng = np.random.default_rng(1)
    weights = [numpy_helper.from_array(rng.random((n, 3)).astype(np.float32), f"w{n}") for n in range(1, 40)]
    nodes = [helper.make_node(("Add", "Mul", "Sub")[n % 3], ["x", f"w{n}"], [f"t{n}"]) for n in range(1, 40)]
    made = model(nodes, initializers=weights, doc_string="text " * 500)
    path = saved(made)

    facts = read_onnx(path)

    assert facts.operators == dict.fromkeys(("Add", "Mul", "Sub"), 13)
    assert [tensor.name for tensor in facts.outputs] == [
        output.name for output in onnx.load(path).graph.output
    ]


def test_weights_cost_neither_memory_nor_time(tmp_path):
    size = 3 << 30
    tail = b"\x42\x01w"  # TensorProto.name
    raw = b"\x4a" + varint(size)
    weight = b"\x2a" + varint(len(raw) + size + len(tail))
    path = tmp_path / "large.onnx"
    with path.open("wb") as stream:
        stream.write(b"\x3a" + varint(len(weight) + len(raw) + size + len(tail)) + weight + raw)
        stream.seek(size, 1)
        stream.write(tail)

    tracemalloc.start()
    read_onnx(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 1 << 20


@pytest.mark.parametrize("kept", [30, 200, 50_000])
def test_a_truncated_model_is_refused_with_the_number_of_bytes_that_it_lacks(saved, kept):
    weight = numpy_helper.from_array(np.zeros(20_000, np.float32), "w")
    graph = model(
        [helper.make_node("Add", ["x", "w"], ["y"])], None, None, [weight]
    ).graph.SerializeToString()
    content = b"\x3a" + varint(len(graph)) + graph
    path = saved(content[:kept])

    with pytest.raises(UnreadableFile) as refusal:
        read_onnx(path)

    assert refusal.value.reason.startswith(f"truncated: at least {len(content) - kept} bytes")


def test_a_model_cut_between_its_graph_and_its_operator_sets_is_refused(saved):
    made = model([helper.make_node("Relu", ["x"], ["y"])])
    made.ClearField("opset_import")
    path = saved(made)

    with pytest.raises(UnreadableFile) as refusal:
        read_onnx(path)

    assert refusal.value.offset == path.stat().st_size


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\x08\x09", "no graph in it"),
        (b"\x7fELF" * 20, "wire type 7"),
        (b"\x3a\x04\x0a\x09ab\x08\x09", "7 bytes after the message around it"),
        (b"\x08" + b"\xff" * 12, "a number of more than 10 bytes"),
        (b"\x00\x01", "a field with the number 0"),
    ],
    ids=["empty", "no graph", "elf", "overrun", "number", "zero"],
)
def test_what_is_no_model_is_refused_with_a_reason(saved, content, reason):
    path = saved(content)

    with pytest.raises(UnreadableFile) as refusal:
        read_onnx(path)

    assert reason in refusal.value.reason


def test_graphs_nested_beyond_reason_are_refused(saved):
    graph = b""
    for _ in range(60):
        attribute = b"\x32" + varint(len(graph)) + graph
        node = b"\x2a" + varint(len(attribute)) + attribute
        graph = b"\x0a" + varint(len(node)) + node
    path = saved(b"\x3a" + varint(len(graph)) + graph)

    with pytest.raises(UnreadableFile) as refusal:
        read_onnx(path)

    assert "deep in each other" in refusal.value.reason


def varint(number):
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])
