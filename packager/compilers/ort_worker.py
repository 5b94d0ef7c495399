"""The other side of `worker`: one job in one process. `python -m packager.compilers.ort_worker JOB RESULT`.

Everything heavy happens here: onnx, onnxruntime, the vendor's compiler and simulator. File names inside a job
are relative to the current folder except those of the user's own files. The result is one JSON document; a
missing one means that the process did not live to write it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packager import files
from packager.compilers import borders, node_types, onnx_model, samples
from packager.compilers.jobs import Border, TensorSpec
from packager.compilers.outcome import first_line, told, tool
from packager.compilers.quantize import quantize
from packager.errors import HexpackError, InputUnavailable, ManifestError
from packager.manifest_model import Input
from packager.manifest_samples import Preprocessing, Quantization

if TYPE_CHECKING:
    import onnxruntime

_PROVIDER = "QNN"


def main(job_file: str, result_file: str) -> None:
    """Do the job and write its result or its error."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    try:
        result = JOBS[job["kind"]](job)
    except HexpackError as error:
        result = {"error": told(error)}
    files.write_text(Path(result_file), json.dumps(result))


def prepare(job: Mapping[str, Any]) -> dict[str, Any]:
    """Fix the inputs of job.model, write reference.onnx, and quantized.onnx beside it when asked."""
    wanted = {name: Input.model_validate(said) for name, said in job["inputs"].items()}
    model = onnx_model.tidy(onnx_model.fix_inputs(onnx_model.load(Path(job["model"])), wanted))
    quantized = onnx_model.is_quantized(model)
    if quantized and job["precision"] != "as-is":
        raise ManifestError(
            f"model {job['model']} is already quantized",
            evidence=("it contains QuantizeLinear or DequantizeLinear nodes",),
            fix='set precision = "as-is"',
        )
    with files.written_whole(Path("reference.onnx")) as stream:
        stream.write(model.SerializeToString(deterministic=True))
    specs = [onnx_model.spec_of(value) for value in onnx_model.graph_inputs(model)]
    pictures = _preprocessing(job)
    for path in job["calibration"]:
        samples.read(Path(path), specs, pictures)
    file = "reference.onnx"
    if job["quantize"]:
        file, quantized = "quantized.onnx", True
        quantize(
            Path("reference.onnx"),
            job["precision"],
            samples.Feed(specs, [Path(path) for path in job["calibration"]], pictures),
            Quantization.model_validate(job["quantization"]),
            Path(file),
        )
    return {
        "model": file,
        "quantized": quantized,
        "inputs": [spec.model_dump() for spec in specs],
        "outputs": [onnx_model.spec_of(value).model_dump() for value in model.graph.output],
    }


def quantize_borders(job: Mapping[str, Any]) -> dict[str, Any]:
    """Write borders.onnx: job.model with integers at its borders, and say how they are quantized."""
    import onnx

    model = onnx.load(job["model"])
    found = borders.strip(model)
    onnx.checker.check_model(model)
    with files.written_whole(Path("borders.onnx")) as stream:
        stream.write(model.SerializeToString(deterministic=True))
    return {"model": "borders.onnx", "borders": {name: one.model_dump() for name, one in found.items()}}


def take_apart(job: Mapping[str, Any]) -> dict[str, Any]:
    """Write the context binary inside job.model as context.bin."""
    (node,) = onnx_model.parsed(Path(job["model"])).graph.node
    attributes = {attribute.name: attribute for attribute in node.attribute}
    held = attributes["ep_cache_context"].s if "ep_cache_context" in attributes else b""
    if not held:
        raise InputUnavailable(
            f"model {job['model']} holds no context binary",
            evidence=("its EPContext node has an empty ep_cache_context",),
            fix="compile the model again",
        )
    with files.written_whole(Path("context.bin")) as stream:
        stream.write(held)
    return {"context": "context.bin"}


