"""Run a context binary through onnxruntime's QNN provider: python -m tests.integration.run_context BIN IN OUT."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnxruntime
import onnxruntime_qnn
from onnx import TensorProto, helper


def main(context: str, sample: str, out: str) -> None:
    """Wrap the context in an EPContext node of its own and execute it on the simulator."""
    from packager.facts.context_binary import read_context

    (graph,) = read_context(__import__("pathlib").Path(context)).graphs
    tensors = [
        [helper.make_tensor_value_info(t.name, TensorProto.FLOAT, t.shape) for t in side]
        for side in (graph.inputs, graph.outputs)
    ]
    node = helper.make_node(
        "EPContext",
        [t.name for t in graph.inputs],
        [t.name for t in graph.outputs],
        name=graph.name,
        domain="com.microsoft",
        embed_mode=0,
        ep_cache_context=context,
        main_context=1,
        partition_name=graph.name,
        source="QNNExecutionProvider",
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(
        helper.make_model(helper.make_graph([node], "g", *tensors), opset_imports=opsets, ir_version=9),
        "wrapper.onnx",
    )
    onnxruntime.register_execution_provider_library("QNN", onnxruntime_qnn.get_library_path())
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNN"]
    options.add_provider_for_devices(
        devices, {"backend_path": onnxruntime_qnn.get_qnn_htp_path(), "soc_model": "77"}
    )
    session = onnxruntime.InferenceSession("wrapper.onnx", options)
    np.save(out, session.run(None, {graph.inputs[0].name: np.load(sample)})[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
