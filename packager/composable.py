"""What graphs can be composed from, by the file and the manifest, and what of it this machine can run."""

from __future__ import annotations

from packager.assets import Inputs
from packager.compilers import generator as tools
from packager.errors import InputUnavailable, ManifestError
from packager.facts.identify import identify, read
from packager.facts.types import ContextFacts, DlcFacts, ElfFacts
from packager.plan_model import TargetPlan
from packager.versions import numbers

# The kinds of files, as `identify` calls them, whose graphs go through the QNN API; the last is finished.
COMPOSED = ("dlc", "elf", "context-binary")
_MACHINE = "X86_64"
NO_NPU = "the target does not compute on the NPU, and only the NPU's backend is simulated on this machine"


def is_composed(target: TargetPlan, inputs: Inputs) -> bool:
    """Whether the model goes through the QNN API: as `compiler` says, or by what the file is.

    Raises ManifestError where these contradict each other, or the manifest asks for what only an ONNX
    model has.
    """
    kind, compiler = identify(inputs.model.path), target.model.compiler
    composed = kind in COMPOSED
    takes = {"qnn": composed, "qairt": kind == "onnx", "aihub": kind == "onnx", "ort-qnn": not composed}
    if compiler is not None and not takes[compiler]:
        raise ManifestError(
            f'compiler = "{compiler}" does not take {inputs.model.name}',
            evidence=(f"the file is of kind {kind}",),
            fix='"qnn" takes a DLC, a model library or a context binary, the others an ONNX model',
        )
    composed = composed or compiler in ("qairt", "aihub")
    ships = {"dlc": ("dlc",), "elf": ("model-library",)}.get(kind, ()) if compiler in (None, "qnn") else ()
    if target.runtime not in ("context-binary", *ships) and (composed or target.runtime == "model-library"):
        raise ManifestError(
            f'runtime = "{target.runtime}" is not made of {inputs.model.name}',
            evidence=(f"the file is of kind {kind}",),
            fix='set runtime = "context-binary", or name the DLC or the model library itself as `source`',
        )
    if composed and target.splits:
        raise ManifestError(
            f'compute = ["npu", "cpu"] asks to split {inputs.model.name}',
            evidence=(f"the file is of kind {kind}; onnxruntime splits ONNX models",),
            fix='set compute = ["npu"], or name the ONNX model',
        )
    reference = target.model.reference
    if composed and compiler not in ("aihub", "qairt") and target.precision not in ("float", "as-is"):
        raise ManifestError(
            f'precision = "{target.precision}" asks to quantize {inputs.model.name}',
            evidence=("what graphs are composed from is quantized by whoever made it, or never",),
            fix='set precision = "as-is" for a quantized model, "float" for a float one',
        )
    if composed and reference and not reference.outputs:
        raise ManifestError(
            f"there is nothing to compare {inputs.model.name} with",
            evidence=('onnxruntime computes a reference for compiler = "ort-qnn" only',),
            fix='name the expected outputs, one file for each of `inputs`: outputs = "expected/*.npy"',
        )
    if not composed and reference and reference.outputs:
        raise ManifestError(
            "`outputs` in [model] reference is not for an ONNX model",
            evidence=("onnxruntime computes the reference from the model itself",),
            fix="leave it out",
        )
    return composed


def unproved(target: TargetPlan, inputs: Inputs) -> str | None:
    """Why this machine cannot run the file that a target ships, None where it can.

    Raises InputUnavailable for a model library of another machine than the target's.
    """
    facts = read(inputs.model.path)
    if target.asset == "library" and isinstance(facts, ElfFacts):
        if facts.model_prefix is None or facts.machine != target.abi.machine:
            raise InputUnavailable(
                f"{inputs.model.name} is no model library for {target.label}",
                evidence=(
                    f"found   machine {facts.machine}{'' if facts.model_prefix else ', no graphs'}",
                    f"wanted  machine {target.abi.machine}, for {target.abi.id}",
                ),
                fix=f"build it for that (qnn-model-lib-generator -t {target.abi.id})",
            )
        if facts.machine != _MACHINE:
            return f"a model library for {facts.machine} cannot be loaded on this machine"
    return None if "npu" in target.compute else NO_NPU


def source_of(inputs: Inputs, tool_build: str) -> tools.Source:
    """The file as something to compose from.

    Raises UnreadableFile when it is damaged, InputUnavailable for a DLC of another lineage or a newer
    release than `tool_build`, and for a library of another machine or without graphs.
    """
    name, facts = inputs.model.name, read(inputs.model.path)
    if isinstance(facts, ContextFacts):
        return tools.Source(path=inputs.model.path, kind="context")
    if isinstance(facts, DlcFacts):
        _judge_dlc(name, facts, tool_build)
        return tools.Source(path=inputs.model.path, kind="dlc")
    if not isinstance(facts, ElfFacts) or facts.model_prefix is None or facts.machine != _MACHINE:
        lacks = "no function that composes graphs"
        if isinstance(facts, ElfFacts) and facts.model_prefix:
            lacks = f"machine {facts.machine}"
        raise InputUnavailable(
            f"{name} is not a model library for this machine",
            evidence=(f"found   {lacks}", f"wanted  a model library for {_MACHINE}"),
            fix="build it for x86_64-linux-clang (qnn-model-lib-generator -t x86_64-linux-clang)",
        )
    return tools.Source(path=inputs.model.path, kind="library")


def _judge_dlc(name: str, facts: DlcFacts, tool_build: str) -> None:
    if facts.lineage != "qairt":
        raise InputUnavailable(
            f"{name} is a DLC of SNPE, from which QNN composes no graphs",
            evidence=(f"lineage {facts.lineage}, converter {facts.converter_version or 'unknown'}",),
            fix="convert the original model again with qairt-converter, or as `qnn_dlc` on the AI Hub",
        )
    maker = facts.qairt_build or facts.converter_version
    if maker and numbers(maker)[:2] > numbers(tool_build)[:2]:
        raise InputUnavailable(
            f"{name} is of a newer QAIRT release than the compiler here",
            evidence=(f"found   {maker}", f"wanted  {tool_build} or older"),
            fix="make the DLC with that release (AI Hub: --qairt_version), or take a newer onnxruntime-qnn",
        )
