"""Reads hexrun's `runner.conf`: one `key value…` a line; a field of a variant holds no blanks."""

from __future__ import annotations

from pathlib import Path

from packager.facts.config_types import RunnerConfigFacts
from packager.facts.reading import content_within, decoded

FIRST_KEY = b"format "
_MAX_SIZE = 1 << 20
_LIBRARIES = ("backend", "system")
_MODELS = ("context", "dlc", "library")


def is_runner_config(head: bytes) -> bool:
    """Whether the first line that is no comment is `format N`, and the next one names the package."""
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")]
    return len(lines) > 1 and lines[0].startswith(FIRST_KEY) and lines[1].startswith(b"package ")


def read_runner_config(path: Path) -> RunnerConfigFacts:
    """Its keys and the files it names. Raises UnreadableFile, InputUnavailable.

    Source: `templates/runner/config_lines.c`, which reads the same lines.
    """
    lines = decoded(path, content_within(path, _MAX_SIZE, "runner.conf")).split("\n")
    plain = (line.strip() for line in lines)
    words = (line.split(maxsplit=1) for line in plain if line and not line.startswith("#"))
    said = [(key, "".join(value)) for key, *value in words]
    number = next((value for key, value in said if key == "format"), "")
    fields = (field.partition("=") for key, value in said if key == "variant" for field in value.split())
    return RunnerConfigFacts(
        format=int(number) if number in ("1", "2") else None,
        keys=tuple(key for key, _ in said),
        paths=tuple(filter(None, (_library(key, value) for key, value in said))),
        contexts=tuple(file for name, _, file in fields if name in _MODELS),
    )


def _library(key: str, value: str) -> str:
    """The library that a line names, if it does: alone, or behind a unit from format 2 on."""
    if key == "compute":
        return value.partition(" ")[2].strip()
    return value if key in _LIBRARIES else ""
