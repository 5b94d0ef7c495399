"""`lock` and `store`: what is kept beside the manifest, and what is kept for the next run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from invoke.context import Context
from invoke.exceptions import Exit

from packager.commands.building import MANIFEST, RUN, epoch, processes
from packager.commands.streams import print_json
from packager.commands.support import command
from packager.errors import ManifestError, RuleRefused, VerificationFailed
from packager.visible import visible


@command(help={key: said for key, said in (MANIFEST | RUN).items() if key not in ("out", "locked")})
def lock(
    _: Context,
    manifest: str = "app.toml",
    target: str | None = None,
    json: bool = False,
    offline: bool = False,
    jobs: int = 0,
) -> None:
    """Pin every input anew, compile what has changed, and write app.lock; shows what changed in it."""
    from packager.lock_reading import load as load_lock
    from packager.manifest import load
    from packager.pipeline import Options, run
    from packager.progress import Progress
    from packager.report import findings_text
    from packager.store import Store

    document = load(Path(manifest))
    file = document.path.with_suffix(".lock")
    before = load_lock(file)
    options: dict[str, Any] = {"target": target, "offline": offline, "jobs": processes(jobs)}
    with Progress().running() as tell:
        chosen = Options(out=Path("dist"), epoch=epoch(), write=False, relock=True, **options)
        report = run(document, chosen, Store(), tell)
    changes = load_lock(file).changes_since(before)
    if json:
        rows = [{"change": change, "what": title} for change, title in changes]
        print_json({"schema_version": 1, "lock": str(file), "refused": report.refused, "changes": rows})
    else:
        for change, title in changes:
            print(f"{change:<8} {visible(title)}")
        print(visible(f"{file}: {len(changes)} changes" if changes else f"{file}: nothing has changed"))
        if report.refused:
            print(findings_text(report.findings))
    if report.refused:
        raise Exit(code=RuleRefused.exit_code)


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


@command(
    help={
        "gc": "clear up: what killed runs left, and what nothing has used for a month",
        "max-size": "with --gc, clear the longest unused until no more than this is left: 5GB, 800MB",
        "verify": "read all of it, and remove what is damaged",
        "json": "print one JSON document on stdout",
    }
)
def store(_: Context, gc: bool = False, max_size: str = "", verify: bool = False, json: bool = False) -> None:
    """Show what is kept between runs, clear it up (--gc), or prove it (--verify)."""
    from packager import store_keeping
    from packager.store import Store
    from packager.store_report import print_cleared, print_survey, print_verified

    here = Store()
    if max_size and not gc:
        raise ManifestError("--max-size does nothing by itself", fix="add --gc")
    verified = store_keeping.verify(here) if verify else None
    cleared = store_keeping.collect(here, bytes_of(max_size) if max_size else None) if gc else None
    survey = store_keeping.survey(here)
    if json:
        done = {"verified": verified, "cleared": cleared}
        told = {key: value.model_dump(mode="json") for key, value in done.items() if value is not None}
        print_json(
            {"schema_version": 1, "store": survey.model_dump(mode="json"), "size": survey.size, **told}
        )
    else:
        print_survey(survey)
        if verified:
            print_verified(verified)
        if cleared:
            print_cleared(cleared)
    if verified and verified.damaged:
        raise Exit(code=VerificationFailed.exit_code)


def bytes_of(words: str) -> int:
    """`5GB` in bytes; GB are 10⁹, GiB are 2³⁰."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", words.strip().lower())
    if found is None or found[2] not in _UNITS:
        raise ManifestError(f'"{words}" is no size', fix="write a number and a unit: 5GB, 800MB, 4GiB")
    return int(float(found[1]) * _UNITS[found[2]])


TASKS = (lock, store)
