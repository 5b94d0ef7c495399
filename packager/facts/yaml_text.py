"""YAML files of configuration, read within limits.

Without aliases, which make a bomb of a short file, and tags, which promise a type that a text may not have.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from packager.errors import UnreadableFile
from packager.facts.json_text import key_paths, kind_of
from packager.facts.reading import content_within, decoded

if TYPE_CHECKING:
    import yaml

_IN_YAML = ("ai-hub-metadata", "ai-hub-release")  # kinds whose readers read YAML too
_MAX_SIZE = 256 << 10  # metadata of the largest models is 60 kB
_MAX_EVENTS = 50_000
_MAX_DEPTH = 32
_WHOLE = re.compile(r"[-+]?\d{1,18}")
_STANDS_FOR_NOTHING = "it has an escape or a version number that stands for nothing"
_MAPPING = re.compile(rb"(?:\s*(?:#[^\n]*)?\n|---\s*\n)*[A-Za-z_][\w-]*:(?:\s|$)")


def yaml_document(path: Path) -> object:
    """The value that a YAML file holds: mappings, lists, text, whole numbers, true, false and null.

    Raises UnreadableFile when it is larger than 256 KiB, no YAML, nested too deep, uses aliases or tags, or
    has a key twice in one mapping (readers disagree which of them counts), InputUnavailable when it cannot be
    opened.
    """
    content = content_within(path, _MAX_SIZE, "configuration")
    node = _composed(path, content)
    twice = _repeated(node)
    if twice is not None:
        offset = _offset(decoded(path, content), twice.start_mark)
        raise UnreadableFile(path, offset, f'the key "{str(twice.value)[:80]}" is there twice in one mapping')
    return _value_of(path, node)


def yaml_kind(stream: BinaryIO, head: bytes, size: int) -> str | None:
    """The kind of a YAML mapping, from its keys."""
    if size > _MAX_SIZE or b"\0" in head or not _MAPPING.match(head):
        return None
    stream.seek(0)
    try:
        kind = kind_of(key_paths(_value_of(Path(), _composed(Path(), stream.read(_MAX_SIZE)))))
    except UnreadableFile:
        return None
    return kind if kind in _IN_YAML else None


def _composed(path: Path, content: bytes) -> yaml.Node | None:
    """The tree of a document; None for an empty one."""
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
            if getattr(event, "tag", None) is not None:
                refuse(_offset(text, event.start_mark), "it uses a tag, which no metadata needs")
            if depth > _MAX_DEPTH or number > _MAX_EVENTS:
                refuse(_offset(text, event.start_mark), "it is nested too deep or has too many values")
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        refuse(_offset(text, error.problem_mark), error.problem or "this is no YAML")
    except yaml.YAMLError as error:
        refuse(0, str(error).partition("\n")[0])
    except (ValueError, OverflowError):
        refuse(0, _STANDS_FOR_NOTHING)


def _repeated(node: yaml.Node | None) -> yaml.ScalarNode | None:
    """The first key that its mapping has already."""
    import yaml

    todo = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, yaml.MappingNode):
            seen = set()
            for key, _ in one.value:
                if isinstance(key, yaml.ScalarNode):
                    if key.value in seen:
                        return key
                    seen.add(key.value)
            todo += [value for _, value in reversed(one.value)]
        elif isinstance(one, yaml.SequenceNode):
            todo += reversed(one.value)
    return None


def _value_of(path: Path, node: yaml.Node | None) -> object:
    try:
        return _value(node)
    except ValueError:
        raise UnreadableFile(path, 0, _STANDS_FOR_NOTHING) from None


def _value(node: yaml.Node | None) -> object:
    """The value of a node. All but null, true, false and whole numbers is text: 2.50 is a version, not 2.5.

    Raises ValueError where an escape makes half of a surrogate pair.
    """
    import yaml

    if isinstance(node, yaml.MappingNode):
        return {str(_value(key)): _value(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(value) for value in node.value]
    if not isinstance(node, yaml.ScalarNode):  # an empty file
        return None
    text = node.value.encode("utf-16", "surrogatepass").decode("utf-16")
    kind = node.tag.rpartition(":")[2]
    if kind == "int" and _WHOLE.fullmatch(text):
        return int(text)
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    return None if kind == "null" else text


def _offset(text: str, mark: yaml.Mark | None) -> int:
    """The byte at which a mark stands."""
    return len(text[: mark.index].encode()) if mark else 0
