"""The short texts at the top of a package tree: what is in it, how to run it, and its checksums."""

from __future__ import annotations

import posixpath
import textwrap
from collections.abc import Sequence

from packager import catalog
from packager.bundle import BundleFile, HostFile
from packager.layouts import Layout, layout_of
from packager.layouts.sizes import sizes
from packager.plan_model import TargetPlan
from packager.templating import fill

_COLUMNS = 100


def sums(files: Sequence[BundleFile], layout: Layout) -> str:
    """`SHA256SUMS` in the form that `sha256sum -c` reads, paths relative to the file's own folder."""
    here = layout.documents or "."
    lines = [
        f"{file.blob.sha256}  {posixpath.relpath(file.path, here)}\n"
        for file in sorted(files, key=lambda f: f.path.encode())
    ]
    return "".join(lines)


def readme(plan: TargetPlan, files: Sequence[BundleFile], required: Sequence[HostFile] = ()) -> str:
    """The package's README in the words of its system: contents, install, run, diagnose, check, sizes."""
    layout = layout_of(plan.system)
    runner = next(file.path for file in files if file.role == "runner")
    about = sizes(plan, files)
    return fill(
        "documents",
        f"README-{plan.system}.txt.jinja",
        plan=plan,
        layout=layout,
        runner=runner,
        required=required,
        installed={package.format: package for package in plan.packages},
        input=next(iter(plan.model.inputs or ["input"])),
        service=_service(plan),
        sizes=about,
        left_out=[(textwrap.wrap(", ".join(one.names), _COLUMNS), one.why) for one in about.left_out],
    )


def _service(plan: TargetPlan) -> str | None:
    """What the target's packages call their service, where they bring one."""
    if plan.linux is None or plan.linux.service is None:
        return None
    rows = catalog.formats()
    return next((package.name for package in plan.packages if rows[package.format].into_system), None)
