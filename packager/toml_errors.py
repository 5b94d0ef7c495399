"""TOML syntax errors in plain words, with the line and what to write instead."""

from __future__ import annotations

import re

from packager.diagnostics import Source, shortened
from packager.source_map import Span

_PLACE = re.compile(
    r"^(?P<said>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$", re.DOTALL
)
_BARE_WORD = re.compile(r"[A-Za-z_][^\s,\]}#]*")

_NOT_CLOSED = "the string is not closed"
_REPEATED = ("Cannot", "Duplicate")

# How tomllib's sentences begin, and what we say. A sentence that is not here is shown as it is.
_WORDS: tuple[tuple[str, str, str], ...] = (
    ("Invalid statement", "this is neither `key = value` nor a `[header]`", ""),
    ("Expected newline", "nothing but a comment may follow on this line", "write one `key = value` a line"),
    ("Expected '='", 'after the key "=" is missing', ""),
    ("Expected ']", "the header is not closed", ""),
    ("Expected", _NOT_CLOSED, ""),
    ("Invalid initial", "a key is missing here", "keys other than letters, digits, _ and - need quotes"),
    ("Unclosed array", 'the array is not closed: "," or "]" is missing before this', ""),
    ("Unclosed inline", 'the inline table is not closed: "," or "}" is missing before this', ""),
    ("Unterminated", _NOT_CLOSED, ""),
    ("Illegal character '\\n'", "the string is not closed on its line", 'close it with "'),
    ("Found invalid character '\\n'", "the string is not closed on its line", "close it with '"),
    ("Illegal", "a control character may not stand here", ""),
    ("Found invalid", "a control character may not stand here", ""),
    (
        "Unescaped",
        "a backslash begins an escape that does not exist",
        "write \\\\, or the text in 'single quotes'",
    ),
    ("Invalid hex", "the escape names no character", ""),
    ("Escaped", "the escape names no character", ""),
    ("Invalid date", "there is no such date or time", ""),
    ("Cannot", "this is defined already, or in another way", ""),
    ("Duplicate", "this is defined already", ""),
)


def in_words(source: Source, reason: ValueError) -> str:
    """The problem block for an error of tomllib."""
    found = _PLACE.match(str(reason))
    if found is None:
        # The one refusal without a place is Python's, of numbers with thousands of digits.
        return source.block(None, "a number has too many digits")
    said, lines = found["said"], source.text.split("\n")
    if found["line"]:
        line, column = int(found["line"]), int(found["column"])
    else:
        line = max((number for number, text in enumerate(lines, 1) if text.strip()), default=1)
        column = len(lines[line - 1].rstrip()) + 1
    place, width = Span(line, column, line, column + 1), 1
    message, hint = next(
        ((ours, hint) for theirs, ours, hint in _WORDS if said.startswith(theirs)),
        (said[:1].lower() + said[1:], ""),
    )
    if said.startswith(_REPEATED):
        return _repetition(source, line) or source.block(place, message, hint)
    if message == _NOT_CLOSED:
        # tomllib has read on to the end; what a person looks for is the quote that opens the string.
        return source.block(source.positions.open_quote() or place, message, hint)
    if said == "Invalid value":
        message, hint, width = _value(lines[line - 1][column - 1 :])
    return source.block(Span(line, column, line, column + width), message, hint)


def _repetition(source: Source, line: int) -> str | None:
    lines = source.text.split("\n")
    for first, second in source.positions.repeated():
        if second.line <= line <= second.end_line:
            key = lines[first.line - 1][first.column - 1 : first.end_column - 1].strip("\"'")
            written = lines[second.line - 1][second.column - 1 : second.end_column - 1]
            name = shortened(written) if written.startswith("[") else f'"{shortened(key)}"'
            return source.block(
                second, f"{name} is written a second time", f"the first is in line {first.line}"
            )
    return None


def _value(rest: str) -> tuple[str, str, int]:
    """Message, hint and length for what stands where a value should."""
    word = _BARE_WORD.match(rest)
    if word is None:
        return "a value is missing here" if not rest.strip() else "this is no value that TOML knows", "", 1
    written = word[0]
    if written.lower() in ("true", "false"):
        return f"{written} is no value", f"write {written.lower()}", len(written)
    return "text is written in quotes", f'write "{shortened(written)}"', len(written)
