"""What can be said from the plan alone: whether these SoCs can do what is asked of them."""

from __future__ import annotations

from collections.abc import Iterable

from packager import catalog
from packager.rules.core import Case, Said, Severity, Stage, rule
from packager.rules.reading import MANIFEST, on_npu
from packager.rules.table import number


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
        if on_npu(case.plan) and (soc.hexagon is None or soc.hexagon < oldest):
            yield Said(
                file=MANIFEST,
                found=f"{soc.id} ({soc.title}): {f'Hexagon {soc.arch}' if soc.hexagon else soc.arch}",
                wanted=f"Hexagon v{oldest} or later",
                fix="choose another SoC; `hexpack socs v73` lists those of an architecture",
            )


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
    for soc in plan.socs:
        if soc.systems and plan.system not in soc.systems:
            yield Said(
                file=MANIFEST,
                found=f'os = "{plan.system}" for {soc.id} ({soc.title})',
                wanted=" or ".join(f'"{system}"' for system in soc.systems),
                fix="check the name of the SoC; if the device is real, allow this finding with its name",
            )
