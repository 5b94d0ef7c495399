"""No text from outside makes a reader of configuration fail in any other way than by saying where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager.errors import UnreadableFile
from packager.facts.build_file import read_build_file
from packager.facts.environment import read_environment
from packager.facts.genie_config import read_genie_config
from packager.facts.htp_config import read_htp_config
from packager.facts.identify import examine
from packager.facts.runner_config import read_runner_config
from packager.rules.core import Stage, judge
from tests.unit.rule_cases import sound_case, staged, with_file

WORDS = st.sampled_from(
    ["graphs", "devices", "graph_names", "soc_model", "dsp_arch", "v73", "context", "backend_extensions", "dialog",
     "engine", "tokenizer", "path", "ctx-bins", "weight_sharing_enabled", "O", "vtcm_mb", "config_file_path"]
)  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=5)
    ),
    max_leaves=24,
)
LINES = st.lists(
    st.sampled_from(
        ["#!/bin/sh", "[Service]", "services:", "@echo off", "export ADSP_LIBRARY_PATH=", "Environment=", '"', "'",
         "DSP_LIBRARY_PATH=/a;/b", "LD_LIBRARY_PATH", ": /x", "\\", "$D/dsp", " ", "\n", "\r\n", "\t", "format 1\n",
         "package x 1\n", "variant context=", "$(", ")", 'adb shell "', "ExecStart=/bin/sh -c ", "echo ", ";/b", '\\"',
         "set ADSP_LIBRARY_PATH=", ":", ",", "```", "graph g", "\x85", "\u2028", "é", "cat <<E\n", "E\n", "a: {environment: {", "}}\n", "- ",
         "EnvironmentFile=", "command: sh -c ", ". ./", "&a", "*a", "|\n", "[uid=0 perms=0644]", "[+raw]", "a=b", "x={", "}", "${T}/a"]
    ),
    max_size=24,
).map("".join)  # fmt: skip
CASE = sound_case()
SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("read", [read_htp_config, read_genie_config])
@SETTINGS
@given(value=VALUES)
def test_any_json_has_facts(tmp_path: Path, read, value):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(value), encoding="utf-8")

    facts = read(path)

    assert facts == type(facts).model_validate_json(facts.model_dump_json())


@pytest.mark.parametrize(
    "read", [read_environment, read_runner_config, read_htp_config, read_genie_config, read_build_file]
)
@SETTINGS
@given(text=LINES | st.text(max_size=60))
def test_any_text_is_read_or_refused_at_an_offset_inside_it(tmp_path: Path, read, text):
    path = tmp_path / "t"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))

    offset = 0
    try:
        read(path)
    except UnreadableFile as error:
        offset = error.offset

    assert 0 <= offset <= path.stat().st_size


@SETTINGS
@given(content=st.binary(max_size=200) | LINES.map(str.encode))
def test_any_bytes_are_identified(tmp_path: Path, content):
    path = tmp_path / "b"
    path.write_bytes(content)

    assert examine(path).kind


@pytest.mark.parametrize("read", [read_htp_config, read_genie_config])
@SETTINGS
@given(value=VALUES)
def test_any_json_can_be_judged(tmp_path: Path, read, value):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    facts = read(path)
    case = with_file(CASE, staged("share/c.json", facts.kind, facts))

    assert all(finding.found and finding.wanted for finding in judge(case, Stage.FILES))


@SETTINGS
@given(text=LINES)
def test_any_script_can_be_judged(tmp_path: Path, text):
    path = tmp_path / "s.sh"
    path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    facts = read_environment(path)
    case = with_file(CASE, staged("s.sh", facts.kind, facts))

    assert all(finding.file.startswith("s.sh") for finding in judge(case, Stage.FILES))
