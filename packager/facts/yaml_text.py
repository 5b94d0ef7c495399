"""YAML files of configuration, read within limits: no aliases, which can make a bomb of a short file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from packager.errors import UnreadableFile
from packager.facts.json_text import key_paths, kind_of
from packager.facts.reading import content_within, decoded

if TYPE_CHECKING:
    import yaml

_MAX_SIZE = 256 << 10  # metadata of the largest models is 60 kB
_MAX_EVENTS = 50_000
_MAX_DEPTH = 32
_MAPPING = re.compile(rb"(?:\s*(?:#[^\n]*)?\n|---\s*\n)*[A-Za-z_][\w-]*:(?:\s|$)")


def yaml_document(path: Path) -> object:
    """The value that a YAML file holds, of plain types only.

    Raises UnreadableFile when it is larger than 256 KiB, no YAML, nested too deep, or uses aliases,
    InputUnavailable when it cannot be opened.
    """
    return _parsed(path, content_within(path, _MAX_SIZE, "configuration"))


def yaml_kind(stream: BinaryIO, head: bytes, size: int) -> str | None:
    """The kind of a YAML mapping, from its keys."""
    if size > _MAX_SIZE or b"\0" in head or not _MAPPING.match(head):
        return None
    stream.seek(0)
    try:
        return kind_of(key_paths(_parsed(Path(), stream.read(_MAX_SIZE))))
    except UnreadableFile:
        return None


def _parsed(path: Path, content: bytes) -> object:
    import yaml

    def refuse(offset: int, reason: str) -> NoReturn:
        raise UnreadableFile(path, offset, reason)

    text = decoded(path, content)
    try:
        depth = 0
        for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent):
                refuse(_offset(text, event.start_mark), "it uses an alias, which no metadata needs")
            if depth > _MAX_DEPTH or number > _MAX_EVENTS:
                refuse(_offset(text, event.start_mark), "it is nested too deep or has too many values")
        made: object = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        refuse(_offset(text, error.problem_mark), error.problem or "this is no YAML")
    except (yaml.YAMLError, ValueError) as error:  # a character or a date that does not exist
        refuse(0, str(error).partition("\n")[0])
    return made


def _offset(text: str, mark: yaml.Mark | None) -> int:
    """The byte at which a mark stands."""
    return len(text[: mark.index].encode()) if mark else 0
