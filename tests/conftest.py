"""For all tests."""

from __future__ import annotations

import pytest


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes give no name to a test: signatures and times inside them differ from process to process."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def _no_epoch_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build system's SOURCE_DATE_EPOCH would change packages that tests compare."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
