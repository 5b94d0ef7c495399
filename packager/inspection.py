"""Facts as a table for people, and the JSON document that `inspect --json` prints, with its schema."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from packager.errors import UnreadableFile
from packager.facts import archive
from packager.facts.identify import examine_found
from packager.facts.oci import folder_blobs
from packager.facts.reading import check_place, is_folder, opened
from packager.facts.tree import INSIDE, Found, examine_tree
from packager.facts.types import (
    ArchiveFacts,
    CatalogueFacts,
    ContextFacts,
    DamagedFacts,
    DlcFacts,
    ElfFacts,
    Facts,
    GraphFacts,
    OnnxFacts,
    OtherFacts,
    PeFacts,
)
from packager.model import Frozen
from packager.report import add, cut, say, show, table
from packager.units import human_size
from packager.visible import encodable, visible

SCHEMA_VERSION: Final = 1
_MOST_MEMBERS = 200  # of those that nobody asks about; libraries and models are always shown
_MOST_ROWS = 200  # of one name, such as the inputs of all graphs
_LONGEST_VALUE = 1000  # characters of a value that a person reads


class Inspected(NamedTuple):
    """A file that was named, or found in a folder that was named; `members` is empty but for an archive."""

    path: Path
    facts: Facts
    members: tuple[Found, ...]


class Document(Frozen):
    """What `inspect --json` prints.

    `files` has the facts of each file by its path, and of each file in an archive by the archive's path,
    `!/` and the member's name. Sizes are in bytes; links are among the members of their archive.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    files: dict[str, Facts]


def files_below(paths: Iterable[Path]) -> list[Path]:
    """The files named, and for folders all files below, sorted; a folder that is an OCI layout stays whole.

    Raises InputUnavailable.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir() and not folder_blobs(path):
            below = archive.files_below(path)
            files += (child for child, about in below if about is None or not stat.S_ISLNK(about.st_mode))
        else:
            check_place(path)
            if path.is_file():
                with opened(path):  # who names a file wants to know that it cannot be read
                    files.append(path)
            else:
                files.append(path)
    return files


def inspected(path: Path) -> Inspected:
    """A file's facts, and those of its members when it is an archive. Raises InputUnavailable."""
    try:
        image = is_folder(path) and folder_blobs(path)
        facts = archive.read_archive(path) if image else examine_found(path)
        members = tuple(examine_tree(path, str(path))) if isinstance(facts, ArchiveFacts) else ()
    except UnreadableFile as error:
        return Inspected(path, DamagedFacts.of(error), ())
    return Inspected(path, facts, members)


def document(files: Iterable[Inspected]) -> dict[str, Any]:
    """The JSON document for these files; `schema()` describes it."""
    facts: dict[str, Facts] = {}
    for file in files:
        facts[encodable(str(file.path))] = file.facts
        facts |= {encodable(member.name): member.facts for member in file.members if member.facts is not None}
    return Document(files=facts).model_dump(mode="json")


def schema() -> dict[str, Any]:
    """The JSON Schema of the document, as it is kept in `manifests/inspect.schema.json`."""
    made = Document.model_json_schema(mode="serialization")
    for model in (made, *made["$defs"].values()):
        model["required"] = list(model["properties"])  # what has a default is written all the same
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:hexpack:inspect:{SCHEMA_VERSION}",
        **made,
    }


def print_inspected(file: Inspected) -> None:
    """Print what a file says about itself, and in one line each what is inside it."""
    say(f"{visible(str(file.path))}  {file.facts.kind}, {human_size(_size(file))}")
    rows = table("fact", "value")
    rows.show_header = False
    shown = Counter[str]()
    for name, value in _rows(file.facts):
        shown[name] += 1
        if shown[name] <= _MOST_ROWS:
            add(rows, f"  {name}", cut(value, _LONGEST_VALUE))
    for name, count in shown.items():
        if count > _MOST_ROWS:
            add(rows, "", f"… {count - _MOST_ROWS} more of {name.strip()} (--json has all)")
    show(rows)
    if file.members:
        _print_members(file)
    say()


def _size(file: Inspected) -> int:
    """In bytes; 0 for a file that cannot even be asked."""
    if is_folder(file.path):
        return sum(member.about.size for member in file.members)
    try:
        return file.path.stat().st_size
    except OSError:
        return 0


def _print_members(file: Inspected) -> None:
    rows = table("size", "member", "facts", right=("size",))
    left_out = 0
    for member in file.members:
        plain = member.facts is None or isinstance(member.facts, OtherFacts)
        if plain and len(rows.rows) >= _MOST_MEMBERS:
            left_out += 1
            continue
        name = member.name.removeprefix(f"{file.path}{INSIDE}")
        add(
            rows,
            human_size(member.about.size),
            cut(f"{name} -> {member.about.link}" if member.about.link else name, _LONGEST_VALUE),
            cut(summary(member.facts), _LONGEST_VALUE) if member.facts is not None else "",
        )
    show(rows)
    if left_out:
        say(f"… {left_out} more (--json lists all)")


