"""Why the compiler said no, read from its log and told in the names of the user's own model.

The names of nodes that do not fit are nowhere but in the log: one line lists them all, and for each that the
HTP backend itself refused there is a line with its error code. A listed node without such a line is one for
which the compiler has no translation at all. Seen in onnxruntime 1.32 with onnxruntime-qnn 2.7.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packager import catalog
from packager.compilers.jobs import CompileJob, NodeFacts, NodeTensor
from packager.compilers.samples import dimensions
from packager.errors import ToolFailed
from packager.model import Frozen

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LISTED = re.compile(r"Unsupported nodes in QNN EP: (.*)")
_NODE = re.compile(r"\{ name: (.*?), type: (\w+) \}")
_REFUSED = re.compile(r"failed for node `(.*?)` of type `(\w+)` with error code (\d+)")
_ERROR_LINE = re.compile(r"\[[EF]:\w*:[^\]]*\] (.*)")
# What onnxruntime adds to a node's name when it changes the layout, fuses, or adds it for a second time.
_ADDED = (re.compile(r"_token_\d+$"), re.compile(r"/\w*Fusion(_\d+)?$"), re.compile(r"_\d+$"))
_BRANCHES = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_UNLOADABLE = (
    "TypeInferenceError",
    "ShapeInferenceError",
    "is not a registered function/op",
    "INVALID_GRAPH",
)
_LEFT_TO_THE_CPU = "assigned to the default CPU EP"
_NOT_COMPUTING = frozenset({"Constant", "QuantizeLinear", "DequantizeLinear", "Identity"})
_SHOWN_NODES, _SHOWN_OPERATORS, _SHOWN_LINES = 3, 8, 4


class Refused(Frozen):
    """A node of the user's model that the compiler did not take.

    `code` is the backend's error code, None where the compiler has no translation for the operator. `facts`
    says what it takes and gives; None for a node that the compiler itself made.
    """

    name: str
    operator: str
    code: int | None
    facts: NodeFacts | None = None


def read_log(log: str, original: Sequence[NodeFacts]) -> tuple[Refused, ...]:
    """The refused nodes in the order of the log's last list, as the `original` ones where there are such."""
    text = _COLOUR.sub("", log)
    facts = {node.name: node for node in original}
    known = set(facts)
    codes = {_original(name, known): int(code) for name, _, code in _REFUSED.findall(text)}
    # The first list comes before the change of layout, which still mends some nodes; the last one counts.
    lists = _LISTED.findall(text)
    found: dict[str, Refused] = {}
    for name, operator in _NODE.findall(lists[-1]) if lists else ():
        own = _original(name, known)
        found.setdefault(own, Refused(name=own, operator=operator, code=codes.get(own), facts=facts.get(own)))
    return tuple(found.values())


def explain(job: CompileJob, status: str, nodes: Sequence[NodeFacts], log: str) -> ToolFailed:
    """The error for a refused model: which nodes, with what types and dimensions, and why.

    `nodes` are those of the model as it was compiled, `status` is onnxruntime's own reason.
    """
    refused = read_log(log, nodes)
    computing = [node for node in nodes if node.operator not in _NOT_COMPUTING]
    who = f"{job.soc.title} ({job.soc.id}, Hexagon {job.soc.arch})"
    if not refused and _LEFT_TO_THE_CPU in status:
        # onnxruntime lists nothing where it offered no node to the NPU: sizes that depend on the data.
        left = [Refused(name=n.name, operator=n.operator, code=None, facts=n) for n in computing]
        return ToolFailed(
            f"{who} takes none of the {_count(len(left), 'node')} of the model",
            evidence=tuple(node_table(left)),
            fix="do the work of these nodes on the CPU, before or after the model; an operator whose output"
            " size depends on the data cannot run on the NPU",
        )
    if not refused and any(word in status for word in _UNLOADABLE):
        return ToolFailed(
            f"onnxruntime cannot load the model, and so nothing reaches the compiler for {who}",
            evidence=(status,),
            fix="the shapes in `inputs` may be none that the model computes with: compare them with the node "
            "that is named; else export the model again for these shapes, without branches that do not fit",
        )
    if not refused:
        return ToolFailed(
            f"{who} does not take the model",
            evidence=(status, *_error_lines(log, status)),
            fix="check the model's operators, data types and tensor sizes against the HTP's; "
            "try another `optimization` level",
        )
    untranslated = [node for node in refused if node.code is None]
    if _refuses_float(job, refused, len(computing)):
        return _no_float(job, who, refused)
    if untranslated:
        return ToolFailed(
            f"{who} has no operator for {_count(len(untranslated), 'node')} of the model",
            evidence=(*node_table(untranslated), *_reasons(untranslated, quantized=job.prepared.quantized)),
            fix="the NPU runs no branches or loops: export the model for the one case that is wanted, with "
            "its condition constant, or unrolled"
            if all(node.operator in _BRANCHES for node in untranslated)
            else "remove these nodes from the graph and do their work before or after the model, on the CPU; "
            "or export the model with other operators in their place",
        )
    codes = sorted({node.code for node in refused if node.code is not None})
    return ToolFailed(
        f"{who} refuses {len(refused)} of {_count(len(computing), 'node')} of the {_kind(job)} model",
        evidence=(
            *node_table(refused),
            *_reasons(refused, quantized=job.prepared.quantized),
            *_code_lines(codes),
        ),
        fix=_way_out(job),
    )


