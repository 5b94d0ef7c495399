"""Commands turn errors into messages and exit codes, and take as many files as a shell gives them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.make.elf import hexagon_skel

ROOT = Path(__file__).parents[2]


def hexpack(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    code = "from packager.commands.program import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def invoke(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "invoke", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_list_of_commands_is_the_same_for_invoke_and_for_hexpack():
    words = ("package", "check", "plan", "inspect", "socs", "explain", "test", "lint")

    listings = (invoke("--list").stdout, hexpack("--list").stdout)

    for listing in listings:
        assert all(f"  {word} " in listing for word in words)


@pytest.fixture
def skels(tmp_path) -> list[str]:
    paths = []
    for arch in (68, 73, 81):
        path = tmp_path / f"v{arch}.so"
        path.write_bytes(hexagon_skel(arch=arch))
        paths.append(str(path))
    return paths


@pytest.mark.parametrize("command", ["inspect", "audit"])
def test_a_file_of_the_system_that_is_none_is_an_input_that_cannot_be_had(command):
    done = hexpack(command, "/proc/self/mem")

    assert done.returncode == 3
    assert done.stderr.startswith("error: /proc/self/mem cannot be read\n")


@pytest.mark.parametrize("run", [invoke, hexpack])
def test_inspect_takes_one_file_many_files_or_a_folder(run, skels, tmp_path):
    one = json.loads(run("inspect", "--json", skels[0]).stdout)
    many = json.loads(run("inspect", *skels, "--json").stdout)
    folder = json.loads(run("inspect", "--json", str(tmp_path)).stdout)

    assert list(one["files"]) == skels[:1]
    assert [facts["hexagon_arch"] for facts in many["files"].values()] == [68, 73, 81]
    assert sorted(folder["files"]) == sorted(skels)


def test_inspect_shows_a_person_the_facts_of_a_skel(skels):
    shown = hexpack("inspect", skels[1]).stdout

    assert "HEXAGON" in shown
    assert "hexagon_arch" in shown
    assert "0x73" in shown


def test_inspect_of_a_missing_file_names_the_nearest_one(skels):
    asked = skels[1].replace("v73", "v37")

    refused = hexpack("inspect", asked)

    assert refused.returncode == 3
    assert 'there is "v73.so" beside it' in refused.stderr
    assert "Traceback" not in refused.stderr


def test_socs_filters_by_word_and_answers_a_typing_slip():
    assert "qcs6490" in hexpack("socs", "6490").stdout
    refused = hexpack("socs", "qcs6940")
    assert refused.returncode == 2
    assert 'did you mean "qcs6490"?' in refused.stderr


def test_socs_as_json_is_one_document():
    document = json.loads(hexpack("socs", "v68", "--json").stdout)

    assert document["schema_version"] == 1
    assert {soc["hexagon"] for soc in document["socs"]} == {68}


@pytest.mark.parametrize("subject", ["HEX104", "hex104", "1008", "0x3F0", "0x80000406"])
def test_explain_knows_rules_and_codes_as_logs_print_them(subject):
    explained = hexpack("explain", subject)

    assert explained.returncode == 0
    assert "Source:" in explained.stdout


def test_explain_of_something_unknown_says_what_it_takes():
    refused = hexpack("explain", "HEX999")

    assert refused.returncode == 2
    assert "give a rule id" in refused.stderr


def test_a_missing_manifest_is_exit_code_2_without_a_traceback(tmp_path):
    refused = hexpack("package", "--manifest", str(tmp_path / "none.toml"))

    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr


PROGRAM = f'"{sys.executable}" -c "from packager.commands.program import main; main()"'


@pytest.mark.parametrize(("to", "unbuffered"), [("2>errors | head -c 1", ""), ("2>&1 | true", "1")])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("socs", 0),
        ("explain 1008", 0),
        ("explain nonsense", 2),
        ("inspect *.so", 0),
        ("inspect --json *.so", 0),
        ("audit *.so", 1),
        ("audit --json *.so", 1),
        ("audit text", 3),
        ("plan --json", 2),
        ("nosuch", 2),
    ],
)
def test_the_exit_code_is_the_commands_own_when_nobody_reads_to_the_end(
    arguments, code, to, unbuffered, tmp_path
):
    for number in range(3):
        (tmp_path / f"libQnnHtpV7{number}Skel.so").write_bytes(b"\x7fELF")
    (tmp_path / "text").write_text("text")
    (tmp_path / "errors").touch()

    piped = subprocess.run(
        ["bash", "-c", f"{PROGRAM} {arguments} {to}; exit ${{PIPESTATUS[0]}}"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        check=False,
    )

    said = piped.stderr + (tmp_path / "errors").read_text()
    assert piped.returncode == code, said
    assert "Traceback" not in said
    assert "Broken" not in said
    assert "ignored" not in said


def test_a_defect_is_exit_code_70_and_asks_for_a_report(capsys):
    from invoke.exceptions import Exit

    from packager.commands.support import command

    @command()
    def broken(_):
        raise ZeroDivisionError

    with pytest.raises(Exit) as stopped:
        broken.body(None)

    assert stopped.value.code == 70
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said
    assert "This is a defect of hexpack" in said


def test_an_error_is_one_json_document_where_json_was_asked_for(tmp_path):
    refused = hexpack("plan", "--manifest", str(tmp_path / "none.toml"), "--json")

    document = json.loads(refused.stdout)
    assert document["error"]["exit_code"] == refused.returncode == 2
    assert document["error"]["what"] in refused.stderr


@pytest.mark.parametrize("arguments", [["package", "--nonsense"], ["nosuch"], ["explain"], ["inspect"]])
def test_a_command_line_that_cannot_be_understood_is_exit_code_2_with_the_way_to_help(arguments):
    refused = hexpack(*arguments)

    assert refused.returncode == 2
    assert "hexpack --list" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("epoch", ["tomorrow", "-1", "²", "99999999999999", ""])
def test_a_source_date_epoch_that_no_format_can_hold_is_refused(tmp_path, monkeypatch, epoch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    hexpack("init", "my-app", cwd=tmp_path)

    refused = hexpack("check", cwd=tmp_path / "my-app")

    assert refused.returncode == 2
    assert "SOURCE_DATE_EPOCH" in refused.stderr


def test_a_number_that_json_cannot_say_becomes_null(capsys):
    from packager.commands.streams import print_json

    print_json({"cosine": float("nan"), "list": [1.5, float("inf")]})

    assert json.loads(capsys.readouterr().out) == {"cosine": None, "list": [1.5, None]}


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_defect(closed):
    program = f'"{sys.executable}" -c "from packager.commands.program import main; main()" socs v68'

    ended = subprocess.run(["bash", "-c", f"{program} {closed}"], capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr


def test_inspect_of_a_device_says_that_it_is_no_file():
    refused = hexpack("inspect", "/dev/null")

    assert refused.returncode == 3
    assert "neither a file nor a folder" in refused.stderr


def test_names_inside_an_archive_are_shown_as_they_are(tmp_path):
    with zipfile.ZipFile(tmp_path / "odd.zip", "w") as archive:
        for name in ("[/red]x.so", "[red]y[/red]", "a\x1b[31mb.so"):
            archive.writestr(name, "text")

    shown = hexpack("inspect", str(tmp_path / "odd.zip"))

    assert shown.returncode == 0, shown.stderr
    assert "[/red]x.so" in shown.stdout
    assert "[red]y[/red]" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_a_stream_that_cannot_say_every_letter_is_no_defect():
    code = "from packager.commands.program import main; main()"
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}

    ended = subprocess.run(
        [sys.executable, "-c", code, "explain", "HEX104"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "HEX104" in ended.stdout


def test_an_output_without_space_is_an_output_without_space():
    program = (
        f'"{sys.executable}" -c "from packager.commands.program import main; main()" socs v68 > /dev/full'
    )

    ended = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)

    assert ended.returncode == 3
    assert "no space is left for the output" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("name", ["inspect", "explain", "init", "package"])
def test_help_stands_before_or_behind_the_command(name):
    before, behind = hexpack("--help", name), hexpack(name, "--help")

    assert before.returncode == behind.returncode == 0
    assert before.stdout == behind.stdout
    assert name in behind.stdout
