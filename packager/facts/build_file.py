"""Reads the build files of QNX's image tools: `[attributes] path=source` a line.

Source: QNX SDP 7.1, "Buildfile syntax" in "Building Embedded Systems", and mkifs in the Utilities Reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from packager.errors import UnreadableFile
from packager.facts.config_types import BuildEntry, BuildFileFacts
from packager.facts.reading import content_within, decoded

_MAX_SIZE = 1 << 20
_ATTRIBUTE = r"[+-][A-Za-z_]\w*|[A-Za-z_]\w*(?:=(?:\"[^\"\n]*\"|[^\s\],\"]*))?"
_ATTRIBUTES = re.compile(rf"\[[ \t]*((?:(?:{_ATTRIBUTE})[ \t,]*)*)\][ \t]*")
_ONE_ATTRIBUTE = re.compile(r"([+-]?[A-Za-z_]\w*)(?:=(\"[^\"]*\"|[^\s\],\"]*))?")
_WORD = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|((?:\$\{\w+\}|[^\s\"=#\[\]{}])(?:\$\{\w+\}|[^\s\"=\[\]{}])*)")
_OPENS = re.compile(r"[ \t]*=[ \t]*\{")
# What no other text of a package has: a mode or an owner in square brackets at the start of a line.
_SIGN = re.compile(r"(?m)^\[[^\]\n]*\b(?:perms|dperms|uid|gid)=[^\]\n]*\]")


def is_build_file(stream: BinaryIO, head: bytes, size: int) -> bool:
    """Whether a line gives modes or owners to files as a build file does, and all of it can be read."""
    if size > _MAX_SIZE or b"\0" in head:
        return False
    stream.seek(0)
    text = stream.read(_MAX_SIZE).decode("utf-8", "replace")
    if not _SIGN.search(text):
        return False
    try:
        return any(True for _ in list(_entries(text)))
    except _Wrong:
        return False


def read_build_file(path: Path) -> BuildFileFacts:
    """Its entries in their order. Raises UnreadableFile with the offset of the first line that is wrong."""
    text = decoded(path, content_within(path, _MAX_SIZE, "build file"))
    try:
        return BuildFileFacts(entries=tuple(_entries(text)))
    except _Wrong as wrong:
        raise UnreadableFile(
            path, len(text[: wrong.at].encode("utf-8", "surrogatepass")), wrong.what
        ) from None


class _Wrong(Exception):
    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at, self.what = at, what


def _entries(text: str) -> Iterator[BuildEntry]:
    at, line = 0, 1
    standing: dict[str, str] = {}
    while at < len(text):
        end = _line_end(text, at)
        begin = at + len(text[at:end]) - len(text[at:end].lstrip())
        rest = text[begin:end]
        if not rest.strip() or rest.startswith("#"):
            at, line = end + 1, line + 1
            continue
        attributes = dict(standing)
        if rest.startswith("["):
            found = _ATTRIBUTES.match(text, begin, end)
            if not found:
                raise _Wrong(begin, f"line {line}: attributes that no bracket ends")
            attributes |= dict(_named(found[1]))
            begin = found.end()
            if not _ends(text, begin, end):
                begin = _needs_space(text, begin, found[0], line)
            else:  # alone on its line it holds for all that follow
                standing = attributes
                at, line = end + 1, line + 1
                continue
        target, begin = _word(text, begin, end, line)
        source = None
        opened = _OPENS.match(text, begin, end)
        if not opened and text[begin : begin + 1] == "=":
            source, begin = _word(text, begin + 1, end, line)
        after = text[begin:end].strip()
        inline = opened is not None
        if inline:
            close = text.find("}", begin)
            if close < 0:
                raise _Wrong(begin, f"line {line}: a text in braces that does not end")
            end = _line_end(text, close)
        elif after and not after.startswith("#"):
            raise _Wrong(begin, f"line {line}: more than a path and its source")
        yield BuildEntry(line=line, target=target, source=source, inline=inline, attributes=attributes)
        line += text.count("\n", at, min(end + 1, len(text)))
        at = end + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _ends(text: str, begin: int, end: int) -> bool:
    rest = text[begin:end].strip()
    return not rest or rest.startswith("#")


def _needs_space(text: str, begin: int, attributes: str, line: int) -> int:
    if text[begin : begin + 1] == "[":
        raise _Wrong(begin, f"line {line}: two brackets of attributes; all belong into one")
    if not attributes.endswith((" ", "\t")):
        raise _Wrong(begin, f"line {line}: no blank behind the attributes")
    return begin


def _named(words: str) -> Iterator[tuple[str, str]]:
    for found in _ONE_ATTRIBUTE.finditer(words):
        name, value = found[1], found[2]
        if value is None:
            yield name.lstrip("+-"), "-" if name.startswith("-") else "+"
        else:
            yield name, value.strip('"')


def _word(text: str, begin: int, end: int, line: int) -> tuple[str, int]:
    found = _WORD.match(text, begin, end)
    if not found:
        raise _Wrong(begin, f"line {line}: no path where one belongs")
    quoted = found[1]
    return (re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else found[2]), found.end()
