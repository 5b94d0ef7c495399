"""Which exports of a library make it a part of QNN, whatever the library's format."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

from packager.catalog import table

_COMPOSE = re.compile(r"(\w+)_composeGraphs", re.ASCII)


def is_entry(name: str) -> bool:
    """Whether an exported name is an entry point of a backend, the system library or a model library."""
    return _pattern().fullmatch(name) is not None


def model_prefix(exported: Collection[str]) -> str | None:
    """`QnnModel` in a model library: it exports `<prefix>_composeGraphs` and `<prefix>_freeGraphsInfo`.

    Of several models in one library the first by name.
    """
    prefixes = sorted(found.group(1) for name in exported if (found := _COMPOSE.fullmatch(name)))
    return next((prefix for prefix in prefixes if f"{prefix}_freeGraphsInfo" in exported), None)


@functools.cache
def _pattern() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{row['pattern']})" for row in table("libraries")["entry"]), re.ASCII)
