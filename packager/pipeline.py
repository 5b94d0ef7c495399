"""The line: manifest → plan → assets → facts → findings → bundle → package → report.

Each stage is one call and hands a frozen value to the next. Data moves forward only.
"""

from __future__ import annotations

import contextlib
import datetime
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from packager import formats
from packager.bundle import Bundle, BundleFile
from packager.codeprint import codeprint, surroundings
from packager.emission import emission, require_writable, unchanged
from packager.errors import ManifestError, VerificationFailed
from packager.facts.types import OnnxFacts
from packager.layouts.sizes import sizes
from packager.lock import Compile, Entry
from packager.lock_reading import load as load_lock
from packager.model import Frozen
from packager.plan import make_plan
from packager.plan_model import Plan, TargetPlan
from packager.report_model import ContextReport, FileReport, Report, TargetReport
from packager.rules.core import Case, Finding, Proof, Stage, allowed, judge
from packager.sources import Tell
from packager.store import Store, key_of

if TYPE_CHECKING:
    from packager.assets import Acquisition, Inputs
    from packager.contexts import ContextAsset
    from packager.manifest import Document
    from packager.runner import RunnerBuild
    from packager.signing_key import SigningKey


class Options(Frozen):
    """How a run is done. Only `epoch` (seconds since 1970) reaches the bytes of a package.

    `jobs` is how many compilers run at once. `relock` pins every input anew.
    """

    out: Path
    target: str | None = None
    locked: bool = False
    offline: bool = False
    epoch: int
    write: bool = True
    jobs: int = 1
    relock: bool = False


class Outcome(Frozen):
    """One target judged. `bundle` is None when the outcome was recalled from an earlier run."""

    plan: TargetPlan
    report: TargetReport
    findings: tuple[Finding, ...]
    inputs: tuple[Entry, ...]
    compiles: tuple[Compile, ...]
    bundle: Bundle | None = None


class _Remembered(Frozen):
    """What the store keeps of an outcome."""

    report: TargetReport
    findings: tuple[Finding, ...]
    inputs: tuple[Entry, ...]
    compiles: tuple[Compile, ...]


def plan_only(document: Document, target: str | None = None) -> tuple[Plan, tuple[Finding, ...]]:
    """The plan, and the findings that need no file. Raises ManifestError."""
    plan = _selected(make_plan(document), target)
    return plan, _before_compiling(plan, Stage.PLAN)


def _before_compiling(plan: Plan, stage: Stage, model: OnnxFacts | None = None) -> tuple[Finding, ...]:
    found = [finding for one in plan.targets for finding in judge(Case(plan=one, model=model), stage)]
    return allowed(found, plan.allow, report_unused=False)


def run(document: Document, options: Options, store: Store, tell: Tell) -> Report:
    """From a manifest to packages in `options.out`, or with `write=False` to the verdict only.

    A finding does not raise: the report then says `refused`, and nothing was written. Whatever stops
    the line before a verdict raises one of the errors of `packager.errors`.
    """
    from packager.assets import Acquisition

    plan, early = plan_only(document, options.target)
    if any(finding.refuses for finding in early):
        return _report(document, plan, early)
    if options.write:
        require_writable(options.out)
    lock_file = document.path.with_suffix(".lock")
    lock = load_lock(lock_file)
    base = document.path.parent.absolute()
    pins = lock.without_pins() if options.relock else lock
    acquisition = Acquisition(base, store, pins, offline=options.offline, tell=tell)
    inputs = acquisition.inputs(plan)
    early += _before_compiling(plan, Stage.MODEL, inputs.facts)
    if any(finding.refuses for finding in early):
        return _report(document, plan, early)
    _respect_lock(acquisition, options)
    signing = _signing_keys(plan, base)
    keys = {one.label: _key(one, inputs, acquisition, options, signing) for one in plan.targets}
    outcomes = [_recalled(store, keys[one.label], one, options) for one in plan.targets]
    missing = [one for one, outcome in zip(plan.targets, outcomes, strict=True) if outcome is None]
    staged = iter(_stage(missing, inputs, acquisition, store, options.jobs, tell) if missing else ())
    done = [outcome or next(staged) for outcome in outcomes]
    for outcome in done:
        acquisition.use(outcome.inputs, outcome.compiles)
    whole = options.target is None
    _respect_lock(acquisition, options, complete=whole)
    found = [*early, *(finding for outcome in done for finding in outcome.findings)]
    verdict = allowed(found, plan.allow, report_unused=whole)
    if not options.locked:
        acquisition.locked(complete=whole).write(lock_file)
    if options.write and not any(finding.refuses for finding in verdict):
        done = _emit(done, options, signing, tell)
        for outcome in done:
            remembered = _Remembered.model_validate(outcome.model_dump(include=set(_Remembered.model_fields)))
            store.record("target", keys[outcome.plan.label], remembered.model_dump(mode="json"))
    return _report(document, plan, verdict, done)


