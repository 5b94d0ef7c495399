"""Context binaries from the Qualcomm AI Hub: quantized, compiled to a DLC and linked by jobs there.

A job's id is remembered before it is waited for, so that a run that was stopped, or lost its network, takes
the same job up again; and the lock has it, for others. What comes is read back, held against what was asked,
and proved on the simulator here.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packager import __version__, catalog, files
from packager.assets import Inputs
from packager.compilers import Comparison, TensorSpec
from packager.compilers import aihub as requests
from packager.compilers import generator as tools
from packager.compilers.samples import read as read_sample
from packager.composed import GENERATOR_ABI, Composed, check_declared, held_against, prove
from packager.errors import InputUnavailable, ManifestError, ToolFailed
from packager.facts.context_binary import read_context
from packager.facts.dlc import read_dlc
from packager.files import Blob, digest
from packager.lock import Compile
from packager.model import Frozen
from packager.plan_model import TargetPlan
from packager.runner import RunnerBuild, build
from packager.sources.aihub import Brought, JobGone, OnEvent, ask
from packager.steps import Steps, still_the_same
from packager.store import key_of
from packager.versions import numbers


class _Made(Frozen):
    """What a job made, and its id."""

    blob: Blob
    job: str


class _Linked(Frozen):
    context: Blob
    graphs: tuple[tools.Graph, ...]
    job: str


class _Proved(Frozen):
    outputs: tuple[Comparison, ...]


class _Job(Frozen):
    """A job that was submitted; None once it is known to have failed."""

    job: str | None


class Linker:
    """Makes the contexts of one ONNX model at the AI Hub. `locked` are rows of the lock by target and SoC."""

    def __init__(self, steps: Steps, inputs: Inputs, locked: Mapping[tuple[str, str], Compile]) -> None:
        if inputs.weights:
            raise InputUnavailable(
                f"{inputs.model.name} keeps weights outside itself, which is not sent to the AI Hub",
                evidence=[one.name for one in inputs.weights][:4],
                fix="save the model as one file, or take another compiler",
            )
        self._steps, self._inputs, self._locked = steps, inputs, locked

    @functools.cached_property
    def _runner(self) -> RunnerBuild:
        """hexrun for this machine, which reads contexts and simulates them; built when a job has made one."""
        self._steps.tell("building hexrun for this machine")
        return build(catalog.abis()[GENERATOR_ABI], self._steps.store)

    def make(self, target: TargetPlan, soc: catalog.Soc) -> Composed:
        """The context of one SoC, with the jobs that made it, proved where the manifest names samples.

        Raises ToolFailed when a job fails or its result is not what was asked for, InputUnavailable where the
        Hub cannot be reached, ManifestError for a setting that its jobs have not.
        """
        _refuse_settings(target)
        known = self._jobs_of_the_lock(target, soc)
        jobs: list[str] = []
        model = self._inputs.model.blob
        precision = requests.quantized(target.precision)
        if precision is not None:
            step = self._quantized(target, precision, known[0] if len(known) > 2 else None)
            model, jobs = step.blob, [step.job]
        dlc = self._dlc(target, model, known[-2] if len(known) > 1 else None)
        linked = self._linked(target, soc, dlc.blob, known[-1] if known else None)
        if precision is None:
            check_declared(target, linked.graphs[0])
        return Composed(
            context=linked.context,
            graphs=linked.graphs,
            seconds=0.0,
            tools=("Qualcomm AI Hub", f"hexrun {__version__}"),
            outputs=self._proofs(target, soc, linked),
            jobs=(*jobs, dlc.job, linked.job),
        )

    def _jobs_of_the_lock(self, target: TargetPlan, soc: catalog.Soc) -> tuple[str, ...]:
        """The jobs that made this very context, by the lock; none where something else was asked then."""
        row = self._locked.get((target.label, soc.id))
        if row is None:
            return ()
        asked = (self._inputs.model.blob.sha256, target.precision, target.optimization)
        release = numbers(target.runtime_set.release.version)[:2]
        made_with = numbers(row.read_qairt_build or "")[:2]
        same = (row.model, row.precision, row.optimization) == asked and made_with == release
        samples = self._inputs.calibration if requests.quantized(target.precision) else ()
        calibration = key_of([one.blob.sha256 for one in samples]) if samples else None
        return row.jobs if same and row.calibration == calibration else ()

    def _quantized(self, target: TargetPlan, precision: requests.Quantized, known: str | None) -> _Made:
        samples = self._inputs.calibration
        request = requests.quantize_request(precision, self._name)
        key = {"model": self._inputs.model.blob.sha256, "samples": [one.blob.sha256 for one in samples]}

        def do(work: Path) -> _Made:
            listed = self._samples(target, work)
            brought = self._job({**request, "samples": listed}, key, self._inputs.model.blob, known, work)
            return self._kept(brought)

        return self._steps.step("aihub-quantize", _Made, {**key, "request": dict(request)}, do)

    def _dlc(self, target: TargetPlan, model: Blob, known: str | None) -> _Made:
        """The model as a DLC. It is asked for with the first device, and serves all."""
        release = target.runtime_set.release.version
        request = requests.compile_request(self._shapes(target), target.socs[0], release, self._name)

        def do(work: Path) -> _Made:
            brought = self._job(request, {"model": model.sha256}, model, known, work)
            facts = read_dlc(brought.path)
            if not facts.graphs:
                raise ToolFailed(
                    "the DLC of the AI Hub holds no graph",
                    evidence=[f"{record.name}: {record.size} bytes" for record in facts.records],
                    fix=f"look at job {brought.job} in the Hub's web interface",
                )
            return self._kept(brought)

        key = {"model": model.sha256, "request": dict(request)}
        return self._steps.step("aihub-compile", _Made, key, do)

    def _linked(self, target: TargetPlan, soc: catalog.Soc, dlc: Blob, known: str | None) -> _Linked:
        release = target.runtime_set.release.version
        request = requests.link_request(soc, release, target.optimization, self._name)

        def do(work: Path) -> _Linked:
            brought = self._job(request, {"model": dlc.sha256}, dlc, known, work, suffix="dlc")
            tool = self._tool(work)
            graphs = tools.described(brought.path, soc, tool, work)
            made = tools.Generated(context=brought.path, graphs=graphs, seconds=0.0)
            held_against(target, soc, made, read_context(brought.path, tool.system))
            kept = self._kept(brought)
            return _Linked(context=kept.blob, graphs=graphs, job=kept.job)

        key = {"model": dlc.sha256, "request": dict(request), "soc": soc.model_dump(mode="json")}
        return self._steps.step("aihub-link", _Linked, key, do)

    def _job(
        self,
        request: requests.Request,
        key: Mapping[str, Any],
        model: Blob,
        known: str | None,
        work: Path,
        suffix: str = "onnx",
    ) -> Brought:
        """Take the job up that an earlier run submitted or the lock names; or submit it."""
        store, name = self._steps.store, key_of({**key, "request": dict(request) | {"samples": None}})
        earlier = store.recall_as(_Job, "aihub-job", name)
        job = earlier.job if earlier else known
        if job:
            try:
                return ask({"do": "job", "job": job}, _folder(work, "earlier"), self._steps.tell)
            except JobGone:
                self._steps.tell(f"AI Hub job {job} is gone; submitting it again")
        uploaded = store.recall_as(_Job, "aihub-upload", model.sha256)
        path = work / f"{Path(self._inputs.model.name).stem}.{suffix}"
        files.lend(store.find(model.sha256) or self._inputs.model.path, path)

        def on(event: Mapping[str, Any]) -> None:
            if event["event"] == "submitted":
                store.record("aihub-job", name, {"job": event["job"]})
            elif event["event"] == "uploaded":
                store.record("aihub-upload", model.sha256, {"job": event["model"]})

        words = {**request, "path": str(path), "model": uploaded.job if uploaded else None}
        try:
            return self._sent(words, work, on)
        except ToolFailed:
            store.record("aihub-job", name, {"job": None})  # the next run submits it anew
            raise

    def _sent(self, words: dict[str, Any], work: Path, on: OnEvent) -> Brought:
        """Submit; a model that the Hub no longer has is uploaded again."""
        try:
            return ask(words, _folder(work, "first"), self._steps.tell, on=on)
        except JobGone:
            if words["model"] is None:
                raise
            return ask({**words, "model": None}, _folder(work, "second"), self._steps.tell, on=on)

    def _kept(self, brought: Brought) -> _Made:
        if brought.job is None:
            raise ToolFailed("the AI Hub names no job", fix="run again")
        blob = digest(brought.path)
        self._steps.store.adopt(brought.path, blob)
        return _Made(blob=blob, job=brought.job)

    def _samples(self, target: TargetPlan, work: Path) -> list[str]:
        """One npz file for each sample, as the client's process reads them."""
        import numpy as np

        folder, listed = _folder(work, "samples"), []
        for number, sample in enumerate(self._inputs.calibration):
            arrays = read_sample(sample.path, self._shapes(target), target.model.preprocessing)
            path = folder / f"{number:06}.npz"
            with files.written_whole(path) as stream:
                np.savez(stream, **arrays)  # type: ignore[arg-type]  # names that it takes itself
            listed.append(str(path))
        still_the_same(*self._inputs.calibration)
        return listed

    def _shapes(self, target: TargetPlan) -> tuple[TensorSpec, ...]:
        if not target.model.inputs:
            raise ManifestError(
                "the AI Hub needs the sizes of the model's inputs",
                fix='add inputs = { x = { shape = [1, 3, 224, 224], dtype = "float32" } } to [model]',
            )
        declared = target.model.inputs.items()
        return tuple(TensorSpec(name=name, dtype=one.dtype, shape=one.shape) for name, one in declared)

    def _tool(self, work: Path) -> tools.Generator:
        files.place(self._steps.store.path(self._runner.blob.sha256), work / "hexrun", mode=0o755)
        return tools.generator((work / "hexrun").resolve())

    def _proofs(self, target: TargetPlan, soc: catalog.Soc, linked: _Linked) -> tuple[Comparison, ...]:
        samples, expected = self._inputs.reference, self._inputs.expected
        if not samples:
            return ()
        preprocessing = target.model.preprocessing
        key = {
            "context": linked.context.sha256,
            "samples": [one.blob.sha256 for one in (*samples, *expected)],
            "preprocessing": preprocessing.model_dump(mode="json") if preprocessing else None,
            "hexrun": self._runner.blob.sha256,
        }

        def do(work: Path) -> _Proved:
            self._steps.tell(f"proving {soc.id} on the simulator with {len(samples)} samples")
            context = self._steps.store.path(linked.context.sha256)
            graph, tool = linked.graphs[0], self._tool(work)
            outputs = prove(context, graph, soc, tool, self._inputs, work, preprocessing)
            still_the_same(*samples, *expected)
            return _Proved(outputs=outputs)

        return self._steps.step("prove", _Proved, key, do).outputs

    @property
    def _name(self) -> str:
        return Path(self._inputs.model.name).stem


def _folder(work: Path, name: str) -> Path:
    folder = work / name
    folder.mkdir()
    return folder


def _refuse_settings(target: TargetPlan) -> None:
    asked = {"vtcm_mb": target.vtcm_mb, "hvx_threads": target.hvx_threads}
    wrong = [f"{key} = {value}" for key, value in asked.items() if value]
    if wrong:
        raise ManifestError(
            f"{target.label}: the AI Hub's jobs have no such setting",
            evidence=wrong,
            fix='leave it out, or fetch the DLC (source = { aihub_job = "…" }) and compile it here',
        )
