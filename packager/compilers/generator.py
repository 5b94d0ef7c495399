"""A DLC or a model library → a context binary, through the QNN API itself.

hexrun, built for this machine, composes the graphs on the vendor's x86-64 backend and stores what the backend
prepared. It runs in a process of its own, because the backend, and a model library in it, may do anything.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from packager import catalog, files
from packager.catalog import Soc
from packager.compilers import installed, messages, samples, worker
from packager.compilers.jobs import TensorSpec
from packager.errors import HexpackError, InputUnavailable, ToolFailed
from packager.manifest_samples import Preprocessing
from packager.model import Frozen

_CONF, _ANSWER, _CONTEXT = "runner.conf", "answer.json", "model.bin"
Kind = Literal["dlc", "library", "context"]


class Generator(Frozen):
    """hexrun for this machine, and the vendor's libraries that it drives."""

    program: Path
    backend: Path
    system: Path


class Source(Frozen):
    """What graphs are composed from: a DLC, or a model library for x86-64; or a context of such graphs."""

    path: Path
    kind: Kind


class Settings(Frozen):
    """How the HTP prepares graphs: optimization level 1…3, VTCM in MiB, 0 for the backend's own choice.

    `fp16` computes float graphs in half precision, as the HTP has no other; it changes no quantized graph.
    """

    soc: Soc
    optimization: int
    vtcm_mb: int
    hvx_threads: int
    fp16: bool


class Graph(Frozen):
    """A graph by the names that the context gives it. A quantized border takes and gives float32."""

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


class Generated(Frozen):
    """A context binary with all graphs of its source. `seconds` is what preparing it took."""

    context: Path
    graphs: tuple[Graph, ...]
    seconds: float


def generator(program: Path) -> Generator:
    """The generator around `program`, a hexrun for Linux on x86-64.

    Raises ToolFailed where the vendor's backend for it is not installed.
    """
    doing = "making a context binary from a DLC or a model library"
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise ToolFailed(
            f"{doing} is possible on Linux x86-64 only",
            evidence=(f"this is {sys.platform} on {platform.machine()}",),
            fix="run it there, or ship the DLC itself",
        )
    installed.need("onnxruntime-qnn", doing=doing)
    spec = find_spec("onnxruntime_qnn")
    folders = spec.submodule_search_locations if spec else None
    backend, system = (
        Path((folders or [""])[0], catalog.role_file(role, "linux")) for role in ("backend", "system")
    )
    missing = [path.name for path in (backend, system) if not path.is_file()]
    if missing:
        raise ToolFailed(
            "the installed onnxruntime-qnn has no libraries of the HTP for this machine",
            evidence=[f"missing: {name}" for name in missing],
            fix="pip install --force-reinstall onnxruntime-qnn",
        )
    return Generator(program=program, backend=backend, system=system)


def generate(source: Source, settings: Settings, tool: Generator, work: Path) -> Generated:
    """Compose all graphs of `source`, prepare them for one SoC, and store them as `work`/model.bin.

    hexrun reads the stored file back and holds its graphs, architecture and soc_model against what was asked.
    The bytes depend on the arguments alone. Raises ToolFailed with the backend's own words when the SoC does
    not take a graph, when the tool crashes, is killed or takes too long.
    """
    soc = settings.soc
    doing = f"composing for {soc.id} ({soc.title})"
    with files.scratch(work) as inside:
        files.place(source.path, inside / f"model.{source.kind}")
        files.write_text(inside / _CONF, _conf(tool, soc, f"{source.kind}=model.{source.kind}", settings))
        graphs = _graphs(_ask(tool, ["--describe"], inside, doing, soc))
        begin = time.monotonic()
        _ask(tool, ["--save-context", _CONTEXT], inside, doing, soc)
        seconds = time.monotonic() - begin
        files.place(inside / _CONTEXT, work / _CONTEXT)
    return Generated(context=work / _CONTEXT, graphs=graphs, seconds=seconds)


def described(context: Path, soc: Soc, tool: Generator, work: Path) -> tuple[Graph, ...]:
    """The graphs of a context binary that is finished. Raises what `generate` raises."""
    doing = f"opening the context binary for {soc.id} ({soc.title})"
    with files.scratch(work) as inside:
        files.place(context, inside / _CONTEXT)
        files.write_text(inside / _CONF, _conf(tool, soc, f"context={_CONTEXT}"))
        return _graphs(_ask(tool, ["--describe"], inside, doing, soc))


