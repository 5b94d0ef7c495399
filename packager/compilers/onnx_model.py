"""The ONNX file before any compiler sees it: read, judged whole, every input dimension fixed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from packager.compilers.jobs import TensorSpec
from packager.compilers.samples import dimensions
from packager.errors import InputUnavailable, ManifestError, nearest
from packager.manifest_model import Input

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, TensorShapeProto, ValueInfoProto

# A protobuf message cannot be longer; onnxruntime's quantizer and the preparer need the model in one.
_LARGEST = (1 << 31) - 1
_QUANTIZED = frozenset({"QuantizeLinear", "DequantizeLinear"})


def load(path: Path) -> ModelProto:
    """Read and check a model, weights in other files included.

    Raises InputUnavailable when the file is not ONNX, is cut short, misses files of weights, is larger than
    2 GiB, breaks the ONNX rules, uses operators nobody defines, or is itself the product of a compiler.
    """
    import onnx

    model = parsed(path)
    if not model.ir_version or not model.opset_import or not model.graph.output:
        raise _damaged(path, "it holds no graph with outputs, or no ONNX version")
    _bring_in_weights(path, model)
    _refuse_strange_operators(path, model)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise InputUnavailable(
            f"model {path} breaks the rules of ONNX", evidence=lines[:3], fix="export the model again"
        ) from None
    return model


def parsed(path: Path) -> ModelProto:
    """An ONNX file without its weights in other files. Raises InputUnavailable where it is none."""
    import onnx

    try:
        return onnx.load(str(path), format="protobuf", load_external_data=False)
    except OSError as error:
        raise InputUnavailable(f"model {path} cannot be read", evidence=(error.strerror or "",)) from None
    except Exception as error:
        raise _damaged(path, str(error)) from None


def _damaged(path: Path, reason: str) -> InputUnavailable:
    return InputUnavailable(
        f"model {path} is not a whole ONNX file",
        evidence=(f"{path.stat().st_size} bytes: {reason.splitlines()[0] if reason else 'unreadable'}",),
        fix="fetch or export the model again, and compare its size and sha256 with the original",
    )


def _bring_in_weights(path: Path, model: ModelProto) -> None:
    from onnx import external_data_helper as external

    tensors = [tensor for tensor in _tensors(model) if external.uses_external_data(tensor)]
    beside = sorted({external.ExternalDataInfo(tensor).location for tensor in tensors})
    missing = [name for name in beside if not (path.parent / name).is_file()]
    if missing:
        raise InputUnavailable(
            f"model {path} keeps weights in files that are not beside it",
            evidence=[f"missing: {name}" for name in missing[:5]],
            fix="put them there, or save the model with its weights inside (onnx.save of a loaded model)",
        )
    size = path.stat().st_size + sum((path.parent / name).stat().st_size for name in beside)
    if size > _LARGEST:
        raise InputUnavailable(
            f"model {path} is larger than an ONNX file can be in one piece",
            evidence=(f"{size} bytes with its weights; the limit is {_LARGEST}",),
            fix="compile it with the QAIRT SDK and name the context binary or DLC as the model's source",
        )
    if tensors:
        try:
            external.load_external_data_for_model(model, str(path.parent))
        except Exception as error:
            raise InputUnavailable(
                f"the weights of model {path} cannot be read",
                evidence=(str(error).splitlines()[0],),
                fix="export the model again, with its files of weights beside it",
            ) from None


def _tensors(model: ModelProto) -> Iterator[TensorProto]:
    yield from model.graph.initializer
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t


def _refuse_strange_operators(path: Path, model: ModelProto) -> None:
    import onnx

    compiled = [node for node in model.graph.node if node.op_type == "EPContext"]
    if compiled:
        raise InputUnavailable(
            f"model {path} is already compiled: it only points to a context binary",
            fix="name the model it was compiled from as the model's source",
        )
    own = {(function.domain, function.name) for function in model.functions}
    strange = [
        node
        for node in model.graph.node
        if node.domain not in _ORT_DOMAINS
        and (node.domain, node.op_type) not in own
        and not onnx.defs.has(node.op_type, node.domain)
    ]
    if strange:
        raise InputUnavailable(
            f"model {path} uses operators that neither ONNX nor the NPU's compiler knows",
            evidence=[f"{n.domain or 'ai.onnx'}:{n.op_type}  node {label(n)}" for n in strange[:5]],
            fix="remove these nodes from the graph and do their work before or after the model, on the CPU",
        )


# Operators that onnxruntime defines beside ONNX; it says itself which of them it knows.
_ORT_DOMAINS = frozenset({"com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc", "ai.onnx.contrib"})


def label(node: NodeProto) -> str:
    """What a person finds a node by: its name, or that of its first output."""
    return node.name or next((name for name in node.output if name), "without a name")


def is_quantized(model: ModelProto) -> bool:
    """Whether the graph already carries quantization."""
    return any(node.op_type in _QUANTIZED for node in model.graph.node)


def fix_inputs(model: ModelProto, wanted: Mapping[str, Input] | None) -> ModelProto:
    """The model with every input dimension fixed as the manifest says, and the shapes behind them inferred.

    A graph without free dimensions needs no `wanted`. A symbol that one input fixes is fixed for all. Raises
    ManifestError on an unknown input, another dtype, another rank, a contradiction to a fixed dimension,
    and on dimensions that stay free.
    """
    import onnx

    inputs = {value.name: value for value in graph_inputs(model)}
    symbols: dict[str, int] = {}
    before = [spec_of(value) for value in inputs.values()]
    for name, said in (wanted or {}).items():
        if name not in inputs:
            raise _unknown_input(name, list(inputs))
        _fix(inputs[name], said, symbols)
    _spread(symbols, inputs.values())
    still_free = [value for value in inputs.values() if _is_free(value)]
    if still_free:
        raise _free(still_free)
    if before == [spec_of(value) for value in inputs.values()]:
        return model
    # The old shapes of everything behind the inputs were those of the open model.
    del model.graph.value_info[:]
    for dim in _open_dimensions(model.graph.output):
        dim.Clear()
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def graph_inputs(model: ModelProto) -> list[ValueInfoProto]:
    """The inputs that a caller must give; old files list their weights among the inputs too."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def spec_of(value: ValueInfoProto) -> TensorSpec:
    """Name, numpy dtype and shape of a graph input or output.

    Raises InputUnavailable when it is a sequence, a map or an optional: the NPU takes tensors only.
    """
    from onnx import helper

    if not value.type.HasField("tensor_type"):
        raise InputUnavailable(
            f"model input or output {value.name} is not a tensor",
            evidence=(f"it is a {value.type.WhichOneof('value')}",),
            fix="export the model with plain tensors at its borders",
        )
    tensor = value.type.tensor_type
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
    return TensorSpec(name=value.name, dtype=dtype, shape=tuple(_fixed(dim) for dim in tensor.shape.dim))


