"""What a backend can compute, told from the model before it is compiled.

What stands at the borders of a graph reaches the compiler as it is, and a fault there is an error. Inside,
compilers fold and fuse: there the same fault is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packager.catalog import Backend, backend_of
from packager.facts.types import OnnxFacts, OnnxTensorFacts
from packager.plan_model import TargetPlan
from packager.rules.core import Case, Said, Severity, Stage, rule
from packager.rules.table import word


def _name(plan: TargetPlan) -> str:
    source = plan.model.source
    return source.title if (file := getattr(source, "file", None)) is None else str(file)


def _compiled(model: OnnxFacts) -> bool:
    return word("HEX322", "operator") in model.operators


def _pairs(case: Case) -> Iterator[tuple[OnnxFacts, Backend]]:
    """The source model with each backend that it is for; none where HEX322 refuses it."""
    if case.model is not None and not _compiled(case.model):
        for unit in case.plan.compute:
            yield case.model, backend_of(unit)


def _borders(model: OnnxFacts) -> Iterator[OnnxTensorFacts]:
    yield from model.inputs
    yield from model.outputs


def _refused_types(model: OnnxFacts, backend: Backend) -> frozenset[str]:
    return frozenset(backend.refused + (() if model.quantized else backend.only_quantized))


@rule("HEX322", severity=Severity.ERROR, stage=Stage.MODEL, wish=True)
def settings_of_a_model_that_is_compiled(case: Case) -> Iterable[Said]:
    """What was decided when the graph was prepared cannot be decided again."""
    if case.model is None or not _compiled(case.model):
        return
    plan = case.plan
    if plan.precision == "as-is":
        return  # what it is shows in the context binary, which HEX315 holds against the settings
    holds = ", ".join(case.model.context_binaries) or "a context binary inside"
    yield Said(
        file=_name(plan),
        found=f"{word('HEX322', 'operator')} nodes for {holds}",
        wanted=f'a model that can be compiled with precision = "{plan.precision}",'
        f" optimization = {plan.optimization}, vtcm_mb = {plan.vtcm_mb}",
        fix="name the model that it was compiled from as `source` in [model], or ship the context binary "
        'as it is: precision = "as-is"',
    )


@rule("HEX323", severity=Severity.ERROR, stage=Stage.MODEL)
def borders_of_few_dimensions(case: Case) -> Iterable[Said]:
    """No operator of the HTP takes a tensor of six dimensions."""
    for model, backend in _pairs(case):
        for tensor in _borders(model):
            if backend.largest_rank is not None and len(tensor.shape) > backend.largest_rank:
                yield Said(
                    file=_name(case.plan),
                    found=f"{tensor.name} has {len(tensor.shape)} dimensions",
                    wanted=f"at most {backend.largest_rank}, as the {backend.name} takes",
                    fix="merge dimensions before the export, and reshape in the application",
                )


@rule("HEX324", severity=Severity.ERROR, stage=Stage.MODEL)
def borders_of_known_types(case: Case) -> Iterable[Said]:
    """Some element types of ONNX have no counterpart on the HTP."""
    for model, backend in _pairs(case):
        for tensor in _borders(model):
            if tensor.dtype in _refused_types(model, backend):
                quantized = tensor.dtype in backend.only_quantized
                yield Said(
                    file=_name(case.plan),
                    found=f"{tensor.name} is {tensor.dtype}",
                    wanted=f"a quantized model around it, as the {backend.name} takes that type nowhere else"
                    if quantized
                    else f"another type, as the {backend.name} does not take this one",
                    fix="export the model with another type there, and convert in the application",
                )


@rule("HEX332", severity=Severity.ERROR, stage=Stage.MODEL)
def model_as_it_is_for_its_backend(case: Case) -> Iterable[Said]:
    """A model that is taken as it is must be what its backend and its SoC compute."""
    if case.plan.precision != "as-is":
        return
    for model, backend in _pairs(case):
        floats = sorted({t.dtype for t in _borders(model)} & set(backend.half))
        if model.quantized and not backend.quantized:
            yield Said(
                file=_name(case.plan),
                found="a quantized model",
                wanted=f"a float model, as the {backend.name} backend takes",
                fix='take the float model as `source` in [model] with `precision = "float"`',
            )
        for soc in case.plan.socs if floats and not model.quantized and backend.floats == "fp16" else ():
            if soc.fp16 is False:
                yield Said(
                    file=_name(case.plan),
                    found=f"a {', '.join(floats)} model for {soc.id} ({soc.title}, Hexagon {soc.arch})",
                    wanted="a quantized model",
                    fix='set `precision = "w8a16"` and `calibration = { path = "….npy" }`',
                )


@rule("HEX335", severity=Severity.WARNING, stage=Stage.MODEL)
def few_dimensions_inside(case: Case) -> Iterable[Said]:
    """A compiler fuses some chains of reshapes and transposes, and refuses all others."""
    for model, backend in _pairs(case):
        seen = {len(tensor.shape) for tensor in _borders(model)}
        most = max(set(model.ranks) - seen, default=0)
        if backend.largest_rank is not None and most > backend.largest_rank:
            yield Said(
                file=_name(case.plan),
                found=f"{model.ranks[most]} has {most} dimensions",
                wanted=f"at most {backend.largest_rank}, as the {backend.name} takes",
                fix="if it is refused, write the operators around it with fewer dimensions and export again",
            )


@rule("HEX336", severity=Severity.WARNING, stage=Stage.MODEL)
def known_types_inside(case: Case) -> Iterable[Said]:
    """A compiler folds constants and removes casts, and refuses what is left."""
    for model, backend in _pairs(case):
        seen = {tensor.dtype for tensor in _borders(model)}
        for dtype in sorted(_refused_types(model, backend) & set(model.dtypes) - seen):
            yield Said(
                file=_name(case.plan),
                found=f"{model.dtypes[dtype]} is {dtype}",
                wanted=f"a type that the {backend.name} takes",
                fix="if it is refused, take the casts around it out of the model and export again",
            )
