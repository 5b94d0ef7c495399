"""Positions in TOML text, for every way in which TOML can write a key or a value."""

from __future__ import annotations

import pytest

from packager.diagnostics import Source
from packager.source_map import SourceMap, Span


def shown(text: str, span: Span | None) -> str | None:
    """The text that a span covers."""
    if span is None:
        return None
    lines = text.split("\n")[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines)


KEYS_AND_VALUES = {
    "bare key": ("a = 1", ("a",), "a", "1"),
    "number as key": ("1 = 2", ("1",), "1", "2"),
    "quoted key": ('"a b" = 1', ("a b",), '"a b"', "1"),
    "quoted key with an escape": ('"\\u0061\\t" = 1', ("a\t",), '"\\u0061\\t"', "1"),
    "literal key": ("'a\\b' = 1", ("a\\b",), "'a\\b'", "1"),
    "empty key": ('"" = 1', ("",), '""', "1"),
    "dotted key": ("a.b.c = 1", ("a", "b", "c"), "c", "1"),
    "key that a dotted key passes through": ("a.b.c = 1", ("a", "b"), "b", "a.b.c = 1"),
    "dotted key of numbers": ("3.14 = 1", ("3", "14"), "14", "1"),
    "dotted key with spaces and quotes": ('a . "b.c" = 1', ("a", "b.c"), '"b.c"', "1"),
    "key in a section": ("[t]\na = 1", ("t", "a"), "a", "1"),
    "section": ("[t]\na = 1", ("t",), "t", "[t]"),
    "section with spaces": ("  [ t . u ]  # c", ("t", "u"), "u", "[ t . u ]"),
    "section that a header passes through": ("[t.u.v]", ("t", "u"), "u", "[t.u.v]"),
    "section written after its child": ("[t.u]\n[t]", ("t",), "t", "[t]"),
    "inline table": ("a = { b = 1, c.d = 2 }", ("a", "c", "d"), "d", "2"),
    "inline table in an array": ("a = [{ b = 1 }, { b = 2 }]", ("a", 1, "b"), "b", "2"),
    "array in an inline table": ("a = { b = [1, [2, 3]] }", ("a", "b", 1, 0), None, "2"),
    "array over several lines": ("a = [ # one\n  1, # two\n\n  22,\n]", ("a", 1), None, "22"),
    "whole array over several lines": ("a = [\n 1,\n]", ("a",), "a", "[\n 1,\n]"),
    "first of several tables": ("[[a]]\nb = 1\n[[a]]\nb = 2", ("a", 0, "b"), "b", "1"),
    "second of several tables": ("[[a]]\nb = 1\n[[a]]\nb = 2", ("a", 1, "b"), "b", "2"),
    "header of a second table": ("[[a]]\n[[ a ]]", ("a", 1), "a", "[[ a ]]"),
    "section of the last table": ("[[a]]\n[[a]]\n[a.b]\nc = 1", ("a", 1, "b", "c"), "c", "1"),
    "tables inside tables": ("[[a]]\n[[a]]\n[[a.b]]\n[[a.b]]\nc = 1", ("a", 1, "b", 1, "c"), "c", "1"),
    "multi-line string": ('a = """x\ny"""\nb = 2', ("a",), "a", '"""x\ny"""'),
    "key after a multi-line string": ('a = """x\nb = 1"""\nb = 2', ("b",), "b", "2"),
    "string with a bracket and a hash": ('a = "[#]"\nb = 2', ("a",), "a", '"[#]"'),
    "string with wide characters before": ('a = ["入力", "é", "x"]', ("a", 2), None, '"x"'),
    "characters beyond the basic plane before": ('a = ["😀", "x"]', ("a", 1), None, '"x"'),
    "date": ("a = 2026-10-01T00:00:00Z", ("a",), "a", "2026-10-01T00:00:00Z"),
    "float and boolean": ("a = [1.5e3, -inf, true]", ("a", 1), None, "-inf"),
}


@pytest.mark.parametrize("case", KEYS_AND_VALUES)
def test_keys_and_values_are_found_where_they_are_written(case):
    text, location, key, value = KEYS_AND_VALUES[case]

    positions = SourceMap(text)

    assert shown(text, positions.key(location)) == key
    assert shown(text, positions.value(location)) == value


