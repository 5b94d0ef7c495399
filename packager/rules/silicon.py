"""What can be said from the plan alone: whether these SoCs can do what is asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from packager import catalog
from packager.catalog import Soc
from packager.plan_model import TargetPlan
from packager.rules.capabilities import (
    Verdict,
    toolchains_that_accept,
    verdict_on,
)
from packager.rules.core import Case, Said, Severity, Stage, rule
from packager.rules.reading import MANIFEST, on_npu, same_release
from packager.rules.table import number, word


class _Refusal(NamedTuple):
    """Libraries that are known not to run on a SoC; `release` is what the evidence is about."""

    soc: Soc
    verdict: Verdict
    release: str
    certain: bool


def _refusals(plan: TargetPlan) -> Iterator[_Refusal]:
    """The SoCs that the HTP libraries of this ABI refuse; certain where this very release was tried."""
    for soc in plan.socs:
        if not on_npu(plan) or not _has_htp(soc):
            continue
        best = verdict_on(soc, plan.abi.id, plan.runtime_set.release.version)
        if best is not None and not best[0].accepted:
            verdict, release = best
            tried = same_release(release, plan.runtime_set.release.version)
            yield _Refusal(soc, verdict, release, tried and verdict.confidence == "measured")


def _automotive(soc: Soc) -> bool:
    """Whether the part is sold for cars: only those are met on that system."""
    return word("HEX326", "system_of_cars") in soc.systems


def _has_htp(soc: Soc) -> bool:
    return soc.hexagon is not None and soc.hexagon >= number("HEX308", "oldest_arch")


@rule("HEX301", severity=Severity.ERROR, stage=Stage.PLAN)
def float_where_float_runs(case: Case) -> Iterable[Said]:
    """Half-precision arithmetic is a matter of the single SoC, not of its Hexagon architecture."""
    if case.plan.precision != "float" or not on_npu(case.plan):
        return
    for soc in case.plan.socs:
        if soc.fp16 is False:
            yield Said(
                file=MANIFEST,
                found=f'precision = "float" for {soc.id} ({soc.title}, Hexagon {soc.arch})',
                wanted='"w8a16" or "w8a8"',
                fix='set `precision = "w8a16"` here and `calibration = { path = "….npy" }` in [model]',
            )


@rule("HEX308", severity=Severity.ERROR, stage=Stage.PLAN)
def soc_with_an_htp(case: Case) -> Iterable[Said]:
    """The HTP backend begins with one Hexagon architecture; older DSPs have no matrix unit for it."""
    oldest = number("HEX308", "oldest_arch")
    for soc in case.plan.socs:
        if on_npu(case.plan) and not _has_htp(soc):
            yield Said(
                file=MANIFEST,
                found=f"{soc.id} ({soc.title}): {f'Hexagon {soc.arch}' if soc.hexagon else soc.arch}",
                wanted=f"Hexagon v{oldest} or later",
                fix="choose another SoC; `hexpack socs v73` lists those of an architecture" + _served(soc),
            )


def _served(soc: Soc) -> str:
    """Which backend an older DSP has instead, and what that takes."""
    row = next((row for row in catalog.backends() if soc.hexagon in row.archs), None)
    return f". {soc.arch} has the {row.name} backend, for quantized models only" if row else ""


@rule("HEX309", severity=Severity.ERROR, stage=Stage.PLAN)
def runtime_of_the_system(case: Case) -> Iterable[Said]:
    """Not every system can compose a graph on the device."""
    system = catalog.systems()[case.plan.system]
    if case.plan.runtime not in system.runtimes:
        yield Said(
            file=MANIFEST,
            found=f'runtime = "{case.plan.runtime}" on {system.name}',
            wanted=" or ".join(f'"{runtime}"' for runtime in system.runtimes),
            fix=f'set `runtime = "{system.runtimes[0]}"` in this target',
        )


@rule("HEX312", severity=Severity.ERROR, stage=Stage.PLAN)
def vtcm_that_the_soc_has(case: Case) -> Iterable[Said]:
    """A graph prepared for more VTCM than there is cannot be loaded."""
    for soc in case.plan.socs:
        if soc.vtcm_mb is not None and case.plan.vtcm_mb > soc.vtcm_mb:
            yield Said(
                file=MANIFEST,
                found=f"vtcm_mb = {case.plan.vtcm_mb} for {soc.id} ({soc.title})",
                wanted=f"at most {soc.vtcm_mb}, or 0 for all that the SoC has",
                fix="set `vtcm_mb = 0`, or give this SoC a target of its own",
            )


@rule("HEX313", severity=Severity.WARNING, stage=Stage.PLAN)
def soc_on_its_system(case: Case) -> Iterable[Said]:
    """A part is sold for certain systems; native Linux libraries even refuse the others by a list."""
    plan = case.plan
    if plan.abi.simulator:
        return
    refused = {refusal.soc.id for refusal in _refusals(plan)}
    for soc in plan.socs:
        if soc.systems and plan.system not in soc.systems and soc.id not in refused:
            yield Said(
                file=MANIFEST,
                found=f'os = "{plan.system}" for {soc.id} ({soc.title})',
                wanted=" or ".join(f'"{system}"' for system in soc.systems),
                fix="check the name of the SoC; if the device is real, allow this finding with its name",
            )


def _of_refusal(plan: TargetPlan, refusal: _Refusal) -> Said:
    soc, verdict = refusal.soc, refusal.verdict
    release = plan.runtime_set.release.version
    here = [abi.id for abi in catalog.abis().values() if abi.system == plan.system]
    others = toolchains_that_accept(soc, here, release)
    return Said(
        file=MANIFEST,
        found=f'abi = "{plan.abi.id}" and QAIRT {release} for {soc.id} ({soc.title})',
        wanted=f"libraries that run on it; {verdict.confidence} with QAIRT {refusal.release}:"
        f" {verdict.evidence}",
        fix=f'set `abi = "{others[0]}"`' if others else "choose another SoC, or another system for this one",
    )


@rule("HEX318", severity=Severity.ERROR, stage=Stage.PLAN)
def libraries_that_refuse_the_soc(case: Case) -> Iterable[Said]:
    """These very libraries were loaded under the number of this SoC, and refused it."""
    for refusal in _refusals(case.plan):
        if refusal.certain:
            yield _of_refusal(case.plan, refusal)


@rule("HEX325", severity=Severity.ERROR, stage=Stage.PLAN)
def precision_of_the_backend(case: Case) -> Iterable[Said]:
    """The CPU and GPU backends take no quantized model. Float on the NPU is for HEX301 to judge."""
    precision = case.plan.precision
    if precision in ("float", "as-is"):
        return
    for unit in case.plan.compute:
        backend = catalog.backend_of(unit)
        if not backend.quantized:
            yield Said(
                file=MANIFEST,
                found=f'precision = "{precision}" with "{unit}" in compute',
                wanted=f'"float", as the {backend.name} backend takes',
                fix=f'take "{unit}" out of compute, or give it a target of its own with the float model',
            )


@rule("HEX326", severity=Severity.ERROR, stage=Stage.PLAN)
def no_composition_in_cars(case: Case) -> Iterable[Said]:
    """Automotive Linux has no preparer either; where the system has none at all, HEX309 speaks."""
    plan = case.plan
    if plan.system != word("HEX326", "system") or plan.runtime == word("HEX326", "runtime"):
        return
    for soc in plan.socs:
        if _automotive(soc) and not plan.abi.simulator:
            yield Said(
                file=MANIFEST,
                found=f'runtime = "{plan.runtime}" for {soc.id} ({soc.title}), an automotive part',
                wanted=f'"{word("HEX326", "runtime")}"',
                fix=f'set `runtime = "{word("HEX326", "runtime")}"` in this target',
            )


@rule("HEX331", severity=Severity.WARNING, stage=Stage.PLAN)
def libraries_that_may_refuse_the_soc(case: Case) -> Iterable[Said]:
    """Somebody else met the refusal, or it was met with another release."""
    for refusal in _refusals(case.plan):
        if not refusal.certain:
            yield _of_refusal(case.plan, refusal)


@rule("HEX333", severity=Severity.WARNING, stage=Stage.PLAN)
def edition_for_cars(case: Case) -> Iterable[Said]:
    """Wheels carry the edition for everybody; automotive parts have one of their own."""
    plan = case.plan
    if plan.runtime_set.wheel is None or plan.abi.simulator or not on_npu(plan):
        return
    for soc in plan.socs:
        if _automotive(soc) and _has_htp(soc):
            yield Said(
                file=MANIFEST,
                found=f"QAIRT {plan.runtime_set.release.version} of {plan.runtime_set.wheel} for {soc.id}"
                f" ({soc.title}), an automotive part",
                wanted="the automotive edition of QAIRT",
                fix='set `from = "path"` in [qairt] and `path` to an automotive SDK of that release',
            )