def simulate(
    context: Path,
    graph: Graph,
    soc: Soc,
    tool: Generator,
    inputs: Sequence[Path],
    out: Path,
    *,
    preprocessing: Preprocessing | None = None,
    names: Mapping[str, str] | None = None,
) -> list[dict[str, Path]]:
    """Run samples (npy, npz or picture files) through a context on the simulator.

    `names` are those that the samples have for inputs that the graph calls otherwise. Returns npy files in
    `out` by output name, one mapping for each sample. Raises InputUnavailable for a sample that does not fit,
    ToolFailed when the simulator fails.
    """
    import numpy as np

    called = names or {}
    specs = [spec.model_copy(update={"name": called.get(spec.name, spec.name)}) for spec in graph.inputs]

    doing = f"simulating {soc.id} ({soc.title})"
    with files.scratch(out) as inside:
        files.place(context, inside / _CONTEXT)
        for number, sample in enumerate(inputs):
            for index, array in enumerate(samples.read(sample, specs, preprocessing).values()):
                (inside / str(index)).mkdir(exist_ok=True)
                with files.written_whole(inside / str(index) / f"{number:06}.npy") as stream:
                    np.save(stream, array)
        files.write_text(inside / _CONF, _conf(tool, soc, f"context={_CONTEXT}"))
        (inside / "out").mkdir()
        arguments = [f"--input={spec.name}={index}" for index, spec in enumerate(graph.inputs)]
        told = _ask(tool, [*_spread(arguments), "--output", "out", "--graph", graph.name], inside, doing, soc)
        found: list[dict[str, Path]] = []
        for number in range(len(inputs)):
            found.append({})
            for index, output in enumerate(told["outputs"]):
                made = inside / output["file"].replace("{sample}", f"{number:06}")
                kept = out / str(number) / f"{index}.npy"
                kept.parent.mkdir(exist_ok=True)
                files.place(made, kept)
                found[-1][output["name"]] = kept
    return found


def _spread(arguments: Sequence[str]) -> list[str]:
    """`--input=x=0` as the two words that hexrun takes."""
    return [word for argument in arguments for word in argument.split("=", 1)]


def _conf(tool: Generator, soc: Soc, asset: str, settings: Settings | None = None) -> str:
    """hexrun's configuration. Paths of models are relative, so that no folder shows in the result."""
    lines = [
        "format 2",
        "package generator 1",
        f"system {tool.system}",
        "simulator yes",
        f"compute npu {tool.backend}",
        "power default",
        "rpc_latency_us 0",
    ]
    if settings:
        lines.append(
            f"prepare optimization={settings.optimization} vtcm_mb={settings.vtcm_mb} "
            f"hvx_threads={settings.hvx_threads} fp16={'yes' if settings.fp16 else 'no'}"
        )
    lines.append(
        f"variant soc={soc.id} soc_model={soc.soc_model} accepts=- hexagon={soc.hexagon} "
        f"vtcm_mb={soc.vtcm_mb or 0} linux_soc_ids=- {asset}"
    )
    return "\n".join(lines) + "\n"


def _ask(tool: Generator, arguments: Sequence[str], work: Path, doing: str, soc: Soc) -> dict[str, Any]:
    """hexrun's answer. Its log stays in `work`/worker.log."""
    command = [str(tool.program), "--config", _CONF, "--json", *arguments]
    code = worker.wait(command, work, doing=doing, seconds=worker.COMPILE_SECONDS, answer=_ANSWER)
    try:
        told: dict[str, Any] = json.loads((work / _ANSWER).read_text(encoding="utf-8"))
    except ValueError:
        raise worker.died(code, doing, worker.log(work)) from None
    if "error" in told:
        raise _refused(told["error"], soc)
    if code != 0:
        raise worker.died(code, doing, worker.log(work))
    return told


def _refused(error: Mapping[str, Any], soc: Soc) -> HexpackError:
    """hexrun's error, with the sentence and the way out that the table has for what the backend said."""
    said = [line.strip() for line in error.get("backend_log") or ()]
    code = error.get("code")
    evidence = [error["what"], *error["evidence"]]
    if code:
        evidence.append(f"QNN error {code['decimal']} ({code['name']})")
    evidence += [f"backend: {line}" for line in dict.fromkeys(said)]
    known = messages.explain([error["what"], *said])
    if known:
        kind = InputUnavailable if known.input else ToolFailed
        return kind(f"{soc.title} ({soc.id}): {known.sentence}", evidence=evidence, fix=known.fix)
    return ToolFailed(
        f"{soc.title} ({soc.id}, Hexagon {soc.arch}) does not take the model",
        evidence=evidence,
        fix=error.get("fix") or "look at the backend's words; try another `optimization` level",
    )


def _graphs(told: Mapping[str, Any]) -> tuple[Graph, ...]:
    return tuple(
        Graph(
            name=graph["name"],
            inputs=tuple(map(_tensor, graph["inputs"])),
            outputs=tuple(map(_tensor, graph["outputs"])),
        )
        for graph in told["graphs"]
    )


def _tensor(told: Mapping[str, Any]) -> TensorSpec:
    dtype = "float32" if told["takes_float32"] else told["dtype"]
    return TensorSpec(name=told["name"], dtype=dtype, shape=tuple(told["shape"]))
