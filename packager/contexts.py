"""One context binary per SoC: prepared, compiled and proved, each step done once.

An ONNX model goes through onnxruntime; what graphs are composed from, a DLC or a model library, through
`composed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from packager import apart, catalog, compilers, composable, composed, converted, linked
from packager.assets import Inputs
from packager.compilers import Border, Comparison, Compiled, CompileJob, Prepared, TensorSpec
from packager.compilers.worker import TookTooLong
from packager.files import Blob, lend
from packager.lock import Compile
from packager.model import Frozen
from packager.plan_model import TargetPlan
from packager.pool import Pool
from packager.rules.core import Asked, Proof
from packager.sources import Tell
from packager.steps import Steps, still_the_same
from packager.store import Store, key_of

Result = TypeVar("Result", bound=Frozen)


class _PreparedStep(Frozen):
    model: Blob
    reference: Blob
    quantized: bool
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


class _CompiledStep(Frozen):
    """`context_name` is the file name under which the wrapper refers to the context."""

    context: Blob
    wrapper: Blob
    context_name: str
    wrapper_name: str
    asked: dict[str, str]
    seconds: float
    left: tuple[str, ...] = ()


class _BordersStep(Frozen):
    model: Blob
    borders: dict[str, Border]


class _ContainerStep(Frozen):
    container: Blob


class _ProvedStep(Frozen):
    outputs: tuple[Comparison, ...]
    left_out: str | None = None


class ContextAsset(Frozen):
    """A compiled context in the store, with its proofs; where the target ships a DLC, `context` is that one.

    `seconds` is what its compilation took. With `written`, the DLC is one that hexpack wrote.

    `model` is the sha256 of the file that was compiled, `calibration` a digest of the samples that it was
    quantized with, `inputs` the origins of the model's files, `tools` the compiler's versions. Of a split
    model `split` is the ONNX file that onnxruntime runs, and `left` its nodes outside the NPU, in words.
    """

    soc: catalog.Soc
    model: str
    inputs: tuple[str, ...]
    calibration: str | None
    tools: tuple[str, ...]
    context: Blob
    seconds: float
    asked: Asked
    proofs: tuple[Proof, ...]
    written: bool = False
    split: Blob | None = None
    left: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()


class Compilation:
    """Compiles for the SoCs of targets, sharing what they have in common."""

    def __init__(
        self,
        store: Store,
        inputs: Inputs,
        tell: Tell,
        locked: Mapping[tuple[str, str], Compile] | None = None,
    ) -> None:
        self._store, self._inputs, self._tell, self._locked = store, inputs, tell, locked or {}
        self._tools = compilers.toolchain()
        self._steps = Steps(store, tell, self._tools)

    def contexts(self, targets: Sequence[TargetPlan], jobs: int) -> dict[str, tuple[ContextAsset, ...]]:
        """A context for each SoC of each target, by the target's label, in the plan's order.

        Up to `jobs` worker processes run at once. Raises InputUnavailable for a model or sample that cannot
        be used, ManifestError where the manifest does not fit the model, ToolFailed for a graph that a SoC
        does not take: the first of them in the plan's order, whichever happened first.
        """
        with Pool(jobs) as pool:
            inputs = apart.taken_apart(self._steps, self._inputs)
            if composable.is_composed(targets[0], inputs):
                shipped = [composable.unproved(target, inputs) for target in targets]
                composer = None if all(shipped) else self._composer(targets[0], inputs)
                pairs = [
                    partial(self._as_it_is, target, soc, why)
                    if why or composer is None
                    else partial(self._composed, composer, target, soc)
                    for target, why in zip(targets, shipped, strict=True)
                    for soc in target.socs
                ]
                built = iter(pool.all(pairs))
                return {target.label: tuple(next(built) for _ in target.socs) for target in targets}
            prepared = pool.all(partial(self._prepared, target) for target in targets)
            work = [
                call
                for target, ready in zip(targets, prepared, strict=True)
                for call in self._calls(target, ready)
            ]
            made = iter(pool.all(work))
            return {target.label: tuple(next(made) for _ in target.socs) for target in targets}

    def _calls(self, target: TargetPlan, prepared: Prepared) -> Iterator[Callable[[], ContextAsset]]:
        """What makes the contexts of a target. onnxruntime cannot set HVX threads; hexrun can, of a DLC."""
        if "npu" not in target.compute:
            yield from (
                partial(self._as_it_is, target, soc, composable.NO_NPU, prepared) for soc in target.socs
            )
            return
        if not target.hvx_threads:
            yield from (partial(self._context, target, soc, prepared) for soc in target.socs)
            return
        container = self._container(prepared)
        name = f"{Path(self._inputs.model.name).stem}.dlc"
        update = {"path": self._store.path(container.sha256), "blob": container, "name": name}
        dlc = self._inputs.model_copy(update={"model": self._inputs.model.model_copy(update=update)})
        onnxruntime = f"onnxruntime {self._tools['onnxruntime']}"
        composer = composed.Composer(self._steps, dlc, (onnxruntime,), prepared)
        yield from (partial(self._composed, composer, target, soc, prepared) for soc in target.socs)

    def _as_it_is(
        self, target: TargetPlan, soc: catalog.Soc, why: str | None, prepared: Prepared | None = None
    ) -> ContextAsset:
        """What no simulator here can run, shipped without a proof."""
        given = self._inputs.model
        specs = (prepared.inputs, prepared.outputs) if prepared else ((), ())
        return ContextAsset(
            soc=soc,
            model=prepared.model.name if prepared else given.blob.sha256,
            inputs=tuple(one.origin for one in (given, *self._inputs.weights)),
            calibration=self._calibration(target),
            tools=(),
            context=self._container(prepared) if prepared else self._store.add_file(given.path),
            written=prepared is not None,
            seconds=0.0,
            asked=Asked(
                soc=soc.id,
                optimization=target.optimization,
                vtcm_mb=None,
                inputs={tensor.name: tensor.shape for tensor in specs[0]},
                outputs={tensor.name: tensor.shape for tensor in specs[1]},
                unproved=why,
            ),
            proofs=(),
        )

    def _composer(self, target: TargetPlan, inputs: Inputs) -> composed.Composer | linked.Linker:
        if target.model.compiler == "aihub":
            return linked.Linker(self._steps, inputs, self._locked)
        if target.model.compiler != "qairt":
            return composed.Composer(self._steps, inputs)
        made = converted.convert(self._steps, target, self._inputs)
        return composed.Composer(self._steps, made.inputs, (made.tool,))

    def _composed(
        self,
        composer: composed.Composer | linked.Linker,
        target: TargetPlan,
        soc: catalog.Soc,
        prepared: Prepared | None = None,
    ) -> ContextAsset:
        made = composer.make(target, soc)
        (graph, *_) = made.graphs
        context = made.context
        if target.asset != "context":
            model = self._inputs.model
            context = self._container(prepared) if prepared else self._store.add_file(model.path)
        return ContextAsset(
            soc=soc,
            model=prepared.model.name if prepared else self._inputs.model.blob.sha256,
            inputs=tuple(one.origin for one in (self._inputs.model, *self._inputs.weights)),
            calibration=self._calibration(target),
            tools=made.tools,
            context=context,
            written=prepared is not None,
            seconds=made.seconds,
            asked=Asked(
                soc=soc.id,
                optimization=target.optimization,
                vtcm_mb=target.vtcm_mb or (soc.vtcm_mb if made.tools else None),
                inputs={tensor.name: tensor.shape for tensor in graph.inputs},
                outputs={tensor.name: tensor.shape for tensor in graph.outputs},
                hvx_threads=target.hvx_threads,
            ),
            proofs=tuple(Proof(soc=soc.id, **output.model_dump()) for output in made.outputs),
            jobs=made.jobs,
        )

    def _context(self, target: TargetPlan, soc: catalog.Soc, prepared: Prepared) -> ContextAsset:
        job = CompileJob(
            prepared=prepared,
            soc=soc,
            optimization=target.optimization,
            vtcm_mb=target.vtcm_mb,
            split=target.splits,
        )
        compiled = self._compiled(job)
        proved = self._proved(job, compiled, target)
        return ContextAsset(
            soc=soc,
            model=prepared.model.name,
            inputs=tuple(one.origin for one in (self._inputs.model, *self._inputs.weights)),
            calibration=self._calibration(target),
            tools=tuple(f"{name} {version}" for name, version in sorted(self._tools.items())),
            context=self._container(prepared) if target.asset == "dlc" else compiled.context,
            written=target.asset == "dlc",
            seconds=compiled.seconds,
            asked=Asked(
                soc=soc.id,
                optimization=target.optimization,
                vtcm_mb=target.vtcm_mb or soc.vtcm_mb,
                inputs={tensor.name: tensor.shape for tensor in prepared.inputs},
                outputs={tensor.name: tensor.shape for tensor in prepared.outputs},
                dtypes={name: border.fixed for name, border in prepared.borders.items()},
                split=target.splits,
                unproved=proved.left_out,
            ),
            split=compiled.wrapper if target.splits else None,
            left=compiled.left,
            proofs=tuple(Proof(soc=soc.id, **output.model_dump()) for output in proved.outputs),
        )

    def _calibration(self, target: TargetPlan) -> str | None:
        samples = self._inputs.calibration if target.precision in compilers.QUANTIZED else ()
        return key_of([sample.blob.sha256 for sample in samples]) if samples else None

    def _prepared(self, target: TargetPlan) -> Prepared:
        prepared = self._with_fixed_shapes(target)
        if target.io == "float":
            return prepared

        def do(work: Path) -> _BordersStep:
            made = compilers.with_quantized_borders(prepared, work)
            return _BordersStep(model=self._store.add_file(made.model), borders=made.borders)

        step = self._steps.step("borders", _BordersStep, {"model": prepared.model.name}, do)
        path = self._store.path(step.model.sha256)
        return prepared.model_copy(update={"model": path, "borders": step.borders})

    def _with_fixed_shapes(self, target: TargetPlan) -> Prepared:
        shapes, precision = target.model.inputs, target.precision
        quantizes = precision in compilers.QUANTIZED
        preprocessing = _json(target.model.preprocessing)
        key = {
            "model": self._inputs.model_digests(),
            "shapes": {name: spec.model_dump(mode="json") for name, spec in (shapes or {}).items()},
            "precision": precision,
            "calibration": [c.blob.sha256 for c in self._inputs.calibration] if quantizes else [],
            "options": [preprocessing, _json(target.model.quantization)] if quantizes else [],
        }

        def do(work: Path) -> _PreparedStep:
            self._tell(f"preparing {self._inputs.model.name} as {precision}")
            made = compilers.prepare(
                self._inputs.model.path,
                inputs=shapes,
                precision=precision,
                calibration=[sample.path for sample in self._inputs.calibration],
                work=work,
                preprocessing=target.model.preprocessing,
                quantization=target.model.quantization,
            )
            still_the_same(self._inputs.model, *self._inputs.weights, *self._inputs.calibration)
            return _PreparedStep(
                model=self._store.add_file(made.model),
                reference=self._store.add_file(made.reference),
                quantized=made.quantized,
                inputs=made.inputs,
                outputs=made.outputs,
            )

        step = self._steps.step("prepare", _PreparedStep, key, do)
        return Prepared(
            model=self._store.path(step.model.sha256),
            reference=self._store.path(step.reference.sha256),
            precision=precision,
            quantized=step.quantized,
            inputs=step.inputs,
            outputs=step.outputs,
            preprocessing=target.model.preprocessing,
        )

    def _container(self, prepared: Prepared) -> Blob:
        """The model as a DLC, of a model that the SoC's compiler took: the device composes the same graph."""

        def do(work: Path) -> _ContainerStep:
            self._tell("writing the DLC")
            return _ContainerStep(container=self._store.add_file(compilers.write_dlc(prepared, work)))

        return self._steps.step("dlc", _ContainerStep, {"model": prepared.model.name}, do).container

    def _compiled(self, job: CompileJob) -> _CompiledStep:
        key = {
            "model": job.prepared.model.name,
            "soc": job.soc.model_dump(mode="json"),
            "options": [job.optimization, job.vtcm_mb, job.split],
        }

        def do(work: Path) -> _CompiledStep:
            self._tell(f"compiling for {job.soc.id} ({job.soc.title}, {job.soc.arch})")
            made = compilers.compile_context(job, work)
            return _CompiledStep(
                context=self._store.add_file(made.context),
                wrapper=self._store.add_file(made.wrapper),
                context_name=made.context.name,
                wrapper_name=made.wrapper.name,
                asked=made.asked,
                seconds=round(made.seconds, 3),
                left=made.left,
            )

        return self._steps.step("compile", _CompiledStep, key, do)

    def _proved(self, job: CompileJob, step: _CompiledStep, target: TargetPlan) -> _ProvedStep:
        samples, wanted = self._inputs.reference, target.model.reference
        if not samples or wanted is None:
            return _ProvedStep(outputs=())
        key = {
            "seconds": wanted.seconds,
            "preprocessing": _json(job.prepared.preprocessing),
            "quantized": job.prepared.model.name,
            "context": step.context.sha256,
            "reference": job.prepared.reference.name,
            "samples": [sample.blob.sha256 for sample in samples],
        }

        def do(work: Path) -> _ProvedStep:
            self._tell(f"proving {job.soc.id} on the simulator with {len(samples)} samples")
            context, wrapper = work / step.context_name, work / step.wrapper_name
            lend(self._store.path(step.context.sha256), context)
            lend(self._store.path(step.wrapper.sha256), wrapper)
            compiled = Compiled(
                job=job, context=context, wrapper=wrapper, asked=step.asked, seconds=step.seconds
            )
            paths = [sample.path for sample in samples]
            try:
                outputs = compilers.prove(compiled, paths, work, seconds=wanted.seconds)
            except TookTooLong as slow:
                return _ProvedStep(outputs=(), left_out=slow.what)
            still_the_same(*samples)
            done = outputs[0].samples if outputs else 0
            spent = f"{done} of {len(samples)} samples ran in the {wanted.seconds} s that a proof may take"
            return _ProvedStep(outputs=outputs, left_out=spent if done < len(samples) else None)

        return self._steps.step("prove", _ProvedStep, key, do)


def _json(value: Frozen | None) -> object:
    return None if value is None else value.model_dump(mode="json")
