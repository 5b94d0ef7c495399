"""The graphs of a DLC, read from a topology record of version 4 (SNPE 2 and QAIRT).

The layout is not documented. It is known from looking at files that were written with QAIRT 2.51, and agrees
with what the viewer Netron (MIT) knows of earlier ones.

    model: 0 graphs        graph: 0 name, 1 nodes, 2 tensors
    tensor: 1 name, 2 kind, 3 dimensions, 5 encoding, 6 element type
    encoding: 0 its form, 2 one pair for the whole tensor: 3 scale, 4 offset

The forms are numbered as Qnn_QuantizationEncoding_t is. Tensors of 4 bits have the one whose pair goes with a
number of bits; the pair lies at the same place.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice

from packager import catalog
from packager.facts import qnn_metadata
from packager.facts.flatbuffer import Buffer, Table
from packager.facts.types import GraphFacts, TensorFacts

MAJOR = 4
MOST_TABLES = 1 << 20  # one for each tensor, of which a model of 182 operators has 293
MOST_GRAPHS = 4096
MOST_AT_BORDERS = 1 << 16  # tensors; language models have some hundred for each graph

_GRAPHS = 0
_GRAPH_NAME, _TENSORS = 0, 2
_NAME, _KIND, _DIMENSIONS, _ENCODING, _DTYPE = 1, 2, 3, 5, 6
_FORM, _PAIR = 0, 2
_SCALE, _OFFSET = 3, 4
_FORMS_WITH_A_PAIR = (0, 2)


def graphs(buffer: Buffer) -> tuple[GraphFacts, ...]:
    """Every graph with what crosses its border, in the order of the file. Raises UnreadableFile."""
    found: list[GraphFacts] = []
    left = MOST_AT_BORDERS
    for table in buffer.root().tables(_GRAPHS):
        crossing = list(islice(_crossing(table), left + 1))
        left -= len(crossing)
        if left < 0:
            raise buffer.damaged(table.start, f"more than {MOST_AT_BORDERS} inputs and outputs")
        if len(found) == MOST_GRAPHS:
            raise buffer.damaged(table.start, f"more than {MOST_GRAPHS} graphs")
        sides = {
            side: tuple(tensor for border, tensor in crossing if border == side)
            for side in ("input", "output")
        }
        name = table.text(_GRAPH_NAME) or ""
        found.append(GraphFacts(name=name, inputs=sides["input"], outputs=sides["output"]))
    return tuple(found)


def _crossing(graph: Table) -> Iterator[tuple[str, TensorFacts]]:
    """The tensors that cross the border of a graph, each with the side where it does."""
    for tensor in graph.tables(_TENSORS):
        border = _borders().get(tensor.number(_KIND))
        if border:
            yield border, _tensor(tensor)


def _tensor(table: Table) -> TensorFacts:
    scale = offset = None
    if table.has(_ENCODING):
        encoding = table.table(_ENCODING)
        if encoding.number(_FORM) in _FORMS_WITH_A_PAIR and encoding.has(_PAIR):
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
