"""What the numbers in a context binary's metadata mean, however they were read."""

from __future__ import annotations

import functools
import struct

from packager import catalog
from packager.facts.types import GraphFacts, TensorFacts

_MIB = 1 << 20
_SMALLEST_IN_BYTES = 1 << 16  # no VTCM has so many MiB, and none so few bytes
_VERSION = 1
_HTP_METADATA = struct.Struct("<II")  # version, Hexagon architecture
_HTP_RECORD = struct.Struct("<I4xQIIB7xQ")  # version, spill/fill, VTCM, optimization, DLBC, HVX threads
_SECOND_VERSION = 2
_HTP_SECOND = struct.Struct("<I60xQ")  # version, sizes of other things, bytes of shared weights


@functools.cache
def _dtypes() -> dict[int, str]:
    return {row["id"]: row["word"] for row in catalog.table("qnn_types")["dtype"]}


@functools.cache
def _records() -> dict[int, str]:
    return {row["id"]: row["records"] for row in catalog.table("qnn_types")["backend"] if "records" in row}


def dtype_word(number: int) -> str:
    """`float32`, `ufixed16` …; the number in hex when the table does not know it."""
    return _dtypes().get(number, f"0x{number:x}")


def hexagon_arch(backend_id: int, metadata: bytes) -> int | None:
    """73 for v73, from the record that the HTP backend adds to the context (QAIRT 2.36 to 2.51)."""
    if _records().get(backend_id) != "htp" or len(metadata) < _HTP_METADATA.size:
        return None
    version, arch = _HTP_METADATA.unpack_from(metadata)
    return arch if version == _VERSION else None


def graph_facts(
    backend_id: int,
    name: str,
    inputs: tuple[TensorFacts, ...],
    outputs: tuple[TensorFacts, ...],
    record: bytes,
) -> GraphFacts:
    """A graph, with what the HTP backend's record for it says.

    Newer releases append a record of version 2 to the first one, which knows about shared weights. VTCM is
    in bytes in the files of QAIRT 2.51 and in MiB by the headers of earlier ones; here it is always in MiB.
    """
    if _records().get(backend_id) == "htp" and len(record) >= _HTP_RECORD.size:
        version, spill_fill, vtcm, optimization, _, threads = _HTP_RECORD.unpack_from(record)
        if version == _VERSION:
            return GraphFacts(
                name=name,
                inputs=inputs,
                outputs=outputs,
                optimization=optimization,
                vtcm_mb=vtcm / _MIB if vtcm >= _SMALLEST_IN_BYTES else float(vtcm),
                hvx_threads=threads,
                spill_fill_bytes=spill_fill,
                shared_weights_bytes=_shared_weights(record[_HTP_RECORD.size :]),
            )
    return GraphFacts(name=name, inputs=inputs, outputs=outputs)


def _shared_weights(record: bytes) -> int | None:
    """From the second record (seen in files of QAIRT 2.48 and 2.51), None where there is none."""
    if len(record) < _HTP_SECOND.size:
        return None
    version, shared = _HTP_SECOND.unpack_from(record)
    return int(shared) if version == _SECOND_VERSION else None
