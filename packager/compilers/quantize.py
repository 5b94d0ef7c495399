"""Post-training quantization for the HTP, with onnxruntime's own recipe for it. Runs inside the worker.

The order matters. Below opset 12 a MaxPool does not count as quantized and v68 refuses it, and below 13 there
is no per-channel quantization, so the opset is raised first. Without `quant_pre_process` batch normalisations
stay float and every SoC refuses them. With model metadata left in place `qnn_preprocess_model` of onnxruntime
1.32 raises TypeError (onnx 1.23). Weights per channel: depthwise convolutions lose most without it.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packager.compilers import mixing, onnx_model, samples
from packager.compilers.outcome import tool
from packager.manifest_samples import Quantization

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto
    from onnxruntime.quantization import QuantType

_OPSET = 21


def quantize(model: Path, precision: str, calibration: samples.Feed, said: Quantization, out: Path) -> None:
    """Write to `out` the model with Q/DQ nodes around everything but what `said.mixed` leaves in float.

    Inputs and outputs stay as they are: the quantization happens inside the graph, on the NPU. Works in the
    current folder. Raises ManifestError for a name in `said.mixed` that the graph does not have, ToolFailed
    when the quantizer cannot handle the graph.
    """
    import onnx
    from onnxruntime.quantization import QuantType
    from onnxruntime.quantization import quantize as quantize_static
    from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config, qnn_preprocess_model
    from onnxruntime.quantization.shape_inference import quant_pre_process

    # Its warnings tell to do what is being done here.
    logging.getLogger().setLevel(logging.ERROR)
    fix = 'quantize the model with a tool of your own and set precision = "as-is"'
    with tool(f"quantizing to {precision}", fix=fix):
        onnx.save(_raised(onnx.load(str(model))), "raised.onnx")
        quant_pre_process("raised.onnx", "folded.onnx", skip_symbolic_shape=True)
        source = "folded.onnx"
        onnx.save(onnx_model.tidy(onnx.load(source)), source)
        if qnn_preprocess_model(source, "fused.onnx"):
            source = "fused.onnx"
        graph = onnx.load(source).graph
        mixed = mixing.resolved(graph, said.mixed)
        config = get_qnn_qdq_config(
            source,
            calibration,
            activation_type=QuantType.QUInt8 if precision == "w8a8" else QuantType.QUInt16,
            weight_type=QuantType.QInt4 if precision == "w4a16" else QuantType.QInt8,
            per_channel=said.per_channel,
            init_overrides={
                **_norm_scales(graph, QuantType.QUInt8),
                **mixed.overrides(per_channel=said.per_channel),
            },
            nodes_to_exclude=list(mixed.float_nodes) or None,
        )
        quantize_static(source, "quantized.onnx", config)
        onnx.save(onnx_model.tidy(onnx.load("quantized.onnx")), str(out))


def _raised(model: ModelProto) -> ModelProto:
    """The model in an opset whose own Q/DQ operators know 16 bits and axes."""
    from onnx import version_converter

    now = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    return model if now >= _OPSET else version_converter.convert_version(model, _OPSET)


def _norm_scales(graph: GraphProto, kind: QuantType) -> dict[str, list[dict[str, Any]]]:
    """What the HTP wants otherwise: it refuses a LayerNormalization whose scale is signed, on every SoC."""
    weights = {tensor.name for tensor in graph.initializer}
    scales = [node.input[1] for node in graph.node if node.op_type == "LayerNormalization"]
    return {name: [{"quant_type": kind, "symmetric": False}] for name in scales if name in weights}
