"""Writes Android's compiled XML: what an APK's manifest is.

A document is a chunk of chunks: all strings, the resource ids of those that are names of Android's own
attributes, then one for each begin and end of an element. Such names come first among the strings, in the
order of their ids, and so do an element's attributes: Android searches both by bisection. (Source: AOSP,
comments of `androidfw/ResourceTypes.h`. aapt judges the result in the tests.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from packager import catalog

_SPACE = "http://schemas.android.com/apk/res/android"
_PREFIX = "android"
_NONE = 0xFFFFFFFF
_DOCUMENT, _STRINGS, _RESOURCES = 0x0003, 0x0001, 0x0180
_SPACE_BEGINS, _SPACE_ENDS, _BEGINS, _ENDS = 0x0100, 0x0101, 0x0102, 0x0103
_TEXT, _DECIMAL, _HEX, _BOOLEAN = 0x03, 0x10, 0x11, 0x12


def compiled(text: str) -> bytes:
    """The compiled form of a manifest's text.

    Attributes of Android's have the types that their rows in `targets/android.toml` say, others are strings.
    Raises KeyError for an attribute of Android's that has no row.
    """
    root = ElementTree.fromstring(text)  # noqa: S314 (our own template)
    rows = {f"{{{_SPACE}}}{row['name']}": row for row in catalog.table("android")["attribute"]}
    used = {key for element in root.iter() for key in element.attrib}
    own = sorted((rows[key] for key in used if key.startswith("{")), key=lambda row: int(row["id"]))
    strings = list(dict.fromkeys([*(str(row["name"]) for row in own), *_words(root, rows)]))
    ids = [int(row["id"]) for row in own]
    names = struct.pack("<II", strings.index(_PREFIX), strings.index(_SPACE))
    body = b"".join(
        [
            _pool(strings),
            _chunk(_RESOURCES, b"", struct.pack(f"<{len(ids)}I", *ids)),
            _node(_SPACE_BEGINS, names),
            *_elements(root, strings, rows),
            _node(_SPACE_ENDS, names),
        ]
    )
    return _chunk(_DOCUMENT, b"", body)


def _words(root: ElementTree.Element, rows: dict[str, Any]) -> Iterator[str]:
    """The strings that are no names of attributes with an id."""
    yield from (_PREFIX, _SPACE)
    for element in root.iter():
        yield element.tag
        for key, value in element.attrib.items():
            if key not in rows:
                yield key
            if _kind(key, rows) == "string":
                yield value


def _kind(key: str, rows: dict[str, Any]) -> str:
    return str(rows[key]["type"]) if key in rows else "string"


def _chunk(kind: int, head: bytes, body: bytes) -> bytes:
    """A chunk: its kind, the size of its head, its whole size, then both."""
    return struct.pack("<HHI", kind, 8 + len(head), 8 + len(head) + len(body)) + head + body


def _node(kind: int, body: bytes) -> bytes:
    return _chunk(kind, struct.pack("<II", 1, _NONE), body)  # line number and no comment


def _pool(strings: list[str]) -> bytes:
    """All strings in UTF-16, each with its length before and a zero behind."""
    offsets, data = [], b""
    for string in strings:
        encoded = string.encode("utf-16-le")
        units = len(encoded) // 2
        length = (
            struct.pack("<H", units)
            if units < 0x8000
            else struct.pack("<HH", 0x8000 | units >> 16, units & 0xFFFF)
        )
        offsets.append(len(data))
        data += length + encoded + b"\0\0"
    data += bytes(-len(data) % 4)
    begins = 28 + 4 * len(offsets)
    head = struct.pack("<5I", len(strings), 0, 0, begins, 0)  # no styles, UTF-16
    return _chunk(_STRINGS, head, struct.pack(f"<{len(offsets)}I", *offsets) + data)


def _elements(element: ElementTree.Element, strings: list[str], rows: dict[str, Any]) -> Iterator[bytes]:
    tag = struct.pack("<II", _NONE, strings.index(element.tag))
    ordered = sorted(
        element.attrib.items(), key=lambda item: int(rows[item[0]]["id"]) if item[0] in rows else _NONE
    )
    attributes = b"".join(_attribute(key, value, strings, rows) for key, value in ordered)
    # Where attributes begin, bytes of one, how many; no id, class or style among them.
    yield _node(_BEGINS, tag + struct.pack("<6H", 20, 20, len(ordered), 0, 0, 0) + attributes)
    for inner in element:
        yield from _elements(inner, strings, rows)
    yield _node(_ENDS, tag)


def _attribute(key: str, value: str, strings: list[str], rows: dict[str, Any]) -> bytes:
    space = strings.index(_SPACE) if key in rows else _NONE
    name = strings.index(key.rpartition("}")[2])
    kind = _kind(key, rows)
    if kind == "string":
        place = strings.index(value)
        return struct.pack("<IIIHBBI", space, name, place, 8, 0, _TEXT, place)
    typed, data = {
        "bool": lambda: (_BOOLEAN, _NONE if value == "true" else 0),
        "int": lambda: (_DECIMAL, int(value)),
        "flags": lambda: (_HEX, int(value, 16)),
    }[kind]()
    return struct.pack("<IIIHBBI", space, name, _NONE, 8, 0, typed, data)
