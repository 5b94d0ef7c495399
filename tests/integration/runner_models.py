"""Compile small models with onnxruntime's QNN provider and run them: python runner_models.py FOLDER KIND SOC.

Leaves in FOLDER: model.bin, x.npy, and one .npy for each output of the reference run.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import onnxruntime_qnn
from onnx import TensorProto, helper, numpy_helper

SHAPE = [1, 3, 8, 8]
RANDOM = np.random.default_rng(7)
WEIGHTS = (RANDOM.standard_normal((3, 3, 3, 3)) * 0.2).astype(np.float32)


def float_model(dtype: int) -> onnx.ModelProto:
    """Conv and Relu; the output's name is no file name."""
    numbers = WEIGHTS.astype(helper.tensor_dtype_to_np_dtype(dtype))
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y:0/out"]),
    ]
    return _model(nodes, ["y:0/out"], [numpy_helper.from_array(numbers, "w")], dtype)


def quantized_model() -> onnx.ModelProto:
    """A convolution whose context stores input and output in 16 bits."""
    scales = {"sx": np.float32(1 / 8192), "sw": np.float32(0.01), "sy": np.float32(1 / 4096)}
    zeros = {"zx": np.uint16(30000), "zw": np.int8(0), "zy": np.uint16(32768)}
    stored = np.clip(np.rint(WEIGHTS / scales["sw"]), -127, 127).astype(np.int8)
    values = [numpy_helper.from_array(np.asarray(v), k) for k, v in {**scales, **zeros, "wq": stored}.items()]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "sx", "zx"], ["xd"]),
        helper.make_node("DequantizeLinear", ["wq", "sw", "zw"], ["wd"]),
        helper.make_node("Conv", ["xd", "wd"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("QuantizeLinear", ["c", "sy", "zy"], ["cq"]),
        helper.make_node("DequantizeLinear", ["cq", "sy", "zy"], ["y"]),
    ]
    return _model(nodes, ["y"], values, TensorProto.FLOAT)


def split_model() -> onnx.ModelProto:
    """Two graphs in one context, because the operator between them runs on the host."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Shrink", ["a"], ["b"], lambd=0.1),
        helper.make_node("Conv", ["b", "w"], ["c"], pads=[1, 1, 1, 1]),
    ]
    return _model(nodes, ["a", "b", "c"], [numpy_helper.from_array(WEIGHTS, "w")], TensorProto.FLOAT)


def _model(nodes: list, outputs: list[str], values: list, dtype: int) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", dtype, SHAPE)],
        [helper.make_tensor_value_info(name, dtype, SHAPE) for name in outputs],
        values,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


KINDS = {
    "float32": lambda: float_model(TensorProto.FLOAT),
    "float16": lambda: float_model(TensorProto.FLOAT16),
    "quantized": quantized_model,
    "split": split_model,
}


def main(folder: str, kind: str, soc: str) -> None:
    """Compile in `folder`, then run what was compiled from its file."""
    os.chdir(folder)
    model = KINDS[kind]()
    onnx.save(model, "model.onnx")
    onnxruntime.register_execution_provider_library("QNN", onnxruntime_qnn.get_library_path())
    devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "QNN"]

    def session(path: str, **entries: str) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        for key, value in entries.items():
            options.add_session_config_entry(key.replace("__", "."), value)
        settings = {"backend_path": onnxruntime_qnn.get_qnn_htp_path(), "soc_model": soc}
        options.add_provider_for_devices(devices, settings)
        return onnxruntime.InferenceSession(path, options)

    session(
        "model.onnx", ep__context_enable="1", ep__context_file_path="ctx.onnx", ep__context_embed_mode="0"
    )
    (binary,) = Path().glob("*.bin")
    reference = session("ctx.onnx")
    x = RANDOM.standard_normal(SHAPE).astype(np.float32)
    x.flat[:4] = [9.0, -9.0, 0.0, 1 / 16384]  # beyond both ends of the 16-bit range, zero, half a step
    native = x.astype(np.float16) if kind == "float16" else x
    np.save("x.npy", x)
    for output, value in zip(reference.get_outputs(), reference.run(None, {"x": native}), strict=True):
        np.save(f"{output.name.replace(':', '_').replace('/', '_')}.npy", value)
    binary.rename("model.bin")


if __name__ == "__main__":
    main(*sys.argv[1:])
