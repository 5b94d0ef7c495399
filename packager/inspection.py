"""Facts as a table for people. The same facts as JSON need no code: they are models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from packager.errors import InputUnavailable, nearest
from packager.facts.types import ArchiveFacts, CatalogueFacts, ContextFacts, Facts, OnnxFacts
from packager.report import console, human_size, show, table

_MOST_MEMBERS = 200


def files_below(paths: Iterable[Path]) -> list[Path]:
    """The files named, and for folders all files below, sorted. Raises InputUnavailable."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(child for child in path.rglob("*") if child.is_file() and not child.is_symlink())
        elif path.is_file():
            files.append(path)
        else:
            here = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            close = nearest(path.name, here)
            raise InputUnavailable(
                f"{path} does not exist", evidence=(f'there is "{close}" beside it',) if close else ()
            )
    return files


def print_facts(path: Path, facts: Facts) -> None:
    """Print what a file says about itself."""
    out = console()
    out.print(f"{path}  {facts.kind}, {human_size(path.stat().st_size)}", markup=False)
    rows = table("fact", "value")
    rows.show_header = False
    for name, value in _rows(facts):
        rows.add_row(f"  {name}", value)
    show(rows)
    print()


def _rows(facts: Facts) -> Iterator[tuple[str, str]]:
    structured = {
        ContextFacts: ("graphs",),
        CatalogueFacts: ("members",),
        OnnxFacts: ("inputs", "outputs", "operators"),
        ArchiveFacts: ("members",),
    }.get(type(facts), ())
    for name, value in facts:
        if name == "kind" or name in structured or value in (None, (), ""):
            continue
        yield name, _plain(name, value)
    if isinstance(facts, ContextFacts):
        yield from _context_rows(facts)
    elif isinstance(facts, CatalogueFacts):
        for member in facts.members:
            yield "member", f"{member.name}  sha256 {member.sha256 or '-'}  sha1 {member.sha1 or '-'}"
    elif isinstance(facts, OnnxFacts):
        yield from (("input", _tensor(t)) for t in facts.inputs)
        yield from (("output", _tensor(t)) for t in facts.outputs)
        common = sorted(facts.operators.items(), key=lambda item: (-item[1], item[0]))
        yield "operators", ", ".join(f"{op} {count}" for op, count in common)
    elif isinstance(facts, ArchiveFacts):
        for entry in facts.members[:_MOST_MEMBERS]:
            link = f" -> {entry.link}" if entry.link else ""
            yield human_size(entry.size), entry.name + link
        if len(facts.members) > _MOST_MEMBERS:
            yield "", f"… {len(facts.members) - _MOST_MEMBERS} more (--json lists all)"


def _context_rows(facts: ContextFacts) -> Iterator[tuple[str, str]]:
    for graph in facts.graphs:
        yield "graph", graph.name
        settings = {
            "O": graph.optimization, "VTCM MB": graph.vtcm_mb, "HVX threads": graph.hvx_threads,
            "spill-fill bytes": graph.spill_fill_bytes,
        }  # fmt: skip
        yield "  settings", ", ".join(f"{name} {v}" for name, v in settings.items() if v is not None)
        yield from (("  input", _tensor(t)) for t in graph.inputs)
        yield from (("  output", _tensor(t)) for t in graph.outputs)


def _tensor(tensor: Any) -> str:
    shape = "x".join(str(dimension) for dimension in tensor.shape)
    scale = getattr(tensor, "scale", None)
    quantized = f"  scale {scale:g}, offset {tensor.offset}" if scale else ""
    return f"{tensor.name}  {tensor.dtype}  {shape}{quantized}"


def _plain(name: str, value: Any) -> str:
    if name == "flags" or (name == "max_page_alignment" and value):
        return f"0x{value:x}"
    if isinstance(value, tuple):
        return " ".join(str(item) for item in value)
    return str(value)
