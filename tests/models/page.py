"""The page that tells what became of every model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from packager import catalog, compilers
from packager.units import human_size
from tests.models.catalogue import MODELS, PRECISIONS, SOCS, Known

Recall = Callable[[Known, str, str, str], Any]

_HEAD = """# Models that were tried

Public models and networks of well-known shapes, compiled for eight SoCs and run on the simulator, written by
`python -m tests.models`. The first number is the time that the compiler took, the second the size of the context
binary, the third the least cosine of an output between the simulator and the float model on the CPU, over one
random sample. Models from wheels have their own weights; the others have random ones, whose cosine after
quantization to 8 bits says little about a trained network. Quantized with four random samples.

A cosine of 0 is that of an output of one number which one side rounds to zero: silero-vad says that random noise is
speech with probability 0.0016, and half precision makes that 0 on v73 and later; its state agrees. Prove such a
model with samples for which it answers.

A dash is what nobody tried yet. Reasons of refusals are below each table, as hexpack tells them.
"""


def markdown(recall: Recall) -> str:
    """The whole page. `recall` gives the outcome of (model, precision, SoC, "compile" or "prove"), or None."""
    tools = ", ".join(f"{name} {version}" for name, version in sorted(compilers.toolchain().items()))
    parts = [_HEAD, f"Tools: {tools}.\n"]
    for known in MODELS:
        parts.append("\n".join(_section(known, recall)))
    return "\n".join(parts)


def _section(known: Known, recall: Recall) -> Iterator[str]:
    origin = (
        f"`{known.file}` of `{known.wheel[0]}`" if known.wheel else f"made by `tests/models`: {_words(known)}"
    )
    shapes = ", ".join(
        f"{name} {'×'.join(map(str, spec.shape)) or 'scalar'}" for name, spec in known.inputs.items()
    )
    yield f"## {known.name}\n\n{origin}\n\nInputs: {shapes}\n"
    reasons: dict[str, int] = {}
    yield "| SoC | " + " | ".join(PRECISIONS) + " |"
    yield "|---" * (len(PRECISIONS) + 1) + "|"
    for soc in SOCS:
        row = catalog.soc(soc)
        cells = [_cell(known, precision, soc, recall, reasons) for precision in PRECISIONS]
        yield f"| {row.id} ({row.arch}) | " + " | ".join(cells) + " |"
    if reasons:
        yield ""
    for reason, number in reasons.items():
        yield f"{number}. {reason}"
    yield ""


def _words(known: Known) -> str:
    return ((known.make.__doc__ or "") if known.make else "").strip().rstrip(".")


def _cell(known: Known, precision: str, soc: str, recall: Recall, reasons: dict[str, int]) -> str:
    made = recall(known, precision, soc, "compile")
    if made is None:
        return "–"
    if "what" in made:
        return f"no ({_reason(made, soc, reasons)})"
    proof = recall(known, precision, soc, "prove")
    if proof is None:
        closeness = "–"
    elif "what" in proof:
        closeness = f"no proof ({_reason(proof, soc, reasons)})"
    else:
        closeness = f"{proof['cosine']:.6f}"
    return f"{made['seconds']:.1f} s, {human_size(made['bytes'])}, {closeness}"


def _reason(told: dict[str, Any], soc: str, reasons: dict[str, int]) -> int:
    """The number of a reason in the list; the same one of several SoCs is told once."""
    row = catalog.soc(soc)
    what = told["what"].replace(f"{row.title} ({row.id}, Hexagon {row.arch})", "The SoC")
    what = what.replace(f"{row.id} ({row.title})", "the SoC").replace(row.title, "The SoC")
    evidence = "; ".join(" ".join(line.split()) for line in told["evidence"])
    text = f"{what}. {evidence}. Fix: {told['fix']}" if evidence else f"{what}. Fix: {told['fix']}"
    return reasons.setdefault(text, len(reasons) + 1)
