"""Where hexpack's own data lives: the tables, templates and manifests that ship with the program."""

from __future__ import annotations

import functools
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


@functools.cache
def folder(name: str) -> Traversable:
    """One of `targets`, `templates`, `manifests`.

    An installed hexpack carries them inside the package (`packager/data`), a checkout beside it; the
    callers cannot tell the difference.
    """
    package = files("packager")
    installed = package / "data" / name
    return installed if installed.is_dir() else Path(str(package)).parent / name


def text(area: str, *parts: str) -> str:
    """The text of one data file, always read as UTF-8."""
    return folder(area).joinpath(*parts).read_text(encoding="utf-8")
