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
from packager.facts.reading import content_within, decoded

Dialect = Literal["shell", "systemd", "environment", "compose", "batch"]

_MAX_SIZE = 1 << 20
_SHEBANG = re.compile(r"#!\s*\S*(?:/|env\s+)(?:ba|da|k|z|mk)?sh\b")
_BATCH = re.compile(r"(?im)^\s*(?:@echo\s+off|setlocal\b|set\s+\"?[a-z_]\w*=|\$env:\w+\s*=)")
_UNIT = re.compile(r"(?m)^\[Service\]\s*$")
_COMPOSE = re.compile(r"(?m)^services:\s*$")
_QUOTES_CODE = re.compile(r"(?m)^\s*(?:```|~~~)")  # a document in Markdown
_PLAIN = re.compile(r"\s*(?:#.*|(?:export\s+)?[A-Za-z_]\w*=.*)?")

_JOINS = {"shell": "", "systemd": " "}  # what a backslash and the end of its line stand for
_ENDS_A_WORD = " \t;&|<>()"
_TOKEN = re.compile(r"\\.|\$\(|.", re.DOTALL)
_SAYS_ONLY = re.compile(r"(?:\b(?:echo|printf)\b[^;&|]*|(?:^|\s)#.*)$")  # it is printed, or a comment
_EXPORTS = re.compile(r"\bexport\s+(?:[^\s;&|]+\s+)*$")
# What a cut path goes on with. `;./run` and `;export` are commands, and so is what has arguments.
_CUT = re.compile(r"(?:;[/~$][^\s;&|]*)+")
_ENDS_A_COMMAND = re.compile(r"[\"']?\s*(?:$|[;&|#)]|[A-Za-z_]\w*=)")
_OPTION = re.compile(r"\s+-")
_LOOK_BACK = 400  # characters of a line in which the command begins that an assignment is part of


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
    text = decoded(path, content_within(path, _MAX_SIZE, "script of a package"))
    dialect = _dialect(text)
    if dialect is None:
        raise UnreadableFile(path, 0, "neither a script nor a unit nor an environment file")
    return EnvironmentFacts(dialect=dialect, assignments=tuple(_assignments(text, dialect)))


def _dialect(text: str) -> Dialect | None:
    if _SHEBANG.match(text):
        return "shell"
    if _QUOTES_CODE.search(text):
        return None
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
    for number, line in _lines(text, _JOINS.get(dialect)):
        if line.lstrip().startswith(("#", "::")):
            continue
        if dialect == "shell":
            said = _shell_values(line)
        elif dialect == "systemd":
            said = _unit_values(line)
        else:
            said = _plain_values(line, dialect)
        for variable, value in said:
            yield Assignment(line=number, variable=variable, value=value.text, quoted=value.quoted)


def _lines(text: str, joint: str | None) -> Iterator[tuple[int, str]]:
    """Lines with the number of their first; those that end in a backslash go on, after `joint`."""
    held: list[str] = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        held.append(line)
        if joint is None or not line.endswith("\\"):
            yield number + 1 - len(held), (joint or "").join([*(part[:-1] for part in held[:-1]), line])
            held = []


def _plain_values(line: str, dialect: Dialect) -> Iterator[tuple[str, _Value]]:
    """The assignment of a line whose reader takes the value as it stands, quotes aside."""
    if found := _pattern(dialect).match(line):
        rest = line[found.end() :].strip()
        quoted = re.match(r"([\"'])(.*?)\1", rest)
        value = quoted[2] if quoted else re.split(r"[\"']", rest, maxsplit=1)[0]
        yield found[1].upper(), _Value(value, quoted=True)


def _unit_values(line: str) -> Iterator[tuple[str, _Value]]:
    """The assignments of a unit. systemd itself ends no value at a `;`; a shell that it starts does."""
    key, _, rest = line.strip().partition("=")
    key = key.strip()
    words: list[str] = []
    if key == "Environment" or key.startswith("Exec"):
        with contextlib.suppress(ValueError):  # quotes that do not end: systemd ignores the line
            words = shlex.split(rest)
    for before, word in zip(["", *words], words, strict=False):
        if before == "-c":
            yield from _shell_values(word)
        else:
            variable, _, value = word.partition("=")
            if variable in _variables():
                yield variable, _Value(value, quoted=True)


def _shell_values(line: str) -> Iterator[tuple[str, _Value]]:
    at, around = 0, ""
    while found := _pattern("shell").search(line, at):
        around = _quote_at(line[at : found.start()], around)
        before = line[max(0, found.start() - _LOOK_BACK) : found.start()]
        value, at = _shell_value(line, found.end(), around, exported=bool(_EXPORTS.search(before)))
        if not _SAYS_ONLY.search(before):
            yield found[1], value


def _quote_at(text: str, quote: str) -> str:
    """The quote that is open after a piece of a line, which began inside `quote` or outside any."""
    for token in _TOKEN.findall(text):
        if token == quote:
            quote = ""
        elif not quote and token in ('"', "'"):
            quote = token
    return quote


def _shell_value(line: str, start: int, around: str, *, exported: bool) -> tuple[_Value, int]:
    """The word that a shell takes, or, where it stops at a `;` in the midst of a path, what was meant.

    A line that stands in quotes (`around`) is for another shell, whose quotes are those that differ. The
    number is where the word ends.
    """
    word, quote, depth, end = "", "", 0, start
    while token := _TOKEN.match(line, end):
        letter = token[0]
        mark = '"' if around and letter == '\\"' else letter if letter in ('"', "'") else ""
        if depth or letter == "$(":
            depth += (letter == "$(") - (letter == ")")
            word += letter
        elif letter == around or (not quote and letter in _ENDS_A_WORD):
            break
        elif mark and quote in ("", mark):
            quote = "" if quote else mark
        else:
            word += letter[-1] if letter[0] == "\\" and quote != "'" else letter
        end = token.end()
    cut = _CUT.match(line, end)
    if cut is None or _is_command(line, cut.end(), exported=exported):
        return _Value(word, quoted=True), end
    return _Value(word + cut[0].rstrip("\"'"), quoted=False), cut.end()


def _is_command(line: str, end: int, *, exported: bool) -> bool:
    """Whether what stands after a `;` and ends here is a command with arguments, and not half of a path."""
    if exported:
        return _ENDS_A_COMMAND.match(line, end) is None
    return _OPTION.match(line, end) is not None
