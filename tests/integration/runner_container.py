"""A container as QAIRT's own writer makes it, for tests that compose graphs from one.

Imported by tests before pytest can rewrite the asserts: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from runner_kit import HERE, Model


@pytest.fixture(scope="session")
def container(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """model.dlc, x.npy and what the CPU computes from it, y.npy."""
    folder = tmp_path_factory.mktemp("container")
    done = subprocess.run(
        [sys.executable, str(HERE / "runner_dlc.py"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return Model(folder)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    x, y = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))
