"""From the user's ONNX file to the one that is compiled, and the one that it is measured against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from packager import files
from packager.compilers import installed, worker
from packager.compilers.jobs import Border, Prepared
from packager.errors import ManifestError
from packager.manifest_model import Input
from packager.manifest_samples import Preprocessing, Quantization

EVERYTHING_ALIKE = Quantization(per_channel=True, mixed={})
QUANTIZED = ("w8a8", "w8a16", "w4a16")


def prepare(
    model: Path,
    *,
    inputs: Mapping[str, Input] | None,
    precision: str,
    calibration: Sequence[Path],
    work: Path,
    preprocessing: Preprocessing | None = None,
    quantization: Quantization | None = None,
) -> Prepared:
    """Check `model`, fix its input dimensions, quantize it when `precision` says so; same inputs, same bytes.

    `calibration` are npy, npz or picture files, read only for `QUANTIZED` precisions. Without `quantization`
    weights are quantized per channel and everything alike. The results lie in `work`. Raises
    InputUnavailable for a damaged model or sample, ManifestError where `inputs` or `precision` do not fit
    the model, ToolFailed when the quantizer fails.
    """
    quantize = precision in QUANTIZED
    if quantize and not calibration:
        raise ManifestError(
            f'precision "{precision}" needs calibration samples, and there are none',
            fix='name real inputs: calibration = { path = "calibration/*.npy" }; a dozen or more serve well',
        )
    installed.need("onnxruntime", doing="preparing a model")
    job = {
        "kind": "prepare",
        "model": str(model.resolve()),
        "inputs": {name: said.model_dump(mode="json") for name, said in (inputs or {}).items()},
        "precision": precision,
        "quantize": quantize,
        "calibration": [str(path.resolve()) for path in calibration] if quantize else [],
        "preprocessing": preprocessing.model_dump(mode="json") if preprocessing else None,
        "quantization": (quantization or EVERYTHING_ALIKE).model_dump(mode="json"),
    }
    with files.scratch(work) as inside:
        told = worker.run(job, inside, doing="preparing the model")
        for name in {"reference.onnx", told["model"]}:
            files.place(inside / name, work / name)
    return Prepared(
        model=work / told["model"],
        reference=work / "reference.onnx",
        precision=precision,
        quantized=told["quantized"],
        inputs=told["inputs"],
        outputs=told["outputs"],
        preprocessing=preprocessing,
    )


def with_quantized_borders(prepared: Prepared, work: Path) -> Prepared:
    """The model, in `work`, with integers at its borders in place of floats; see `borders.strip`.

    Raises ManifestError where a border is not quantized.
    """
    installed.need("onnxruntime", doing="preparing a model")
    with files.scratch(work) as inside:
        files.place(prepared.model, inside / "model.onnx")
        told = worker.run({"kind": "borders", "model": "model.onnx"}, inside, doing="quantizing the borders")
        files.place(inside / told["model"], work / told["model"])
    borders = {name: Border.model_validate(said) for name, said in told["borders"].items()}
    return prepared.model_copy(update={"model": work / told["model"], "borders": borders})


def take_apart(wrapper: Path, work: Path) -> Path:
    """The context binary that the only EPContext node of an ONNX file holds, as `work`/context.bin.

    Raises InputUnavailable when it holds none.
    """
    installed.need("onnx", doing="taking a compiled model apart")
    job = {"kind": "apart", "model": str(wrapper.resolve())}
    with files.scratch(work) as inside:
        told = worker.run(job, inside, doing="taking the model apart")
        files.place(inside / told["context"], work / told["context"])
    return work / str(told["context"])
