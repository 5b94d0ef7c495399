"""Networks of well-known shapes with random weights, written node by node: nothing is downloaded for them.

Batch normalisations are folded into their convolutions, as exporters do for inference. Weights are drawn so
that activations keep their size from layer to layer; the numbers mean nothing, the operators do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Graph:
    """Collects nodes and weights; every method returns the name of its output."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []

    def node(self, operator: str, *inputs: str, **attributes: object) -> str:
        """A node with one output."""
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def weight(self, shape: Sequence[int], fan_in: int = 0) -> str:
        """Random numbers; with `fan_in` of the deviation that keeps the size of activations."""
        deviation = np.sqrt(2 / fan_in) if fan_in else 0.02
        return self.constant((self._random.standard_normal(shape) * deviation).astype(np.float32))

    def constant(self, array: np.ndarray) -> str:
        """A weight of these numbers."""
        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(array, name))
        return name

    def convolution(self, x: str, ins: int, outs: int, k: int, stride: int = 1, groups: int = 1) -> str:
        """A convolution with bias, padded so that only `stride` makes it smaller."""
        fan_in = ins // groups * k * k
        weights = (self.weight((outs, ins // groups, k, k), fan_in), self.weight((outs,)))
        return self.node(
            "Conv", x, *weights, kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2] * 4, group=groups
        )

    def linear(self, x: str, ins: int, outs: int) -> str:
        """x · W + b over the last dimension."""
        product = self.node("MatMul", x, self.weight((ins, outs), 2 * ins))
        return self.node("Add", product, self.weight((outs,)))

    def normalised(self, x: str, size: int) -> str:
        """Layer normalisation over the last dimension."""
        scale = self.constant(np.ones(size, np.float32))
        return self.node("LayerNormalization", x, scale, self.weight((size,)), axis=-1)

    def reshaped(self, x: str, *shape: int) -> str:
        """The same numbers in another shape."""
        return self.node("Reshape", x, self.constant(np.array(shape, np.int64)))

    def pooled(self, x: str, ins: int, outs: int) -> str:
        """The head of a classifier."""
        flat = self.node("Flatten", self.node("GlobalAveragePool", x))
        return self.node("Gemm", flat, self.weight((ins, outs), ins), self.weight((outs,)))

    def model(self, y: str, shape: Sequence[int], out: Sequence[int]) -> onnx.ModelProto:
        """The whole model, input `x` and output `y`."""
        self._nodes.append(helper.make_node("Identity", [y], ["y"], name="output"))
        graph = helper.make_graph(
            self._nodes,
            "network",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
            self._weights,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def _squeezed(g: Graph, x: str, channels: int, inner: int, gate: str, act: str) -> str:
    pooled = g.node("GlobalAveragePool", x)
    hidden = _activated(g, g.convolution(pooled, channels, inner, 1), act)
    return g.node("Mul", x, g.node(gate, g.convolution(hidden, inner, channels, 1)))


def _activated(g: Graph, x: str, act: str) -> str:
    return g.node("Mul", x, g.node("Sigmoid", x)) if act == "Swish" else g.node(act, x)


def _inverted(g: Graph, x: str, ins: int, outs: int, k: int, stride: int, mid: int, se: int, act: str) -> str:
    """An inverted residual block: widen, depthwise, perhaps squeeze and excite, narrow."""
    gate, inner = ("Sigmoid", "Swish") if act == "Swish" else ("HardSigmoid", "Relu")
    y = x if mid == ins else _activated(g, g.convolution(x, ins, mid, 1), act)
    y = _activated(g, g.convolution(y, mid, mid, k, stride, mid), act)
    if se:
        y = _squeezed(g, y, mid, se, gate, inner)
    y = g.convolution(y, mid, outs, 1)
    return g.node("Add", x, y) if stride == 1 and ins == outs else y


# kernel, widened to, channels, squeezed to (0: not at all), activation, stride
_MOBILE = (
    (3, 16, 16, 0, "Relu", 1), (3, 64, 24, 0, "Relu", 2), (3, 72, 24, 0, "Relu", 1), (5, 72, 40, 24, "Relu", 2),
    (5, 120, 40, 32, "Relu", 1), (5, 120, 40, 32, "Relu", 1), (3, 240, 80, 0, "HardSwish", 2),
    (3, 200, 80, 0, "HardSwish", 1), (3, 184, 80, 0, "HardSwish", 1), (3, 184, 80, 0, "HardSwish", 1),
    (3, 480, 112, 120, "HardSwish", 1), (3, 672, 112, 168, "HardSwish", 1), (5, 672, 160, 168, "HardSwish", 2),
    (5, 960, 160, 240, "HardSwish", 1), (5, 960, 160, 240, "HardSwish", 1),
)  # fmt: skip


def mobilenet_v3() -> onnx.ModelProto:
    """MobileNetV3-Large, 224×224, 5.5 million weights."""
    g = Graph(1)
    y = g.node("HardSwish", g.convolution("x", 3, 16, 3, 2))
    channels = 16
    for k, mid, outs, se, act, stride in _MOBILE:
        y = _inverted(g, y, channels, outs, k, stride, mid, se, act)
        channels = outs
    y = g.node("HardSwish", g.convolution(y, 160, 960, 1))
    y = g.node("HardSwish", g.pooled(y, 960, 1280))
    y = g.node("Gemm", y, g.weight((1280, 1000), 1280), g.weight((1000,)))
    return g.model(y, (1, 3, 224, 224), (1, 1000))


# widening, channels, blocks, stride, kernel
_EFFICIENT = (
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)  # fmt: skip


def efficientnet_b0() -> onnx.ModelProto:
    """EfficientNet-B0, 224×224, 5.3 million weights."""
    g = Graph(2)
    y = _activated(g, g.convolution("x", 3, 32, 3, 2), "Swish")
    channels = 32
    for wider, outs, blocks, stride, k in _EFFICIENT:
        for block in range(blocks):
            step = 1 if block else stride
            y = _inverted(g, y, channels, outs, k, step, channels * wider, max(1, channels // 4), "Swish")
            channels = outs
    y = _activated(g, g.convolution(y, 320, 1280, 1), "Swish")
    return g.model(g.pooled(y, 1280, 1000), (1, 3, 224, 224), (1, 1000))


def resnet_18() -> onnx.ModelProto:
    """ResNet-18, 224×224, 11.7 million weights."""
    g = Graph(3)
    y = g.node("Relu", g.convolution("x", 3, 64, 7, 2))
    y = g.node("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    ins = 64
    for outs in (64, 128, 256, 512):
        for block in range(2):
            stride = 2 if block == 0 and outs != 64 else 1
            inner = g.node("Relu", g.convolution(y, ins, outs, 3, stride))
            inner = g.convolution(inner, outs, outs, 3)
            beside = y if ins == outs else g.convolution(y, ins, outs, 1, stride)
            y = g.node("Relu", g.node("Add", inner, beside))
            ins = outs
    return g.model(g.pooled(y, 512, 1000), (1, 3, 224, 224), (1, 1000))


def _attended(g: Graph, x: str, tokens: int, size: int, heads: int, mask: str | None) -> str:
    def split(name: str, order: Sequence[int]) -> str:
        return g.node("Transpose", g.reshaped(name, 1, tokens, heads, size // heads), perm=list(order))

    q, k, v = (g.linear(x, size, size) for _ in range(3))
    scores = g.node("MatMul", split(q, (0, 2, 1, 3)), split(k, (0, 2, 3, 1)))
    scores = g.node("Mul", scores, g.constant(np.array((size // heads) ** -0.5, np.float32)))
    if mask:
        scores = g.node("Add", scores, mask)
    mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), split(v, (0, 2, 1, 3)))
    joined = g.reshaped(g.node("Transpose", mixed, perm=[0, 2, 1, 3]), 1, tokens, size)
    return g.linear(joined, size, size)


def _gelu(g: Graph, x: str) -> str:
    half = g.node("Mul", x, g.constant(np.array(0.5, np.float32)))
    inner = g.node("Erf", g.node("Div", x, g.constant(np.array(np.sqrt(2), np.float32))))
    return g.node("Mul", half, g.node("Add", inner, g.constant(np.array(1, np.float32))))


def _block(g: Graph, x: str, tokens: int, size: int, heads: int, mask: str | None = None) -> str:
    x = g.node("Add", x, _attended(g, g.normalised(x, size), tokens, size, heads, mask))
    inner = _gelu(g, g.linear(g.normalised(x, size), size, 4 * size))
    return g.node("Add", x, g.linear(inner, 4 * size, size))


def vit_blocks() -> onnx.ModelProto:
    """Six blocks of ViT-Tiny with its patches of 16×16 from 224×224, 2.9 million weights."""
    g = Graph(4)
    tokens, size = 196, 192
    fan_in = 3 * 16 * 16
    weights = (g.weight((size, 3, 16, 16), fan_in), g.weight((size,)))
    y = g.node("Conv", "x", *weights, kernel_shape=[16, 16], strides=[16, 16])
    y = g.node("Transpose", g.reshaped(y, 1, size, tokens), perm=[0, 2, 1])
    y = g.node("Add", y, g.weight((1, tokens, size)))
    for _ in range(6):
        y = _block(g, y, tokens, size, 3)
    y = g.node("ReduceMean", g.normalised(y, size), axes=[1], keepdims=0)
    y = g.node("Gemm", y, g.weight((size, 1000), size), g.weight((1000,)))
    return g.model(y, (1, 3, 224, 224), (1, 1000))


def decoder_block() -> onnx.ModelProto:
    """One block of a transformer decoder of 99.6 million weights, 16 tokens at once, causal mask."""
    g = Graph(5)
    tokens, size = 16, 2880
    mask = g.constant(np.triu(np.full((tokens, tokens), -100.0, np.float32), 1)[None, None])
    y = _block(g, "x", tokens, size, 24, mask)
    return g.model(g.normalised(y, size), (1, tokens, size), (1, tokens, size))