def _original(name: str, known: set[str]) -> str:
    for added in _ADDED:
        if name in known:
            break
        shorter = added.sub("", name)
        # A number at the end may be the user's own; it goes only where that leads to a known name.
        name = shorter if shorter in known or added is not _ADDED[-1] else name
    return name


def _refuses_float(job: CompileJob, refused: Sequence[Refused], computing: int) -> bool:
    """Whether it is float as such that does not fit, and not this or that node."""
    if job.prepared.quantized:
        return False
    by_backend = sum(node.code is not None for node in refused)
    return by_backend * 2 > computing if job.soc.fp16 is False else by_backend == len(refused) >= computing


def _no_float(job: CompileJob, who: str, refused: Sequence[Refused]) -> ToolFailed:
    sure = job.soc.fp16 is False
    return ToolFailed(
        f"{who} takes no float model: it refuses {_count(len(refused), 'node')}",
        evidence=(
            *node_table(refused),
            *(["its HTP takes no float models (SoC table: fp16 = false)"] if sure else []),
        ),
        fix='set precision = "w8a16" for this target and name calibration samples under `model.calibration`',
    )


def node_table(refused: Sequence[Refused]) -> Iterator[str]:
    """Nodes of one operator with the same types and ranks are one line, the largest group first."""
    alike: dict[tuple[str, str], list[str]] = {}
    for node in refused:
        alike.setdefault((node.operator, _signature(node.facts)), []).append(node.name)
    rows = sorted(alike.items(), key=lambda row: (-len(row[1]), row[0]))
    for (operator, signature), names in rows[:_SHOWN_OPERATORS]:
        more = ", …" if len(names) > _SHOWN_NODES else ""
        yield f"{len(names):4} {operator}{signature}: {', '.join(names[:_SHOWN_NODES])}{more}"
    if len(rows) > _SHOWN_OPERATORS:
        left = sum(len(names) for _, names in rows[_SHOWN_OPERATORS:])
        yield f"     and {_count(left, 'node')} of {_count(len(rows) - _SHOWN_OPERATORS, 'more kind')}"


def _signature(facts: NodeFacts | None) -> str:
    """` (float32 rank 4, int64 rank 1 → float32 rank 4)`; empty where nothing is known of the node."""
    if facts is None or not (facts.inputs or facts.outputs):
        return ""
    return f" ({_sides(facts.inputs)} → {_sides(facts.outputs)})"


def _sides(tensors: Sequence[NodeTensor]) -> str:
    words = [
        tensor.computed + ("" if tensor.shape is None else f" rank {len(tensor.shape)}") for tensor in tensors
    ]
    return ", ".join(dict.fromkeys(words)) or "nothing known"


def _reasons(refused: Sequence[Refused], *, quantized: bool) -> Iterator[str]:
    """What of the nodes' types and dimensions the NPU takes nowhere: a few of them, each once."""
    npu = catalog.backend_of("npu")
    types = {*npu.refused, *(() if quantized else npu.only_quantized)}
    found: dict[str, None] = {}
    for node in refused:
        for tensor in (*node.facts.inputs, *node.facts.outputs) if node.facts else ():
            if tensor.shape and npu.largest_rank and len(tensor.shape) > npu.largest_rank:
                size = dimensions(tensor.shape)
                most = f"the {npu.name} takes at most {npu.largest_rank} dimensions"
                found[f"{tensor.name} of {node.name} is {size}, rank {len(tensor.shape)}; {most}"] = None
            if tensor.computed in types:
                only = " unless the model is quantized" if tensor.computed in npu.only_quantized else ""
                takes = f"the {npu.name} takes no {tensor.computed}{only}"
                found[f"{tensor.name} of {node.name} is {tensor.computed}; {takes}"] = None
    yield from list(found)[:_SHOWN_LINES]


def _code_lines(codes: Sequence[int]) -> Iterator[str]:
    for code in codes:
        yield f"QNN error {code} from the backend (`hexpack explain {code}`)"


def _way_out(job: CompileJob) -> str:
    precision = job.prepared.precision
    if precision == "w8a8":
        return (
            'set precision = "w8a16" for this target: 16-bit activations fit operators that 8-bit ones do not'
        )
    other = {"w8a16": "w8a8", "float": "w8a16"}.get(precision)
    if other:
        return f'try precision = "{other}" for this target; or replace these nodes, or compute them outside'
    return "quantize these nodes in another way, replace them, or do their work outside the model"


def _kind(job: CompileJob) -> str:
    if job.prepared.precision != "as-is":
        return job.prepared.precision
    return "quantized" if job.prepared.quantized else "float"


def _error_lines(log: str, status: str) -> list[str]:
    """The log's last errors, each once, without time, colour and place."""
    lines = [line.strip() for line in _ERROR_LINE.findall(_COLOUR.sub("", log))]
    fresh = [line[:300] for line in dict.fromkeys(lines) if line and line not in status]
    return fresh[-_SHOWN_LINES:]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