_HEADLINES: dict[type[Any], tuple[str, ...]] = {
    ElfFacts: ("machine", "abi", "hexagon_arch", "soname", "qairt_build", "android_api"),
    PeFacts: ("machine", "qairt_build", "signer"),
    CatalogueFacts: ("signer", "systems"),
    ContextFacts: ("soc_model", "hexagon_arch", "qairt_build"),
    DlcFacts: ("lineage", "converter_version"),
    OnnxFacts: ("producer", "opset", "quantized"),
    ArchiveFacts: ("format",),
    DamagedFacts: ("reason",),
}


def summary(facts: Facts) -> str:
    """The facts that tell one file from another, in one line; nothing for a file of no known format."""
    if isinstance(facts, OtherFacts):
        return facts.stand_in or ""
    # A kind without headlines of its own shows what it has first.
    names = _HEADLINES.get(type(facts)) or tuple(name for name, _ in _scalars(facts))[:3]
    words = [f"{name} {value}" for name, value in _scalars(facts) if name in names]
    if isinstance(facts, ContextFacts):
        words.append(f"{len(facts.graphs)} graphs")
    elif isinstance(facts, DlcFacts):
        words.append(f"{len(facts.graphs)} graphs, {len(facts.caches)} compiled")
    elif isinstance(facts, CatalogueFacts | ArchiveFacts):
        words.append(f"{len(facts.members)} members")
    return f"{facts.kind}: {', '.join(words)}"


def _scalars(facts: Facts) -> Iterator[tuple[str, str]]:
    for name, value in facts:
        if name != "kind" and value not in (None, "") and isinstance(value, str | int | float):
            yield name, _plain(name, value)


_STRUCTURED: dict[type[Any], tuple[str, ...]] = {
    ContextFacts: ("graphs",),
    CatalogueFacts: ("members",),
    DlcFacts: ("records", "graphs", "caches"),
    OnnxFacts: ("inputs", "outputs", "operators", "ranks", "dtypes"),
    ArchiveFacts: ("members",),
}


def _rows(facts: Facts) -> Iterator[tuple[str, str]]:
    for name, value in facts:
        if name == "kind" or name in _STRUCTURED.get(type(facts), ()) or value in (None, (), ""):
            continue
        if isinstance(value, tuple) and isinstance(value[0], Frozen):
            yield from ((_singular(name), _fields(one)) for one in value)
        else:
            yield name, _plain(name, value)
    if isinstance(facts, ContextFacts):
        yield from _graph_rows(facts.graphs)
    elif isinstance(facts, DlcFacts):
        yield from _dlc_rows(facts)
    elif isinstance(facts, CatalogueFacts):
        for member in facts.members:
            yield "member", f"{member.name}  sha256 {member.sha256 or '-'}  sha1 {member.sha1 or '-'}"
    elif isinstance(facts, OnnxFacts):
        yield from (("input", _tensor(t)) for t in facts.inputs)
        yield from (("output", _tensor(t)) for t in facts.outputs)
        common = sorted(facts.operators.items(), key=lambda item: (-item[1], item[0]))
        yield "operators", ", ".join(f"{op} {count}" for op, count in common)
        yield "ranks", ", ".join(f"{rank} ({name})" for rank, name in facts.ranks.items())
        yield "types", ", ".join(f"{dtype} ({name})" for dtype, name in facts.dtypes.items())
    elif isinstance(facts, ArchiveFacts):
        yield "members", str(len(facts.members))


def _singular(name: str) -> str:
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def _fields(item: Frozen) -> str:
    """`line 3, variable LD_LIBRARY_PATH`: what an entry of a list says, without what it leaves out."""
    return ", ".join(f"{name} {_plain(name, value)}" for name, value in item if value not in (None, (), ""))


def _dlc_rows(facts: DlcFacts) -> Iterator[tuple[str, str]]:
    for record in facts.records:
        about = (record.role, record.version, record.identifier, human_size(record.size))
        yield "record", "  ".join((record.name, *filter(None, about)))
    yield from _graph_rows(facts.graphs)
    for cache in facts.caches:
        yield (
            "compiled",
            f"{cache.record}  {summary(cache.context) if cache.context else 'not read'}",
        )
        if cache.context:
            yield from _graph_rows(cache.context.graphs)


def _graph_rows(graphs: Iterable[GraphFacts]) -> Iterator[tuple[str, str]]:
    for graph in graphs:
        yield "graph", graph.name
        settings = {
            "O": graph.optimization, "VTCM MB": graph.vtcm_mb, "HVX threads": graph.hvx_threads,
            "spill-fill bytes": graph.spill_fill_bytes, "shared weights bytes": graph.shared_weights_bytes,
        }  # fmt: skip
        known = ", ".join(f"{name} {value}" for name, value in settings.items() if value is not None)
        if known:
            yield "  settings", known
        yield from (("  input", _tensor(t)) for t in graph.inputs)
        yield from (("  output", _tensor(t)) for t in graph.outputs)


def _tensor(tensor: Any) -> str:
    shape = "x".join(str(dimension) for dimension in tensor.shape)
    scale = getattr(tensor, "scale", None)
    quantized = f"  scale {scale:g}, offset {tensor.offset}" if scale else ""
    return f"{tensor.name}  {tensor.dtype}  {shape}{quantized}"


def _plain(name: str, value: Any) -> str:
    if name == "flags" or (name == "page_alignment" and value):
        return f"0x{value:x}"
    if name == "build_paths":
        return ", ".join(value)
    if isinstance(value, tuple):
        return " ".join(str(item) for item in value)
    return str(value)
