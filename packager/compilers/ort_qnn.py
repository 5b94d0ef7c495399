"""onnxruntime's QNN execution provider as a compiler and simulator for one SoC at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packager import files
from packager.catalog import Soc
from packager.compilers import installed, refusal, worker
from packager.compilers.jobs import Border, Compiled, CompileJob, NodeFacts, Prepared
from packager.errors import ToolFailed

_MODEL, _WRAPPER = "model.onnx", "context.onnx"


def compile_context(job: CompileJob, work: Path) -> Compiled:
    """Compile for `job.soc` into `work`: context.onnx and the context binary that it names.

    All of the model runs on the HTP, quantization of its inputs and outputs included, so these keep the types
    of the model; a split job leaves to the CPU what does not fit. The bytes depend on the job alone, not on
    folder or time. Raises ToolFailed that names the SoC and the nodes when it does not take all of them, or
    of a split job none.
    """
    installed.need("onnxruntime-qnn", doing=f"compiling for {job.soc.title}")
    asked = _options(job)
    doing = f"compiling for {job.soc.id} ({job.soc.title})"
    with files.scratch(work) as inside:
        files.place(job.prepared.model, inside / _MODEL)
        told = worker.run(
            {
                "kind": "compile",
                "model": _MODEL,
                "wrapper": _WRAPPER,
                "provider": asked,
                "session": {
                    "ep.context_enable": "1",
                    "ep.context_embed_mode": "0",
                    "ep.context_file_path": _WRAPPER,
                    "session.disable_cpu_ep_fallback": "0" if job.split else "1",
                },
                "split": job.split,
                "binary": f"{job.soc.id}.bin" if job.split else None,
            },
            inside,
            doing=doing,
        )
        if "refused" in told:
            nodes = [NodeFacts.model_validate(node) for node in told["nodes"]]
            raise refusal.explain(job, told["refused"], nodes, worker.log(inside))
        binary = _one_context(told, job.soc, split=job.split)
        left = _left_over(told, worker.log(inside)) if job.split else ()
        files.place(inside / binary, work / binary)
        files.place(inside / _WRAPPER, work / _WRAPPER)
    return Compiled(
        job=job,
        context=work / binary,
        wrapper=work / _WRAPPER,
        asked=asked,
        seconds=told["seconds"],
        left=left,
    )


def simulate(compiled: Compiled, sample: Path, out: Path) -> dict[str, Path]:
    """Run one sample on the x86-64 simulator; the output arrays as npy files in `out`, by output name.

    Raises InputUnavailable for a sample that does not fit, ToolFailed when the simulator fails.
    """
    return run_simulator(compiled, [sample], out)[0]


def run_simulator(
    compiled: Compiled, samples: Sequence[Path], out: Path, seconds: float | None = None
) -> list[dict[str, Path]]:
    """`simulate` for many samples, loading the context once.

    With `seconds` there may be fewer results than samples; raises worker.TookTooLong where there is none.
    """
    soc = compiled.job.soc
    installed.need("onnxruntime-qnn", doing=f"simulating {soc.title}")
    return _run(
        [compiled.wrapper, compiled.context],
        compiled.job.prepared,
        samples,
        out,
        borders=compiled.job.prepared.borders,
        provider={"soc_model": str(soc.soc_model)},
        split=compiled.job.split,
        doing=f"simulating {soc.id} ({soc.title})",
        seconds=seconds,
    )


def run_reference(prepared: Prepared, samples: Sequence[Path], out: Path) -> list[dict[str, Path]]:
    """Samples through the reference model on onnxruntime's CPU provider."""
    return run_cpu(prepared, prepared.reference, samples, out, doing="running the reference model")


def run_cpu(
    prepared: Prepared, model: Path, samples: Sequence[Path], out: Path, *, doing: str
) -> list[dict[str, Path]]:
    """Samples through a model with the inputs of `prepared` on onnxruntime's CPU provider."""
    borders = prepared.borders if model == prepared.model else {}
    return _run([model], prepared, samples, out, borders=borders, provider=None, doing=doing)


