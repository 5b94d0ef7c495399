"""An ONNX model as a DLC, by the converter of a QAIRT SDK, read back before anything believes it."""

from __future__ import annotations

from pathlib import Path

from packager.assets import Inputs
from packager.compilers import QUANTIZED, TensorSpec, qairt_tools
from packager.compilers.samples import dimensions
from packager.errors import InputUnavailable, ToolFailed
from packager.facts.dlc import read_dlc
from packager.facts.elf import read_elf
from packager.facts.types import DlcFacts
from packager.files import Blob
from packager.model import Frozen
from packager.plan_model import TargetPlan
from packager.steps import Steps, still_the_same
from packager.versions import numbers

_TELLS_RELEASE = "libQnnIr.so"


class _ConvertedStep(Frozen):
    dlc: Blob


class Converted(Frozen):
    """The inputs with the DLC in the model's place, and the tool that made it."""

    inputs: Inputs
    tool: str


def find_sdk() -> qairt_tools.Sdk:
    """The SDK that the environment names, its release read from a library of it. Raises InputUnavailable."""
    root = qairt_tools.sdk_root()
    library = root / "lib" / qairt_tools.HOST / _TELLS_RELEASE
    build = read_elf(library).qairt_build if library.is_file() else None
    if build is None:
        raise InputUnavailable(
            "the QAIRT SDK does not say of which release it is",
            evidence=(f"no build id in {library}",),
            fix="install the SDK anew",
        )
    return qairt_tools.Sdk(root=root, release=".".join(map(str, numbers(build)[:3])))


def convert(steps: Steps, target: TargetPlan, inputs: Inputs) -> Converted:
    """Convert the model once for all targets.

    Raises InputUnavailable where there is no SDK or it lacks the tool, ToolFailed when the converter fails
    or its DLC has not the inputs that were asked for.
    """
    sdk = find_sdk()
    wanted = [
        TensorSpec(name=name, dtype=spec.dtype, shape=tuple(spec.shape))
        for name, spec in (target.model.inputs or {}).items()
    ]
    beside = dict(zip(inputs.facts.external_data if inputs.facts else (), inputs.weights, strict=True))
    key = {
        "model": inputs.model_digests(),
        "inputs": [spec.model_dump(mode="json") for spec in wanted],
        "release": sdk.release,
    }

    def do(work: Path) -> _ConvertedStep:
        steps.tell(f"converting {inputs.model.name} with QAIRT {sdk.release}")
        weights = {name: one.path for name, one in beside.items()}
        dlc = qairt_tools.convert(sdk, inputs.model.path, weights, wanted, work, steps.tell)
        still_the_same(inputs.model, *inputs.weights)
        _held_against(wanted, read_dlc(dlc))
        return _ConvertedStep(dlc=steps.store.add_file(dlc))

    made = steps.step("convert", _ConvertedStep, key, do)
    tool = f"qairt-converter {sdk.release}"
    if target.precision in QUANTIZED:
        made = _quantized(steps, target, inputs, sdk, made)
        tool += f", qairt-quantizer {sdk.release}"
    name = f"{Path(inputs.model.name).stem}.dlc"
    update = {"path": steps.store.path(made.dlc.sha256), "blob": made.dlc, "name": name}
    model = inputs.model.model_copy(update=update)
    return Converted(inputs=inputs.model_copy(update={"model": model}), tool=tool)


def _quantized(
    steps: Steps, target: TargetPlan, inputs: Inputs, sdk: qairt_tools.Sdk, made: _ConvertedStep
) -> _ConvertedStep:
    """The DLC quantized with the calibration samples, and read back: exit code 0 proves nothing."""
    said = target.model.quantization
    wanted = qairt_tools.Quantizing.of(
        target.precision,
        per_channel=said.per_channel if said else True,
        preprocessing=target.model.preprocessing,
    )
    key = {
        "dlc": made.dlc.sha256,
        "wanted": wanted.model_dump(mode="json"),
        "samples": [sample.blob.sha256 for sample in inputs.calibration],
        "release": sdk.release,
    }

    def do(work: Path) -> _ConvertedStep:
        steps.tell(f"quantizing to {target.precision} with QAIRT {sdk.release}")
        (graph, *_) = read_dlc(steps.store.path(made.dlc.sha256)).graphs
        specs = [TensorSpec(name=t.name, dtype=t.dtype, shape=t.shape) for t in graph.inputs]
        paths = [sample.path for sample in inputs.calibration]
        source = steps.store.path(made.dlc.sha256)
        dlc = qairt_tools.quantize(sdk, source, specs, paths, wanted, work, steps.tell)
        still_the_same(*inputs.calibration)
        _held_quantized(wanted, read_dlc(dlc))
        return _ConvertedStep(dlc=steps.store.add_file(dlc))

    return steps.step("quantize", _ConvertedStep, key, do)


def _held_quantized(wanted: qairt_tools.Quantizing, facts: DlcFacts) -> None:
    """Raise ToolFailed where the graph's borders are not of the bits that were asked for."""
    tensors = [t for graph in facts.graphs[:1] for t in (*graph.inputs, *graph.outputs)]
    right = [t for t in tensors if t.dtype.endswith(f"fixed{wanted.activations}")]
    if not right:
        raise ToolFailed(
            "the DLC of qairt-quantizer is not quantized as was asked for",
            evidence=(
                f"wanted  activations of {wanted.activations} bits",
                *(f"found   {t.name} {t.dtype}" for t in tensors),
            ),
            fix="run qairt-quantizer by hand and look at what it says",
        )


def _held_against(wanted: list[TensorSpec], facts: DlcFacts) -> None:
    if not facts.graphs:
        raise ToolFailed(
            "the DLC of qairt-converter holds no graph",
            evidence=[f"{record.name}: {record.size} bytes" for record in facts.records],
            fix="run qairt-converter by hand and look at what it says",
        )
    have = {tensor.name: tensor.shape for tensor in facts.graphs[0].inputs}
    wrong = [spec for spec in wanted if have.get(spec.name) != spec.shape]
    if wrong:
        raise ToolFailed(
            "the DLC of qairt-converter has other inputs than were asked for",
            evidence=(
                *(f"wanted  {spec.name} {dimensions(spec.shape)}" for spec in wrong),
                *(f"found   {name} {dimensions(shape)}" for name, shape in have.items()),
            ),
            fix="give `inputs` in [model] the names and sizes of the ONNX model",
        )
