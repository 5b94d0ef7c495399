"""Genuine compiled Android XML, written from an ElementTree: what Android and aapt read.

An attribute value that is a bool or int has that type; `@` and a number in hex is a reference to a resource.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import takewhile
from xml.etree import ElementTree

ANDROID = "http://schemas.android.com/apk/res/android"
_NONE = 0xFFFFFFFF

# Ids of android.R.attr; in the pool of strings, names with an id come first, in the order of their ids.
RESOURCES = {
    "label": 0x01010001,
    "name": 0x01010003,
    "debuggable": 0x0101000F,
    "minSdkVersion": 0x0101020C,
    "targetSdkVersion": 0x01010270,
    "required": 0x0101028E,
    "extractNativeLibs": 0x010104EA,
}


def manifest(
    libraries: tuple[tuple[str, bool | None], ...] = (),
    *,
    package: str = "org.example.app",
    split: str | None = None,
    min_sdk: int | str | None = 27,
    target_sdk: int | str | None = 34,
    extract: bool | str | None = None,
    debuggable: bool | None = None,
) -> ElementTree.Element:
    """The tree of an app's manifest. `libraries` are (name, required) of native libraries that it uses."""
    root = _element("manifest", package=package, split=split)
    root.append(_element("uses-sdk", minSdkVersion=min_sdk, targetSdkVersion=target_sdk))
    application = _element("application", label="App", extractNativeLibs=extract, debuggable=debuggable)
    application.extend(_element("uses-native-library", name=name, required=r) for name, r in libraries)
    root.append(application)
    return root


def text(root: ElementTree.Element) -> bytes:
    """The tree as Gradle writes it into an AAR."""
    plain = ElementTree.fromstring(ElementTree.tostring(_as_strings(root)))
    ElementTree.register_namespace("android", ANDROID)
    return bytes(ElementTree.tostring(plain, encoding="utf-8", xml_declaration=True))


def compiled(root: ElementTree.Element, *, utf8: bool = False, names: bool = True) -> bytes:
    """The tree as aapt compiles it. Without `names`, attributes that have a resource id have no name."""
    strings = _strings(root)
    ids = [RESOURCES[name] for name in takewhile(RESOURCES.__contains__, strings)]
    pool = _pool(strings if names else [""] * len(ids) + strings[len(ids) :], utf8)
    resources = struct.pack(f"<HHI{len(ids)}I", 0x0180, 8, 8 + 4 * len(ids), *ids)
    prefix, uri = strings.index("android"), strings.index(ANDROID)
    spaces = [_node(kind, struct.pack("<II", prefix, uri)) for kind in (0x0100, 0x0101)]
    body = pool + resources + spaces[0] + b"".join(_nodes(root, strings)) + spaces[1]
    return struct.pack("<HHI", 0x0003, 8, 8 + len(body)) + body


def _element(tag: str, **attributes: object) -> ElementTree.Element:
    element = ElementTree.Element(tag)
    for name, value in attributes.items():
        if value is not None:
            element.attrib[f"{{{ANDROID}}}{name}" if name in RESOURCES else name] = value  # type: ignore[assignment]
    return element


def _as_strings(element: ElementTree.Element) -> ElementTree.Element:
    copy = ElementTree.Element(
        element.tag,
        {key: str(v).lower() if isinstance(v, bool) else str(v) for key, v in element.attrib.items()},
    )
    copy.extend(_as_strings(inner) for inner in element)
    return copy


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _strings(root: ElementTree.Element) -> list[str]:
    names = {_local(key) for element in root.iter() for key in element.attrib}
    found = dict.fromkeys(name for name in RESOURCES if name in names)
    found |= dict.fromkeys(sorted(names - set(RESOURCES)))
    found |= dict.fromkeys(("android", ANDROID))
    for element in root.iter():
        found[element.tag] = None
        found |= dict.fromkeys(value for value in element.attrib.values() if _is_string(value))
    return list(found)


def _is_string(value: object) -> bool:
    return isinstance(value, str) and not value.startswith("@")


def _pool(strings: list[str], utf8: bool) -> bytes:
    offsets, data = [], b""
    for string in strings:
        offsets.append(len(data))
        units = len(string.encode("utf-16-le")) // 2
        if utf8:
            raw = string.encode()
            data += _length(units, 1) + _length(len(raw), 1) + raw + b"\0"
        else:
            data += _length(units, 2) + string.encode("utf-16-le") + b"\0\0"
    data += bytes(-len(data) % 4)
    start = 28 + 4 * len(offsets)
    head = struct.pack("<HHI", 0x0001, 28, start + len(data))
    counts = struct.pack("<5I", len(offsets), 0, 0x100 if utf8 else 0, start, 0)
    return head + counts + struct.pack(f"<{len(offsets)}I", *offsets) + data


def _length(value: int, width: int) -> bytes:
    form, top = ("<B", 0x80) if width == 1 else ("<H", 0x8000)
    if value < top:
        return struct.pack(form, value)
    return struct.pack(form, top | value >> 8 * width) + struct.pack(form, value & (2 * top - 1))


def _node(kind: int, content: bytes) -> bytes:
    return struct.pack("<HHIII", kind, 16, 16 + len(content), 1, _NONE) + content


def _nodes(element: ElementTree.Element, strings: list[str]) -> Iterator[bytes]:
    name = strings.index(element.tag)
    # Android finds attributes by bisection of their ids.
    ordered = sorted(element.attrib.items(), key=lambda item: RESOURCES.get(_local(item[0]), _NONE))
    attributes = b"".join(_attribute(key, value, strings) for key, value in ordered)
    yield _node(0x0102, struct.pack("<II6H", _NONE, name, 20, 20, len(ordered), 0, 0, 0) + attributes)
    for inner in element:
        yield from _nodes(inner, strings)
    yield _node(0x0103, struct.pack("<II", _NONE, name))


def _attribute(key: str, value: object, strings: list[str]) -> bytes:
    space = strings.index(ANDROID) if key.startswith("{") else _NONE
    written = strings.index(value) if isinstance(value, str) and _is_string(value) else _NONE
    if isinstance(value, bool):
        kind, data = 0x12, _NONE if value else 0
    elif isinstance(value, int):
        kind, data = 0x10, value
    elif _is_string(value):
        kind, data = 0x03, written
    else:
        kind, data = 0x01, int(str(value)[1:], 16)
    return struct.pack("<IIIHBBI", space, strings.index(_local(key)), written, 8, 0, kind, data)
