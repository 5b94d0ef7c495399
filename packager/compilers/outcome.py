"""How the worker tells its parent what happened: errors as plain JSON values."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from packager.errors import HexpackError, ToolFailed

_SHOWN = 300


@contextlib.contextmanager
def tool(doing: str, *, fix: str) -> Iterator[None]:
    """Turn whatever a third-party tool raises into ToolFailed "`doing` failed"; ours pass through."""
    try:
        yield
    except HexpackError:
        raise
    except Exception as error:
        raise ToolFailed(
            f"{doing} failed",
            evidence=(f"{type(error).__name__}: {first_line(error)}",),
            fix=fix,
        ) from error


def first_line(error: BaseException) -> str:
    """The first line of an exception's text that says anything, not longer than a terminal can bear."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:_SHOWN] if lines else "no reason given"


def told(error: HexpackError) -> dict[str, Any]:
    """An error as JSON."""
    return {
        "kind": type(error).__name__,
        "what": error.what,
        "evidence": list(error.evidence),
        "fix": error.fix,
    }
