"""Reads hexrun's `runner.conf`: one `key value…` a line; a field of a variant holds no blanks."""

from __future__ import annotations

from pathlib import Path

from packager.facts.config_types import RunnerConfigFacts
from packager.facts.reading import content_within, decoded

FIRST_KEY = b"format "
_MAX_SIZE = 1 << 20
_LIBRARIES = ("backend", "system")
_CONTEXT = "context="


def is_runner_config(head: bytes) -> bool:
    """Whether the first line that is no comment is `format N`, and the next one names the package."""
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")]
    return len(lines) > 1 and lines[0].startswith(FIRST_KEY) and lines[1].startswith(b"package ")


def read_runner_config(path: Path) -> RunnerConfigFacts:
    """Its keys and the files it names. Raises UnreadableFile, InputUnavailable."""
    lines = decoded(path, content_within(path, _MAX_SIZE, "runner.conf")).split("\n")
    plain = (line.strip() for line in lines)
    words = (line.split(maxsplit=1) for line in plain if line and not line.startswith("#"))
    said = [(key, "".join(value)) for key, *value in words]
    return RunnerConfigFacts(
        keys=tuple(key for key, _ in said),
        paths=tuple(value for key, value in said if key in _LIBRARIES),
        contexts=tuple(
            field.removeprefix(_CONTEXT)
            for key, value in said
            if key == "variant"
            for field in value.split()
            if field.startswith(_CONTEXT)
        ),
    )
