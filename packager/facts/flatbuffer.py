"""FlatBuffers read without their schema, where every reference is checked before it is followed.

All methods raise UnreadableFile, with the offset in the file. Slots are the numbers of a table's fields.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from packager.errors import UnreadableFile
from packager.facts.reading import MAX_TEXT

_MOST_NUMBERS = 32  # in a vector of them: here they are the dimensions of tensors


class Buffer:
    """The bytes of a FlatBuffer, which lie at `offset` in the file; `what` names them in messages.

    `tables` is the largest number of tables that makes sense in it.
    """

    def __init__(self, path: Path, data: bytes, offset: int, what: str, tables: int) -> None:
        self._path, self._data, self._offset, self._what = path, data, offset, what
        # References may lead to the same bytes again and again; what a file can make us read is bounded
        # by a small multiple of its own length, and what it can make us keep by the number of tables.
        self._allowance = 8 * len(data)
        self._most_tables = self._tables_left = tables

    def damaged(self, position: int, reason: str) -> UnreadableFile:
        """The error to raise, with the position as an offset in the file."""
        return UnreadableFile(self._path, self._offset + max(position, 0), reason)

    def take(self, position: int, size: int) -> bytes:
        """Exactly `size` bytes."""
        if position < 0 or position + size > len(self._data):
            raise self.damaged(position, f"{size} bytes outside the {self._what}")
        self._allowance -= size
        if self._allowance < 0:
            raise self.damaged(position, f"the {self._what} refers to the same bytes over and over")
        return self._data[position : position + size]

    def u32(self, position: int) -> int:
        """An unsigned number of four bytes."""
        return int.from_bytes(self.take(position, 4), "little")

    def count_table(self, position: int) -> None:
        """Note that a table is read."""
        self._tables_left -= 1
        if self._tables_left < 0:
            raise self.damaged(position, f"more than {self._most_tables} tables in the {self._what}")

    def root(self) -> Table:
        """The table from which all others are reached."""
        return Table(self, self.u32(0))


class Table:
    """One table: a position, and for each slot the distance to its field, 0 where it has the default."""

    def __init__(self, buffer: Buffer, start: int) -> None:
        buffer.count_table(start)
        self.buffer, self.start = buffer, start
        fields = start - int.from_bytes(buffer.take(start, 4), "little", signed=True)
        length = int.from_bytes(buffer.take(fields, 2), "little")
        if length < 4 or length % 2:
            raise buffer.damaged(fields, f"a table description of {length} bytes")
        self._distances = struct.unpack(f"<{length // 2 - 2}H", buffer.take(fields + 4, length - 4))

    def _field(self, slot: int) -> int | None:
        distance = self._distances[slot] if slot < len(self._distances) else 0
        return self.start + distance if distance else None

    def _value(self, slot: int, size: int) -> bytes:
        field = self._field(slot)
        return bytes(size) if field is None else self.buffer.take(field, size)

    def has(self, slot: int) -> bool:
        """Whether the field is there."""
        return self._field(slot) is not None

    def number(self, slot: int, default: int = 0) -> int:
        """An unsigned number of four bytes."""
        return default if self._field(slot) is None else int.from_bytes(self._value(slot, 4), "little")

    def signed(self, slot: int) -> int:
        """A signed number of four bytes."""
        return int.from_bytes(self._value(slot, 4), "little", signed=True)

    def real(self, slot: int) -> float:
        """A float of four bytes."""
        value: float = struct.unpack("<f", self._value(slot, 4))[0]
        return value

    def version(self, slot: int) -> str:
        """Three numbers, dotted."""
        return "{}.{}.{}".format(*struct.unpack("<3I", self._value(slot, 12)))

    def _vector(self, slot: int, width: int, most: int | None = None) -> tuple[int, bytes]:
        """Where the elements of a vector begin, and their bytes; empty when the field is absent."""
        field = self._field(slot)
        if field is None:
            return 0, b""
        start = field + self.buffer.u32(field)
        count = self.buffer.u32(start)
        if most is not None and count > most:
            raise self.buffer.damaged(start, f"{count} elements where at most {most} make sense")
        return start + 4, self.buffer.take(start + 4, count * width)

    def bytes(self, slot: int) -> bytes:
        """A vector of bytes; empty when the field is absent."""
        return self._vector(slot, 1)[1]

    def text(self, slot: int) -> str | None:
        """A string; None when the field is absent."""
        if self._field(slot) is None:
            return None
        return self._vector(slot, 1, MAX_TEXT)[1].rstrip(b"\0").decode("utf-8", "replace")

    def numbers(self, slot: int) -> tuple[int, ...]:
        """A short vector of unsigned numbers of four bytes; empty when the field is absent."""
        data = self._vector(slot, 4, _MOST_NUMBERS)[1]
        return struct.unpack(f"<{len(data) // 4}I", data)

    def table(self, slot: int) -> Table:
        """The table that a field refers to; its absence is damage."""
        field = self._field(slot)
        if field is None:
            raise self.buffer.damaged(self.start, f"slot {slot} of a table is empty")
        return Table(self.buffer, field + self.buffer.u32(field))

    def tables(self, slot: int) -> Iterator[Table]:
        """A vector of tables, one after the other; empty when the field is absent."""
        start, data = self._vector(slot, 4)
        for index, (distance,) in enumerate(struct.iter_unpack("<I", data)):
            yield Table(self.buffer, start + 4 * index + distance)
