"""Text from outside is shown as it is, and can do nothing to a terminal, a log or a document."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager.visible import encodable, visible, visible_lines
from tests.make.archive import zip_with
from tests.make.context import Graph, context
from tests.unit.test_commands import hexpack

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # halves of surrogate pairs too
HOSTILE = ("esc\x1b[31m", "turned\u202egnp", "csi\x9b2J", ":x: [red]", "two\nlines", "byte\udcff")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [red] :x: é 入力", "plain [red] :x: é 入力"),
        ("\x1b[31m\r\n\t\x7f", r"\x1b[31m\r\n\t\x7f"),
        ("\u202e\u2066\u200b\ufeff", r"\u202e\u2066\u200b\ufeff"),
        ("\x9b\U000e0001", r"\x9b\U000e0001"),
        ("\udcff\ud800", r"\xff\ud800"),
    ],
)
def test_what_controls_is_written_as_its_number(text, shown):
    assert visible(text) == shown


@given(ANY_TEXT)
def test_visible_text_is_printable_and_stays_as_it_is(text):
    shown = visible(text)

    assert shown.isprintable()
    assert visible(shown) == shown


@given(ANY_TEXT)
def test_lines_that_were_made_here_stay_lines(text):
    assert visible_lines(text).count("\n") == text.count("\n")


@given(ANY_TEXT)
def test_encodable_text_can_be_written_as_utf_8_and_what_could_be_before_is_unchanged(text):
    made = encodable(text)

    assert made.encode().decode() == made
    assert made == text or any("\ud800" <= letter <= "\udfff" for letter in text)


@pytest.fixture
def hostile(tmp_path) -> Path:
    """A folder of damaged libraries and of contexts whose graphs have names that control a terminal."""
    folder = tmp_path / "found"
    folder.mkdir()
    for name in HOSTILE:
        (folder / f"{name}.so").write_bytes(b"\x7fELF")
    (folder / "model.bin").write_bytes(context([Graph(name="g\x1b[31m\u202e:x:")]))
    (folder / "htp.json").write_text(json.dumps({"devices": [{"dsp_arch": "v72\x1b[31m"}], "\x1b]0;k": 1}))
    members = {f"{name}.so": b"\x7fELF" for name in HOSTILE if "\udcff" not in name}
    (folder / "in.zip").write_bytes(zip_with(members))
    return folder


def told(*arguments: str) -> str:
    """All that a command says, on both streams, as it is."""
    code = "from packager.commands.program import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    return (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("command", ["inspect", "audit"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_names_and_words_in_files_control_no_terminal(hostile, command, form):
    said = told(command, str(hostile), *form)

    assert all(line.isprintable() for line in said.split("\n"))
    assert ":x: [red]" in said


@pytest.mark.parametrize("command", ["inspect", "audit"])
def test_a_name_that_is_no_text_is_written_byte_by_byte_and_stays_a_name_of_its_own(tmp_path, command):
    for byte in (b"\xfe", b"\xff"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/x" + byte)).write_bytes(b"\x7fELF")

    said = json.dumps(json.loads(hexpack(command, "--json", str(tmp_path)).stdout))

    assert r"x\\xfe" in said
    assert r"x\\xff" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "\x1b[31mred\u202e"],
        ["socs", "\x1b[31mred\u202e"],
        ["audit", "--soc", "\x1b[31mred\u202e", "."],
        ["audit", "--abi", "\x1b[31mred\u202e", "."],
        ["audit", "no\udcff\x1b[31mwhere"],
        ["inspect", "no\udcff\x1b[31mwhere", "--json"],
        ["plan", "--manifest", "no\udcff\x1b[31mwhere", "--json"],
        ["init", "\x1b[31mred\u202e"],
        ["\x1b[31mred\u202e"],
        ["explain", "--\x1b[31mred"],
    ],
)
def test_words_of_the_command_line_control_no_terminal(arguments):
    said = told(*arguments)

    assert said
    assert all(line.isprintable() for line in said.split("\n"))
