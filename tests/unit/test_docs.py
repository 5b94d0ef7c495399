"""What the README says is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from packager import catalog, errors
from packager.commands import collection
from packager.manifest import load
from packager.plan import make_plan

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shell_blocks() -> list[str]:
    return re.findall(r"```sh\n(.*?)```", README, re.DOTALL)


def test_the_readme_names_every_command_and_no_other():
    table = README.partition("## Commands")[2].partition("## What")[0]
    contributors = re.findall(r"^\| (.*) \| for contributors \|$", table, re.MULTILINE)
    named = set(re.findall(r"`invoke (\w+)", table)) | set(re.findall(r"`(\w+)`", contributors[0]))

    assert named == set(collection().task_names)


def test_the_transcript_shows_the_packages_that_the_example_makes():
    plan = make_plan(load(ROOT / "examples" / "text-direction" / "app.toml"))

    for target in plan.targets:
        for package in target.packages:
            assert re.search(rf"^{re.escape(package.file_name)}  .*new$", README, re.MULTILINE)


def test_files_that_the_readme_mentions_exist():
    mentioned = re.findall(r"[\w.-]+/[\w./-]+\.(?:toml|npy|json|md|lock)", README) + re.findall(
        r"`(\w+\.md)`", README
    )

    assert len(mentioned) >= 6
    for name in mentioned:
        if not name.startswith(("dist/", "share/")):
            assert (ROOT / name).exists(), name


def test_the_manifest_of_the_readme_is_a_valid_one(tmp_path):
    (text,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "app.toml").write_text(text, encoding="utf-8")

    plan = make_plan(load(tmp_path / "app.toml"))

    assert [target.label for target in plan.targets] == ["rb3gen2", "x-elite"]


def test_the_number_of_socs_is_that_of_the_table():
    assert f"| SoCs | {len(catalog.socs())} rows" in README


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (errors.RuleRefused, "1 a rule refused"),
        (errors.ManifestError, "2 usage or manifest"),
        (errors.InputUnavailable, "3 an input could not be had"),
        (errors.ToolFailed, "4 a compiler or tool"),
        (errors.VerificationFailed, "5 verification failed"),
        (errors.HexpackError, "70 a defect of hexpack"),
    ],
)
def test_exit_codes_are_those_of_the_readme(kind, words):
    assert words.startswith(str(kind.exit_code))
    assert words in README


def test_formats_that_are_written_and_those_that_are_not_are_told_apart():
    written = {row.id for row in catalog.formats().values() if row.systems}
    (now, later) = re.findall(r"\| formats \| (.*?) \|(.*?)\|", README)[0]

    assert set(now.split(", ")) == written
    assert not written & set(later.strip().split(", "))


def test_continuous_integration_runs_the_test_line_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert "<!-- test line -->" in script
    assert [block for block in shell_blocks() if "invoke test" in block] == [
        README.partition("<!-- test line -->\n```sh\n")[2].partition("```")[0]
    ]
