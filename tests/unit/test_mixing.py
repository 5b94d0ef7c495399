"""Names of the manifest in the terms of the quantizer."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from packager.compilers.mixing import resolved
from packager.errors import ManifestError


@pytest.fixture(scope="module")
def graph():
    def tensor(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)

    nodes = [
        helper.make_node("Conv", ["x", "kernel", "bias"], ["c"], name="first"),
        helper.make_node("MatMul", ["c", "matrix"], ["y"], name="second"),
    ]
    weights = [
        numpy_helper.from_array(np.zeros(1, np.float32), name) for name in ("kernel", "bias", "matrix")
    ]
    return helper.make_graph(nodes, "g", [tensor("x")], [tensor("y")], weights)


def test_a_nodes_name_means_its_outputs_or_its_weights_but_no_bias(graph):
    mixed = resolved(graph, {"first": "w4", "second": "a16"})

    assert mixed.weights == {"kernel": (4, 0)}
    assert mixed.activations == {"y": 16}


def test_tensors_are_named_themselves_and_float_nodes_are_left_out(graph):
    mixed = resolved(graph, {"matrix": "w8", "x": "a8", "first": "float"})

    assert (mixed.weights, mixed.activations, mixed.float_nodes) == (
        {"matrix": (8, None)},
        {"x": 8},
        ("first",),
    )


def test_channels_have_an_axis_only_where_weights_have_one_scale_for_each(graph):
    mixed = resolved(graph, {"first": "w4", "second": "w8"})

    assert "axis" not in mixed.overrides(per_channel=False)["kernel"][0]
    assert mixed.overrides(per_channel=True)["kernel"][0]["axis"] == 0
    assert "axis" not in mixed.overrides(per_channel=True)["matrix"][0]


@pytest.mark.parametrize(
    ("said", "close"),
    [({"frist": "a16"}, "first"), ({"kernels": "w4"}, "kernel"), ({"c": "float"}, ""), ({"c": "w8"}, "")],
)
def test_a_name_that_does_not_fit_is_told_with_the_nearest(graph, said, close):
    with pytest.raises(ManifestError, match=r"quantization\.mixed") as caught:
        resolved(graph, said)

    assert close in " ".join(caught.value.evidence)