def test_what_is_not_written_has_no_position():
    positions = SourceMap("[t]\na = [1]\n")

    assert positions.value(("t", "b")) is None
    assert positions.value(("t", "a", 1)) is None
    assert positions.key(("t", "a", 0)) is None


def test_a_place_falls_back_to_the_nearest_parent_that_is_written():
    source = Source("app.toml", "[t]\na = { b = 1 }\n")

    assert source.place(("t", "a", "x", 3)) == Span(2, 5, 2, 14)
    assert source.place(("t", "z")) == Span(1, 1, 1, 4)
    assert source.place(("z",)) is None


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("a = 1\nb = 2\na = 3", "a", "a = 3"),
        ("[t]\n[u]\n[t]", "t", "[t]"),
        ("t = { a = 1, a = 2 }", "a", "a = 2"),
        ("a.b = 1\na.b = [\n2]", "b", "a.b = [\n2]"),
        ("a.b = 1\na = 2", "a", "a = 2"),
    ],
)
def test_a_second_definition_is_known_together_with_the_first(text, first, second):
    positions = SourceMap(text)

    ((one, two),) = positions.repeated()

    assert (shown(text, one), shown(text, two)) == (first, second)
    assert (one.line, one.column) < (two.line, two.column)


def test_tables_of_an_array_and_late_parents_are_no_second_definition():
    positions = SourceMap("[[a]]\nx = 1\n[[a]]\nx = 1\n[b.c]\n[b]\n[a.d]\n[[a]]\n[a.d]")

    assert list(positions.repeated()) == []


def test_a_string_that_nothing_closes_is_found_by_its_quotation_mark():
    text = "a = 'x'\nb = [\"y\"]\nc = 'z\n[t]\nd = 1\n"

    assert SourceMap(text).open_quote() == Span(3, 5, 3, 6)
    assert SourceMap("a = 'x'\n").open_quote() is None


@pytest.mark.parametrize(
    ("line", "column", "length", "expected"),
    [
        ('a = "x"', 5, 3, "    ^^^"),
        ('\ta = "x"', 6, 3, "        ^^^"),
        ('入力 = "x"', 6, 3, "       ^^^"),
        ('e\u0301 = "x"', 6, 3, "    ^^^"),
        ('a = "入力"', 5, 4, "    ^^^^^^"),
        ("a =", 4, 1, "   ^"),
    ],
)
def test_carets_stand_below_the_word_in_terminal_cells(line, column, length, expected):
    source = Source("app.toml", line)

    block = source.block(Span(1, column, 1, column + length), "look")

    assert block.splitlines()[2] == f"      | {expected}"


def test_names_and_texts_cannot_control_the_terminal():
    source = Source("a\x1b[2J.toml", 'k = "\x1b[31m\u202e"')

    block = source.block(Span(1, 1, 1, 2), 'unknown "\x1b\n"', "first\x1b\nsecond\x07")

    assert block.splitlines() == [
        r'a\x1b[2J.toml:1:1: unknown "\x1b\n"',
        r'    1 | k = "\x1b[31m\u202e"',
        r"      | ^ first\x1b",
        r"      | second\x07",
    ]


def test_deep_nesting_is_read_without_recursion():
    depth = 5000

    positions = SourceMap("a = " + "[" * depth + "7" + "]" * depth)

    assert positions.value(("a", *[0] * depth)) == Span(1, 5 + depth, 1, 6 + depth)


@pytest.mark.parametrize(
    ("text", "location", "written"),
    [
        ('soc = ["a", "b"]   # both', ("soc", 1), '"b"'),
        ('os = "linux" # here', ("os",), '"linux"'),
        ("table = { a = 1, b = 2 }# end", ("table", "b"), "2"),
        ('list = [ # first\n  "a", # one\n  "b"  # two\n] # last', ("list", 1), '"b"'),
        ("a.b = 3 # dotted", ("a", "b"), "3"),
        ('[head] # of a table\nk = "v" # value', ("head", "k"), '"v"'),
    ],
)
def test_a_comment_behind_a_value_is_not_taken_for_the_value(text, location, written):
    assert SourceMap(text).text(location) == written
