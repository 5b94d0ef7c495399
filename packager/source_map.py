"""Where each key and value of a TOML document stands, for errors that point at the word they mean.

tomllib, which reads manifests, keeps no positions. tree-sitter with its TOML grammar does: both are MIT,
ship wheels for Linux and Windows on x86-64 and aarch64 (and macOS), parse in a millisecond, and go on
after a syntax error. tomlkit is lossless, but its items know no offsets: adding up the lengths of
everything before an item is the parser's work done again. tree-sitter is imported only when an error
is about to be shown, so a good manifest never pays for it.
"""

from __future__ import annotations

import collections
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

Location = tuple[str | int, ...]
"""Keys and indices from the root of the document: `("targets", 0, "soc", 1)`."""

_QUOTES = ('"', "'", '"""', "'''")
_Range = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text. Lines and columns count from 1, columns in characters, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class SourceMap:
    """Positions in a TOML text whose line ends are `\\n`.

    A text with syntax errors gives the positions of what could be read. A key that a dotted key or a
    header only passes through (`a` in `a.b = 1`) is known too.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self._keys: dict[Location, _Range] = {}
        self._values: dict[Location, _Range] = {}
        self._defined: set[Location] = set()
        self._tables: dict[Location, int] = {}
        self._repeated: list[tuple[_Range, _Range]] = []
        root = _parsed(text)
        self._open_quote = _open_quote(root)
        self._read(root)

    def key(self, location: Location) -> Span | None:
        """Where the key of `location` is written; None for array items and unwritten keys."""
        return self._span(self._keys.get(location))

    def value(self, location: Location) -> Span | None:
        """Where the value of `location` is written: the header, for a table that has one."""
        return self._span(self._values.get(location))

    def repeated(self) -> Iterator[tuple[Span, Span]]:
        """Keys and headers that define something a second time: (the first key, the whole second one)."""
        for first, second in self._repeated:
            one, two = self._span(first), self._span(second)
            if one and two:
                yield one, two

    def open_quote(self) -> Span | None:
        """The first quotation mark that opens a string which nothing closes."""
        return self._span(self._open_quote)

    def text(self, location: Location) -> str:
        """The value as written, or nothing when it is unwritten or spans several lines."""
        span = self.value(location)
        if span is None or span.line != span.end_line:
            return ""
        return self.lines[span.line - 1][span.column - 1 : span.end_column - 1]

    def _span(self, found: _Range | None) -> Span | None:
        if found is None:
            return None
        (line, column), (end_line, end_column) = found
        return Span(
            line + 1, self._characters(line, column), end_line + 1, self._characters(end_line, end_column)
        )

    def _characters(self, line: int, column: int) -> int:
        # The parser counts bytes. Converting on demand keeps a long line from costing its square.
        return len(self.lines[line].encode()[:column].decode(errors="replace")) + 1

    def _read(self, root: Node) -> None:
        for node in root.named_children:
            if node.type == "pair":
                self._pair(node, ())
            elif node.type in ("table", "table_array_element"):
                table = self._header(node)
                for pair in node.named_children:
                    if pair.type == "pair":
                        self._pair(pair, table)

    def _header(self, node: Node) -> Location:
        """Record a `[table]` or `[[array of tables]]` header; gives the location of what follows it."""
        header = node.start_point, _end_of_header(node)
        location: Location = ()
        for name, place in _names(node.named_children[0]):
            location = (*self._latest(location), name)
            self._keys.setdefault(location, place)
            self._values.setdefault(location, header)
        if node.type == "table_array_element":
            self._tables[location] = self._tables.get(location, 0) + 1
            location = self._latest(location)
        if location in self._defined:
            self._repeated.append((self._keys[location], header))
        else:
            self._defined.add(location)
            self._keys[location] = place
            self._values[location] = header
        return location

    def _latest(self, location: Location) -> Location:
        """In an array of tables, its last table so far."""
        return (*location, self._tables[location] - 1) if location in self._tables else location

    def _pair(self, node: Node, table: Location) -> None:
        pending = collections.deque([(table, node)])
        while pending:
            location, pair = pending.popleft()
            parts = [child for child in pair.named_children if child.type != "comment"]
            if len(parts) < 2:
                continue
            *through, (last, place) = _names(parts[0])
            for name, passed in through:
                location = (*location, name)
                self._keys.setdefault(location, passed)
                self._values.setdefault(location, _range(pair))
            location = (*location, last)
            if location in self._keys:
                self._repeated.append((self._keys[location], _range(pair)))
                continue
            self._keys[location] = place
            self._defined.add(location)
            pending += self._value(location, parts[-1])

    def _value(self, location: Location, node: Node) -> Iterator[tuple[Location, Node]]:
        """Record a value and all inside it; gives back the pairs of its inline tables."""
        pending = [(location, node)]
        while pending:
            here, value = pending.pop()
            self._values[here] = _range(value)
            if value.type == "inline_table":
                yield from ((here, pair) for pair in value.named_children if pair.type == "pair")
            elif value.type == "array":
                items = (item for item in value.named_children if item.type not in ("comment", "ERROR"))
                pending += (((*here, index), item) for index, item in enumerate(items))


def _parsed(text: str) -> Node:
    import tree_sitter
    import tree_sitter_toml

    language = tree_sitter.Language(tree_sitter_toml.language())
    return tree_sitter.Parser(language).parse(text.encode()).root_node


def _open_quote(root: Node) -> _Range | None:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.is_error:
            quote = next((child for child in node.children if child.type in _QUOTES), None)
            if quote is not None:
                return _range(quote)
        if node.has_error:
            pending += reversed(node.children)
    return None


def _range(node: Node) -> _Range:
    return node.start_point, node.end_point


def _end_of_header(node: Node) -> tuple[int, int]:
    closing = next((child for child in node.children if child.type in ("]", "]]")), node.children[0])
    return closing.end_point


def _names(node: Node) -> list[tuple[str, _Range]]:
    """The parts of a key, from left to right; the grammar nests dotted keys to the left."""
    parts: list[tuple[str, _Range]] = []
    while node.type == "dotted_key":
        parts.append((_name(node.named_children[-1]), _range(node.named_children[-1])))
        node = node.named_children[0]
    return [(_name(node), _range(node)), *reversed(parts)]


def _name(node: Node) -> str:
    written = (node.text or b"").decode()
    if node.type != "quoted_key":
        return written
    try:
        return str(tomllib.loads(f"key = {written}")["key"])
    except tomllib.TOMLDecodeError:
        return written
