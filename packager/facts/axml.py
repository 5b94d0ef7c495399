"""Reads Android's compiled XML, as it is in an APK.

pyaxmlparser was tried: it goes on over damage, or ends in an AssertionError, IndexError or struct.error that
names no place in the file.

A file is a chunk of chunks, each with its kind, the size of its head and its whole size. One holds all
strings, one the resource ids of those strings that are names of Android's own attributes; then comes a chunk
for each begin and end of an element. (Source: the comments of AOSP's `androidfw/ResourceTypes.h`.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from packager.errors import UnreadableFile
from packager.facts.reading import MAX_TEXT

MAGIC = b"\x03\x00\x08\x00"  # a chunk of kind XML with a head of eight bytes

# Elements refer to strings by number, so that a small file could repeat a long one without end.
_MOST_TEXT = 4 << 20

Value = str | int | bool | None

_STRINGS, _BEGIN, _END, _RESOURCES = 0x0001, 0x0102, 0x0103, 0x0180
_HEAD = struct.Struct("<HHI")
_POOL = struct.Struct("<IIII")  # strings, styles, flags, where in the chunk the text begins
_BEGUN = struct.Struct("<IIHHH")  # namespace, name, where attributes begin, bytes of one, how many
_ATTRIBUTE = struct.Struct("<IIIHBBI")  # namespace, name, as written; size, 0, type and data of the value
_NUMBER = struct.Struct("<I")
_UTF8 = 0x100
_STRING, _DECIMAL, _HEX, _BOOLEAN = 0x03, 0x10, 0x11, 0x12


class Element(NamedTuple):
    """An element that begins; the root has depth 1. Attributes are under the names that the caller gave them.

    A reference to a resource, and a value of a type that no manifest needs, is None.
    """

    depth: int
    name: str
    attributes: dict[str, Value]


class _Chunk(NamedTuple):
    kind: int
    begin: int
    body: int
    end: int


def elements(path: Path, data: bytes, wanted: Mapping[int | str, str], deepest: int) -> Iterator[Element]:
    """The elements of a document in their order, down to a depth.

    `wanted` names the attributes of interest, by resource id or, where they have none, by their own name.
    Raises UnreadableFile, after the elements before the damage.
    """
    return _Document(path, data).elements(wanted, deepest)


class _Document:
    def __init__(self, path: Path, data: bytes) -> None:
        self._path, self._data = path, data
        self._pool: _Chunk | None = None
        self._resources: _Chunk | None = None
        self._decoded = 0

    def elements(self, wanted: Mapping[int | str, str], deepest: int) -> Iterator[Element]:
        depth = 0
        for chunk in self._chunks():
            if chunk.kind == _STRINGS:
                self._pool = chunk
            elif chunk.kind == _RESOURCES:
                self._resources = chunk
            elif chunk.kind == _BEGIN:
                depth += 1
                if depth <= deepest:
                    yield self._element(chunk, depth, wanted)
            elif chunk.kind == _END:
                depth -= 1
                if depth < 0:
                    raise self._damage(chunk.begin, "an element ends here that never began")
        if depth:
            raise self._damage(len(self._data), f"{depth} elements do not end")

    def _chunks(self) -> Iterator[_Chunk]:
        whole = _Chunk(0, 0, 0, len(self._data))
        _, at, size = self._unpack(_HEAD, whole, 0, "head of the file")
        while at < size:
            kind, head, length = self._unpack(_HEAD, whole, at, "head of a chunk")
            if not _HEAD.size <= head <= length:
                raise self._damage(at, f"a chunk of {length} bytes has a head of {head}")
            if at + length > len(self._data):
                raise self._damage(len(self._data), f"the file ends inside the chunk of byte {at}")
            yield _Chunk(kind, at, at + head, at + length)
            at += length

    def _element(self, chunk: _Chunk, depth: int, wanted: Mapping[int | str, str]) -> Element:
        _, name, start, size, count = self._unpack(_BEGUN, chunk, chunk.body, "element")
        if count and size < _ATTRIBUTE.size:
            raise self._damage(chunk.body, f"attributes of {size} bytes are too small")
        attributes: dict[str, Value] = {}
        for index in range(count):
            at = chunk.body + start + index * size
            _, attribute, _, _, _, kind, value = self._unpack(_ATTRIBUTE, chunk, at, "attribute")
            key = wanted.get(self._resource(attribute) or self._string(attribute))
            if key is not None:
                attributes[key] = self._value(kind, value)
        return Element(depth, self._string(name), attributes)

    def _resource(self, index: int) -> int:
        """The resource id of a name, 0 if it has none."""
        chunk = self._resources
        if chunk is None or index >= (chunk.end - chunk.body) // _NUMBER.size:
            return 0
        (found,) = _NUMBER.unpack_from(self._data, chunk.body + index * _NUMBER.size)
        return int(found)

    def _value(self, kind: int, value: int) -> Value:
        if kind == _STRING:
            return self._string(value)
        if kind == _BOOLEAN:
            return value != 0
        return value if kind in (_DECIMAL, _HEX) else None

    def _string(self, index: int) -> str:
        pool = self._pool
        if pool is None:
            raise self._damage(0, "an element comes before all strings")
        count, _, flags, text = self._unpack(_POOL, pool, pool.begin + _HEAD.size, "head of the strings")
        if index >= count:
            raise self._damage(pool.begin, f"there is no string {index} among {count}")
        (offset,) = self._unpack(_NUMBER, pool, pool.body + index * _NUMBER.size, "table of strings")
        at = pool.begin + text + offset
        if flags & _UTF8:
            _, at = self._length(pool, at, 1)  # in UTF-16 units, which nobody needs
            size, at = self._length(pool, at, 1)
        else:
            size, at = self._length(pool, at, 2)
            size *= 2
        if at + size > pool.end:
            raise self._damage(at, f"a string of {size} bytes ends after the strings")
        size = min(size, MAX_TEXT)
        self._decoded += size
        if self._decoded > _MOST_TEXT:
            raise self._damage(at, f"its elements say more than {_MOST_TEXT} bytes")
        encoding = "utf-8" if flags & _UTF8 else "utf-16-le"
        return self._data[at : at + size].decode(encoding, "replace")

    def _length(self, pool: _Chunk, at: int, width: int) -> tuple[int, int]:
        """A length of one or two units of `width` bytes, the highest bit telling which, and where it ends."""
        unit = struct.Struct("<B" if width == 1 else "<H")
        top = 1 << (8 * width - 1)
        (length,) = self._unpack(unit, pool, at, "length of a string")
        if not length & top:
            return length, at + width
        (low,) = self._unpack(unit, pool, at + width, "length of a string")
        return (length & (top - 1)) << (8 * width) | low, at + 2 * width

    def _unpack(self, form: struct.Struct, chunk: _Chunk, at: int, what: str) -> tuple[int, ...]:
        if at + form.size > chunk.end:
            raise self._damage(min(at, chunk.end), f"the {what} ends after the chunk that holds it")
        return form.unpack_from(self._data, at)

    def _damage(self, offset: int, reason: str) -> UnreadableFile:
        return UnreadableFile(self._path, offset, reason)
