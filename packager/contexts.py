"""One context binary per SoC: prepared, compiled and proved, each step done once.

A step is remembered in the store under a key made of its inputs, its options, the tool versions and
hexpack's own digest. What is remembered are digests; when a blob is gone from the store, the step is
done again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from packager import catalog, compilers
from packager.assets import Inputs
from packager.codeprint import codeprint
from packager.compilers import Comparison, Compiled, CompileJob, Prepared, TensorSpec
from packager.files import Blob, place
from packager.model import Frozen
from packager.plan_model import TargetPlan
from packager.rules.core import Asked, Proof
from packager.sources import Fetched, Tell
from packager.sources.local import check_unchanged
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


class _ProvedStep(Frozen):
    outputs: tuple[Comparison, ...]


class ContextAsset(Frozen):
    """A compiled context in the store, with its proofs. `seconds` is what its compilation took."""

    soc: catalog.Soc
    context: Blob
    seconds: float
    asked: Asked
    proofs: tuple[Proof, ...]


class Compilation:
    """Compiles for the SoCs of targets, sharing what they have in common."""

    def __init__(self, store: Store, inputs: Inputs, tell: Tell) -> None:
        self._store, self._inputs, self._tell = store, inputs, tell
        self._tools = compilers.toolchain()

    def contexts(self, target: TargetPlan) -> tuple[ContextAsset, ...]:
        """A context per SoC, in the plan's order.

        Raises InputUnavailable for a model or sample that cannot be used, ManifestError where the
        manifest does not fit the model, ToolFailed for a graph that a SoC does not take.
        """
        prepared = self._prepared(target)
        return tuple(self._context(target, soc, prepared) for soc in target.socs)

    def _context(self, target: TargetPlan, soc: catalog.Soc, prepared: Prepared) -> ContextAsset:
        job = CompileJob(
            prepared=prepared,
            soc=soc,
            optimization=target.optimization,
            vtcm_mb=target.vtcm_mb,
            hvx_threads=target.hvx_threads,
        )
        compiled = self._compiled(job)
        return ContextAsset(
            soc=soc,
            context=compiled.context,
            seconds=compiled.seconds,
            asked=Asked(
                soc=soc.id,
                optimization=target.optimization,
                vtcm_mb=target.vtcm_mb or soc.vtcm_mb,
                inputs={tensor.name: tensor.shape for tensor in prepared.inputs},
                outputs={tensor.name: tensor.shape for tensor in prepared.outputs},
            ),
            proofs=self._proofs(job, compiled),
        )

    def _step(
        self, kind: str, model: type[Result], key: dict[str, Any], do: Callable[[Path], Result]
    ) -> Result:
        """Recall a step whose blobs are all here, or do it in a scratch folder."""
        name = key_of({"inputs": key, "tools": self._tools, "hexpack": codeprint()})
        known = self._store.recall_as(model, kind, name)
        if known is not None and all(self._store.proved(blob) for blob in _blobs(known)):
            return known
        with self._store.work() as work:
            result = do(work)
        self._store.record(kind, name, result.model_dump(mode="json"))
        return result

    @staticmethod
    def _still_the_same(*inputs: Fetched) -> None:
        """The worker read these by name; nobody may have written to them since they were hashed."""
        for one in inputs:
            check_unchanged(one)

    def _prepared(self, target: TargetPlan) -> Prepared:
        shapes, precision = target.model.inputs, target.precision
        quantizes = precision in compilers.QUANTIZED
        key = {
            "model": self._inputs.model_digests(),
            "shapes": {name: spec.model_dump(mode="json") for name, spec in (shapes or {}).items()},
            "precision": precision,
            "calibration": [c.blob.sha256 for c in self._inputs.calibration] if quantizes else [],
        }

        def do(work: Path) -> _PreparedStep:
            self._tell(f"preparing {self._inputs.model.name} as {precision}")
            made = compilers.prepare(
                self._inputs.model.path,
                inputs=shapes,
                precision=precision,
                calibration=[sample.path for sample in self._inputs.calibration],
                work=work,
            )
            self._still_the_same(self._inputs.model, *self._inputs.weights, *self._inputs.calibration)
            return _PreparedStep(
                model=self._store.add_file(made.model),
                reference=self._store.add_file(made.reference),
                quantized=made.quantized,
                inputs=made.inputs,
                outputs=made.outputs,
            )

        step = self._step("prepare", _PreparedStep, key, do)
        return Prepared(
            model=self._store.path(step.model.sha256),
            reference=self._store.path(step.reference.sha256),
            precision=precision,
            quantized=step.quantized,
            inputs=step.inputs,
            outputs=step.outputs,
        )

    def _compiled(self, job: CompileJob) -> _CompiledStep:
        key = {
            "model": job.prepared.model.name,
            "soc": job.soc.model_dump(mode="json"),
            "options": [job.optimization, job.vtcm_mb, job.hvx_threads],
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
            )

        return self._step("compile", _CompiledStep, key, do)

    def _proofs(self, job: CompileJob, step: _CompiledStep) -> tuple[Proof, ...]:
        samples = self._inputs.reference
        if not samples:
            return ()
        key = {
            "context": step.context.sha256,
            "reference": job.prepared.reference.name,
            "samples": [sample.blob.sha256 for sample in samples],
        }

        def do(work: Path) -> _ProvedStep:
            self._tell(f"proving {job.soc.id} on the simulator with {len(samples)} samples")
            context, wrapper = work / step.context_name, work / step.wrapper_name
            place(self._store.path(step.context.sha256), context)
            place(self._store.path(step.wrapper.sha256), wrapper)
            compiled = Compiled(
                job=job, context=context, wrapper=wrapper, asked=step.asked, seconds=step.seconds
            )
            outputs = compilers.prove(compiled, [sample.path for sample in samples], work)
            self._still_the_same(*samples)
            return _ProvedStep(outputs=outputs)

        outputs = self._step("prove", _ProvedStep, key, do).outputs
        return tuple(Proof(soc=job.soc.id, **output.model_dump()) for output in outputs)


def _blobs(step: Frozen) -> tuple[Blob, ...]:
    return tuple(value for _, value in step if isinstance(value, Blob))