def _selected(plan: Plan, target: str | None) -> Plan:
    if target is None:
        return plan
    chosen = tuple(one for one in plan.targets if one.label == target)
    if not chosen:
        raise ManifestError(
            f'no target is called "{target}"',
            evidence=(f"targets: {', '.join(one.label for one in plan.targets)}",),
            fix="name one of them with --target",
        )
    return plan.model_copy(update={"targets": chosen})


def _respect_lock(acquisition: Acquisition, options: Options, *, complete: bool = False) -> None:
    drift = acquisition.drift(complete=complete) if options.locked else ()
    if drift:
        raise VerificationFailed(
            "this is not what the lock says",
            evidence=drift,
            fix="restore what has changed; or, if it is meant, run `hexpack lock` and review its difference",
        )


def _signing_keys(plan: Plan, base: Path) -> dict[str, SigningKey]:
    """The user's keys by target; asked for before anything is compiled, since they may not be usable."""
    from packager.formats import Owned, by_id
    from packager.signing_key import load_key

    now = datetime.datetime.now(datetime.UTC)
    keys = {one.label: load_key(one.signing, base, now) for one in plan.targets if one.signing}
    for target in plan.targets:
        forms = (by_id(package.format) for package in target.packages if target.label in keys)
        for form in (form for form in forms if isinstance(form, Owned)):
            form.agree(target, keys[target.label])
    return keys


def _key(
    plan: TargetPlan,
    inputs: Inputs,
    acquisition: Acquisition,
    options: Options,
    signing: Mapping[str, SigningKey],
) -> str:
    """Everything that the packages of a target depend on."""
    from packager.compilers import toolchain

    libraries = acquisition.libraries(plan) if plan.runtime_set.kind != "wheel" else {}
    return key_of(
        {
            "plan": plan.model_dump(mode="json"),
            "inputs": inputs.digests(),
            "libraries": {name: fetched.blob.sha256 for name, fetched in libraries.items()},
            "tools": toolchain() | surroundings(),
            "hexpack": codeprint(),
            "epoch": options.epoch,
            "signer": [digest.hex() for digest in signing[plan.label].fingerprints]
            if plan.label in signing
            else [],
        }
    )


def _recalled(store: Store, key: str, plan: TargetPlan, options: Options) -> Outcome | None:
    """The outcome of an earlier run, if its packages are still where they belong."""
    known = store.recall_as(_Remembered, "target", key)
    if known is None or (options.write and not unchanged(options.out, known.report.packages)):
        return None
    packages = tuple(package.model_copy(update={"changed": False}) for package in known.report.packages)
    report = known.report.model_copy(update={"reused": True, "packages": packages})
    return Outcome(
        plan=plan, report=report, findings=known.findings, inputs=known.inputs, compiles=known.compiles
    )


