"""Tells files that stand where others were meant: pointers of Git LFS, web pages, nothing at all."""

from __future__ import annotations

import re
from typing import BinaryIO, Literal

from packager.files import BLOCK

StandIn = Literal["lfs-pointer", "html", "empty", "zeros"]

_MAX_POINTER = 1024  # the specification's limit
_POINTER = re.compile(
    rb"version https?://[^\n]{1,200}/spec/v1\n(?:ext-[^\n]+\n)*oid sha256:[0-9a-f]{64}\nsize \d+\n"
)
_PAGE = re.compile(rb"(?i)(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html)[\s>]", re.DOTALL)


def stand_in(stream: BinaryIO, size: int) -> StandIn | None:
    """What a file is that holds nothing of its own; None for all others. It is read as far as it is zeros."""
    if size == 0:
        return "empty"
    stream.seek(0)
    block = stream.read(BLOCK)
    if size <= _MAX_POINTER and _POINTER.fullmatch(block):
        return "lfs-pointer"
    if _PAGE.match(block[:_MAX_POINTER]):
        return "html"
    while block and not block.strip(b"\0"):
        block = stream.read(BLOCK)
    return None if block else "zeros"
