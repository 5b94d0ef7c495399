"""`package`, `check`, `plan`: the commands that read a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from invoke.context import Context
from invoke.exceptions import Exit

from packager.commands.streams import print_json
from packager.commands.support import command
from packager.errors import ManifestError, RuleRefused

MANIFEST = {
    "manifest": "the manifest (default: app.toml here)",
    "target": "only the target of this name",
    "json": "print one JSON document on stdout",
}
RUN = {
    "out": "folder for the packages (default: dist)",
    "locked": "refuse inputs that differ from the lock",
    "offline": "touch no network",
    "jobs": "compilers at once (default: one for each processor)",
}


_LAST_EPOCH = 0xFFFFFFFF  # the year 2106: what the formats' time fields can hold


def epoch() -> int:
    """Seconds since 1970 for all times inside packages: SOURCE_DATE_EPOCH, or the table's constant."""
    import os
    import tomllib

    from packager.resources import text

    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        return int(tomllib.loads(text("manifests", "defaults.toml"))["build"]["epoch"])
    if not (given.isascii() and given.isdigit() and int(given) <= _LAST_EPOCH):
        raise ManifestError(
            f'SOURCE_DATE_EPOCH is "{given}", which is no number of seconds up to {_LAST_EPOCH}',
            fix="unset or mend it",
        )
    return int(given)


def processes(given: int) -> int:
    """How many compilers run at once: as many as there are processors for this process."""
    import os

    if given == 0:
        usable = getattr(os, "sched_getaffinity", None)
        return len(usable(0)) if usable else os.cpu_count() or 1
    if given < 1:
        raise ManifestError(f"--jobs {given} would compile nothing", fix="give 1 or more")
    return given


def _run(manifest: str, *, write: bool, as_json: bool, jobs: int, **options: Any) -> None:
    from packager.manifest import load
    from packager.pipeline import Options, run
    from packager.progress import Progress
    from packager.report import print_report
    from packager.store import Store

    document = load(Path(manifest))
    with Progress().running() as tell:
        chosen = Options(epoch=epoch(), write=write, jobs=processes(jobs), **options)
        report = run(document, chosen, Store(), tell)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        print_report(report, written=write)
    if report.refused:
        raise Exit(code=RuleRefused.exit_code)


@command(help=MANIFEST | RUN)
def package(
    _: Context,
    manifest: str = "app.toml",
    out: str = "dist",
    target: str | None = None,
    json: bool = False,
    locked: bool = False,
    offline: bool = False,
    jobs: int = 0,
) -> None:
    """Build, prove and write the packages of a manifest."""
    options: dict[str, Any] = {"target": target, "locked": locked, "offline": offline, "jobs": jobs}
    _run(manifest, write=True, as_json=json, out=Path(out), **options)


@command(help={k: v for k, v in (MANIFEST | RUN).items() if k != "out"})
def check(
    _: Context,
    manifest: str = "app.toml",
    target: str | None = None,
    json: bool = False,
    locked: bool = False,
    offline: bool = False,
    jobs: int = 0,
) -> None:
    """Do everything but write packages: compile, prove and judge."""
    options: dict[str, Any] = {"target": target, "locked": locked, "offline": offline, "jobs": jobs}
    _run(manifest, write=False, as_json=json, out=Path("dist"), **options)


@command(help=MANIFEST)
def plan(_: Context, manifest: str = "app.toml", target: str | None = None, json: bool = False) -> None:
    """Show what would be built, from what, and why."""
    from packager.manifest import load
    from packager.pipeline import plan_only
    from packager.plan_report import print_plan

    document = load(Path(manifest))
    resolved, findings = plan_only(document, target)
    if json:
        print_json(
            {
                "schema_version": resolved.schema_version,
                "plan": resolved.model_dump(mode="json"),
                "findings": [finding.model_dump(mode="json") for finding in findings],
            }
        )
    else:
        print_plan(resolved, findings)
    if any(finding.refuses for finding in findings):
        raise Exit(code=RuleRefused.exit_code)


@command(
    positional=["name"],
    help={
        "name": "name of the package and folder",
        "soc": "the SoC, any of its names",
        "os": "its operating system",
    },
)
def init(_: Context, name: str, soc: str | None = None, os: str | None = None) -> None:
    """Start a new project: a folder with a manifest that fits the SoC."""
    from packager.project import create

    folder = create(name, soc, os, Path.cwd())
    print(f"{folder}/app.toml is written; put model.onnx beside it, and calibration data where it asks for")
    print(f"some; then `hexpack plan --manifest {folder}/app.toml` shows what it builds")


TASKS = (package, check, plan, init)
