"""JSON files: read within limits, and told apart by the keys that they have."""

from __future__ import annotations

import codecs
import fnmatch
import functools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

from packager import catalog
from packager.errors import UnreadableFile
from packager.facts.reading import content_within, decoded

MAX_SIZE = 4 << 20  # configuration is kilobytes; the metadata of the largest models some hundred
_MAX_KEYS = 4096  # key paths of one document
_MAX_DEPTH = 64  # objects and arrays inside each other; the deepest Genie configuration has eight
_MAX_NUMBER = 1 << 63
_TOO_DEEP = "it is nested too deep"


class _Mark(NamedTuple):
    """A kind of file and the key paths of which one is enough to know it."""

    kind: str
    keys: tuple[str, ...]


def json_document(path: Path) -> object:
    """The value that a JSON file holds.

    Raises UnreadableFile when it is larger than 4 MiB, no JSON, nested too deep, or has a key twice in one
    object (readers disagree which of them counts), InputUnavailable when it cannot be opened.
    """
    return json_value(path, content_within(path, MAX_SIZE, "configuration"))


def json_value(path: Path, content: bytes) -> object:
    """The value of a JSON text inside a file; raises as `json_document` does, offsets from its start."""
    return _parsed(path, decoded(path, content))


def json_kind(stream: BinaryIO, head: bytes, size: int) -> str | None:
    """The kind of a JSON object, from its keys; one that is broken is judged by the keys in its text."""
    if not head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{") or size > MAX_SIZE:
        return None
    stream.seek(0)
    content = stream.read(MAX_SIZE)
    try:
        keys = set(key_paths(_parsed(Path(), decoded(Path(), content))))
    except UnreadableFile:
        named = {key: f'"{key.rpartition(".")[2]}"'.encode() for mark in _marks() for key in mark.keys}
        keys = {key for key, quoted in named.items() if quoted in content}
    return kind_of(keys)


def kind_of(keys: Iterable[str]) -> str | None:
    """The kind of a document with these key paths, from `targets/config_files.toml`."""
    found = set(keys)
    for mark in _marks():
        if not found.isdisjoint(mark.keys) or any(_has_all(found, pattern) for pattern in mark.keys):
            return mark.kind
    return None


def _has_all(keys: set[str], patterns: str) -> bool:
    """Whether each of the patterns, which stand between `&`, fits a key."""
    if "*" not in patterns:
        return False
    return all(fnmatch.filter(keys, pattern.strip()) for pattern in patterns.split("&"))


def key_paths(document: object) -> tuple[str, ...]:
    """The paths of all keys (`devices.cores.perf_profile`), each once and in their order; arrays add nothing.

    A document with more than 4096 different ones is cut there: its keys are data.
    """
    found: dict[str, None] = {}
    for path in _paths(document, ""):
        found.setdefault(path)
        if len(found) == _MAX_KEYS:
            break
    return tuple(found)


def _paths(value: object, prefix: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{prefix}{key}"
            yield from _paths(inner, f"{prefix}{key}.")
    elif isinstance(value, list):
        for inner in value:
            yield from _paths(inner, prefix)


def objects(value: object) -> list[dict[str, object]]:
    """The object, or those in the array; nothing for any other value."""
    found = value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, dict)]


def strings(value: object) -> tuple[str, ...]:
    """The string, or those in the array; nothing for any other value."""
    found = value if isinstance(value, list) else [value]
    return tuple(one for one in found if isinstance(one, str))


def integer(value: object) -> int | None:
    """The whole number, which may be written 3.0; None for any other value and beyond 64 bits."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if abs(value) < _MAX_NUMBER else None


@functools.cache
def _marks() -> tuple[_Mark, ...]:
    rows = catalog.table("config_files")["json"]
    return tuple(_Mark(row["kind"], tuple(row["keys"])) for row in rows)


def _parsed(path: Path, text: str) -> object:
    def refuse(reason: str) -> NoReturn:
        raise UnreadableFile(path, 0, reason)

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(items)
        if len(made) < len(items):
            ((twice, _),) = Counter(key for key, _ in items).most_common(1)
            refuse(f'the key "{twice[:80]}" is there twice in one object')
        return made

    def constant(word: str) -> NoReturn:
        refuse(f"{word} is no JSON")

    try:
        made: object = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise UnreadableFile(path, len(text[: error.pos].encode()), error.msg) from None
    except RecursionError:
        refuse(_TOO_DEEP)
    except ValueError as error:  # a number with more digits than Python reads
        refuse(str(error).partition(";")[0])
    if _is_deeper(made, _MAX_DEPTH):
        refuse(_TOO_DEEP)
    if "\\ud" in text.lower() and not _is_writable(made):
        refuse("an escape in it is half of a character")
    return made


def _is_writable(value: object) -> bool:
    """Whether all its text is made of characters: half of a surrogate pair is none."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_deeper(value: object, limit: int) -> bool:
    """Whether more than `limit` objects and arrays stand inside each other."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)
