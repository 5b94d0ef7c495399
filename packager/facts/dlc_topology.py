"""The graphs of a DLC, read from a topology record of version 4 (SNPE 2 and QAIRT).

The layout is not documented. It is known from looking at files that were written with QAIRT 2.51, and agrees
with what the viewer Netron (MIT) knows of earlier ones.

    model: 0 graphs        graph: 0 name, 1 nodes, 2 tensors
    tensor: 1 name, 2 kind, 3 dimensions, 5 encoding, 6 element type
    encoding: 0 its form, 2 one pair for the whole tensor: 3 scale, 4 offset
"""

from __future__ import annotations

import functools

from packager import catalog
from packager.facts import qnn_metadata
from packager.facts.flatbuffer import Buffer, Table
from packager.facts.types import GraphFacts, TensorFacts

MAJOR = 4

_GRAPHS = 0
_GRAPH_NAME, _TENSORS = 0, 2
_NAME, _KIND, _DIMENSIONS, _ENCODING, _DTYPE = 1, 2, 3, 5, 6
_FORM, _PAIR = 0, 2
_SCALE, _OFFSET = 3, 4
_SCALE_OFFSET = 0


def graphs(buffer: Buffer) -> tuple[GraphFacts, ...]:
    """Every graph with what crosses its border, in the order of the file. Raises UnreadableFile."""
    return tuple(map(_graph, buffer.root().tables(_GRAPHS)))


def _graph(table: Table) -> GraphFacts:
    sides: dict[str, list[TensorFacts]] = {"input": [], "output": []}
    for tensor in table.tables(_TENSORS):
        border = _borders().get(tensor.number(_KIND))
        if border:
            sides[border].append(_tensor(tensor))
    return GraphFacts(
        name=table.text(_GRAPH_NAME) or "", inputs=tuple(sides["input"]), outputs=tuple(sides["output"])
    )


def _tensor(table: Table) -> TensorFacts:
    scale = offset = None
    if table.has(_ENCODING):
        encoding = table.table(_ENCODING)
        if encoding.number(_FORM) == _SCALE_OFFSET and encoding.has(_PAIR):
            pair = encoding.table(_PAIR)
            scale, offset = pair.real(_SCALE), pair.signed(_OFFSET)
    return TensorFacts(
        name=table.text(_NAME) or "",
        dtype=qnn_metadata.dtype_word(table.number(_DTYPE)),
        shape=table.numbers(_DIMENSIONS),
        scale=scale,
        offset=offset,
    )


@functools.cache
def _borders() -> dict[int, str]:
    return {row["type"]: row["border"] for row in catalog.table("dlc")["tensor"]}
