"""Standard output and error that take every text, whoever reads them, and JSON on the first of them."""

from __future__ import annotations

import codecs
import io
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from packager.visible import encodable

_LONGEST_LINE = 1 << 16


class _Pipe(io.FileIO):
    """A stream whose reader may leave (`| head`): what is written after that goes nowhere.

    So a command comes to its end and to its own exit code, whether anybody reads it to the end or not.
    """

    nobody_reads = False

    def write(self, data: Any, /) -> int:
        """As of FileIO, but a reader that left is no error."""
        try:
            return super().write(data)
        except BrokenPipeError:
            self.nobody_reads = True
            _discard(self.fileno())
            return super().write(data)


def prepare_streams() -> None:
    """Python has no stream where the caller closed it (`>&-`), and one for ASCII alone in a bare locale."""
    sys.stdout = _prepared(sys.stdout)
    sys.stderr = _prepared(sys.stderr)


def _prepared(stream: TextIO | None) -> TextIO:
    if stream is None:
        return io.TextIOWrapper(io.BufferedWriter(_Pipe(os.devnull, "wb")), encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    raw = getattr(stream.buffer, "raw", stream.buffer)  # no buffer is there with PYTHONUNBUFFERED
    if type(raw) is not io.FileIO:
        stream.reconfigure(errors="replace")
        return stream
    stream.flush()
    pipe = io.BufferedWriter(_Pipe(raw.fileno(), "wb", closefd=False))
    return io.TextIOWrapper(
        pipe,
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering or stream.write_through,
    )


def input_lines() -> Iterator[str]:
    """The lines of standard input, in UTF-8 or in the UTF-16 that PowerShell writes into files.

    A line is cut where it is longer than any that a backend writes.
    """
    if sys.stdin is None:
        return
    binary = cast("io.BufferedReader", sys.stdin.buffer)
    begins_wide = binary.peek(2).startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    stream = io.TextIOWrapper(binary, encoding="utf-16" if begins_wide else "utf-8-sig", errors="replace")
    begun = False
    while piece := stream.readline(_LONGEST_LINE):
        if not begun:
            yield piece
        begun = not piece.endswith("\n")


def nobody_reads() -> bool:
    """Whether the reader of standard output left, so that more of it would be for nobody."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(raw, _Pipe) and raw.nobody_reads


def discard_output() -> None:
    """Point standard output nowhere, so that the flush at exit stays silent."""
    _discard(sys.stdout.fileno())


def _discard(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def print_json(document: Any) -> None:
    """Exactly one JSON document on stdout, in which nothing controls a terminal."""
    text = json.dumps(_speakable(document), indent=2, ensure_ascii=False, allow_nan=False)
    print(_NO_WORD.sub(_escaped, text))


_NO_WORD = re.compile(r"[^\x00-\x7e\w]")  # json escapes the controls of ASCII, and leaves all others


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]


def _speakable(value: Any) -> Any:
    """JSON has no word for NaN and infinities (the cosine of a broken model): null; nor for half a letter."""
    if isinstance(value, dict):
        return {_speakable(key): _speakable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_speakable(item) for item in value]
    if isinstance(value, str):
        return encodable(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
