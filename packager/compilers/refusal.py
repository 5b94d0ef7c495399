"""Why the compiler said no, read from its log and told in the names of the user's own model.

The names of nodes that do not fit are nowhere but in the log: one line lists them all, and for each that the
HTP backend itself refused there is a line with its error code. A listed node without such a line is one for
which the compiler has no translation at all. Seen in onnxruntime 1.32 with onnxruntime-qnn 2.7.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packager.compilers.jobs import CompileJob
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

    `code` is the backend's error code, None where the compiler has no translation for the operator.
    """

    name: str
    operator: str
    code: int | None


def read_log(log: str, original: Sequence[str]) -> tuple[Refused, ...]:
    """The refused nodes in the order of the log's last list, by their `original` names where there is one."""
    text = _COLOUR.sub("", log)
    known = set(original)
    codes = {_original(name, known): int(code) for name, _, code in _REFUSED.findall(text)}
    # The first list comes before the change of layout, which still mends some nodes; the last one counts.
    lists = _LISTED.findall(text)
    found: dict[str, Refused] = {}
    for name, operator in _NODE.findall(lists[-1]) if lists else ():
        own = _original(name, known)
        found.setdefault(own, Refused(name=own, operator=operator, code=codes.get(own)))
    return tuple(found.values())


def explain(job: CompileJob, status: str, nodes: Sequence[Sequence[str]], log: str) -> ToolFailed:
    """The error for a refused model.

    `nodes` are [name, operator] of the model as it was compiled, `status` is onnxruntime's own reason.
    """
    refused = read_log(log, [name for name, _ in nodes])
    computing = [name for name, operator in nodes if operator not in _NOT_COMPUTING]
    who = f"{job.soc.title} ({job.soc.id}, Hexagon {job.soc.arch})"
    if not refused and _LEFT_TO_THE_CPU in status:
        # onnxruntime lists nothing where it offered no node to the NPU: sizes that depend on the data.
        left = [Refused(name=name, operator=op, code=None) for name, op in nodes if op not in _NOT_COMPUTING]
        return ToolFailed(
            f"{who} takes none of the {_count(len(left), 'node')} of the model",
            evidence=tuple(_table(left)),
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
            evidence=tuple(_table(untranslated)),
            fix="the NPU runs no branches or loops: export the model for the one case that is wanted, with "
            "its condition constant, or unrolled"
            if all(node.operator in _BRANCHES for node in untranslated)
            else "remove these nodes from the graph and do their work before or after the model, on the CPU; "
            "or export the model with other operators in their place",
        )
    codes = sorted({node.code for node in refused if node.code is not None})
    return ToolFailed(
        f"{who} refuses {len(refused)} of {_count(len(computing), 'node')} of the {_kind(job)} model",
        evidence=(*_table(refused), *_code_lines(codes)),
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
            *_table(refused),
            *(["its HTP takes no float models (SoC table: fp16 = false)"] if sure else []),
        ),
        fix='set precision = "w8a16" for this target and name calibration samples under `model.calibration`',
    )


def _table(refused: Sequence[Refused]) -> Iterator[str]:
    by_operator: dict[str, list[str]] = {}
    for node in refused:
        by_operator.setdefault(node.operator, []).append(node.name)
    rows = sorted(by_operator.items(), key=lambda row: (-len(row[1]), row[0]))
    for operator, names in rows[:_SHOWN_OPERATORS]:
        more = ", …" if len(names) > _SHOWN_NODES else ""
        yield f"{len(names):4} {operator}: {', '.join(names[:_SHOWN_NODES])}{more}"
    if len(rows) > _SHOWN_OPERATORS:
        yield f"     and {_count(len(rows) - _SHOWN_OPERATORS, 'more operator')}"


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
