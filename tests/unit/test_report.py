"""What people see: findings that are alike stand together, long values are cut, and long work says so."""

from __future__ import annotations

import json
import os
import pty
import sys
import time
from pathlib import Path

import pytest

from packager.progress import Progress, Waiting
from packager.report import cut, finding_list, print_report
from packager.report_model import ContextReport, Report, TargetReport
from packager.rules.core import Finding, Proof, Severity
from tests.make.context import Graph, Tensor, context
from tests.unit.test_commands import hexpack


def finding(file: str, **more: str) -> Finding:
    said = {"rule": "HEX101", "title": "is damaged", "found": "f", "wanted": "w", "fix": "x", "target": "t"}
    return Finding.model_validate(said | {"file": file, "severity": Severity.ERROR} | more)


def test_findings_that_differ_in_the_file_alone_are_one_with_a_list_of_files():
    text = finding_list([finding("b"), finding("a"), finding("c", found="else")])

    assert text.count("HEX101") == 2
    assert "HEX101  each of 2 files  is damaged\n          file    a\n                  b\n" in text
    assert "HEX101  c  is damaged" in text


def test_words_that_name_each_its_own_file_are_alike():
    text = finding_list(
        [finding("lib/a.so", fix="take a.so from b"), finding("b.so", fix="take b.so from b")]
    )

    assert "each of 2 files" in text
    assert "fix     take the file from b\n" in f"{text}\n"


def test_the_name_of_a_file_is_no_piece_of_another_word():
    text = finding_list(
        [finding("a.so", fix="liba.so x-a.so a.so.1"), finding("b.so", fix="libb.so x-b.so b.so.1")]
    )

    assert "each of" not in text
    assert "fix     liba.so x-a.so a.so.1" in text


@pytest.mark.parametrize("field", ["rule", "found", "wanted", "fix", "on_device", "allowed", "target"])
def test_findings_that_differ_in_anything_else_stand_alone(field):
    text = finding_list([finding("a"), finding("b", **{field: "HEX999"})])

    assert "each of" not in text
    assert "  a  " in text
    assert "  b  " in text


def test_of_very_many_files_a_person_is_told_the_first_and_their_number():
    text = finding_list([finding(f"file{number:04}") for number in range(1000)])

    assert "each of 1000 files" in text
    assert "and 980 more" in text
    assert len(text.splitlines()) < 30


def test_errors_still_come_before_warnings():
    warning = finding("a", severity=Severity.WARNING, title="is odd")

    assert finding_list([warning, finding("z"), finding("y")]).index("each of 2") == len("  HEX101  ")


def test_evidence_without_end_is_cut_and_its_rest_counted():
    text = finding_list([finding("a", found="x" * 500_000)])

    assert "(499000 of 500000 characters left out)" in text
    assert len(text) < 2000


@pytest.mark.parametrize(
    ("text", "shown"), [("abc", "abc"), ("abcd", "abc… (1 of 4 characters left out)"), ("", "")]
)
def test_a_cut_says_how_much_is_left_out(text, shown):
    assert cut(text, 3) == shown


def test_inspect_cuts_for_a_person_and_not_for_a_program(tmp_path: Path):
    keys = {f"key{number:05}": 0 for number in range(4000)}
    (tmp_path / "htp.json").write_text(json.dumps({"devices": [{"dsp_arch": "v73"}], **keys}))
    inputs = tuple(Tensor(f"x{number}") for number in range(1000))
    (tmp_path / "many.bin").write_bytes(context([Graph(inputs=inputs)]))

    person = hexpack("inspect", str(tmp_path)).stdout
    program = json.loads(hexpack("inspect", "--json", str(tmp_path)).stdout)["files"]

    assert len(person) < 40_000
    assert "characters left out)" in person
    assert "800 more of input (--json has all)" in person
    assert len(program[f"{tmp_path}/htp.json"]["keys"]) == 4002
    assert len(program[f"{tmp_path}/many.bin"]["graphs"][0]["inputs"]) == 1000


def told_while(seconds: float, patience: float, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a terminal is told while something takes so long."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        with Waiting("reading a\x1b[31m[red]:x:", patience=patience):
            time.sleep(seconds)
        os.write(theirs, b"END")
        said = b""
        while not said.endswith(b"END"):
            said += os.read(ours, 4096)
    os.close(ours)
    return said.removesuffix(b"END").decode()


def test_a_terminal_is_told_what_takes_long(monkeypatch):
    said = told_while(0.6, 0.05, monkeypatch)

    assert r"reading a\x1b[31m[red]:x:" in said
    assert "0:00:00" in said


def test_a_terminal_is_told_nothing_of_what_is_done_at_once(monkeypatch):
    assert told_while(0, 30, monkeypatch) == ""


def test_the_steps_of_packing_are_shown_as_they_are(monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        with Progress().running() as tell:
            tell("compiling [red]\x1b]0;x :x:")
        os.write(theirs, b"END")
        said = b""
        while not said.endswith(b"END"):
            said += os.read(ours, 4096)
    os.close(ours)

    assert r"compiling [red]\x1b]0;x :x:" in said.decode()


def test_a_log_is_told_nothing(capfd):
    with Waiting("reading", patience=0):
        time.sleep(0.2)

    assert capfd.readouterr() == ("", "")


def reported(*proofs: Proof) -> Report:
    contexts = (ContextReport(soc="sm8650", sha256="0" * 64, size=2048, seconds=0.5),)
    target = TargetReport(
        label="phone", system="linux", abi="a", socs=("sm8650",), contexts=contexts, proofs=proofs
    )
    return Report(
        manifest="app.toml", package="app", version="1", refused=False, findings=(), targets=(target,)
    )


def test_every_output_has_a_row_with_what_quantizing_and_compiling_cost(capsys):
    numbers = {"soc": "sm8650", "max_abs": 0.25, "samples": 3}
    boxes = Proof(output="boxes", cosine=0.99, quantized=0.995, top1=1.0, **numbers)
    classes = Proof(output="classes", cosine=0.9, quantized=0.91, top1=2 / 3, **numbers)

    print_report(reported(boxes, classes), written=False)

    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0][4:] == ["output", "samples", "cosine", "max", "error", "quantized", "top-1"]
    assert rows[1][-6:] == ["boxes", "3", "0.990000", "2.50e-01", "0.995000", "1.000"]
    assert rows[2] == ["classes", "3", "0.900000", "2.50e-01", "0.910000", "0.667"]


def test_columns_of_which_nothing_was_measured_are_left_out(capsys):
    print_report(reported(), written=False)

    head, row = (line.split() for line in capsys.readouterr().out.splitlines()[:2])
    assert head == ["target", "SoC", "context", "compiled", "samples", "cosine", "max", "error"]
    assert row == ["phone", "sm8650", "2.0", "kB", "0.50", "s", "-", "-", "-"]
