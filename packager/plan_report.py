"""The plan for a person: per target what is built, from what, and what is known about its SoCs."""

from __future__ import annotations

from collections.abc import Sequence

from packager.catalog import Soc
from packager.plan_model import Plan, RuntimePlan, TargetPlan
from packager.report import add, findings_text, say, show, table
from packager.rules.core import Finding

_WORDS = {True: "yes", False: "no", None: "unknown"}


def print_plan(plan: Plan, findings: Sequence[Finding]) -> None:
    """Print a plan and what can be judged from it alone."""
    source = plan.targets[0].model.source
    say(f"{plan.package.name} {plan.package.version}")
    say(f"  model    {source.title}")
    for target in plan.targets:
        say()
        _print_target(target)
    if findings:
        say()
        say(findings_text(findings))


def _print_target(target: TargetPlan) -> None:
    libraries = target.runtime_set
    origin = _origin(libraries)
    rows = table("field", "value")
    rows.show_header = False
    add(rows, "  system", f"{target.system}, {target.abi.id}")
    for soc in target.socs:
        add(rows, "  SoC", f"{soc.id} = {soc.title}: {_known(soc)}")
        for conflict in soc.conflicts:
            add(rows, "", f"sources disagree: {conflict}")
    add(rows, "  runtime", f"{target.runtime}, {target.precision}, {', '.join(target.compute)}")
    vtcm = f"{target.vtcm_mb} MB of VTCM" if target.vtcm_mb else "all VTCM"
    add(rows, "  HTP", f"O{target.optimization}, {vtcm}, power {target.power}")
    add(rows, "  QAIRT", f"{libraries.release.version} ({libraries.release.build}) from {origin}")
    add(rows, "  libraries", " ".join(file.name for file in libraries.files))
    for package in target.packages:
        add(rows, "  package", package.file_name)
    say(target.label)
    show(rows)


def _origin(libraries: RuntimePlan) -> str:
    if libraries.kind == "wheel":
        return f"{libraries.wheel} ({libraries.platform})"
    if libraries.kind == "sdk":
        return f"the {libraries.flavour} SDK {libraries.path or 'of the environment'}"
    return libraries.artifact or f"{'folder' if libraries.kind == 'path' else 'archive'} {libraries.path}"


def _known(soc: Soc) -> str:
    return (
        f"soc_model {soc.soc_model}, {soc.arch}, VTCM {soc.vtcm_mb or '?'} MB, float {_WORDS[soc.fp16]},"
        f" weight sharing {_WORDS[soc.weight_sharing]}"
    )
