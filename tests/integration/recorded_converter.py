"""The recorded contract of qairt-converter: exactly its documented flags, and a real DLC from QAIRT's own writer.

`WITH` in its environment makes it fail in one of the ways such tools fail.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sys
from pathlib import Path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="qairt-converter", allow_abbrev=False)
    parser.add_argument("--input_network", "-i", required=True)
    parser.add_argument("--output_path", "-o")
    parser.add_argument("--source_model_input_shape", "-s", nargs=2, action="append", default=[])
    parser.add_argument("--out_tensor_node", action="append")
    parser.add_argument("--float_bitwidth", type=int, choices=(16, 32))
    parser.add_argument("--quantization_overrides", "-q")
    return parser.parse_args()


def convert(model: str, container: str, shapes: list[list[str]]) -> None:
    import onnx
    import onnxruntime
    import onnxruntime_qnn

    network = onnx.load(model)
    for name, words in shapes:
        (value,) = (one for one in network.graph.input if one.name == name)
        for dim, size in zip(value.type.tensor_type.shape.dim, words.split(","), strict=True):
            dim.dim_value = int(size)
    onnx.save(network, "fixed.onnx")
    onnxruntime.register_execution_provider_library("QNN", onnxruntime_qnn.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNN"]
    library = Path(onnxruntime_qnn.get_library_path()).with_name("libQnnIr.so")
    options = onnxruntime.SessionOptions()
    settings = {"backend_path": str(library), "dump_qnn_ir_dlc": "1", "dump_qnn_ir_dlc_dir": "."}
    options.add_provider_for_devices(devices[:1], settings)
    onnxruntime.InferenceSession("fixed.onnx", options)
    (made,) = Path().glob("*.dlc")
    made.rename(container)
    # What recorded_quantizer.py needs: no tool here reads graphs out of a DLC.
    kept = Path(os.environ["QAIRT_SDK_ROOT"], "recorded")
    kept.mkdir(exist_ok=True)
    digest = hashlib.sha256(Path(container).read_bytes()).hexdigest()
    Path("fixed.onnx").rename(kept / f"{digest}.onnx")


def main() -> None:
    asked = arguments()
    sys.stdout.write("Processing network\n")
    match os.environ.get("WITH"):
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "nothing":
            return
        case "operator":
            sys.exit("ERROR - Node Thing_3: 'No translation registered for op type onnx_thing'")
        case "shape":
            asked.source_model_input_shape = [["x", "1,3,8,8"]]
    convert(asked.input_network, asked.output_path, asked.source_model_input_shape)


if __name__ == "__main__":
    main()
