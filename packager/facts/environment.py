"""Reads what shell scripts, systemd units, compose files and environment files tell the loaders of libraries.

Whether a file is one of these is told from its text; prose that quotes a command is none. Only the variables
of `targets/search_paths.toml` are read.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from packager import catalog
from packager.errors import UnreadableFile
from packager.facts.config_types import Assignment, EnvironmentFacts
from packager.facts.reading import opened

Dialect = Literal["shell", "systemd", "environment", "compose", "batch"]

_MAX_SIZE = 1 << 20
_SHEBANG = re.compile(r"#!\s*\S*(?:/|env\s+)(?:ba|da|k|z|mk)?sh\b")
_BATCH = re.compile(r"(?im)^\s*(?:@echo\s+off|setlocal\b|\$env:\w+\s*=)")
_UNIT = re.compile(r"(?m)^\[Service\]\s*$")
_COMPOSE = re.compile(r"(?m)^services:\s*$")
_PLAIN = re.compile(r"\s*(?:#.*|(?:export\s+)?[A-Za-z_]\w*=.*)?")
_ENDS_A_WORD = " \t;&|<>()"


class _Value(NamedTuple):
    text: str
    quoted: bool


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
    return dialect is not None and any(_assignments(text, dialect))


def read_environment(path: Path) -> EnvironmentFacts:
    """The assignments of such a file. Raises UnreadableFile, InputUnavailable."""
    with opened(path) as (stream, size):
        if size > _MAX_SIZE:
            raise UnreadableFile(path, _MAX_SIZE, f"{size} bytes are no script of a package")
        content = stream.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableFile(path, error.start, "this byte is not UTF-8") from None
    dialect = _dialect(text)
    if dialect is None:
        raise UnreadableFile(path, 0, "neither a script nor a unit nor an environment file")
    return EnvironmentFacts(dialect=dialect, assignments=tuple(_assignments(text, dialect)))


def _dialect(text: str) -> Dialect | None:
    if _SHEBANG.match(text):
        return "shell"
    if _UNIT.search(text):
        return "systemd"
    if _COMPOSE.search(text):
        return "compose"
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
def _pattern(dialect: str) -> re.Pattern[str]:
    names = "|".join(_variables())
    begin, equals = {
        "shell": (r"(?:^|(?<=[\s;&|\"'(]))", "="),
        "environment": (r"^\s*", "="),
        "compose": (r"^\s*(?:-\s*)?[\"']?", r"(?:=|[\"']?:\s+)"),
        "batch": (r"^\s*(?:set\s+\"?|\$env:)", r"\s*="),
    }[dialect]
    return re.compile(f"{begin}({names}){equals}", re.IGNORECASE if dialect == "batch" else 0)


def _assignments(text: str, dialect: Dialect) -> Iterator[Assignment]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(("#", "::")):
            continue
        said = _unit_words(line) if dialect == "systemd" else _values(line, dialect)
        for variable, value in said:
            yield Assignment(line=number, variable=variable, value=value.text, quoted=value.quoted)


def _values(line: str, dialect: Dialect) -> Iterator[tuple[str, _Value]]:
    for found in _pattern(dialect).finditer(line):
        rest = line[found.end() :]
        yield found[1].upper(), _shell_value(rest) if dialect == "shell" else _plain_value(rest)


def _unit_words(line: str) -> Iterator[tuple[str, _Value]]:
    """The words of an `Environment=` line; a unit file does not end a value at a `;`."""
    key, _, rest = line.strip().partition("=")
    with contextlib.suppress(ValueError):  # quotes that do not end: systemd ignores the line
        for word in shlex.split(rest) if key.strip() == "Environment" else ():
            variable, _, value = word.partition("=")
            if variable in _variables():
                yield variable, _Value(value, quoted=True)


def _plain_value(rest: str) -> _Value:
    return _Value(rest.strip().strip("\"'"), quoted=True)


def _shell_value(rest: str) -> _Value:
    """The word that a shell takes, or, where it stops at a `;` in the midst of a path, what was meant."""
    word, quote, end = "", "", 0
    while end < len(rest) and (quote or rest[end] not in _ENDS_A_WORD):
        letter = rest[end]
        if letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            quote = letter
        elif letter == "\\" and quote != "'" and end + 1 < len(rest):
            end += 1
            word += rest[end]
        else:
            word += letter
        end += 1
    tail = re.match(r";[^\s;&|]+", rest[end:])
    if tail is None:
        return _Value(word, quoted=True)
    return _Value(word + tail[0].rstrip("\"'"), quoted=False)
