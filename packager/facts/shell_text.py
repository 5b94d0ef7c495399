"""The variables that a shell sets in a line of a script, as far as a text can be read without running it.

Everything here takes time in proportion to the length of the text.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ENDS_A_WORD = " \t;&|<>()"
_TOKEN = re.compile(r"\\.|\$\(|[^\\$\"'()\s;&|<>]+|.", re.DOTALL)
_SAYS_ONLY = re.compile(r"(?:\b(?:echo|printf)\b[^;&|]*|(?:^|\s)#.*)$")  # it is printed, or a comment
_EXPORTS = re.compile(r"\bexport\s+(?:[^\s;&|]+\s+)*$")
# What a cut path goes on with. `;./run` and `;export` are commands, and so is what has arguments.
_CUT = re.compile(r"(?:;[/~$][^\s;&|]*)+")
_ENDS_A_COMMAND = re.compile(r"[\"']?\s*(?:$|[;&|#)]|[A-Za-z_]\w*=)")
_OPTION = re.compile(r"\s+-")
_LOOK_BACK = 400  # characters of a line in which the command begins that an assignment is part of

_DOCUMENT = re.compile(r"(?<!<)<<(?!<)-?[ \t]*(?:\\?([A-Za-z_][\w.+-]*)|'([^']+)'|\"([^\"]+)\")")
_TO_A_SHELL = re.compile(r"(?:^|[\s;&|(/])(?:ba|da|k|mk|z|s)?sh(?=\s|$)|\badb\s+shell\b")
_CODE_FOLLOWS = re.compile(r"-[a-z]*c")
_READS_A_FILE = re.compile(r"(?:^|[;&|]\s*|\b(?:then|do)\s+)(?:\.|source)\s+[\"']?([^\s;&|\"']+)")


class Value(NamedTuple):
    """What a variable is meant to be; `quoted` is False where a shell ends the value at a `;` in it."""

    text: str
    quoted: bool


def joined_lines(lines: Sequence[str], joint: str, begin: int = 0) -> tuple[str, int]:
    """The line at an index with those that it goes on in, and the index behind them."""
    end = begin
    while end + 1 < len(lines) and lines[end].endswith("\\"):
        end += 1
    return joint.join([*(part[:-1] for part in lines[begin:end]), lines[end]]), end + 1


def shell_lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines of commands with their numbers; here-documents are none, unless a shell reads them."""
    alone: defaultdict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        alone[line.lstrip("\t")].append(index)
    at = 0
    while at < len(lines):
        first = at
        line, at = joined_lines(lines, "", at)
        yield first + 1, line
        if "<<" not in line or _TO_A_SHELL.search(line):
            continue
        for word in _documents(line):
            ends = alone.get(word, [])
            end = bisect.bisect_left(ends, at)
            if end < len(ends):
                at = ends[end] + 1


def _documents(line: str) -> Iterator[str]:
    """The words that end the here-documents of a line."""
    at, quote = 0, ""
    for found in _DOCUMENT.finditer(line):
        quote = _quote_at(line[at : found.start()], quote)
        at = found.start()
        if not quote:
            yield found[1] or found[2] or found[3]


def words_of(text: str) -> list[str]:
    """The words of a text as a shell and systemd split it, not expanded; none where a quote does not end."""
    words: list[str] = []
    pieces: list[str] | None = None
    quote = ""
    for part in _TOKEN.findall(text):
        if quote == "'" and part == "\\'":
            pieces, quote = pieces or [], ""
            pieces.append("\\")
        elif part == quote:
            quote = ""
        elif not quote and part in ('"', "'"):
            pieces, quote = pieces or [], part
        elif not quote and part.isspace():
            words += [] if pieces is None else ["".join(pieces)]
            pieces = None
        else:
            escaped = part[0] == "\\" and (not quote or (quote == '"' and part[-1] in '"\\'))
            pieces = pieces or []
            pieces.append(part[1:] if escaped else part)
    if quote:
        return []
    return words if pieces is None else [*words, "".join(pieces)]


def hands_to_a_shell(word: str) -> bool:
    """Whether the word behind this one is the text of a script: `-c`, `-lc`."""
    return _CODE_FOLLOWS.fullmatch(word) is not None


def files_read(line: str) -> Iterator[str]:
    """The files that a line reads into the same shell: `. ./env.sh`."""
    for found in _READS_A_FILE.finditer(line):
        yield found[1]


@functools.cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?:^|(?<=[\s;&|\"'(]))({'|'.join(names)})=")


def shell_values(line: str, names: tuple[str, ...]) -> Iterator[tuple[str, Value]]:
    """The assignments of a line to one of the names, in commands that it hands to other shells too."""
    at, around = 0, ""
    while found := _pattern(names).search(line, at):
        around = _quote_at(line[at : found.start()], around)
        before = line[max(0, found.start() - _LOOK_BACK) : found.start()]
        value, at = _value(line, found.end(), around, exported=bool(_EXPORTS.search(before)))
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


def _value(line: str, start: int, around: str, *, exported: bool) -> tuple[Value, int]:
    """The word that a shell takes, or, where it stops at a `;` in the midst of a path, what was meant.

    A line that stands in quotes (`around`) is for another shell, whose quotes are those that differ. The
    number is where the word ends.
    """
    pieces: list[str] = []
    quote, depth, end = "", 0, start
    while token := _TOKEN.match(line, end):
        piece = token[0]
        mark = '"' if around and piece == '\\"' else piece if piece in ('"', "'") else ""
        if depth or piece == "$(":
            depth += (piece == "$(") - (piece == ")")
            pieces.append(piece)
        elif piece == around or (not quote and piece in _ENDS_A_WORD):
            break
        elif mark and quote in ("", mark):
            quote = "" if quote else mark
        else:
            pieces.append(piece[-1] if piece[0] == "\\" and quote != "'" else piece)
        end = token.end()
    word = "".join(pieces)
    cut = _CUT.match(line, end)
    if cut is None or _is_command(line, cut.end(), exported=exported):
        return Value(word, quoted=True), end
    return Value(word + cut[0].rstrip("\"'"), quoted=False), cut.end()


def _is_command(line: str, end: int, *, exported: bool) -> bool:
    """Whether what stands after a `;` and ends here is a command with arguments, and not half of a path."""
    if exported:
        return _ENDS_A_COMMAND.match(line, end) is None
    return _OPTION.match(line, end) is not None
