"""The recorded contract of qairt-quantizer: exactly its documented flags, and a real quantized DLC.

`WITH=float` in its environment makes it end without an error and give back what it got.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="qairt-quantizer", allow_abbrev=False)
    parser.add_argument("--input_dlc", "-i", required=True)
    parser.add_argument("--output_dlc", "-o", required=True)
    parser.add_argument("--input_list", "-l", required=True)
    parser.add_argument("--act_bitwidth", type=int, choices=(8, 16), default=8)
    parser.add_argument("--weights_bitwidth", type=int, choices=(4, 8, 16), default=8)
    parser.add_argument("--bias_bitwidth", type=int, choices=(8, 32), default=8)
    parser.add_argument("--use_per_channel_quantization", action="store_true")
    parser.add_argument("--preserve_io_datatype", action="store_true")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    sys.stdout.write("Quantizing\n")
    if os.environ.get("WITH") == "float":
        shutil.copyfile(asked.input_dlc, asked.output_dlc)
        return
    import numpy as np
    import onnx

    from packager import compilers
    from packager.manifest_samples import Quantization

    digest = hashlib.sha256(Path(asked.input_dlc).read_bytes()).hexdigest()
    model = Path(os.environ["QAIRT_SDK_ROOT"], "recorded", f"{digest}.onnx")
    shapes = {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in onnx.load(str(model)).graph.input
    }
    with tempfile.TemporaryDirectory() as name:
        samples = []
        for number, line in enumerate(Path(asked.input_list).read_text().splitlines()):
            said = dict(word.split(":=") for word in line.split())
            arrays = {key: np.fromfile(raw, "<f4").reshape(shapes[key]) for key, raw in said.items()}
            samples.append(Path(name, f"{number}.npz"))
            np.savez(samples[-1], **arrays)
        prepared = compilers.prepare(
            model,
            inputs=None,
            precision=f"w{asked.weights_bitwidth}a{asked.act_bitwidth}",
            calibration=samples,
            work=Path(name, "prepared"),
            quantization=Quantization(per_channel=asked.use_per_channel_quantization, mixed={}),
        )
        narrow = compilers.with_quantized_borders(prepared, Path(name, "borders"))
        shutil.copyfile(compilers.write_dlc(narrow, Path(name, "dlc")), asked.output_dlc)


if __name__ == "__main__":
    main()
