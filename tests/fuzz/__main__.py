"""`invoke fuzz`: coverage-guided fuzzing of every reader, each in processes of its own and for a bounded time.

    python -m tests.fuzz [--seconds N] [--only TARGET]

Prints how many inputs each reader was given. A crash, an input that takes longer than ten seconds and memory
beyond 700 MB end with exit code 1, and the input that did it goes to stderr in hex.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from packager.report import add, show, table
from tests.fuzz.targets import targets

SECONDS_PER_INPUT, MEGABYTES = 10, 700
_LINES = 60  # of what a failing target has printed
_EXECUTED = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.MULTILINE)
_PEAK = re.compile(r"^stat::peak_rss_mb:\s*(\d+)", re.MULTILINE)


class Outcome(NamedTuple):
    """What came of a target: inputs tried, the largest memory in MB, and what went wrong, if anything."""

    target: str
    inputs: int
    megabytes: int
    problem: str | None


def fuzz(
    target: str, seconds: int, *, per_input: int = SECONDS_PER_INPUT, megabytes: int = MEGABYTES
) -> Outcome:
    """Fuzz one target in a process of its own, with limits for each input."""
    with tempfile.TemporaryDirectory() as folder:
        options = (
            f"-max_total_time={seconds}",
            f"-timeout={per_input}",
            "-rss_limit_mb=0",  # it counts what the starting process had; the worker limits itself
            f"-artifact_prefix={folder}/found-",
            "-max_len=16384",
            "-print_final_stats=1",
            "-verbosity=0",
        )
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tests.fuzz.worker", target, folder, str(megabytes), *options],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=seconds * 4 + 120,
            )
        except subprocess.TimeoutExpired as late:
            return Outcome(target, 0, 0, "\n".join([str(late), *_found(Path(folder))]))
        said = done.stderr + done.stdout
        executed, peak = _EXECUTED.search(said), _PEAK.search(said)
        problem = None
        if done.returncode or executed is None:
            lines = [line for line in said.splitlines() if not line.startswith("INFO:")]
            problem = "\n".join([*lines[-_LINES:], *_found(Path(folder))])
        return Outcome(target, int(executed[1]) if executed else 0, int(peak[1]) if peak else 0, problem)


def _found(folder: Path) -> Iterator[str]:
    """What libFuzzer left, or the last input where it could leave nothing."""
    for path in sorted(folder.glob("found-*")) or folder.glob("input"):
        content = path.read_bytes()
        yield f"{path.name}, {len(content)} bytes: {content[:2048].hex()}"


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=20, help="for each target")
    parser.add_argument("--only", choices=sorted(targets()), help="a single target")
    chosen = parser.parse_args()
    names = [chosen.only] if chosen.only else sorted(targets())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda name: fuzz(name, chosen.seconds), names))
    rows = table("reader", "inputs", "peak MB", "outcome", right=("inputs", "peak MB"))
    for one in outcomes:
        add(
            rows,
            one.target,
            str(one.inputs),
            str(one.megabytes),
            "found something" if one.problem else "sound",
        )
    show(rows)
    for one in outcomes:
        if one.problem:
            sys.stderr.write(f"\n{one.target}:\n{one.problem}\n")
    sys.stdout.write(f"\n{len(outcomes)} readers, {sum(one.inputs for one in outcomes)} inputs\n")
    return int(any(one.problem for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
