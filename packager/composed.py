"""One context binary per SoC from a DLC or a model library: judged, composed, read back, proved."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from packager import __version__, catalog, composable, files
from packager.assets import Inputs
from packager.compilers import Comparison, Prepared, TensorSpec
from packager.compilers import generator as tools
from packager.compilers.proof import compare, compare_with_reference
from packager.compilers.samples import dimensions
from packager.compilers.samples import read as read_sample
from packager.errors import ManifestError, ToolFailed
from packager.facts.context_binary import read_context
from packager.facts.elf import read_elf
from packager.facts.types import ContextFacts
from packager.files import Blob
from packager.manifest_samples import Preprocessing
from packager.model import Frozen
from packager.plan_model import TargetPlan
from packager.runner import build
from packager.steps import Steps, still_the_same

GENERATOR_ABI = "x86_64-linux-clang"
_NO_WORD = re.compile(r"[^0-9A-Za-z_]")


class _ComposedStep(Frozen):
    context: Blob
    graphs: tuple[tools.Graph, ...]
    seconds: float


class _ProvedStep(Frozen):
    outputs: tuple[Comparison, ...]


class Composed(Frozen):
    """A context binary in the store with all graphs of its source, and how the first of them was proved.

    `jobs` are those of the AI Hub that made it.
    """

    context: Blob
    graphs: tuple[tools.Graph, ...]
    seconds: float
    tools: tuple[str, ...]
    outputs: tuple[Comparison, ...]
    jobs: tuple[str, ...] = ()


class Composer:
    """Makes the contexts of one DLC or model library. Raises what `source_of` raises.

    `origin` is the ONNX model that the DLC was made of, where there is one: onnxruntime then computes what is
    expected. The graph's names are its names, with `_` for what is neither letter nor digit.
    """

    def __init__(
        self, steps: Steps, inputs: Inputs, made_by: tuple[str, ...] = (), origin: Prepared | None = None
    ) -> None:
        self._steps, self._inputs, self._made_by, self._origin = steps, inputs, made_by, origin
        steps.tell("building hexrun for this machine")
        self._runner = build(catalog.abis()[GENERATOR_ABI], steps.store)
        self._release = read_elf(self._tool().backend).qairt_build or ""
        self._source = composable.source_of(inputs, self._release)

    def make(self, target: TargetPlan, soc: catalog.Soc) -> Composed:
        """The context of one SoC, proved where the manifest names samples.

        Raises ToolFailed when the SoC does not take the graphs or the result is not what was asked for,
        ManifestError and InputUnavailable where samples do not fit.
        """
        step = self._composed(target, soc)
        if self._origin:
            check_origin(self._origin, step.graphs[0])
        else:
            check_declared(target, step.graphs[0])
        return Composed(
            context=step.context,
            graphs=step.graphs,
            seconds=step.seconds,
            tools=()
            if self._source.kind == "context"
            else (
                *self._made_by,
                f"hexrun {__version__}",
                f"onnxruntime-qnn {self._steps.tools['onnxruntime-qnn']}",
            ),
            outputs=self._proofs(target, soc, step),
        )

    def _tool(self, work: Path | None = None) -> tools.Generator:
        """The generator; with `work`, its program is there under its name and can be run."""
        program = self._steps.store.path(self._runner.blob.sha256)
        if work:
            files.place(program, work / "hexrun", mode=0o755)
        return tools.generator((work / "hexrun").resolve() if work else program)

    def _composed(self, target: TargetPlan, soc: catalog.Soc) -> _ComposedStep:
        key = {
            "model": self._inputs.model.blob.sha256,
            "soc": soc.model_dump(mode="json"),
            "options": [target.optimization, target.vtcm_mb, target.hvx_threads, target.precision],
            "hexrun": self._runner.blob.sha256,
        }

        def do(work: Path) -> _ComposedStep:
            if self._source.kind == "context":
                self._steps.tell(f"reading the graphs of {self._inputs.model.name} for {soc.id}")
                graphs = tools.described(self._source.path, soc, self._tool(work), work)
                still_the_same(self._inputs.model)
                kept = self._steps.store.add_file(self._source.path)
                return _ComposedStep(context=kept, graphs=graphs, seconds=0.0)
            self._steps.tell(f"composing for {soc.id} ({soc.title}, {soc.arch})")
            fp16 = target.precision == "float" or self._origin is not None
            made = compose(target, soc, self._source, self._tool(work), work, fp16=fp16)
            still_the_same(self._inputs.model)
            return _ComposedStep(
                context=self._steps.store.add_file(made.context),
                graphs=made.graphs,
                seconds=round(made.seconds, 3),
            )

        return self._steps.step("compose", _ComposedStep, key, do)

    def _proofs(self, target: TargetPlan, soc: catalog.Soc, step: _ComposedStep) -> tuple[Comparison, ...]:
        samples, expected = self._inputs.reference, self._inputs.expected
        if not samples:
            return ()
        preprocessing = target.model.preprocessing
        key = {
            "context": step.context.sha256,
            "samples": [sample.blob.sha256 for sample in samples],
            "expected": [sample.blob.sha256 for sample in expected],
            "preprocessing": preprocessing.model_dump(mode="json") if preprocessing else None,
            "origin": [self._origin.model.name, self._origin.reference.name] if self._origin else None,
            "hexrun": self._runner.blob.sha256,
        }

        def do(work: Path) -> _ProvedStep:
            self._steps.tell(f"proving {soc.id} on the simulator with {len(samples)} samples")
            context, graph, tool = (
                self._steps.store.path(step.context.sha256),
                step.graphs[0],
                self._tool(work),
            )
            if self._origin:
                paths = [sample.path for sample in samples]
                outputs = prove_origin(context, graph, soc, tool, self._origin, paths, work)
            else:
                outputs = prove(context, graph, soc, tool, self._inputs, work, preprocessing)
            still_the_same(*samples, *expected)
            return _ProvedStep(outputs=outputs)

        return self._steps.step("prove", _ProvedStep, key, do).outputs


def compose(
    target: TargetPlan,
    soc: catalog.Soc,
    source: tools.Source,
    tool: tools.Generator,
    work: Path,
    *,
    fp16: bool,
) -> tools.Generated:
    """The context binary for one SoC, read back and held against what was asked. Raises ToolFailed."""
    made = tools.generate(
        source,
        tools.Settings(
            soc=soc,
            optimization=target.optimization,
            vtcm_mb=target.vtcm_mb or soc.vtcm_mb or 0,
            hvx_threads=target.hvx_threads,
            fp16=fp16,
        ),
        tool,
        work,
    )
    held_against(target, soc, made, read_context(made.context, tool.system))
    return made


def held_against(target: TargetPlan, soc: catalog.Soc, made: tools.Generated, facts: ContextFacts) -> None:
    """An exit code of 0 proves nothing: settings that a backend misreads are dropped without a word."""
    wanted: dict[str, object] = {"soc_model": soc.soc_model, "Hexagon": soc.hexagon}
    found: dict[str, object] = {"soc_model": facts.soc_model, "Hexagon": facts.hexagon_arch}
    for graph in made.graphs:
        stored = next((one for one in facts.graphs if one.name == graph.name), None)
        wanted |= {f"inputs of {graph.name}": _shapes(graph.inputs)}
        wanted |= {f"outputs of {graph.name}": _shapes(graph.outputs)}
        wanted |= {f"optimization of {graph.name}": target.optimization}
        found |= {
            f"inputs of {graph.name}": {t.name: t.shape for t in stored.inputs} if stored else None,
            f"outputs of {graph.name}": {t.name: t.shape for t in stored.outputs} if stored else None,
            f"optimization of {graph.name}": stored.optimization if stored else None,
        }
        if target.hvx_threads:
            wanted |= {f"hvx_threads of {graph.name}": target.hvx_threads}
            found |= {f"hvx_threads of {graph.name}": stored.hvx_threads if stored else None}
    wrong = [
        f"{key}: found {found[key]}, wanted {value}" for key, value in wanted.items() if found[key] != value
    ]
    if wrong:
        raise ToolFailed(
            f"the context binary for {soc.title} is another than was asked for",
            evidence=wrong,
            fix="this release of the backend does not take the setting; leave it out or take another release",
        )


def _shapes(tensors: Sequence[TensorSpec]) -> dict[str, tuple[int | None, ...]]:
    return {tensor.name: tensor.shape for tensor in tensors}


def check_declared(target: TargetPlan, graph: tools.Graph) -> None:
    """Raise ManifestError where `inputs` of the manifest are not those of the graph."""
    declared = target.model.inputs
    said = {name: (spec.dtype, tuple(spec.shape)) for name, spec in (declared or {}).items()}
    have = {spec.name: (spec.dtype, spec.shape) for spec in graph.inputs}
    if declared is not None and said != have:
        raise ManifestError(
            "`inputs` in [model] are not those of the graph, whose sizes are fixed",
            evidence=[f"{name}: {dtype} {dimensions(shape)}" for name, (dtype, shape) in have.items()],
            fix="correct `inputs`, or leave it out",
        )


def written_name(name: str) -> str:
    """What the writer of DLCs makes of a name of the ONNX model."""
    return _NO_WORD.sub("_", name)


def check_origin(origin: Prepared, graph: tools.Graph) -> None:
    """Raise ToolFailed where the graph has not the inputs and outputs of the model it was made of."""
    for side, specs, found in (
        ("inputs", origin.inputs, graph.inputs),
        ("outputs", origin.outputs, graph.outputs),
    ):
        wanted, have = {written_name(spec.name): spec.shape for spec in specs}, _shapes(found)
        if wanted.keys() != have.keys() or any(None not in s and have[n] != s for n, s in wanted.items()):
            raise ToolFailed(
                f"the graph of the DLC has other {side} than the model",
                evidence=(
                    *(f"wanted  {name} {dimensions(shape)}" for name, shape in wanted.items()),
                    *(f"found   {name} {dimensions(shape)}" for name, shape in have.items()),
                ),
                fix="leave out what needs a DLC (`hvx_threads`), or give inputs and outputs names of letters "
                "and digits that differ in more than other signs",
            )


def prove_origin(
    context: Path,
    graph: tools.Graph,
    soc: catalog.Soc,
    tool: tools.Generator,
    origin: Prepared,
    paths: Sequence[Path],
    work: Path,
) -> tuple[Comparison, ...]:
    """Compare every output on the simulator with what onnxruntime computes from the ONNX model.

    Raises InputUnavailable for a sample that does not fit, ToolFailed when a run fails.
    """
    names = {written_name(spec.name): spec.name for spec in (*origin.inputs, *origin.outputs)}
    with files.scratch(work) as inside:
        (inside / "npu").mkdir()
        ran = tools.simulate(
            context, graph, soc, tool, paths, inside / "npu", preprocessing=origin.preprocessing, names=names
        )
        found = [{names[name]: path for name, path in one.items()} for one in ran]
        return compare_with_reference(origin, found, paths, inside)


def prove(
    context: Path,
    graph: tools.Graph,
    soc: catalog.Soc,
    tool: tools.Generator,
    inputs: Inputs,
    work: Path,
    preprocessing: Preprocessing | None = None,
) -> tuple[Comparison, ...]:
    """Compare every output on the simulator with the expected ones, all samples taken together.

    Raises ManifestError when there are not as many expected files as samples, InputUnavailable for a file
    that does not fit the graph, ToolFailed when the simulator fails.
    """
    import numpy as np

    given, expected = inputs.reference, inputs.expected
    if len(given) != len(expected):
        raise ManifestError(
            "the samples and the expected outputs are not as many",
            evidence=(f"{len(given)} inputs, {len(expected)} outputs",),
            fix="name one file of expected outputs for each sample, in the same order",
        )
    with files.scratch(work) as inside:
        (inside / "npu").mkdir()
        paths, out = [one.path for one in given], inside / "npu"
        found = tools.simulate(context, graph, soc, tool, paths, out, preprocessing=preprocessing)
        wanted: list[dict[str, Path]] = []
        for number, one in enumerate(expected):
            wanted.append({})
            for index, (name, array) in enumerate(read_sample(one.path, graph.outputs).items()):
                wanted[-1][name] = inside / f"{number}-{index}.npy"
                with files.written_whole(wanted[-1][name]) as stream:
                    np.save(stream, array)
        return tuple(compare(name, found, wanted) for name in (spec.name for spec in graph.outputs))
