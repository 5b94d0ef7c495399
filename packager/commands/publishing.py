"""`publish`: finished packages on their way to registries."""

from __future__ import annotations

from pathlib import Path

from invoke.context import Context

from packager.commands.building import MANIFEST
from packager.commands.streams import print_json
from packager.commands.support import command
from packager.visible import visible


@command(
    help=MANIFEST
    | {
        "out": "folder in which the packages are (default: dist)",
        "replace": "move tags that name something else",
    }
)
def publish(
    _: Context,
    manifest: str = "app.toml",
    out: str = "dist",
    target: str | None = None,
    json: bool = False,
    replace: bool = False,
) -> None:
    """Put the images and apps of finished packages into their registries, with Docker's logins."""
    from packager.manifest import load
    from packager.pipeline import plan_only
    from packager.progress import Progress
    from packager.publication import publish as publish_packages

    plan, _findings = plan_only(load(Path(manifest)), target)
    with Progress().running() as tell:
        done = publish_packages(plan, Path(out), replace=replace, tell=tell)
    if json:
        print_json({"schema_version": 1, "published": [one.model_dump(mode="json") for one in done]})
        return
    for one in done:
        print(visible(f"{one.kind:<6} {one.reference}  {one.tag}  {'new' if one.changed else 'unchanged'}"))


TASKS = (publish,)
