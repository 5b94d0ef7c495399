"""Coverage-guided fuzzing of every reader, for two seconds each; `invoke fuzz` does it for longer."""

from __future__ import annotations

import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from packager.facts import identify
from tests.fuzz.__main__ import Outcome, fuzz
from tests.fuzz.targets import TRIAL, targets

# As the `dev` extra has it: where there is a wheel, its absence fails.
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64" or sys.version_info >= (3, 15),
    reason="atheris has no wheel for this Python",
)

SECONDS = 2
TARGETS = sorted(targets())


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return {one.target: one for one in pool.map(lambda name: fuzz(name, SECONDS), TARGETS)}


@pytest.mark.parametrize("target", TARGETS)
def test_no_input_crashes_a_reader_or_takes_it_long_or_much_memory(outcomes, target):
    assert outcomes[target].problem is None
    assert outcomes[target].inputs > len(targets()[target].seeds)


def test_every_reader_of_ours_is_a_target():
    assert set(identify._READERS) - set(TARGETS) == {"context-binary"}


@pytest.mark.parametrize(
    ("fault", "word"),
    [("crash", "ZeroDivisionError"), ("hang", "timeout after"), ("memory", "MemoryError")],
)
def test_a_fault_is_found_and_its_input_is_shown(monkeypatch, fault, word):
    monkeypatch.setenv(TRIAL, fault)

    found = fuzz("yaml", 20, per_input=2 if fault == "hang" else 10, megabytes=250)

    assert found.problem is not None
    assert word in found.problem
    assert f"bytes: {b'b'.hex()}" in found.problem
