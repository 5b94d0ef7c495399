"""Reads the manifest of an Android app or library: what it asks of the system for its native libraries."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NoReturn
from xml.parsers import expat

from packager.errors import UnreadableFile
from packager.facts.axml import MAGIC, Value, elements
from packager.facts.config_types import AndroidLibraryUse, AndroidManifestFacts
from packager.facts.reading import opened

MAX_SIZE = 4 << 20  # the manifests of the largest apps have some hundred KiB
_SNIFFED = 64 << 10  # comments may stand before the root

_ANDROID = "http://schemas.android.com/apk/res/android"
_ROOT = ("manifest",)
_SDK = (*_ROOT, "uses-sdk")
_APPLICATION = (*_ROOT, "application")
_LIBRARY = (*_APPLICATION, "uses-native-library")
_DEEPEST = len(_LIBRARY)

# In a compiled manifest the platform looks at resource ids alone; tools may drop the names.
# Source: the public ids of android.R.attr.
_COMPILED: Mapping[int | str, str] = {
    0x01010003: "name",
    0x0101000F: "debuggable",
    0x0101020C: "minSdkVersion",
    0x01010270: "targetSdkVersion",
    0x0101028E: "required",
    0x010104EA: "extractNativeLibs",
    "package": "package",
    "split": "split",
}
_TEXT = {f"{_ANDROID} {name}" if isinstance(key, int) else key: name for key, name in _COMPILED.items()}


def read_android_manifest(path: Path) -> AndroidManifestFacts:
    """What a manifest says, as text or compiled.

    Raises UnreadableFile when it is damaged, larger than 4 MiB, has a DOCTYPE or is no Android manifest;
    InputUnavailable when it cannot be opened.
    """
    with opened(path) as (stream, size):
        if size > MAX_SIZE:
            raise UnreadableFile(path, MAX_SIZE, f"an XML file of {size} bytes is no manifest")
        data = stream.read()
    seen = _Seen()
    compiled = data.startswith(MAGIC)
    if compiled:
        for element in elements(path, data, _COMPILED, _DEEPEST):
            seen.begin(*element)
    else:
        _parse(path, data, seen)
    return seen.facts(path, compiled)


def is_android_manifest(stream: BinaryIO, head: bytes) -> bool:
    """Whether a file begins as a manifest, as text or compiled, does."""
    if head.startswith(MAGIC):
        stream.seek(0)
        try:
            root = next(elements(Path(), stream.read(MAX_SIZE), {}, len(_ROOT)), None)
        except UnreadableFile:
            return False
        return root is not None and (root.name,) == _ROOT
    if not head.lstrip(codecs.BOM_UTF8 + b" \t\r\n").startswith(b"<"):
        return False
    stream.seek(0)
    return _begins_as_manifest(stream.read(_SNIFFED))


class _Seen:
    """What has been seen of a manifest: of each element that counts, the first one's attributes."""

    def __init__(self) -> None:
        self._path: tuple[str, ...] = ()
        self._found: dict[tuple[str, ...], Mapping[str, Value]] = {}
        self._libraries: list[Mapping[str, Value]] = []

    def begin(self, depth: int, name: str, attributes: Mapping[str, Value]) -> None:
        self._path = (*self._path[: depth - 1], name)
        if self._path in (_ROOT, _SDK, _APPLICATION):
            self._found.setdefault(self._path, attributes)
        elif self._path == _LIBRARY:
            self._libraries.append(attributes)

    def facts(self, path: Path, compiled: bool) -> AndroidManifestFacts:
        root, sdk, app = (self._found.get(where, {}) for where in (_ROOT, _SDK, _APPLICATION))
        if _ROOT not in self._found:
            raise UnreadableFile(path, 0, "its root is no <manifest>")
        return AndroidManifestFacts(
            package=_text(root.get("package")),
            compiled=compiled,
            split=_text(root.get("split")),
            min_sdk=_number(sdk.get("minSdkVersion")),
            target_sdk=_number(sdk.get("targetSdkVersion")),
            extract_native_libs=_flag(app.get("extractNativeLibs")),
            debuggable=_flag(app.get("debuggable")),
            native_libraries=tuple(
                AndroidLibraryUse(name=name, required=_flag(used.get("required", True)))
                for used in self._libraries
                if (name := _text(used.get("name")))
            ),
        )


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Value) -> int | None:
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else None
    return None if isinstance(value, bool) else value


def _flag(value: Value) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return None if value is None else value != 0


def _parse(path: Path, data: bytes, seen: _Seen) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = 0

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth <= _DEEPEST:
            seen.begin(depth, name, {_TEXT[key]: value for key, value in attributes.items() if key in _TEXT})

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_declared: object) -> NoReturn:
        raise UnreadableFile(path, parser.CurrentByteIndex, "a DOCTYPE, which no manifest needs")

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        offset = max(parser.ErrorByteIndex, 0)  # expat says -1 of an empty file
        raise UnreadableFile(path, offset, expat.ErrorString(error.code)) from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not know, or not in this way
        raise UnreadableFile(path, 0, str(error)) from None


def _begins_as_manifest(text: bytes) -> bool:
    """Whether the root is Android's: `<manifest>` is also that of other tools."""
    parser = expat.ParserCreate(namespace_separator=" ")
    namespaces: list[str] = []
    roots: list[bool] = []

    def begin(name: str, attributes: dict[str, str]) -> None:
        if not roots:
            ours = _ANDROID in namespaces or "package" in attributes
            roots.append((name,) == _ROOT and ours)

    parser.StartNamespaceDeclHandler = lambda _prefix, uri: namespaces.append(uri)
    parser.StartElementHandler = begin
    with contextlib.suppress(expat.ExpatError, LookupError, ValueError):
        parser.Parse(text, False)  # what is damaged after its root is still a manifest
    return any(roots)
