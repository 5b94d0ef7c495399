"""Who made a DLC: lines of key=value (SNPE), or a JSON document (QAIRT)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packager.facts.json_text import json_value, objects
from packager.facts.reading import MAX_TEXT

_BUILD = re.compile(r"\d+\.\d+\.\d+\.\d{10,14}(_\d+)?", re.ASCII)
_NOT_SAID = ("", "N/A")


class Origin(NamedTuple):
    """What the metadata says about the making; None where it says nothing."""

    command: str | None = None
    version: str | None = None
    copyright: str | None = None

    @property
    def tool(self) -> str:
        """The converter's name, the first word of its command."""
        return (self.command or "").partition(" ")[0]

    @property
    def build(self) -> str | None:
        """The QAIRT build id, where the version is one."""
        return f"v{self.version}" if self.version and _BUILD.fullmatch(self.version) else None

    def __or__(self, other: Origin) -> Origin:
        """What this one says, and what only the other one says."""
        return Origin(*(own if own is not None else theirs for own, theirs in zip(self, other, strict=True)))


def origin(path: Path, content: bytes) -> Origin:
    """What one metadata record says. Raises UnreadableFile, offsets from the beginning of the record."""
    if content.lstrip().startswith(b"{"):
        document = json_value(path, content)
        commands = list(_commands(document))
        return commands[0] if commands else Origin()
    lines = content.decode("utf-8", "backslashreplace").splitlines()
    said = {key: _text(value) for key, _, value in (line.partition("=") for line in lines)}
    return Origin(said.get("converter-command"), said.get("converter-version"), said.get("model-copyright"))


def _commands(document: object) -> Iterator[Origin]:
    """The converters that worked on the model, the first one first. A copyright was not seen in this form."""
    top = document if isinstance(document, dict) else {}
    for step in objects(top.get("dlcGenerationInfo")):
        for command in objects(step.get("converterCommand")):
            yield Origin(_command(command), _text(command.get("converterVersion")))


def _command(command: dict[str, object]) -> str | None:
    """The tool and its arguments as SNPE writes them: `tool name=value name=value`."""
    arguments = next(iter(objects(command.get("args"))), {})
    words = [_text(command.get("tool")) or ""]
    words += [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in arguments.items()
    ]
    return _text(" ".join(words))


def _text(value: object) -> str | None:
    if not isinstance(value, str) or value.strip() in _NOT_SAID:
        return None
    return value.strip()[:MAX_TEXT]
