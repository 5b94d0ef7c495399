"""Build files of QNX's image tools are read by their documented grammar, and ours by the same reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from packager.errors import UnreadableFile
from packager.facts.build_file import read_build_file
from packager.facts.config_types import BuildEntry
from packager.facts.identify import identify
from packager.layouts.additions import additions
from tests.make.bundle import bundle_file
from tests.unit.test_layout_qnx import qnx_plan


def entries(tmp_path: Path, text: str) -> tuple[BuildEntry, ...]:
    path = tmp_path / "x.build"
    path.write_text(text)
    return read_build_file(path).entries


def test_attributes_alone_on_a_line_hold_for_all_that_follow_and_others_for_their_line(tmp_path):
    first, second, third = entries(tmp_path, "[uid=1 perms=0644]\na\n[perms=0755] b\nc\n")

    assert first.attributes == third.attributes == {"uid": "1", "perms": "0644"}
    assert second.attributes == {"uid": "1", "perms": "0755"}


def test_paths_may_have_a_source_quotes_and_variables(tmp_path):
    found = entries(tmp_path, '/a/b=${T}/b # comment\n"/a b" = "c d"\n/plain\n'.replace(" = ", "="))

    assert [(entry.target, entry.source) for entry in found] == [
        ("/a/b", "${T}/b"),
        ("/a b", "c d"),
        ("/plain", None),
    ]


def test_texts_in_braces_are_passed_over(tmp_path):
    found = entries(tmp_path, "[+script] .script = {\n  PATH=/bin ./run [x]\n}\nlast\n")

    assert [(entry.target, entry.inline, entry.line) for entry in found] == [
        (".script", True, 1),
        ("last", False, 4),
    ]
    assert found[0].attributes == {"script": "+"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[uid=0\na\n", "attributes that no bracket ends"),
        ("[uid=0] [gid=0] a\n", "two brackets of attributes"),
        ("a=b c\n", "more than a path and its source"),
        ("a=\n", "no path where one belongs"),
        ("a = {\nb\n", "does not end"),
    ],
)
def test_what_the_grammar_does_not_know_is_refused_with_its_line(tmp_path, text, reason):
    with pytest.raises(UnreadableFile) as refused:
        entries(tmp_path, text)

    assert reason in refused.value.reason
    assert refused.value.reason.startswith("line 1: ")


def test_our_fragments_name_every_file_once_and_executables_as_such(tmp_path):
    files = [
        bundle_file("bin/hexrun", b"r", tmp_path), bundle_file("dsp/libSkel.so", b"s", tmp_path),
        bundle_file("share/runner.conf", b"c", tmp_path),
    ]  # fmt: skip
    for script in additions(qnx_plan(), files).scripts:
        if not script.name.endswith(".build"):
            continue
        path = tmp_path / script.name
        path.write_text(script.text)
        found = read_build_file(path).entries
        packed = [entry for entry in found if entry.attributes["type"] == "file"]

        assert identify(path) == "build-file"
        assert sorted(str(entry.source) for entry in packed) == sorted(
            "${TEXT_DIRECTION_TREE}/" + file.path for file in files
        )
        assert {entry.target for entry in packed} == {f"/opt/text-direction/{file.path}" for file in files}
        assert [e.target for e in packed if e.attributes["perms"] == "0755"] == [
            "/opt/text-direction/bin/hexrun"
        ]
        assert {e.attributes.get("raw") for e in packed} == ({"+"} if "ifs" in script.name else {None})
        links = {entry.target: entry.source for entry in found if entry.attributes["type"] == "link"}
        assert links["/opt/text-direction/images/cdsp1/libSkel.so"] == "../../dsp/libSkel.so"


def test_prose_with_brackets_is_no_build_file(tmp_path):
    path = tmp_path / "README"
    path.write_text("[uid=0] is how QNX writes an owner, and\n[perms=0644] a mode of a file (see there).\n")

    assert identify(path) == "other"
