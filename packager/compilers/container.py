"""ONNX → DLC, through the IR backend of the onnxruntime-qnn package: one container for every SoC."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

from packager import files
from packager.compilers import installed, worker
from packager.compilers.jobs import Prepared
from packager.errors import ToolFailed

# Three of its JSON records say when; their CRC-32 is 0, so another time of the same length leaves it whole.
_WHEN = re.compile(rb'"timestamp": "\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"')
_AT_NO_TIME = b'"timestamp": "2020-01-01 00:00:00 UTC"'


def write_dlc(prepared: Prepared, work: Path) -> Path:
    """Write `work`/model.dlc with the graph of a model, which a device composes and prepares by itself.

    The bytes depend on the model alone. Raises ToolFailed when the writer does not take all of the graph;
    what the NPU of a SoC takes, only its compiler knows.
    """
    doing = "writing the DLC"
    installed.need("onnxruntime-qnn", doing=doing)
    with files.scratch(work) as inside:
        files.place(prepared.model, inside / "model.onnx")
        told = worker.run({"kind": "dlc", "model": "model.onnx", "doing": doing}, inside, doing=doing)
        if len(told["written"]) != 1 or not files.is_plain_relative(told["written"][0]):
            raise ToolFailed(
                "a DLC takes the model only in pieces, or not at all",
                evidence=(f"{len(told['written'])} graphs where one is wanted", *told["reasons"]),
                fix='set runtime = "context-binary", whose compiler names the nodes that cut the graph',
            )
        _forget_the_time(inside / told["written"][0])
        files.place(inside / told["written"][0], work / "model.dlc")
    return work / "model.dlc"


def _forget_the_time(container: Path) -> None:
    """Overwrite the times in place, so that equal models give equal bytes. Nothing is held in memory."""
    with container.open("r+b") as stream, mmap.mmap(stream.fileno(), 0) as view:
        for found in list(_WHEN.finditer(view)):
            view[found.start() : found.end()] = _AT_NO_TIME
