"""Write a container with QAIRT's own writer: python runner_dlc.py FOLDER.

Leaves in FOLDER: model.dlc, x.npy, and y.npy, which onnxruntime's CPU provider computes from the same model.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import onnxruntime_qnn
from onnx import TensorProto
from runner_models import RANDOM, SHAPE, float_model


def main(folder: str) -> None:
    os.chdir(folder)
    onnx.save(float_model(TensorProto.FLOAT), "model.onnx")
    x = RANDOM.standard_normal(SHAPE).astype(np.float32)
    (y,) = onnxruntime.InferenceSession("model.onnx").run(None, {"x": x})
    np.save("x.npy", x)
    np.save("y.npy", y)
    onnxruntime.register_execution_provider_library("QNN", onnxruntime_qnn.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNN"]
    options = onnxruntime.SessionOptions()
    library = Path(onnxruntime_qnn.get_library_path()).with_name("libQnnIr.so")
    settings = {"backend_path": str(library), "dump_qnn_ir_dlc": "1", "dump_qnn_ir_dlc_dir": "."}
    options.add_provider_for_devices(devices[:1], settings)
    onnxruntime.InferenceSession("model.onnx", options)
    (container,) = Path().glob("*.dlc")
    container.rename("model.dlc")


if __name__ == "__main__":
    main(*sys.argv[1:])
