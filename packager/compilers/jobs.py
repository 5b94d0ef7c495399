"""What compilers take and give: frozen values, no behaviour."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from packager.catalog import Soc
from packager.manifest_samples import Preprocessing
from packager.model import Frozen


class TensorSpec(Frozen):
    """A graph input or output. `dtype` in numpy's words; a dimension that stays open is None."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


class Border(Frozen):
    """How a float value becomes an integer at a border: value = (integer - zero_point) * scale."""

    dtype: str
    scale: float
    zero_point: int

    @property
    def fixed(self) -> str:
        """QNN's word for the element type."""
        signed = "u" if self.dtype.startswith("u") else "s"
        return f"{signed}fixed{self.dtype.rpartition('int')[2]}"


class Prepared(Frozen):
    """A model ready for the compiler.

    `model` is what is compiled; `reference` is the model before quantization, of the same inputs, which the
    numerical proof takes as the truth. Both are one file each, with every input dimension fixed. The same
    path where nothing was quantized. `preprocessing` is how pictures become the input. `borders` are the
    inputs and outputs of `model` that are integers where those of `reference` are floats, by name.
    """

    model: Path
    reference: Path
    precision: str
    quantized: bool
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    preprocessing: Preprocessing | None = None
    borders: dict[str, Border] = Field(default_factory=dict)


class NodeTensor(Frozen):
    """What a node takes or gives: an ONNX element type, and the shape where it is known.

    `quantized` is the type on the other side of a QuantizeLinear or DequantizeLinear next to it.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None = None
    quantized: str | None = None

    @property
    def computed(self) -> str:
        """The element type as the NPU sees it."""
        return self.quantized or self.dtype


class NodeFacts(Frozen):
    """A node of a graph with those of its tensors that are known, weights included."""

    name: str
    operator: str
    inputs: tuple[NodeTensor, ...] = ()
    outputs: tuple[NodeTensor, ...] = ()


class CompileJob(Frozen):
    """One model for one SoC, at HTP optimization level 1…3.

    `vtcm_mb` 0 asks for all the SoC has. With `split`, nodes that the NPU does not take are left to the CPU.
    """

    prepared: Prepared
    soc: Soc
    optimization: int
    vtcm_mb: int = 0
    split: bool = False


class Compiled(Frozen):
    """A context binary and the ONNX file through which onnxruntime loads it.

    That file holds one EPContext node; of a split model one for each part that the NPU runs, and the rest as
    it was. `left` says in words which nodes these are.

    `asked` holds the backend options as they were given to the compiler, so that the metadata of the file
    can be held against them. `seconds` is the time the compiler took.
    """

    job: CompileJob
    context: Path
    wrapper: Path
    asked: dict[str, str]
    seconds: float
    left: tuple[str, ...] = ()


class Comparison(Frozen):
    """One output of the compiled model against the reference, all samples taken together.

    `cosine` is that of the two concatenated vectors, `max_abs` the largest absolute difference. Both are NaN
    when a side holds a NaN, or an infinity that the other does not hold in the same place. `top1` is the
    share of rows (along the last dimension) whose largest number is in the same place. `quantized` is the
    cosine of the quantized model on the CPU, before it was compiled; None where nothing was quantized.
    """

    output: str
    cosine: float
    max_abs: float
    samples: int
    top1: float | None = None
    quantized: float | None = None
