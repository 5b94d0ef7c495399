"""Errors that show the line they mean, with carets under the word.

app.toml:31:8: unknown SoC "qcs6940"
   31 | soc = ["qcs6940"]
      |        ^^^^^^^^^ did you mean "qcs6490" (Dragonwing QCS6490, Hexagon v68)?
"""

from __future__ import annotations

import functools
import re
import textwrap
import unicodedata
from collections.abc import Sequence

from packager.errors import ManifestError
from packager.source_map import Location, SourceMap, Span
from packager.visible import visible

MOST_PROBLEMS = 20
_WIDEST = 100
_BEFORE = 40
_TAB = 4


class Source:
    """A document's text and the name that messages give it."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = visible(name), text

    @functools.cached_property
    def positions(self) -> SourceMap:
        """Where each word stands; computed when the first error is shown."""
        return SourceMap(self.text)

    def place(self, location: Location, *, key: bool = False) -> Span | None:
        """The span of the value (or key) at `location`, or of the nearest parent that is written."""
        span = self.positions.key(location) if key else None
        while span is None and location:
            span = self.positions.value(location)
            location = location[:-1]
        return span

    def block(self, span: Span | None, message: str, hint: str = "") -> str:
        """One problem in several lines. Without a span it concerns the document as a whole.

        The first line of `hint` stands beside the carets where it has room, all others below.
        """
        message = _without_login(visible(message))
        if span is None:
            return "\n".join([f"{self.name}: {message}", *_below(hint)])
        shown, carets = _excerpt(_without_login(self.text.split("\n")[span.line - 1]), span)
        first, _, further = hint.partition("\n")
        if len(carets) + len(first) < _WIDEST:
            carets, hint = f"{carets} {visible(first)}".rstrip(), further
        return "\n".join(
            [
                f"{self.name}:{span.line}:{span.column}: {message}",
                f"{span.line:>5} | {shown}".rstrip(),
                f"      | {carets}",
                *_below(hint),
            ]
        )

    def error(self, problems: Sequence[str]) -> ManifestError:
        """All problems as one error: a single one is the error, several are its evidence."""
        if len(problems) == 1:
            what, *evidence = problems[0].split("\n")
            return ManifestError(what, evidence=evidence)
        shown = list(problems[:MOST_PROBLEMS])
        if len(problems) > MOST_PROBLEMS:
            shown.append(f"and {len(problems) - MOST_PROBLEMS} more")
        return ManifestError(f"{self.name}: {len(problems)} problems", evidence=shown)


_LOGIN = re.compile(r"(?<=://)[^/\s\"'@]+(?=@)")


def _without_login(text: str) -> str:
    """The text with the logins in its addresses made unreadable, at the same length for the carets."""
    return _LOGIN.sub(lambda login: "*" * len(login[0]), text)


def shortened(text: str, most: int = 60) -> str:
    """Visible text of at most `most` characters, apart from what stands for one that is not."""
    return visible(text if len(text) <= most else text[: most - 1] + "…")


def _below(hint: str) -> list[str]:
    lines = [part for line in hint.splitlines() for part in textwrap.wrap(visible(line), _WIDEST)]
    return [f"      | {line}" for line in lines]


def _excerpt(line: str, span: Span) -> tuple[str, str]:
    """The line as a terminal shows it, and the carets below; long lines are cut around the span."""
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(line.rstrip())
    first = max(0, start - _BEFORE) if len(line) > _WIDEST else 0
    last = min(len(line), first + _WIDEST)
    before, cut = ("…" if first else ""), ("…" if last < len(line) else "")
    shown = before + "".join(map(_shown, line[first:last])) + cut
    indent = len(before) + sum(map(_width, line[first:start]))
    return shown, " " * indent + "^" * max(1, sum(map(_width, line[start : min(end, last)])))


def _shown(character: str) -> str:
    return " " * _TAB if character == "\t" else visible(character)


def _width(character: str) -> int:
    """Terminal cells that a character takes."""
    if character == "\t":
        return _TAB
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    if not character.isprintable():
        return len(visible(character))
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
