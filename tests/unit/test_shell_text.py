"""Scripts are taken apart as a shell does it, in time that grows as they do."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from packager.facts.environment import read_environment
from packager.facts.identify import identify
from packager.facts.shell_text import shell_lines, shell_values, words_of
from packager.rules.core import Stage, judge
from tests.unit.rule_cases import sound_case, staged, with_file

NAMES = ("ADSP_LIBRARY_PATH", "LD_LIBRARY_PATH")


@given(st.text("ab \t\"'\\$(;=", max_size=12))
def test_words_are_those_of_the_standard_library(text):
    try:
        expected = shlex.split(text)
    except ValueError as error:
        assume("escaped" not in str(error))
        expected = []

    assert words_of(text) == expected


@given(
    st.lists(
        st.sampled_from(["cat <<E", "E", "\tE", "a", "<<-E <<F", "F", "x \\", "sh <<E", "'<<E"]), max_size=12
    )
)
def test_every_line_is_a_command_or_in_a_document_and_none_is_both(lines):
    numbers = [number for number, _ in shell_lines(lines)]

    assert numbers == sorted(set(numbers))
    assert all(1 <= number <= len(lines) for number in numbers)
    assert not lines or numbers[0] == 1


@given(
    st.lists(
        st.sampled_from(["/a", ":", ";", " ", '"', "'", "$(", ")", "\\", "ADSP_LIBRARY_PATH=", "echo "]),
        max_size=30,
    )
)
def test_any_line_has_values_that_are_made_of_its_own_letters(pieces):
    line = "".join(pieces)

    for name, value in shell_values(line, NAMES):
        assert name in line
        assert set(value.text) <= set(line)


LONG = {
    "colons": ("#!/bin/sh\nexport ADSP_LIBRARY_PATH=", "/a:"),
    "quoted": ('#!/bin/sh\nexport ADSP_LIBRARY_PATH="', "/a:"),
    "semicolons": ("#!/bin/sh\nADSP_LIBRARY_PATH=", "/a;"),
    "assignments": ("#!/bin/sh\n", "ADSP_LIBRARY_PATH=/a "),
    "cut assignments": ("#!/bin/sh\n", "ADSP_LIBRARY_PATH=/a;/b "),
    "substitutions": ("#!/bin/sh\nADSP_LIBRARY_PATH=/a", "$("),
    "backslashes": ("#!/bin/sh\nADSP_LIBRARY_PATH=/a", "\\"),
    "lines that go on": ("#!/bin/sh\nADSP_LIBRARY_PATH=/a", "\\\n"),
    "documents": ("#!/bin/sh\nADSP_LIBRARY_PATH=/a\n", "cat <<E\n"),
    "ends of documents": ("#!/bin/sh\nADSP_LIBRARY_PATH=/a\n", "cat <<E <<E\nE\n"),
    "empty lines": ("ADSP_LIBRARY_PATH=/a", "\n"),
    "blank lines": ("ADSP_LIBRARY_PATH=/a", " \n"),
    "blanks": ("export ADSP_LIBRARY_PATH=/a", " "),
    "unit": ("[Service]\nEnvironment=ADSP_LIBRARY_PATH=", "/a:"),
    "unit of many": ("[Service]\nEnvironment=", "ADSP_LIBRARY_PATH=/a "),
    "batch": ("set ADSP_LIBRARY_PATH=", "/a:"),
    "compose": ("services:\n a:\n  environment:\n   ADSP_LIBRARY_PATH: /b", ":/a"),
    "compose of many": ("services:\n a:\n  environment:\n", "   - ADSP_LIBRARY_PATH=/a\n"),
    "nested compose": ("services:\n a:\n  environment: [ADSP_LIBRARY_PATH=/a", ",["),
}


@pytest.mark.parametrize("kind", LONG)
def test_a_file_that_is_eight_times_as_long_takes_no_square_of_the_time(tmp_path: Path, kind: str) -> None:
    begin, more = LONG[kind]

    def seconds(size: int) -> float:
        path = tmp_path / "file"
        path.write_text(begin + more * (size // len(more)))
        started = time.process_time()
        if identify(path) == "environment":
            staged_file = staged("file", "environment", read_environment(path))
            assert judge(with_file(sound_case(), staged_file), Stage.FILES) is not None
        return time.process_time() - started

    seconds(100)
    short = min(seconds(30_000) for _ in range(3))
    long = min(seconds(240_000) for _ in range(2))

    assert long < 24 * (short + 0.004)  # a square is 64 times as much, what is in proportion 8 times
