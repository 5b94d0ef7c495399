"""What the Qualcomm AI Hub is asked to do: jobs as requests for its client, worded by `targets/aihub.toml`.

Nothing here touches the network; `packager.linked` sends the requests and reads back what comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packager.catalog import Soc, table
from packager.compilers.jobs import TensorSpec
from packager.errors import ManifestError
from packager.model import Frozen

Request = Mapping[str, Any]


class Quantized(Frozen):
    """A precision of the manifest in the Hub's words."""

    precision: str
    weights: str
    activations: str
    source: str


def quantized(precision: str) -> Quantized | None:
    """The Hub's words for a precision that it quantizes to; None for one that it leaves as it is.

    Raises ManifestError for a precision that its quantize jobs have not.
    """
    if precision in ("float", "as-is"):
        return None
    rows = [Quantized.model_validate(row) for row in table("aihub")["quantized"]]
    found = next((row for row in rows if row.precision == precision), None)
    if found is None:
        raise ManifestError(
            f'the AI Hub does not quantize to precision = "{precision}"',
            evidence=(f"it does to {', '.join(row.precision for row in rows)}",),
            fix='take one of these, or compiler = "ort-qnn"',
        )
    return found


def quantize_request(precision: Quantized, name: str) -> Request:
    """A job that makes a quantized ONNX model of a float one; its samples are added by who sends it."""
    words = {"weights": precision.weights, "activations": precision.activations}
    return {"do": "quantize", "name": name, "options": table("aihub")["options"]["quantize"], **words}


def compile_request(inputs: tuple[TensorSpec, ...], soc: Soc, release: str, name: str) -> Request:
    """A job that makes a DLC of an ONNX model, of one QAIRT release."""
    return {
        "do": "compile",
        "name": name,
        "device": _device(soc),
        "inputs": {spec.name: (spec.shape, spec.dtype) for spec in inputs} or None,
        "options": _options("compile", release),
    }


def link_request(soc: Soc, release: str, optimization: int, name: str) -> Request:
    """A job that makes a context binary for one SoC of a DLC."""
    options = _options("link", release, optimization)
    return {"do": "link", "name": name, "device": _device(soc), "options": options}


def _options(kind: str, release: str, optimization: int = 0) -> str:
    """The Hub names a release by two numbers."""
    qairt = ".".join(release.split(".")[:2])
    return str(table("aihub")["options"][kind]).format(qairt=qairt, optimization=optimization)


def _device(soc: Soc) -> str:
    return str(table("aihub")["device"]["attribute"]).format(soc_model=soc.soc_model)
