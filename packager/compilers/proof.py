"""The numerical proof: the compiled model on the simulator against the float model on the CPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packager import files
from packager.compilers import ort_qnn
from packager.compilers.jobs import Comparison, Compiled, Prepared
from packager.errors import ManifestError, ToolFailed

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def prove(
    compiled: Compiled, samples: Sequence[Path], work: Path, *, seconds: float | None = None
) -> tuple[Comparison, ...]:
    """Compare every output over all samples (npy, npz or pictures), in the order of the model's outputs.

    The simulator begins no sample that would pass `seconds`; `Comparison.samples` is how many were run.
    Raises ManifestError without samples, InputUnavailable for one that does not fit, TookTooLong when not one
    came to its end in time, ToolFailed when a run fails or an output has another shape than the
    reference says.
    """
    if not samples:
        raise ManifestError(
            "the numerical proof needs at least one sample, and there is none",
            fix='name real inputs: reference = { inputs = "samples/*.npy" }',
        )
    with files.scratch(work) as inside:
        found = ort_qnn.run_simulator(compiled, samples, inside / "npu", seconds)
        return compare_with_reference(compiled.job.prepared, found, samples[: len(found)], inside)


def compare_with_reference(
    prepared: Prepared, found: Sequence[Mapping[str, Path]], samples: Sequence[Path], work: Path
) -> tuple[Comparison, ...]:
    """Every output that was `found` for `samples` against the reference model on the CPU.

    What quantizing costs is told apart from what compiling costs. Raises ToolFailed when a run fails.
    """
    wanted = ort_qnn.run_reference(prepared, samples, work / "reference")
    outputs = tuple(compare(name, found, wanted) for name in wanted[0])
    if prepared.model == prepared.reference:
        return outputs
    doing = "running the quantized model"
    before = ort_qnn.run_cpu(prepared, prepared.model, samples, work / "quantized", doing=doing)
    return tuple(
        one.model_copy(update={"quantized": compare(one.output, before, wanted).cosine}) for one in outputs
    )


def compare(
    output: str, found: Sequence[Mapping[str, Path]], wanted: Sequence[Mapping[str, Path]]
) -> Comparison:
    """One output of many runs against the reference, without holding more than one run in memory."""
    import numpy as np

    dot = found_square = wanted_square = worst = 0.0
    rows = same = 0
    for ours, theirs in zip(found, wanted, strict=True):
        a, b = _array(ours, output), _array(theirs, output)
        if a.shape != b.shape:
            raise ToolFailed(
                f"output {output} of the compiled model has another shape than the reference",
                evidence=(f"found   {a.shape}", f"wanted  {b.shape}"),
                fix="check the model's output shapes; they must not depend on the data",
            )
        # An infinity on both sides agrees, and says nothing more about closeness.
        agreed = np.isinf(b) & (a == b)
        a[agreed] = b[agreed] = 0.0
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            return Comparison(output=output, cosine=math.nan, max_abs=math.nan, samples=len(wanted))
        dot += float(np.vdot(a, b))
        found_square += float(np.vdot(a, a))
        wanted_square += float(np.vdot(b, b))
        worst = max(worst, float(np.abs(a - b).max(initial=0.0)))
        if a.size:
            first = a.argmax(axis=-1) == b.argmax(axis=-1)
            rows, same = rows + first.size, same + int(first.sum())
    return Comparison(
        output=output,
        cosine=1.0 if worst == 0.0 else _cosine(dot, found_square, wanted_square),
        max_abs=worst,
        samples=len(wanted),
        top1=same / rows if rows else None,
    )


def _array(files_of_run: Mapping[str, Path], output: str) -> Array:
    import numpy as np

    loaded: Array = np.load(files_of_run[output], allow_pickle=False)
    return np.atleast_1d(loaded.astype(np.float64))


def _cosine(dot: float, found_square: float, wanted_square: float) -> float:
    """Cosine of two vectors that differ; a zero vector has nothing in common with another one."""
    if found_square == 0.0 or wanted_square == 0.0:
        return 0.0
    cosine = dot / (math.sqrt(found_square) * math.sqrt(wanted_square))
    return max(-1.0, min(1.0, cosine)) if math.isfinite(cosine) else math.nan
