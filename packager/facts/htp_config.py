"""Reads the HTP backend extension file and the outer file of QNN's tools that names one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from packager.facts.config_types import HtpConfigFacts, HtpDevice, HtpGraphs
from packager.facts.json_text import integer, json_document, key_paths, objects, strings

_ARCH = re.compile(r"v?(\d{2})", re.IGNORECASE)


def read_htp_config(path: Path) -> HtpConfigFacts:
    """What the file says; a value of a type that its key cannot have counts as not said.

    Raises UnreadableFile, InputUnavailable.
    """
    document = json_document(path)
    top = document if isinstance(document, dict) else {}
    graphs = top.get("graphs")
    return HtpConfigFacts(
        keys=key_paths(document),
        graphs_shape="object" if isinstance(graphs, dict) else "array" if isinstance(graphs, list) else None,
        graphs=tuple(
            HtpGraphs(
                names=strings(graph.get("graph_names")),
                vtcm_mb=integer(graph.get("vtcm_mb")),
                optimization=integer(graph.get("O")),
            )
            for graph in objects(graphs)
        ),
        devices=tuple(
            HtpDevice(
                soc_model=integer(device.get("soc_model", device.get("soc_id"))),
                arch=_arch(device.get("dsp_arch")),
                pd_session=next(iter(strings(device.get("pd_session"))), None),
            )
            for device in objects(top.get("devices"))
        ),
        weight_sharing=_weight_sharing(top.get("context")),
        paths=tuple(_paths(top.get("backend_extensions"))),
    )


def _arch(value: object) -> int | None:
    """73 for "v73", "73" or 73."""
    found = _ARCH.fullmatch(str(value)) if isinstance(value, str | int) else None
    return int(found[1]) if found else None


def _weight_sharing(contexts: object) -> bool | None:
    said = [one.get("weight_sharing_enabled") for one in objects(contexts)]
    return next((value for value in said if isinstance(value, bool)), None)


def _paths(extensions: object) -> Iterator[str]:
    for extension in objects(extensions):
        yield from strings(extension.get("config_file_path"))
