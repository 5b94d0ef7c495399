"""Text of one line in the manifest."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

# Words travel into control files and scripts, where a line break begins another field.
ONE_LINE = r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?$"
Word = Annotated[str, StringConstraints(pattern=ONE_LINE, min_length=1, max_length=200)]