def compile_context(job: Mapping[str, Any]) -> dict[str, Any]:
    """Compile job.model into job.wrapper and a context binary beside it.

    A refusal is a result, not an error: {"refused": text, "nodes": [NodeFacts …]}; the reasons are in the
    log. Success tells the operators of the wrapper, so that a partial result cannot pass for a whole one.
    """
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    for key, value in job["session"].items():
        options.add_session_config_entry(key, value)
    if job["split"]:
        # Higher levels would write what suits this machine's processor into the part that is not the NPU's.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    _add_npu(options, job["provider"])
    began = time.monotonic()
    try:
        onnxruntime.InferenceSession(job["model"], options)
    except Exception as error:
        nodes = node_types.describe(onnx.load(job["model"], load_external_data=False))
        return {"refused": first_line(error), "nodes": [node.model_dump() for node in nodes]}
    seconds = time.monotonic() - began
    wrapper = Path(job["wrapper"])
    if not wrapper.is_file():
        return {"seconds": seconds, "operators": [], "contexts": []}
    model = onnx.load(str(wrapper))
    points_to = [a for n in model.graph.node for a in n.attribute if a.name == "ep_cache_context"]
    told = {"seconds": seconds, "operators": [node.op_type for node in model.graph.node], "nodes": []}
    if job["binary"] and len(points_to) == 1:
        Path(points_to[0].s.decode()).rename(job["binary"])
        points_to[0].s = job["binary"].encode()
        with files.written_whole(wrapper) as stream:
            stream.write(model.SerializeToString(deterministic=True))
        nodes = node_types.describe(onnx.load(job["model"], load_external_data=False))
        told["nodes"] = [node.model_dump() for node in nodes]
    return told | {"contexts": [attribute.s.decode() for attribute in points_to]}


def write_dlc(job: Mapping[str, Any]) -> dict[str, Any]:
    """Write a DLC for each part of job.model that the IR backend takes; "reasons" are onnxruntime's.

    {"written": file names in the current folder, "reasons": [text …]}.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    writer = {"dump_qnn_ir_dlc": "1", "dump_qnn_ir_dlc_dir": ".", "offload_graph_io_quantization": "0"}
    _add_npu(options, writer, backend="libQnnIr.so" if sys.platform == "linux" else "QnnIr.dll")
    try:
        onnxruntime.InferenceSession(job["model"], options)
    except Exception as error:
        return {"written": [], "reasons": [first_line(error)]}
    return {"written": sorted(path.name for path in Path().glob("*.dlc")), "reasons": []}


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run job.model over job.samples on the CPU, or on the NPU's simulator when job.provider is given.

    Writes job.out/<sample>/<output>.npy (numbers from 0) and returns the output names in that order. No
    sample is begun that would pass job.until (by the monotonic clock); "done" is how many were run. Samples
    and results are floats: at job.borders, where the model has integers, they are converted.
    """
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if job["provider"] is None:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    else:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "0" if job["split"] else "1")
        _add_npu(options, job["provider"])
    specs = [TensorSpec.model_validate(spec) for spec in job["inputs"]]
    edges = {name: Border.model_validate(said) for name, said in job["borders"].items()}
    pictures = _preprocessing(job)
    longest, done = 0.0, 0
    names: list[str] = []
    with tool(job["doing"], fix="check that onnxruntime runs the model and its samples on the CPU"):
        session = onnxruntime.InferenceSession(
            job["model"],
            options,
            **({"providers": ["CPUExecutionProvider"]} if job["provider"] is None else {}),
        )
        names = [value.name for value in session.get_outputs()]
        for number, path in enumerate(job["samples"]):
            before = time.monotonic()
            if number and job["until"] is not None and before + longest > job["until"]:
                break
            given = samples.read(Path(path), specs, pictures)
            for name in given.keys() & edges.keys():
                given[name] = borders.to_integers(given[name], edges[name])
            outputs = session.run(names, dict(given))
            longest, done = max(longest, time.monotonic() - before), number + 1
            for index, (name, array) in enumerate(zip(names, outputs, strict=True)):
                value = borders.to_floats(array, edges[name]) if name in edges else np.asarray(array)
                with files.written_whole(Path(job["out"], str(number), f"{index}.npy")) as stream:
                    np.lib.format.write_array(stream, value, allow_pickle=False)
    return {"outputs": names, "done": done}


def _preprocessing(job: Mapping[str, Any]) -> Preprocessing | None:
    said = job["preprocessing"]
    return None if said is None else Preprocessing.model_validate(said)


def _add_npu(
    options: onnxruntime.SessionOptions, provider: Mapping[str, str], backend: str | None = None
) -> None:
    with tool(
        "loading onnxruntime-qnn", fix="reinstall onnxruntime and onnxruntime-qnn, as `hexpack` asks for them"
    ):
        import onnxruntime
        import onnxruntime_qnn

        onnxruntime.register_execution_provider_library(_PROVIDER, onnxruntime_qnn.get_library_path())
        devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == _PROVIDER]
        # On Windows on Arm it also offers the GPU and the CPU.
        devices.sort(key=lambda device: device.device.type.name != "NPU")
        htp = onnxruntime_qnn.get_qnn_htp_path()
        path = str(Path(htp).with_name(backend)) if backend else htp
        options.add_provider_for_devices(devices[:1], {"backend_path": path, **provider})


JOBS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "prepare": prepare,
    "apart": take_apart,
    "borders": quantize_borders,
    "compile": compile_context,
    "dlc": write_dlc,
    "run": run,
}

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
