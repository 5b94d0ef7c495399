"""A compiled ONNX file taken apart: its only node points to a context binary, or holds it."""

from __future__ import annotations

from pathlib import Path

from packager import compilers
from packager.assets import Inputs
from packager.errors import InputUnavailable
from packager.files import Blob
from packager.model import Frozen
from packager.sources import Fetched
from packager.steps import Steps, still_the_same

OPERATOR = "EPContext"


class _ApartStep(Frozen):
    context: Blob


def taken_apart(steps: Steps, inputs: Inputs) -> Inputs:
    """The inputs with the context binary for a model, where the model is a wrapper around one.

    Raises InputUnavailable for a wrapper of several nodes, which is a model that onnxruntime alone can run,
    and for one that holds nothing.
    """
    operators = inputs.facts.operators if inputs.facts else {}
    if OPERATOR not in operators:
        return inputs
    if operators != {OPERATOR: 1}:
        others = ", ".join(sorted(set(operators) - {OPERATOR}))
        raise InputUnavailable(
            f"{inputs.model.name} is a split model, of which hexpack can ship no part alone",
            evidence=(f"{operators[OPERATOR]} {OPERATOR} nodes", f"besides: {others or 'nothing'}"),
            fix='name the model that it was compiled from, and set compute = ["npu", "cpu"]',
        )
    inside = inputs.weights[0] if inputs.facts and inputs.facts.context_binaries else _embedded(steps, inputs)
    update = {"path": inside.path, "blob": inside.blob, "name": f"{Path(inputs.model.name).stem}.bin"}
    model = inputs.model.model_copy(update=update)
    return inputs.model_copy(update={"model": model, "facts": None})


def _embedded(steps: Steps, inputs: Inputs) -> Fetched:
    def do(work: Path) -> _ApartStep:
        steps.tell(f"taking the context binary out of {inputs.model.name}")
        found = compilers.take_apart(inputs.model.path, work)
        still_the_same(inputs.model)
        return _ApartStep(context=steps.store.add_file(found))

    made = steps.step("apart", _ApartStep, {"model": inputs.model.blob.sha256}, do).context
    return inputs.model.model_copy(update={"path": steps.store.path(made.sha256), "blob": made})
