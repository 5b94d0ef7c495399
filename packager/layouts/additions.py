"""What the trees of some systems have beside libraries, models and the runner: scripts and links."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import NamedTuple, cast

from packager.bundle import BundleFile, BundleLink
from packager.layouts import Place
from packager.plan_model import TargetPlan

# The module that knows what a system's trees have; the others have nothing.
_MODULES = {"qnx": "packager.layouts.qnx"}


class Script(NamedTuple):
    """A text of the package, with the place of the layout that it belongs to."""

    place: Place
    name: str
    text: str
    mode: int = 0o644


class Additions(NamedTuple):
    """Both may be empty."""

    scripts: tuple[Script, ...] = ()
    links: tuple[BundleLink, ...] = ()


def additions(plan: TargetPlan, files: Sequence[BundleFile]) -> Additions:
    """What the tree of this target has beside `files`."""
    if plan.system not in _MODULES:
        return Additions()
    module = importlib.import_module(_MODULES[plan.system])
    return cast("Additions", module.additions(plan, files))
