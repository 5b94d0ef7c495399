"""Lines of device logs: the codes and the phrases in them are found, other numbers are not taken for codes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager.catalog import rule_rows, table
from packager.decoder import explain_code
from packager.log_lines import MAX_LINE, Phrase, told_in

HEAD = "10-05 12:33:21.123  1008  5005 E QnnDsp  : "


def told(line: str, *, asked: bool = True) -> list[str]:
    return [
        one.about.words if isinstance(one.about, Phrase) else one.about.text
        for one in told_in(line, asked=asked)
    ]


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("qnn_open failed, 0x80000406", ["0x80000406"]),
        ("1008,", ["1008 (0x3f0)"]),
        ("transportStatus: 9", ["transportStatus 9"]),
        (
            "lib id mismatch: expected v2.48.0.260626120635, detected v2.36.0.250627104335",
            ["lib id mismatch"],
        ),
        ("Request feature arch with value 79 unsupported", ["Request feature arch * unsupported"]),
        ("Using newer context binary on old SDK", ["newer context binary on old SDK"]),
        ("failed: 14001 (0x36B1)", ["14001 (0x36b1)"]),
        ("status=-2147482618", ["0x80000406"]),
        ("Error 45 while opening", ["45 (0x2d)"]),
        ("remote_handle_open: error code 0x72", ["114 (0x72)"]),
        ("returned QNN_CONTEXT_ERROR_CREATE_FROM_BINARY", ["5005 (0x138d)"]),
        ("AEE_EUNABLETOLOAD (0x80000406)", ["0x80000406"]),
        ("err 5999", ["5999 (0x176f)"]),
        (f"{HEAD}deviceCreate 1003", ["1003 (0x3eb)"]),
        ("[ 1008.5005] fastrpc: failed with 0x80000600", ["0x80000600"]),
        (
            "Unable to load Remote symbols 4000, transportStatus: 9",
            ["Unable to load Remote symbols", "4000 (0xfa0)", "transportStatus 9"],
        ),
    ],
)
def test_every_code_and_phrase_of_a_line_is_found(line, known):
    assert told(line) == known
    assert told(f"{HEAD}{line}") == known or line.startswith((HEAD, "["))
    assert told(line.upper().replace("0X", "0x"))[:1] == known[:1]


@pytest.mark.parametrize(
    "line",
    [
        "12:10:08 5005:1008 v2.1008.0 2026-1008 1008-01 /tmp/1008 model_1008.bin 1008x1008",
        "loaded 5000 bytes in 1000 ms, 4000 iterations, 1002MB",
        HEAD,
        "0x7ffd13f0138d",
        "value 99999 and 0x186a0 and 70000",
        "",
        "9 45 67 114 0x72",
    ],
)
def test_numbers_that_are_no_codes_are_left_alone(line):
    assert told(line) == []


def test_a_number_by_itself_counts_in_a_log_only_where_the_line_speaks_of_a_failure():
    assert told("opened graph 1008", asked=False) == []
    assert told("opened graph 1008, error=0", asked=False) == []
    assert told("cannot open graph 1008", asked=False) == ["1008 (0x3f0)"]


@pytest.mark.parametrize("row", table("log_lines")["line"], ids=lambda row: row["words"])
def test_a_row_finds_itself_and_says_only_what_other_tables_know(row):
    rules = {known["id"] for known in rule_rows()}

    assert set(row) == {"words", "codes", "sentence", "look_first", "rules", "source"}
    assert row["words"] in told(row["words"].replace("*", "with value 79"))
    assert not row["sentence"].endswith(".")
    assert row["look_first"] or row["codes"]
    assert set(row["rules"]) <= rules
    assert all(explain_code(code) for code in row["codes"])


def test_no_two_rows_are_about_the_same_words():
    words = [row["words"].lower() for row in table("log_lines")["line"]]

    assert len(words) == len(set(words))


@given(st.text(max_size=200) | st.text("0123456789abcdefx-:;.,= errHEX", max_size=200), st.booleans())
def test_any_line_can_be_read_and_what_is_found_stands_in_it(line, asked):
    for one in told_in(line, asked=asked):
        assert one.said in line


def test_a_line_without_end_is_read_as_far_as_lines_go():
    assert told("err 1008 " + "x" * MAX_LINE + " err 1009") == ["1008 (0x3f0)"]
