"""Reads the configuration of Qualcomm's Genie: the backend, and the files that it needs beside itself."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packager import catalog
from packager.facts.config_types import GenieFacts
from packager.facts.json_text import json_document

_BACKEND = "backend.type"


class _PathKey(NamedTuple):
    """A key whose values name files, by the end of its path."""

    ends: str
    model: bool


def read_genie_config(path: Path) -> GenieFacts:
    """What the file names, each name once, in the file's order. Raises UnreadableFile, InputUnavailable."""
    said = list(_said(json_document(path), ""))
    named = [(key, value) for where, value in said for key in _path_keys() if where.endswith(key.ends)]
    return GenieFacts(
        paths=tuple(dict.fromkeys(value for _, value in named)),
        model_paths=tuple(dict.fromkeys(value for key, value in named if key.model)),
        backend=next((value for where, value in said if where.endswith(_BACKEND)), None),
    )


def _said(value: object, where: str) -> Iterator[tuple[str, str]]:
    """Every string of the document with the path of its key, which begins with a dot."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _said(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _said(inner, where)
    elif isinstance(value, str):
        yield where, value


@functools.cache
def _path_keys() -> tuple[_PathKey, ...]:
    rows = catalog.table("config_files")["genie_path"]
    return tuple(_PathKey(f".{row['ends']}", row["model"]) for row in rows)
