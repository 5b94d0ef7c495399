"""What is fuzzed: every reader that is ours, found through the table that `identify` reads from, with seeds."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from packager.errors import HexpackError
from packager.facts import identify
from packager.model import Frozen
from tests.fuzz.seeds import SEEDS

# Read by the vendor's library in a process of its own. Ours is the reader of the head, which is also what reads
# contexts inside other files here.
_NOT_OURS = {"context-binary"}

TRIAL = "HEXPACK_FUZZ_TRIAL"  # names the fault that every reader then has for files that begin with a b


def _hang() -> None:
    while True:
        pass


# Fuzzing that cannot find these finds nothing.
_FAULTS: dict[str, Callable[[], object]] = {
    "crash": lambda: 1 // 0,
    "hang": _hang,
    "memory": lambda: bytes(300 << 20),
}


class Target(NamedTuple):
    """A reader, the errors that it may raise, and files to begin with."""

    name: str
    read: Callable[[Path], object]
    seeds: tuple[bytes, ...]


def targets() -> dict[str, Target]:
    """All targets by name. Raises KeyError for a reader without seeds, so that a new one is not forgotten."""
    found = [
        Target(kind, _reader(module, name), SEEDS[kind])
        for kind, (module, name) in identify._READERS.items()
        if kind not in _NOT_OURS
    ]
    found += [
        Target("context-head", _reader("packager.facts.context_head", "read_head"), SEEDS["context-head"]),
        Target(
            "identify", identify.examine, tuple(seed for kind in sorted(SEEDS) for seed in SEEDS[kind][:1])
        ),
        Target("tree", _tree, SEEDS["archive"]),
        Target("manifest", _reader("packager.manifest", "load"), SEEDS["manifest"]),
        Target("yaml", _reader("packager.facts.yaml_text", "yaml_document"), SEEDS["yaml"]),
    ]
    return {target.name: target for target in found}


def try_one(target: Target, path: Path) -> None:
    """Read a file, and write the facts and read them again. Any exception but one of ours is a finding."""
    if TRIAL in os.environ and path.read_bytes()[:1] == b"b":
        _FAULTS[os.environ[TRIAL]]()
    try:
        facts = target.read(path)
    except HexpackError:
        return
    if isinstance(facts, Frozen):
        type(facts).model_validate_json(facts.model_dump_json())


def _reader(module: str, name: str) -> Callable[[Path], object]:
    read: Callable[[Path], object] = getattr(importlib.import_module(module), name)
    return read


def _tree(path: Path) -> object:
    tree = importlib.import_module("packager.facts.tree")
    return list(tree.examine_tree(path, "x", digests=True))
