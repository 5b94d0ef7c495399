"""`test`, `lint`, `bench`: for people who work on hexpack itself."""

from __future__ import annotations

import sys
from typing import Any

from invoke import Exit, task

from packager.commands.support import guarded


def _python(*arguments: str) -> None:
    import subprocess

    done = subprocess.run([sys.executable, "-m", *arguments], check=False)
    if done.returncode:
        raise Exit(code=done.returncode)


@task(help={"only": "a part of tests/: unit, integration, oracle, fuzz"})
@guarded
def test(_: Any, only: str = "") -> None:
    """Run the tests."""
    _python("pytest", f"tests/{only}" if only else "tests")


@task
@guarded
def lint(_: Any) -> None:
    """Check style (ruff) and types (mypy, strict)."""
    _python("ruff", "check", "packager", "tests", "tasks.py")
    _python("ruff", "format", "--check", "packager", "tests", "tasks.py")
    _python("mypy")


@task(help={"manifest": "what to measure with"})
@guarded
def bench(_: Any, manifest: str = "examples/text-direction/app.toml") -> None:
    """Measure speed and memory as ratios within one run."""
    _python("tests.bench", manifest)


TASKS = (test, lint, bench)
