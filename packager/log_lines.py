"""What the lines of a device log tell: codes, names of codes, and the phrases of `targets/log_lines.toml`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from packager.catalog import table
from packager.decoder import Explanation, explain_code
from packager.model import Frozen

MAX_LINE = 4096  # characters of a line that are looked at; what a backend says is shorter


class Phrase(Frozen):
    """A row of the table; `codes` are words that `explain_code` takes."""

    words: str
    codes: tuple[str, ...]
    sentence: str
    look_first: tuple[str, ...]
    rules: tuple[str, ...]
    source: str


class Told(NamedTuple):
    """Something that a line tells, and the piece of the line that tells it."""

    said: str
    about: Explanation | Phrase


@functools.cache
def _phrases() -> tuple[tuple[str, re.Pattern[str], Phrase], ...]:
    """The phrases that are known, each with its first words in lower case and what finds all of it."""
    rows = [Phrase.model_validate(row) for row in table("log_lines")["line"]]
    pieces = [row.words.lower().split("*") for row in rows]
    return tuple(
        (words[0], re.compile(".{0,200}?".join(map(re.escape, words)), re.IGNORECASE), row)
        for words, row in zip(pieces, rows, strict=True)
    )


# Date, time, process and thread of `logcat`, and the time since start of a kernel log.
_HEAD = re.compile(r"^\s*(?:[\d-]{5,10}[ T][\d:.]{8,}\S*\s+(?:\d+\s+){0,2}|\[\s*\d+\.\d+\]\s*)")
_NUMBER = re.compile(
    r"(?<![\w./#\\-])(?<!\d:)(0x[0-9a-f]{1,16}|-?[0-9]{2,20}|[0-9])(?![\w%\\])(?![.:/-]\d)", re.IGNORECASE
)
_NAME = re.compile(r"\b(?:AEE|QNN|[A-Z]{3,})_[A-Z_]{4,}\b")
_UNIT = re.compile(r"\s*(?:[kmg]i?b|bytes?|[mun]?s|m?sec\w*|[mg]?hz|times|iterations)\b", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:\b|_)(transportstatus|err(?:or|no)?(?:[ _]?(?:code|num(?:ber)?))?|\w*code|\w*status|res(?:ult)?|rc|"
    r"ret(?:ur\w*)?|fail\w*|(?:error|fail\w*)\s+with)[\s:=(\[\"']*$",
    re.IGNORECASE,
)
_FAILS = re.compile(
    r"err(?!\w*\s*[=:]\s*0\b)|fail|unable|can ?not|can't|could not|refuse|reject|invalid|mismatch|abort|"
    r"(?:un|not )supported",
    re.IGNORECASE,
)
_BEFORE = 40  # characters before a number in which the word stands that says what it is


def told_in(line: str, *, asked: bool = True) -> tuple[Told, ...]:
    """All that is known of a line, phrases first, each thing once.

    A number counts if the word before it says that it is an error, or if it is a code of the tables and in a
    line that somebody asked about (`asked`) or that speaks of a failure.
    """
    line = line[:MAX_LINE]
    found: dict[tuple[str, str], Told] = {}
    for told in (
        *_phrases_of(line),
        *_names(line),
        *_numbers(line, asked or _FAILS.search(line) is not None),
    ):
        key = told.about.words if isinstance(told.about, Phrase) else told.about.text
        found.setdefault((type(told.about).__name__, key), told)
    return tuple(found.values())


def _phrases_of(line: str) -> Iterator[Told]:
    lowered = line.lower()
    for first, pattern, phrase in _phrases():
        if first in lowered and (found := pattern.search(line)):
            yield Told(found[0], phrase)


def _names(line: str) -> Iterator[Told]:
    for found in _NAME.finditer(line):
        if known := explain_code(found[0]):
            yield Told(found[0], known)


def _numbers(line: str, alone: bool) -> Iterator[Told]:
    """The codes among the numbers of a line; `alone` are those that no word announces."""
    head = _HEAD.match(line)
    start = head.end() if head else 0
    for found in _NUMBER.finditer(line, start):
        label = _LABEL.search(line[max(start, found.start() - _BEFORE) : found.start()])
        known: Explanation | None = None
        if label and label[1].lower() == "transportstatus":
            known = explain_code(f"{label[1]} {found[1]}")
        elif label:
            known = explain_code(found[1])
        elif alone and not _UNIT.match(line, found.end()):
            known = _exact(found[1])
        if known:
            yield Told(found[1], known)


def _exact(number: str) -> Explanation | None:
    """The code that a number is by itself: no range, none of the small ones, none that is masked."""
    known = explain_code(number)
    if known is None or not known.exact or known.code < 1000:
        return None
    return known if int(number, 0) in (known.code, known.code - (1 << 32)) else None
