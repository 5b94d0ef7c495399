"""What the vendor's tools say when they fail, and the way out: rows of `targets/qairt_tools.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from packager.catalog import table
from packager.model import Frozen


class Known(Frozen):
    """A message that is understood. `input`: the fault is in the file, not in the tool or the SoC."""

    pattern: str
    sentence: str
    fix: str
    input: bool = False
    source: str


def explain(lines: Iterable[str]) -> Known | None:
    """The first row of the table whose pattern is found in a line; rows of plain causes stand first."""
    said = list(lines)
    rows = (Known.model_validate(row) for row in table("qairt_tools")["message"])
    return next((row for row in rows if any(re.search(row.pattern, line) for line in said)), None)
