"""`explain` takes words as people type them and lines as logs have them, and says what it does not know."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from packager.explanation import explain, explain_log, text_of
from tests.unit.test_commands import hexpack, invoke


def titles(*words: str) -> list[list[str]]:
    return [[page.title.split("  ")[0] for page in answer.pages] for answer in explain(words)]


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (["1008", "14001"], [["1008 (0x3f0)"], ["14001 (0x36b1)"]]),
        (["transportStatus", "9"], [["transportStatus 9"]]),
        (["HEX104", "hex407,", "5005"], [["HEX104"], ["HEX407"], ["5005 (0x138d)"]]),
        (["lib", "id", "mismatch:", "1008"], [['"lib id mismatch"', "1008 (0x3f0)"]]),
        (["1008", "err", "4000", "HEX104"], [["1008 (0x3f0)"], ["4000 (0xfa0)"], ["HEX104"]]),
        (["failed, 0x80000406", "1008"], [["0x80000406"], ["1008 (0x3f0)"]]),
        (["-2147482618"], [["0x80000406"]]),
        (["see HEX104 and 1008"], [["HEX104", "1008 (0x3f0)"]]),
        (["99999"], [[]]),
        (["1008", "99999"], [["1008 (0x3f0)"], []]),
        (["HEX999"], [[]]),
    ],
)
def test_each_subject_of_the_command_line_has_its_answer(words, known):
    assert titles(*words) == known


def test_what_is_unknown_says_so_beside_what_is_known():
    known, unknown = explain(["1008", "99999"])

    assert not known.unknown
    assert "is no code of the tables" in text_of(unknown)


def test_a_return_value_with_bits_above_says_where_its_code_is():
    (answer,) = explain(["0xdead0000138d"])

    assert "low 16 bits of 0xdead0000138d" in text_of(answer)


def test_a_log_is_answered_once_for_each_thing_that_it_tells():
    first, second = explain_log(["noise", "err 1003", "lib id mismatch: err 1008", "err 1003", "err 1003"])

    assert (first.line, first.times, len(first.pages)) == (2, 3, 1)
    assert (second.line, second.times, len(second.pages)) == (3, 1, 2)
    assert text_of(first).startswith("line 2, and 2 more like it: err 1003")


@pytest.mark.parametrize("run", [hexpack, invoke])
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["-2147482618"], 0, "AEE_EUNABLETOLOAD"),
        (["1008", "-2147482618"], 0, "AEE_EUNABLETOLOAD"),
        (["--", "-2147482618"], 0, "AEE_EUNABLETOLOAD"),
        (["-1"], 2, "-1 is no code of the tables"),
        (["-2", "-12", "-1=5"], 2, "-12 is no code of the tables"),
        (["-1 then err 1008"], 0, "COMMON_INCOMPATIBLE_BINARIES"),
    ],
)
def test_negative_numbers_are_words(run, arguments, code, said):
    done = run("explain", *arguments)

    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr


def test_json_has_all_answers_in_one_document():
    done = hexpack("explain", "--json", "HEX104", "1008", "99999", "lib id mismatch")

    answers = json.loads(done.stdout)["answers"]
    assert [answer["subject"] for answer in answers] == ["HEX104", "1008", "99999", "lib id mismatch"]
    assert [page["kind"] for answer in answers for page in answer["pages"]] == ["rule", "code", "log line"]
    assert "no code" in answers[2]["unknown"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_log_is_read_from_standard_input(encoding, form):
    log = "noise\r\nfailed, 0x80000406\r\n".encode(encoding)
    code = "from packager.commands.program import main; main()"

    done = subprocess.run(
        [sys.executable, "-c", code, "explain", "-", *form], input=log, capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert b"AEE_EUNABLETOLOAD" in done.stdout


@pytest.mark.parametrize("log", [b"", b"noise\n", b"\xff\xfe\xff", b"\0" * 200_000])
def test_a_log_that_tells_nothing_is_exit_code_2(log):
    code = "from packager.commands.program import main; main()"

    done = subprocess.run(
        [sys.executable, "-c", code, "explain", "-"], input=log, capture_output=True, check=False
    )

    assert done.returncode == 2
    assert b"no line of the log is known" in done.stderr
