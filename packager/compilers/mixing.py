"""Mixed precision: what the manifest says of single nodes and tensors, in the quantizer's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from packager.errors import ManifestError, nearest
from packager.model import Frozen

if TYPE_CHECKING:
    from onnx import GraphProto

# Operators whose weights have one scale for each channel, and along which axis the channels lie.
_CHANNELS = {"Conv": 0, "ConvTranspose": 1}


class Mixed(Frozen):
    """Bits by the names of activations and of weights (with the axis of their channels), and float nodes."""

    activations: dict[str, int]
    weights: dict[str, tuple[int, int | None]]
    float_nodes: tuple[str, ...]

    def overrides(self, *, per_channel: bool) -> dict[str, list[dict[str, Any]]]:
        """The overrides of onnxruntime's quantizer."""
        from onnxruntime.quantization import QuantType

        kinds = {8: QuantType.QUInt8, 16: QuantType.QUInt16}
        found = {name: [{"quant_type": kinds[bits]}] for name, bits in self.activations.items()}
        for name, (bits, axis) in self.weights.items():
            one: dict[str, Any] = {
                "quant_type": QuantType.QInt4 if bits == 4 else QuantType.QInt8,
                "symmetric": True,
            }
            if per_channel and axis is not None:
                one["axis"] = axis
            found[name] = [one]
        return found


def resolved(graph: GraphProto, said: Mapping[str, str]) -> Mixed:
    """What each name stands for in the graph as it is quantized.

    A node's activations are its outputs, its weights are its constant inputs except a bias. Raises
    ManifestError for a name that is neither a node nor a tensor, or a word that does not fit it.
    """
    constants = {tensor.name for tensor in graph.initializer}
    nodes = {node.name: node for node in graph.node}
    users: dict[str, tuple[str, int]] = {}
    for node in graph.node:
        for place, name in enumerate(node.input):
            users.setdefault(name, (node.op_type, place))
    produced = {name for node in graph.node for name in node.output} | {value.name for value in graph.input}
    activations: dict[str, int] = {}
    weights: dict[str, tuple[int, int | None]] = {}
    floats = []
    for name, word in said.items():
        node = nodes.get(name)
        if word == "float":
            if node is None:
                raise _misfit(name, word, "a node's name", {**nodes})
            floats.append(name)
        elif word.startswith("a"):
            outputs = list(node.output) if node is not None else [name]
            if node is None and name not in produced:
                raise _misfit(name, word, "a node or an activation", {*nodes, *produced})
            activations.update(dict.fromkeys(outputs, int(word[1:])))
        else:
            inputs = [one for one in node.input[:2] if one in constants] if node is not None else [name]
            if not inputs or (node is None and name not in constants):
                raise _misfit(name, word, "a weight, or a node with weights", {*nodes, *constants})
            for one in inputs:
                operator, _ = users.get(one, ("", 0))
                weights[one] = (int(word[1:]), _CHANNELS.get(operator))
    return Mixed(activations=activations, weights=weights, float_nodes=tuple(floats))


def _misfit(name: str, word: str, wanted: str, known: Mapping[str, object] | set[str]) -> ManifestError:
    close = nearest(name, sorted(known))
    return ManifestError(
        f'quantization.mixed: "{name}" = "{word}" does not fit the model',
        evidence=(f"wanted  {wanted} of the model", *([f'did you mean "{close}"?'] if close else [])),
        fix="write a name of the ONNX file (`hexpack inspect` and Netron show them); constants are folded "
        "and batch normalisations fused before, so some names are gone",
    )
