"""Quantized inputs and outputs: a graph that takes and gives the integers between which it computes.

A quantized model keeps float32 at its borders and converts inside. An application that has integers already,
as from a camera, or wants them, saves the conversion when the outermost Q/DQ nodes go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from packager.compilers.jobs import Border
from packager.errors import ManifestError

if TYPE_CHECKING:
    import numpy as np
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

    Array = np.ndarray[Any, Any]

_QUANTIZE, _DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"


def strip(model: ModelProto) -> dict[str, Border]:
    """Take the outermost Q/DQ nodes out of `model`; how each border is quantized now, by its name.

    Borders that are integers already stay. Raises ManifestError where a float border has no such node, or
    one with a scale for each channel, which is nothing that an application could apply to a whole tensor.
    """
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    found: dict[str, Border] = {}
    for value in graph.input:
        if value.name not in weights and _is_float(value):
            found[value.name] = _open_input(graph, value, weights)
    for value in graph.output:
        if _is_float(value):
            found[value.name] = _open_output(graph, value, weights)
    if not found:
        raise _no_border("the model", "no float input or output")
    return found


def to_integers(array: Array, border: Border) -> Array:
    """Float values as the integers of a border, rounded to even and limited to its type."""
    import numpy as np

    limits = np.iinfo(border.dtype)
    scaled = np.rint(array.astype(np.float64) / border.scale) + border.zero_point
    return scaled.clip(limits.min, limits.max).astype(border.dtype)


def to_floats(array: Array, border: Border) -> Array:
    """The integers of a border as float32."""
    import numpy as np

    return ((array.astype(np.float64) - border.zero_point) * border.scale).astype(np.float32)


def _is_float(value: ValueInfoProto) -> bool:
    from onnx import TensorProto

    return value.type.tensor_type.elem_type in (TensorProto.FLOAT, TensorProto.FLOAT16)


def _open_input(graph: GraphProto, value: ValueInfoProto, weights: dict[str, TensorProto]) -> Border:
    users = [node for node in graph.node if value.name in node.input]
    borders = [_border(node, weights) for node in users if node.op_type == _QUANTIZE]
    if not users or len(borders) != len(users) or borders != borders[:1] * len(borders) or borders[0] is None:
        what = ", ".join(sorted({node.op_type for node in users})) or "nothing"
        raise _no_border(f"input {value.name}", f"it goes to {what}")
    for node in users:
        for name, other in _uses(graph, node.output[0]):
            other.input[name] = value.name
        graph.node.remove(node)
    _retype(value, borders[0])
    return borders[0]


def _open_output(graph: GraphProto, value: ValueInfoProto, weights: dict[str, TensorProto]) -> Border:
    maker = next((node for node in graph.node if value.name in node.output), None)
    border = _border(maker, weights) if maker is not None and maker.op_type == _DEQUANTIZE else None
    inner = maker.input[0] if maker is not None else ""
    source = next((node for node in graph.node if inner in node.output), None)
    if maker is None or border is None or source is None:
        raise _no_border(
            f"output {value.name}", f"it comes from {maker.op_type if maker is not None else 'nowhere'}"
        )
    others = list(_uses(graph, value.name))
    if others:  # what is inside goes on taking the float value, under another name
        maker.output[0] = f"{value.name}_inside"
        for place, node in others:
            node.input[place] = maker.output[0]
    for place, node in _uses(graph, inner):
        node.input[place] = value.name
    source.output[list(source.output).index(inner)] = value.name
    if not others:
        graph.node.remove(maker)
    _retype(value, border)
    return border


def _uses(graph: GraphProto, tensor: str) -> Iterator[tuple[int, NodeProto]]:
    for node in graph.node:
        for place, name in enumerate(node.input):
            if name == tensor:
                yield place, node


def _border(node: NodeProto, weights: dict[str, TensorProto]) -> Border | None:
    """How a Q or DQ node converts, None where it is not one number for the whole tensor."""
    from onnx import helper, numpy_helper

    constants = [weights.get(name) for name in node.input[1:3]]
    if len(constants) != 2 or any(one is None for one in constants):
        return None
    scale, zero = (numpy_helper.to_array(one) for one in constants if one is not None)
    if scale.size != 1 or zero.size != 1:
        return None
    kind = helper.tensor_dtype_to_np_dtype(constants[1].data_type).name if constants[1] is not None else ""
    return Border(dtype=kind, scale=float(scale.reshape(())), zero_point=int(zero.reshape(())))


def _retype(value: ValueInfoProto, border: Border) -> None:
    import numpy as np
    from onnx import helper

    value.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(border.dtype))


def _no_border(what: str, found: str) -> ManifestError:
    return ManifestError(
        f'io = "quantized" does not fit: {what} is not quantized at the border',
        evidence=(found,),
        fix='set io = "float", or quantize the whole model, the operators at its borders included',
    )
