"""ruff and mypy judge the code that they are part of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "judge",
    [
        ("ruff", "check", "packager", "tests", "examples", "tasks.py"),
        ("ruff", "format", "--check", "packager", "tests", "examples", "tasks.py"),
        ("mypy",),
    ],
    ids=" ".join,
)
def test_the_code_is_clean(judge):
    judged = subprocess.run(
        [sys.executable, "-m", *judge], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert judged.returncode == 0, judged.stdout + judged.stderr