def _run(
    model: Sequence[Path],
    prepared: Prepared,
    samples: Sequence[Path],
    out: Path,
    *,
    borders: Mapping[str, Border],
    provider: dict[str, str] | None,
    doing: str,
    seconds: float | None = None,
    split: bool = False,
) -> list[dict[str, Path]]:
    """Run `model[0]` (further files lie beside it) over samples; output name → npy file for each sample."""
    job = {
        "kind": "run",
        "model": model[0].name,
        "inputs": [spec.model_dump() for spec in prepared.inputs],
        "borders": {name: border.model_dump() for name, border in borders.items()},
        "preprocessing": prepared.preprocessing.model_dump(mode="json") if prepared.preprocessing else None,
        # The last tenth is left for samples that take longer than those before, and for stopping.
        "until": None if seconds is None else time.monotonic() + 0.9 * seconds,
        "samples": [str(path.resolve()) for path in samples],
        "out": str(out.resolve()),
        "provider": provider,
        "split": split,
        "doing": doing,
    }
    with files.scratch(out) as inside:
        for path in model:
            files.place(path, inside / path.name)
        told = worker.run(job, inside, doing=doing, seconds=seconds or worker.COMPILE_SECONDS)
    return [
        {name: out / str(number) / f"{index}.npy" for index, name in enumerate(told["outputs"])}
        for number in range(told["done"])
    ]


def _options(job: CompileJob) -> dict[str, str]:
    options = {
        "soc_model": str(job.soc.soc_model),
        "htp_graph_finalization_optimization_mode": str(job.optimization),
        # Quantize and dequantize nodes at the borders run on the NPU too, so that nothing is left for a CPU.
        "offload_graph_io_quantization": "0",
    }
    # With none asked the backend uses all of it but records 4 MB, right or wrong; so the real size is asked.
    vtcm = job.vtcm_mb or job.soc.vtcm_mb
    if vtcm:
        options["vtcm_mb"] = str(vtcm)
    return options


def _left_over(told: dict[str, Any], log: str) -> tuple[str, ...]:
    """The nodes that stay on the CPU: those that the compiler refused, else what else the wrapper holds."""
    refused = refusal.read_log(log, [NodeFacts.model_validate(node) for node in told["nodes"]])
    if refused:
        return tuple(refusal.node_table(refused))
    return tuple(f"   1 {operator}" for operator in told["operators"] if operator != "EPContext")


def _one_context(told: dict[str, Any], soc: Soc, *, split: bool) -> str:
    """The one context binary of a success, which is whole unless `split`. Raises ToolFailed otherwise."""
    operators, contexts = told["operators"], told["contexts"]
    if split and len(contexts) == 1 and files.is_plain_relative(contexts[0]):
        return str(contexts[0])
    if split and "EPContext" not in operators:
        raise ToolFailed(
            f"{soc.title} ({soc.arch}) takes no node of the model, and all of it would run on the CPU",
            evidence=(f"outside the NPU: {', '.join(sorted(set(operators))) or 'the whole graph'}",),
            fix="ship the model as it is, without hexpack; or change it so that the NPU can run a part of it",
        )
    if operators == ["EPContext"] and len(contexts) == 1 and files.is_plain_relative(contexts[0]):
        return str(contexts[0])
    if not operators:
        raise ToolFailed(
            f"there is nothing to compile for {soc.title}",
            evidence=("the whole graph folds into constants before it reaches the compiler",),
            fix="check that the outputs depend on the inputs",
        )
    rest = sorted(set(operators) - {"EPContext"})
    raise ToolFailed(
        f"{soc.title} ({soc.arch}) takes the model only in pieces",
        evidence=(
            f"{operators.count('EPContext')} NPU graphs where one is wanted",
            *([f"outside the NPU: {', '.join(rest)}"] if rest else []),
        ),
        fix="remove what cuts the graph, or do it before or after the model",
    )