def _stage(
    plans: Sequence[TargetPlan],
    inputs: Inputs,
    acquisition: Acquisition,
    store: Store,
    jobs: int,
    tell: Tell,
) -> list[Outcome]:
    """Compile, prove, lay out and judge targets; runners are built meanwhile."""
    from packager.contexts import Compilation
    from packager.parts import require_tools
    from packager.staging import Staging, compiles_of, facts_of_base, qairt_builds

    for plan in plans:
        require_tools(plan)
        formats.require_tools(plan)
    outcomes = []
    with _runners(plans, store, tell) as (runners, parts):
        fetched = [acquisition.libraries(plan) for plan in plans]
        bases = [acquisition.base_image(plan) for plan in plans]
        compiled = Compilation(store, inputs, tell, acquisition.compiles()).contexts(plans, jobs)
        for plan, libraries, base in zip(plans, fetched, bases, strict=True):
            contexts = compiled[plan.label]
            if not runners[plan.abi.id].done():
                tell(f"waiting for hexrun for {plan.abi.id}")
            runner = runners[plan.abi.id].result()
            tell(f"judging {plan.label}")
            more = parts[plan.label].result()
            bundle, examined = Staging(store, plan).stage(libraries, contexts, runner, more)
            proofs = tuple(proof for context in contexts for proof in context.proofs)
            asked = tuple(context.asked for context in contexts)
            below = facts_of_base(base.image, store) if base else None
            case = Case(plan=plan, files=examined, proofs=proofs, asked=asked, base=below)
            findings = judge(case, Stage.FILES)
            outcomes.append(
                Outcome(
                    plan=plan,
                    report=_target_report(plan, contexts, proofs, bundle),
                    findings=findings,
                    inputs=acquisition.entries(
                        [*libraries.values(), *([base.document] if base else [])],
                        qairt_builds(examined),
                        plan.runtime_set.licences,
                    ),
                    compiles=compiles_of(plan, contexts, examined),
                    bundle=bundle.model_copy(update={"base": base.image}) if base else bundle,
                )
            )
    return outcomes


@contextlib.contextmanager
def _runners(
    plans: Sequence[TargetPlan], store: Store, tell: Tell
) -> Iterator[tuple[dict[str, Future[RunnerBuild]], dict[str, Future[tuple[BundleFile, ...]]]]]:
    """Builds of the native runner by ABI, and of formats' parts by target.

    The first for a system also builds its C library: minutes.
    """
    from packager.parts import parts_of
    from packager.runner import build

    stop = threading.Event()
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="runner")
    futures = {}
    try:
        for abi in {plan.abi.id: plan.abi for plan in plans}.values():
            tell(f"building hexrun for {abi.id}")
            futures[abi.id] = pool.submit(build, abi, store, stop)
        yield futures, {plan.label: pool.submit(parts_of, plan, store, stop) for plan in plans}
    finally:
        # After an error nobody waits minutes for a build whose result is of no use.
        stop.set()
        pool.shutdown(cancel_futures=True)


def _target_report(
    plan: TargetPlan, contexts: Sequence[ContextAsset], proofs: tuple[Proof, ...], bundle: Bundle
) -> TargetReport:
    return TargetReport(
        label=plan.label,
        system=plan.system,
        abi=plan.abi.id,
        socs=tuple(soc.id for soc in plan.socs),
        contexts=tuple(
            ContextReport(
                soc=c.soc.id,
                sha256=c.context.sha256,
                size=c.context.size,
                seconds=c.seconds,
                on_cpu=c.left,
            )
            for c in contexts
        ),
        proofs=proofs,
        files=tuple(
            FileReport(
                path=file.path,
                role=file.role,
                size=file.blob.size,
                sha256=file.blob.sha256,
                origin=file.origin,
            )
            for file in sorted((*bundle.files, *bundle.parts), key=lambda file: (-file.blob.size, file.path))
        ),
        required=bundle.required,
        sizes=sizes(plan, bundle.files),
    )


def _emit(
    outcomes: Sequence[Outcome], options: Options, signing: Mapping[str, SigningKey], tell: Tell
) -> list[Outcome]:
    """Write the packages of all targets that need it; either all of them appear or none."""
    if all(outcome.bundle is None for outcome in outcomes):
        return list(outcomes)
    written = []
    with emission(options.out) as output:
        for outcome in outcomes:
            if outcome.bundle is None:
                written.append(outcome)
                continue
            packages = []
            for package in outcome.plan.packages:
                tell(f"writing {package.file_name}")
                key = signing.get(outcome.plan.label)
                packages.append(output.write(outcome.plan, package, outcome.bundle, options.epoch, key))
            report = outcome.report.model_copy(update={"packages": tuple(packages)})
            written.append(outcome.model_copy(update={"report": report}))
        output.publish()
    return written


def _report(
    document: Document, plan: Plan, findings: tuple[Finding, ...], outcomes: Sequence[Outcome] = ()
) -> Report:
    return Report(
        manifest=str(document.path),
        package=plan.package.name,
        version=plan.package.version,
        refused=any(finding.refuses for finding in findings),
        findings=findings,
        targets=tuple(outcome.report for outcome in outcomes),
    )
