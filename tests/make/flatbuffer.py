"""What the writers of files with FlatBuffers share."""

from __future__ import annotations

from collections.abc import Sequence

import flatbuffers


def vector(builder: flatbuffers.Builder, tables: Sequence[int]) -> int:
    """A vector of tables that are written already."""
    builder.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        builder.PrependUOffsetTRelative(table)
    return builder.EndVector()


def numbers(builder: flatbuffers.Builder, values: Sequence[int]) -> int:
    """A vector of unsigned numbers of 32 bits."""
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        builder.PrependUint32(value)
    return builder.EndVector()