def tidy(model: ModelProto) -> ModelProto:
    """Give nameless nodes the name of their first output, and drop metadata of the tools before us.

    Compilers report nodes by name; the metadata would make files differ that mean the same.
    """
    taken = {node.name for node in model.graph.node}
    for node in model.graph.node:
        if not node.name and label(node) not in taken:
            node.name = label(node)
    del model.metadata_props[:]
    return model


def _fix(value: ValueInfoProto, said: Input, symbols: dict[str, int]) -> None:
    from onnx import helper

    found = spec_of(value)
    if found.dtype != said.dtype:
        raise _contradiction(value.name, f"dtype {said.dtype}", f"dtype {found.dtype}")
    shape = value.type.tensor_type.shape
    if not value.type.tensor_type.HasField("shape"):
        value.CopyFrom(
            helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, said.shape)
        )
        return
    words = _shape_words(value)
    if len(shape.dim) != len(said.shape):
        raise _contradiction(value.name, f"shape {dimensions(said.shape)}", f"shape {words}")
    for dim, size in zip(shape.dim, said.shape, strict=True):
        known = _fixed(dim) if _fixed(dim) is not None else symbols.get(_symbol(dim), size)
        if known != size:
            meaning = f", where {dim.dim_param} is {known}" if _symbol(dim) else ""
            raise _contradiction(value.name, f"shape {dimensions(said.shape)}", f"shape {words}{meaning}")
        if _symbol(dim):
            symbols[_symbol(dim)] = size
        _set(dim, size)


def _spread(symbols: Mapping[str, int], values: Iterable[ValueInfoProto]) -> None:
    for dim in _open_dimensions(values):
        if _symbol(dim) in symbols:
            _set(dim, symbols[_symbol(dim)])


def _open_dimensions(values: Iterable[ValueInfoProto]) -> Iterator[TensorShapeProto.Dimension]:
    for value in values:
        yield from (dim for dim in value.type.tensor_type.shape.dim if _fixed(dim) is None)


def _fixed(dim: TensorShapeProto.Dimension) -> int | None:
    # Some exporters write -1 or 0 for a dimension that they leave open.
    return dim.dim_value if dim.dim_value > 0 else None


def _symbol(dim: TensorShapeProto.Dimension) -> str:
    """The name that dimensions of one size share; Paddle's exporter calls every open dimension "?"."""
    return dim.dim_param if any(letter.isalnum() for letter in dim.dim_param) else ""


def _set(dim: TensorShapeProto.Dimension, size: int) -> None:
    dim.Clear()
    dim.dim_value = size


def _word(dim: TensorShapeProto.Dimension) -> str:
    fixed = _fixed(dim)
    return str(fixed) if fixed is not None else (dim.dim_param or "?")


def _is_free(value: ValueInfoProto) -> bool:
    return not value.type.tensor_type.HasField("shape") or None in spec_of(value).shape


def _unknown_input(name: str, known: Sequence[str]) -> ManifestError:
    close = nearest(name, known)
    return ManifestError(
        f'the model has no input "{name}"',
        evidence=(f'did you mean "{close}"?' if close else f"its inputs: {', '.join(known) or 'none'}",),
        fix="name the model's own inputs under `inputs`",
    )


def _contradiction(name: str, said: str, found: str) -> ManifestError:
    return ManifestError(
        f'`inputs` contradicts the model\'s input "{name}"',
        evidence=(f"manifest  {said}", f"model     {found}"),
        fix="write what the model says; only its open dimensions can be chosen",
    )


def _free(values: Sequence[ValueInfoProto]) -> ManifestError:
    first = values[0]
    sizes = ", ".join(str(size or "…") for size in spec_of(first).shape) or "…"
    example = f'"{first.name}" = {{ shape = [{sizes}], dtype = "{spec_of(first).dtype}" }}'
    return ManifestError(
        "the NPU needs fixed shapes, and these model inputs have open dimensions",
        evidence=[f"{value.name}: {_shape_words(value)}" for value in values],
        fix=f"choose them: inputs = {{ {example} }}",
    )


def _shape_words(value: ValueInfoProto) -> str:
    tensor = value.type.tensor_type
    return (
        dimensions([_word(dim) for dim in tensor.shape.dim])
        if tensor.HasField("shape")
        else "no shape at all"
    )
