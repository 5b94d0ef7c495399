"""Version words as numbers that compare."""

from __future__ import annotations

import re
from collections.abc import Iterable


def numbers(version: str) -> tuple[int, ...]:
    """`v2.51.0.260929181845` as (2, 51, 0, 260929181845), `3.4.29` as (3, 4, 29)."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def newest(versions: Iterable[str | None]) -> str | None:
    """The highest of the versions that are known; None when none is."""
    known = [version for version in versions if version]
    return max(known, key=numbers) if known else None
