"""What each node of an ONNX graph takes and gives: element types and shapes, as far as they can be inferred.

Runs inside the worker, after a refusal: a name alone does not say why the NPU refuses a node.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from packager import catalog
from packager.compilers.jobs import NodeFacts, NodeTensor
from packager.compilers.onnx_model import label

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

_QUANTIZE, _DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
_LARGE = 1 << 20  # bytes; larger weights are never shapes or axes, and inference copies what it is given


def describe(model: ModelProto) -> tuple[NodeFacts, ...]:
    """The nodes of the graph in its order. A tensor between two Q/DQ nodes is told in its quantized type.

    What shape inference does not find out is left out; the model's large weights are dropped on the way.
    """
    import onnx

    _without_large_weights(model.graph)
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    types = _types(inferred)
    quantized = dict(_quantized(inferred, types))
    return tuple(_facts(node, types, quantized) for node in inferred.node)


def _without_large_weights(graph: GraphProto) -> None:
    """Large weights become inputs of the same type: inference needs no more of them."""
    from onnx import helper

    known = {value.name for value in graph.input}
    small = []
    for tensor in graph.initializer:
        if len(tensor.raw_data) < _LARGE:
            small.append(tensor)
        elif tensor.name not in known:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    kept = [tensor.SerializeToString() for tensor in small]
    del graph.initializer[:]
    for data in kept:
        graph.initializer.add().ParseFromString(data)


def _types(graph: GraphProto) -> dict[str, NodeTensor]:
    words = {row["id"]: row["word"] for row in catalog.table("onnx_types")["dtype"]}
    found = {
        tensor.name: NodeTensor(name=tensor.name, dtype=words[tensor.data_type], shape=tuple(tensor.dims))
        for tensor in graph.initializer
    }
    for value in itertools.chain(graph.input, graph.value_info, graph.output):
        kind = value.type.tensor_type
        if kind.elem_type in words:
            dims = tuple(dim.dim_value if dim.dim_value > 0 else None for dim in kind.shape.dim)
            shape = dims if kind.HasField("shape") else None
            found[value.name] = NodeTensor(name=value.name, dtype=words[kind.elem_type], shape=shape)
    return found


def _quantized(graph: GraphProto, types: Mapping[str, NodeTensor]) -> Iterator[tuple[str, str]]:
    """Float tensors next to a Q or DQ node, and the quantized type on its other side."""
    for node in graph.node:
        if node.op_type == _QUANTIZE and node.output[0] in types:
            yield node.input[0], types[node.output[0]].dtype
        elif node.op_type == _DEQUANTIZE and node.input[0] in types:
            yield node.output[0], types[node.input[0]].dtype


def _facts(node: NodeProto, types: Mapping[str, NodeTensor], quantized: Mapping[str, str]) -> NodeFacts:
    def known(names: Iterable[str]) -> tuple[NodeTensor, ...]:
        return tuple(
            types[name].model_copy(update={"quantized": quantized.get(name)})
            for name in names
            if name in types
        )

    return NodeFacts(
        name=node.name or label(node),
        operator=node.op_type,
        inputs=known(node.input),
        outputs=known(node.output),
    )
