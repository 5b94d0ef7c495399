"""What packages by the Open Packaging Conventions share (ECMA-376 part 2): types and names of parts."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from html import escape

_ANY = "application/octet-stream"
_ALLOWED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/")


def part_name(path: str) -> str:
    """A path as a part's name: what no URI may hold is written as %XX of its UTF-8."""
    return "".join(chr(byte) if byte in _ALLOWED else f"%{byte:02X}" for byte in path.encode())


def content_types(
    paths: Iterable[str], known: Mapping[str, str], overrides: Mapping[str, str] | None = None
) -> str:
    """`[Content_Types].xml` for these members: `known` types by extension, `overrides` by path.

    A member without an extension is named by itself, as the conventions want it; all else is bytes.
    """
    extensions, single = dict(known), dict(overrides or {})
    for path in paths:
        extension = posixpath.splitext(path)[1].removeprefix(".").lower()
        if extension:
            extensions.setdefault(extension, _ANY)
        elif path not in single:
            single[path] = _ANY
    lines = [
        *(
            f'  <Default Extension="{escape(word)}" ContentType="{kind}" />'
            for word, kind in sorted(extensions.items())
        ),
        *(
            f'  <Override PartName="/{escape(part_name(path))}" ContentType="{kind}" />'
            for path, kind in sorted(single.items())
        ),
    ]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">',
            *lines,
            "</Types>\n",
        ]
    )
