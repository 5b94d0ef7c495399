"""`test`, `lint`, `fuzz`, `mutate`, `bench`: for people who work on hexpack itself."""

from __future__ import annotations

import sys

from invoke.context import Context
from invoke.exceptions import Exit

from packager.commands.support import command


def _python(*arguments: str) -> None:
    import subprocess

    done = subprocess.run([sys.executable, "-m", *arguments], check=False)
    if done.returncode:
        raise Exit(code=done.returncode)


@command(help={"only": "a part of tests/: unit, integration, oracle, fuzz"})
def test(_: Context, only: str = "") -> None:
    """Run the tests, a file at a time on each processor."""
    _python("pytest", "-n", "auto", "--dist", "loadfile", f"tests/{only}" if only else "tests")


@command()
def lint(_: Context) -> None:
    """Check style (ruff) and types (mypy, strict)."""
    sources = ("packager", "tests", "examples", "tasks.py")
    _python("ruff", "check", *sources)
    _python("ruff", "format", "--check", *sources)
    _python("mypy")


@command(help={"manifest": "what to measure with"})
def bench(_: Context, manifest: str = "examples/text-direction/app.toml") -> None:
    """Measure speed and memory as ratios within one run."""
    _python("tests.bench", manifest)


@command(help={"seconds": "for each reader (default: 20)", "only": "a single reader"})
def fuzz(_: Context, seconds: int = 20, only: str = "") -> None:
    """Feed every reader with damaged files, guided by what its code does with them."""
    _python("tests.fuzz", "--seconds", str(seconds), *(("--only", only) if only else ()))


@command()
def mutate(_: Context) -> None:
    """Spoil real packages in small ways; each fault has to be found by the rule that is meant for it."""
    _python("tests.mutation")


TASKS = (test, lint, fuzz, mutate, bench)
