"""Reads the files that hexrun's `runner.conf` names; its grammar is hexrun's to judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packager.errors import UnreadableFile
from packager.facts.config_types import RunnerConfigFacts
from packager.facts.reading import opened

FIRST_KEY = b"format "
_MAX_SIZE = 1 << 20
_LIBRARIES = ("backend", "system")


def is_runner_config(head: bytes) -> bool:
    """Whether the first line that is no comment is `format N`, and the next one names the package."""
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")]
    return len(lines) > 1 and lines[0].startswith(FIRST_KEY) and lines[1].startswith(b"package ")


def read_runner_config(path: Path) -> RunnerConfigFacts:
    """The files it names. Raises UnreadableFile, InputUnavailable."""
    with opened(path) as (stream, size):
        if size > _MAX_SIZE:
            raise UnreadableFile(path, _MAX_SIZE, f"a runner.conf of {size} bytes is none")
        content = stream.read()
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise UnreadableFile(path, error.start, "this byte is not UTF-8") from None
    words = [line.strip().partition(" ") for line in lines if not line.startswith("#")]
    said = [(key, value.strip()) for key, _, value in words]
    return RunnerConfigFacts(
        paths=tuple(value for key, value in said if key in _LIBRARIES),
        contexts=tuple(context for key, value in said if key == "variant" for context in _contexts(value)),
        graph=next((value for key, value in said if key == "graph"), None),
    )


def _contexts(variant: str) -> Iterator[str]:
    """The value of `context=`, the last word of a variant; it may hold blanks."""
    _, found, context = variant.partition("context=")
    if found:
        yield context
