"""Model → what a SoC runs: preparation, compilation, and the numerical proof.

`prepare` an ONNX file, `compile_context` it for each SoC, `prove` each result on the simulator. All heavy
work runs in worker processes (`worker`, `ort_worker`), so importing this loads neither onnx nor onnxruntime.
"""

from packager.compilers.container import write_dlc
from packager.compilers.installed import versions as toolchain
from packager.compilers.jobs import Border, Comparison, Compiled, CompileJob, Prepared, TensorSpec
from packager.compilers.ort_qnn import compile_context, run_reference, run_simulator, simulate
from packager.compilers.preparation import QUANTIZED, prepare, take_apart, with_quantized_borders
from packager.compilers.proof import prove

__all__ = [
    "QUANTIZED",
    "Border",
    "Comparison",
    "CompileJob",
    "Compiled",
    "Prepared",
    "TensorSpec",
    "compile_context",
    "prepare",
    "prove",
    "run_reference",
    "run_simulator",
    "simulate",
    "take_apart",
    "toolchain",
    "with_quantized_borders",
    "write_dlc",
]
