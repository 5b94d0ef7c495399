"""`lock`: what is kept beside the manifest, so that the next machine makes the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from invoke.context import Context
from invoke.exceptions import Exit

from packager.commands.building import MANIFEST, RUN, epoch, processes
from packager.commands.streams import print_json
from packager.commands.support import command
from packager.errors import RuleRefused
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


TASKS = (lock,)
