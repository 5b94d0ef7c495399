"""Reads what shell scripts, systemd units, compose files and environment files tell the loaders of libraries.

Whether a file is one of these is told from its text; prose that quotes a command is none. Only the variables
of `targets/search_paths.toml` are read.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

from packager import catalog
from packager.errors import UnreadableFile
from packager.facts.compose_text import MAX_SIZE as MAX_COMPOSE
from packager.facts.compose_text import NoCompose, compose_files, compose_values
from packager.facts.config_types import Assignment, EnvironmentFacts
from packager.facts.reading import content_within, decoded
from packager.facts.shell_text import (
    Value,
    files_read,
    hands_to_a_shell,
    joined_lines,
    shell_lines,
    shell_values,
    words_of,
)

Dialect = Literal["shell", "systemd", "environment", "compose", "batch"]

_MAX_SIZE = 1 << 20
_SHEBANG = re.compile(r"#!\s*\S*(?:/|env\s+)(?:ba|da|k|z|mk)?sh\b")
_BATCH = re.compile(r"(?im)^[ \t]*(?:@echo\s+off|setlocal\b|set[ \t]+\"?[a-z_]\w*=|\$env:\w+[ \t]*=)")
_UNIT = re.compile(r"(?m)^\[Service\][ \t\r]*$")
_COMPOSE = re.compile(r"(?m)^services:[ \t\r]*(?:#.*)?$")
_QUOTES_CODE = re.compile(r"(?m)^[ \t]*(?:```|~~~)")  # a document in Markdown
_PLAIN = re.compile(r"\s*(?:#.*|(?:export\s+)?[A-Za-z_]\w*=.*)?")

_Said = tuple[int, str, Value]  # line, variable, value


def is_environment(stream: BinaryIO, head: bytes, size: int) -> bool:
    """Whether the file sets one of the variables in a dialect that is known."""
    if size > _MAX_SIZE or b"\0" in head:
        return False
    stream.seek(0)
    content = stream.read(_MAX_SIZE)
    if not any(name.encode() in content for name in _variables()):
        return False
    text = content.decode("utf-8", "replace")
    dialect = _dialect(text)
    if dialect is None:
        return False
    with contextlib.suppress(NoCompose):
        return bool(tuple(_assignments(text, dialect)))  # to its end: it may be no YAML in its last line
    return False


def read_environment(path: Path) -> EnvironmentFacts:
    """The assignments of such a file. Raises UnreadableFile, InputUnavailable."""
    text = decoded(path, content_within(path, _MAX_SIZE, "script of a package"))
    dialect = _dialect(text)
    if dialect is None:
        raise UnreadableFile(path, 0, "neither a script nor a unit nor an environment file")
    try:
        assignments = tuple(
            Assignment(line=line, variable=variable, value=value.text, quoted=value.quoted)
            for line, variable, value in _assignments(text, dialect)
        )
        return EnvironmentFacts(dialect=dialect, assignments=assignments, files=tuple(_files(text, dialect)))
    except NoCompose as error:
        raise UnreadableFile(path, 0, str(error)) from None


def _dialect(text: str) -> Dialect | None:
    if _SHEBANG.match(text):
        return "shell"
    if _QUOTES_CODE.search(text):
        return None
    if _UNIT.search(text):
        return "systemd"
    if _COMPOSE.search(text):
        return "compose" if len(text) <= MAX_COMPOSE else None
    if _BATCH.search(text):
        return "batch"
    lines = text.splitlines()
    if all(_PLAIN.fullmatch(line) for line in lines):
        return "shell" if any(line.lstrip().startswith("export ") for line in lines) else "environment"
    return None


@functools.cache
def _variables() -> tuple[str, ...]:
    return tuple(row["name"] for row in catalog.table("search_paths")["variable"])


@functools.cache
def _pattern(dialect: Dialect) -> re.Pattern[str]:
    names = "|".join(_variables())
    begin, equals = (r"\s*(?:set\s+\"?|\$env:)", r"\s*=") if dialect == "batch" else (r"\s*", "=")
    return re.compile(f"{begin}({names}){equals}", re.IGNORECASE if dialect == "batch" else 0)


def _assignments(text: str, dialect: Dialect) -> Iterator[_Said]:
    if dialect == "compose":
        yield from compose_values(text, _variables())
        return
    for number, line in _lines(text, dialect):
        if dialect == "shell":
            said = shell_values(line, _variables())
        elif dialect == "systemd":
            said = _unit_values(line)
        else:
            said = _plain_values(line, dialect)
        yield from ((number, variable, value) for variable, value in said)


def _files(text: str, dialect: Dialect) -> Iterator[str]:
    """The files whose assignments this one takes over, as it names them."""
    if dialect == "compose":
        yield from compose_files(text)
    for _, line in _lines(text, dialect):
        if dialect == "shell":
            yield from files_read(line)
        elif dialect == "systemd":
            key, _, value = line.strip().partition("=")
            if key.strip() == "EnvironmentFile" and value.strip():
                yield value.strip().removeprefix("-")


def _lines(text: str, dialect: Dialect) -> Iterator[tuple[int, str]]:
    """Lines with the number of their first, without comments."""
    lines = text.replace("\r\n", "\n").split("\n")
    numbered = shell_lines(lines) if dialect == "shell" else _joined(lines, unit=dialect == "systemd")
    return ((number, line) for number, line in numbered if not line.lstrip().startswith(("#", "::")))


def _joined(lines: Sequence[str], *, unit: bool) -> Iterator[tuple[int, str]]:
    at = 0
    while at < len(lines):
        first = at
        line, at = joined_lines(lines, " ", at) if unit else (lines[at], at + 1)
        yield first + 1, line


def _plain_values(line: str, dialect: Dialect) -> Iterator[tuple[str, Value]]:
    """The assignment of a line whose reader takes the value as it stands, quotes aside."""
    if found := _pattern(dialect).match(line):
        rest = line[found.end() :].strip()
        quoted = re.match(r"([\"'])(.*?)\1", rest)
        value = quoted[2] if quoted else re.split(r"[\"']", rest, maxsplit=1)[0]
        yield found[1].upper(), Value(value, quoted=True)


def _unit_values(line: str) -> Iterator[tuple[str, Value]]:
    """The assignments of a unit. systemd itself ends no value at a `;`; a shell that it starts does."""
    key, _, rest = line.strip().partition("=")
    key = key.strip()
    words = words_of(rest) if key == "Environment" or key.startswith("Exec") else []
    for before, word in zip(["", *words], words, strict=False):
        if hands_to_a_shell(before):
            yield from shell_values(word, _variables())
        else:
            variable, _, value = word.partition("=")
            if variable in _variables():
                yield variable, Value(value, quoted=True)
