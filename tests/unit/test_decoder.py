"""Error codes in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager.catalog import rule_rows, table
from packager.decoder import explain_code, why_unknown


@pytest.mark.parametrize(
    "text", ["5005", "0x138d", "0x138D", " 5005 ", "0xdead0000138d", str((7 << 32) | 5005)]
)
def test_a_code_is_the_same_however_a_log_writes_it(text):
    found = explain_code(text)

    assert found is not None
    assert (found.code, found.name, found.text) == (5005, "CONTEXT_CREATE_FROM_BINARY", "5005 (0x138d)")


@pytest.mark.parametrize("text", ["0x80000406", "2147484678", "-2147482618"])
def test_a_fastrpc_code_is_read_in_hex_unsigned_and_signed(text):
    found = explain_code(text)

    assert found is not None
    assert (found.name, found.family, found.text) == ("AEE_EUNABLETOLOAD", "fastrpc", "0x80000406")


def test_a_code_without_a_row_is_placed_in_its_range():
    found = explain_code("5999")

    assert found is not None
    assert (found.name, found.exact, found.look_first) == ("CONTEXT", False, ())


@pytest.mark.parametrize(
    "text", ["", "lib id mismatch", "0x", "17", "0x80000001", "50000", "0", "5005!", "٥"]
)
def test_what_is_no_known_code_is_not_explained(text):
    assert explain_code(text) is None


@pytest.mark.parametrize(
    "text", ["transportStatus 9", "transportStatus: 9", "transportstatus=0x9", " transportStatus : 9"]
)
def test_a_transport_status_is_told_by_the_word_before_it(text):
    found = explain_code(text)

    assert found is not None
    assert (found.family, found.text) == ("transport", "transportStatus 9")
    assert {"HEX201", "HEX202"} <= set(found.rules)


@pytest.mark.parametrize("text", ["9", "err 9", "transportStatus 10", "transportStatus nine", "transport 9"])
def test_a_nine_of_another_kind_is_not_a_transport_status(text):
    assert explain_code(text) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("AEE_EUNABLETOLOAD", 0x80000406),
        ("aee_eunabletoload", 0x80000406),
        ("QNN_CONTEXT_ERROR_CREATE_FROM_BINARY", 5005),
        ("CONTEXT_CREATE_FROM_BINARY", 5005),
        ("QNN_COMMON_ERROR_INCOMPATIBLE_BINARIES", 1008),
        ("QNN_DEVICE_ERROR_UNSUPPORTED_FEATURE", 1000),
        ("AEE_ECONNREFUSED", 0x72),
    ],
)
def test_a_code_is_known_by_its_name_too(text, code):
    found = explain_code(text)

    assert found is not None
    assert found.code == code


@pytest.mark.parametrize(
    ("text", "name", "shown"),
    [
        ("0x72", "AEE_ECONNREFUSED", "114 (0x72)"),
        ("67", "AEE_ENOSUCHDEVICE", "67 (0x43)"),
        ("Error 45", "Error 45", "45 (0x2d)"),
    ],
)
def test_a_small_number_is_of_the_cpus_side_of_fastrpc(text, name, shown):
    found = explain_code(text)

    assert found is not None
    assert (found.name, found.family, found.text) == (name, "fastrpc", shown)


@pytest.mark.parametrize(
    ("text", "code"), [("err: 1003", 1003), ("error=0x138d", 5005), ("status -2147482618", 0x80000406)]
)
def test_a_word_before_a_number_does_not_hide_it(text, code):
    found = explain_code(text)

    assert found is not None
    assert found.code == code


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("99999", "0x1869f & 0xffff = 34463"),
        ("70000", "0x11170 & 0xffff = 4464"),
        ("-1", "lines before"),
        ("-5005", "lines before"),
        (str(1 << 64), "more than the 64 bits"),
        ("9" * 1000, "more than the 64 bits"),
        (str(-(1 << 70)), "more than the 64 bits"),
        ("0x80000001", "FastRPC"),
        ("0", "success"),
        ("17", "no code of the tables"),
    ],
)
def test_a_number_that_is_no_code_is_said_to_be_none_and_why(text, why):
    assert explain_code(text) is None
    said = why_unknown(text)

    assert said is not None
    assert said.startswith(f"{text} is no code of the tables")
    assert why in said


@given(st.integers(min_value=-(1 << 70), max_value=1 << 70), st.sampled_from([str, hex]))
def test_a_number_is_explained_or_said_to_be_no_code_and_never_placed_in_a_range_it_is_not_in(number, form):
    known, unknown = explain_code(form(number)), why_unknown(form(number))

    assert (known is None) or (unknown is None)
    if known and not known.exact:
        assert known.code == number
    if known and known.masked:
        assert number > 0xFFFF
        assert known.code == number & 0xFFFF


@pytest.mark.parametrize("text", ["0xffffffff80000406", str(0xFFFFFFFF80000406)])
def test_a_fastrpc_code_is_known_when_a_log_widened_its_sign(text):
    found = explain_code(text)

    assert found is not None
    assert (found.code, found.masked) == (0x80000406, False)


def test_a_code_names_the_rules_that_prevent_it():
    found = explain_code("1008")

    assert found is not None
    assert "HEX104" in found.rules


QNN_CODES = ("1002", "1008", "1009", "3110", "4000", "5000", "5005", "6001", "14001", "30010")
FASTRPC_CODES = ("0x80000406", "0x80000416", "0x80000442", "0x80000600")


@pytest.mark.parametrize("code", [*QNN_CODES, *FASTRPC_CODES])
def test_every_code_that_field_reports_name_has_a_row_of_its_own(code):
    found = explain_code(code)

    assert found is not None
    assert found.name
    assert found.look_first


def test_rows_are_unique_complete_and_inside_a_range():
    rows, ranges = table("errors")["error"], table("errors")["range"]

    codes = [row["code"] for row in rows]

    assert len(codes) == len(set(codes))
    for row in rows:
        assert set(row) - {"also"} == {"code", "name", "sentence", "look_first", "rules", "source"}
        assert not row["sentence"].endswith(".")
        homes = [r for r in ranges if r["first"] <= row["code"] <= r["last"]]
        assert len(homes) == (0 if row["code"] >= 0x80000000 else 1), row["code"]


def test_no_two_rows_share_a_name_or_a_small_number():
    errors = table("errors")
    names = [
        name
        for kind in ("error", "host")
        for row in errors[kind]
        for name in (row["name"], *row.get("also", ()))
    ]

    assert len(names) == len(set(names))
    assert not {row["code"] for row in errors["host"]} & {row["code"] for row in errors["error"]}
    assert all(row["code"] < errors["range"][0]["first"] for row in (*errors["host"], *errors["transport"]))


def test_the_rules_that_rows_name_exist():
    known = {row["id"] for row in rule_rows()}

    named = {
        rule
        for kind in ("error", "host", "transport")
        for row in table("errors")[kind]
        for rule in row["rules"]
    }

    assert named
    assert named <= known
