"""The base of every value that travels along the line: frozen, and strict about unknown keys."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value. Two equal values serialise to the same JSON, so their digests can be compared."""

    model_config = ConfigDict(frozen=True, extra="forbid")
