"""Coverage-guided fuzzing of every reader, for two seconds each; `invoke fuzz` does it for longer."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from packager.facts import identify
from tests.fuzz.__main__ import Outcome, fuzz
from tests.fuzz.targets import TRIAL, targets

pytest.importorskip("atheris", reason="atheris has wheels for Linux on x86-64 only")

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


def test_an_input_that_crashes_is_found_and_shown(monkeypatch):
    monkeypatch.setenv(TRIAL, "1")

    found = fuzz("yaml", SECONDS)

    assert found.problem is not None
    assert "ZeroDivisionError" in found.problem
    assert "found-crash-" in found.problem
