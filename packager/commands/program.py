"""The console script `hexpack`: the same collection, run by invoke's Program."""

from __future__ import annotations

from invoke.program import Program

from packager import __version__
from packager.commands import collection


def main() -> None:
    """Run `hexpack`."""
    Program(name="hexpack", binary="hexpack", version=__version__, namespace=collection()).run()
