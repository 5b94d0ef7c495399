"""Configuration files are known by their content, and read within limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from packager.errors import UnreadableFile
from packager.facts.config_types import Assignment
from packager.facts.environment import read_environment
from packager.facts.genie_config import read_genie_config
from packager.facts.htp_config import read_htp_config
from packager.facts.identify import examine, identify
from packager.facts.json_text import MAX_SIZE, json_document, key_paths
from packager.facts.runner_config import read_runner_config

HTP = {
    "graphs": [{"graph_names": ["prefill", "decode"], "O": 3, "vtcm_mb": 8}],
    "devices": [{"soc_model": 57, "dsp_arch": "v75", "cores": [{"perf_profile": "burst"}]}],
    "context": {"weight_sharing_enabled": True},
}
GENIE = {
    "dialog": {
        "tokenizer": {"path": "tokenizer.json"},
        "engine": {
            "backend": {"type": "QnnHtp", "extensions": "htp.json"},
            "model": {"type": "binary", "binary": {"ctx-bins": ["a.bin", "b.bin"]}},
        },
    }
}


@pytest.fixture
def saved(tmp_path):
    def save(content: Any) -> Path:
        path = tmp_path / "file"
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return save


def test_an_htp_configuration_says_graphs_devices_and_keys(saved):
    facts = read_htp_config(saved(HTP))

    (graph,), (device,) = facts.graphs, facts.devices
    assert (graph.names, graph.optimization, graph.vtcm_mb) == (("prefill", "decode"), 3, 8)
    assert (device.soc_model, device.arch) == (57, 75)
    assert (facts.graphs_shape, facts.weight_sharing) == ("array", True)
    assert "devices.cores.perf_profile" in facts.keys


def test_the_old_spelling_says_the_same(saved):
    facts = read_htp_config(
        saved({"graphs": HTP["graphs"][0], "devices": [{"soc_id": 57, "dsp_arch": "75"}]})
    )

    assert facts.graphs_shape == "object"
    assert (facts.devices[0].soc_model, facts.devices[0].arch) == (57, 75)


@pytest.mark.parametrize(
    "wrong",
    [
        {"graphs": "all", "devices": [{"soc_model": "57", "dsp_arch": ["v75"]}]},
        {"graphs": [3], "devices": {"dsp_arch": True}},
        {"devices": [{"soc_model": True, "cores": None}], "context": [{"weight_sharing_enabled": "yes"}]},
    ],
)
def test_a_value_of_the_wrong_type_counts_as_not_said(saved, wrong):
    facts = read_htp_config(saved(wrong))

    assert [device.soc_model for device in facts.devices] in ([None], [])
    assert facts.graphs == ()
    assert facts.weight_sharing is None


@pytest.mark.parametrize(("written", "read"), [("3.0", 3), ("3.5", None), ("true", None), ("9" * 30, None)])
def test_a_level_is_a_whole_number_however_it_is_written(saved, written, read):
    (graph,) = read_htp_config(saved(f'{{"graphs": [{{"O": {written}}}]}}')).graphs

    assert graph.optimization == read


def test_the_outer_file_names_the_inner_one(saved):
    outer = {"backend_extensions": {"shared_library_path": "libX.so", "config_file_path": "htp.json"}}

    assert read_htp_config(saved(outer)).paths == ("htp.json",)


def test_a_genie_configuration_names_its_files(saved):
    facts = read_genie_config(saved(GENIE))

    assert facts.paths == ("tokenizer.json", "htp.json", "a.bin", "b.bin")
    assert facts.model_paths == ("a.bin", "b.bin")
    assert facts.backend == "QnnHtp"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (HTP, "htp-config"),
        ({"backend_extensions": {}}, "htp-config"),
        (GENIE, "genie-config"),
        ({"devices": ["tv", "phone"]}, "other"),
        ({"name": "x", "graphs": 3}, "other"),
        ([HTP], "other"),
        ("\ufeff" + json.dumps(HTP), "htp-config"),
        ("# Read by hexrun.\n\nformat 1\npackage x 1\n", "runner-config"),
        ("format 1\nno package\n", "other"),
        ("#!/bin/bash\nexport ADSP_LIBRARY_PATH=/x\n", "environment"),
        ("#!/bin/bash\necho $ADSP_LIBRARY_PATH\n", "other"),
        ("Set `ADSP_LIBRARY_PATH=/x` before you begin.\n", "other"),
        ("# Run\n```powershell\n$env:ADSP_LIBRARY_PATH = 'x'\n```\n", "other"),
        ("import os\nos.environ['ADSP_LIBRARY_PATH'] = '/x'\n", "other"),
        (b"#!/bin/sh\n\0ADSP_LIBRARY_PATH=/x\n", "other"),
        ("#!/bin/sh\ncat <<EOF\nADSP_LIBRARY_PATH=/x\nEOF\n", "other"),
        ("services:\n  a: {environment: {ADSP_LIBRARY_PATH: /x}}\n", "environment"),
        ("services:\n  a: [ADSP_LIBRARY_PATH=/x\n", "other"),
    ],
)
def test_a_file_is_known_by_what_it_says(saved, content, kind):
    assert identify(saved(content)) == kind


@pytest.mark.parametrize(
    "content",
    [
        '{\n  // see the manual\n  "editor.tabSize": 2, "context": "a",\n}\n',
        '{"cores": 8, "loss": NaN}',
        '{"engine": "v8", "context": {"tokenizer": 1}}\n{"engine": "v8"}\n',
        '{"devices": {{ devices | tojson }}, "cores": {{ cores }}, "*": true}',
        '{"text": "\\"devices\\": {\\"dsp_arch\\": 1}", "a": }',
        '{/* "devices": {"dsp_arch": 73} */ "a": 1}',
        '{"graphs": [], "graphs": [], "vtcm_mb": 8}',
        '{"a": {"schema_version": 1, "components": {"x": 1}}',
        "{" * 100,
        '{"' + "\\" * 100_001,
        "{" + "/*" * 100_000,
    ],
    ids=["comments", "NaN", "lines", "template", "in a string", "in a comment", "twice", "cut", "deep", "escapes",
         "unended"],
)  # fmt: skip
def test_broken_json_of_others_is_no_damaged_configuration(saved, content):
    assert examine(saved(content)).kind == "other"


@pytest.mark.parametrize(
    "content",
    [
        '{"devices": 1} // {"dsp_arch": 2}\n{"devices": [{"dsp_arch": "v73"}]}',
        '{"graphs": [{"O": 3}, {"graph_names": ["a"],}]}',
        '{"devices": [{"cores": [{"perf_profile": "burst"',
        '{"graphs": [{"graph_names": ["a"]}], "graphs": []}',
        '{"dialog": {"engine": {"n-threads": 3}, "tokenizer": {"path": "a" "b"}}}',
        '{"context": {"weight_sharing_enabled": True}}',
    ],
    ids=["two documents", "comma", "cut", "twice", "no comma", "Python"],
)
def test_broken_json_with_a_whole_mark_is_a_damaged_configuration(saved, content):
    assert examine(saved(content)).kind == "damaged"


@pytest.mark.parametrize(
    "document",
    [
        {"devices": [{"name": "laptop", "cores": 8}]},
        {"memory": {"mem_type": "DDR5", "size": 16}},
        {"graphs": {"O": [1, 2], "N": [3]}},
        {"dialog": {"engine": "rasa"}},
        {"dialog": {"context": ["greeting"], "engine": {"model": "x"}}},
        {"tool_versions": {"onnx": "1.16", "tflite": "2.1"}},
        {"schema_version": {"version": 3}, "components": [{"id": "core"}], "revision": 20260101},
        {"schema_version": 2, "components": [{"id": "core"}]},
        {"schema_version": 2, "components": {"button": {"color": "red"}}, "theme": "dark"},
        {"variants": {"vinyl": {"ep": True}, "tape": {"ep": False}}},
        {"model_variants": {"a": {"split": 0.5}}, "constraints": {"ep": 1}},
        {"model_name": "x", "component_models": ["a"], "epochs": 3},
    ],
)
def test_a_word_that_others_use_too_makes_no_configuration(saved, document):
    assert identify(saved(document)) == "other"


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"devices": [{"cores": [{"perf_profile": "burst"}]}]}, "htp-config"),
        ({"graphs": [{"O": 3}], "devices": [{"device_id": 0}]}, "htp-config"),
        ({"graphs": [{"O": 3}], "memory": {"mem_type": "shared_buffer"}}, "htp-config"),
        ({"dialog": {"engine": {"backend": {"type": "QnnHtp"}}}}, "genie-config"),
        ({"runtime": "tflite", "tool_versions": {"tflite": "2.19"}, "model_files": {}}, "ai-hub-metadata"),
        ({"schema_version": "1.0", "components": {"decoder": "decoder"}}, "model-package"),
    ],
)
def test_two_such_words_together_do(saved, document, kind):
    assert identify(saved(document)) == kind


def test_a_runner_conf_says_its_keys_libraries_and_contexts(saved):
    text = "# x\n\nformat 1\npackage x 1\n  backend\tmy lib/a.so \nvariant context=m/a.bin soc=x\nvariant soc=y context=b\n"

    facts = read_runner_config(saved(text))

    assert facts.keys == ("format", "package", "backend", "variant", "variant")
    assert facts.paths == ("my lib/a.so",)
    assert facts.contexts == ("m/a.bin", "b")


def test_a_runner_conf_of_units_says_the_library_of_each_and_models_of_every_kind(saved):
    text = "format 2\npackage x 1\ncompute npu  lib/a b.so\ncompute cpu c.so\nvariant soc=x dlc=m.dlc library=m.so\n"

    facts = read_runner_config(saved(text))

    assert facts.format == 2
    assert facts.paths == ("lib/a b.so", "c.so")
    assert facts.contexts == ("m.dlc", "m.so")


def test_a_broken_configuration_is_still_one_and_says_where_it_breaks(saved):
    facts = examine(saved('{"devices": [{"dsp_arch": v73}]}'))

    assert (facts.kind, facts.offset) == ("damaged", 26)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"graphs": [], "graphs": []}', 'the key "graphs" is there twice in one object'),
        ('{"graphs": 0,' + "".join(f'"{n}": 0,' for n in range(50_000)) + '"graphs": 0}', "is there twice"),
        ('{"a": NaN}', "NaN is no JSON"),
        ('{"a": ' * 70 + "1" + "}" * 70, "nested too deep"),
        ("[" * 100_000, "nested too deep"),
        (b'{"a": "\xff"}', "this byte is not UTF-8"),
        ('{"a": ' + "9" * 5000 + "}", "4300"),
        ("", "Expecting value"),
    ],
)
def test_what_is_no_json_is_refused_with_its_reason(saved, content, reason):
    with pytest.raises(UnreadableFile) as caught:
        json_document(saved(content))

    assert reason in caught.value.reason


def test_the_offset_of_a_fault_is_in_bytes(saved):
    with pytest.raises(UnreadableFile) as caught:
        json_document(saved('{"ü": x}'))

    assert caught.value.offset == len('{"ü": '.encode())


def test_a_file_beyond_the_limit_is_not_read(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as stream:
        stream.write(b'{"devices": ')
        stream.truncate(MAX_SIZE + 1)

    assert identify(path) == "other"
    with pytest.raises(UnreadableFile) as caught:
        json_document(path)
    assert "are no configuration" in caught.value.reason


def test_key_paths_are_bounded():
    assert len(key_paths({str(n): 0 for n in range(10_000)})) == 4096


@pytest.mark.parametrize(
    ("text", "dialect", "wanted"),
    [
        (
            '#!/system/bin/sh\nexport ADSP_LIBRARY_PATH="$D/dsp;/vendor/dsp"\n',
            "shell",
            [(2, "ADSP_LIBRARY_PATH", "$D/dsp;/vendor/dsp", True)],
        ),
        (
            "export DSP_LIBRARY_PATH=$D/dsp;/vendor/dsp # both\n",
            "shell",
            [(1, "DSP_LIBRARY_PATH", "$D/dsp;/vendor/dsp", False)],
        ),
        (
            "#!/bin/sh\nadb shell \"cd /x && LD_LIBRARY_PATH=. ADSP_LIBRARY_PATH='.;/dsp' ./run\"\n",
            "shell",
            [(2, "LD_LIBRARY_PATH", ".", True), (2, "ADSP_LIBRARY_PATH", ".;/dsp", True)],
        ),
        ("#!/bin/sh\n# ADSP_LIBRARY_PATH=/no\nMY_LD_LIBRARY_PATH=/no\nLD_LIBRARY_PATH=/a\\ b\n", "shell",
         [(4, "LD_LIBRARY_PATH", "/a b", True)]),
        (
            '[Unit]\n[Service]\nEnvironment="ADSP_LIBRARY_PATH=/a b;/c" DSP_LIBRARY_PATH=/d;/e\n',
            "systemd",
            [(3, "ADSP_LIBRARY_PATH", "/a b;/c", True), (3, "DSP_LIBRARY_PATH", "/d;/e", True)],
        ),
        ("# x\nADSP_LIBRARY_PATH=/a;/b\n", "environment", [(2, "ADSP_LIBRARY_PATH", "/a;/b", True)]),
        (
            "services:\n  a:\n    environment:\n      - DSP_LIBRARY_PATH=/a;/b\n  b:\n    environment:\n      LD_LIBRARY_PATH: '/c'\n",
            "compose",
            [(4, "DSP_LIBRARY_PATH", "/a;/b", True), (7, "LD_LIBRARY_PATH", "/c", True)],
        ),
        (
            '#!/bin/sh\nexport ADSP_LIBRARY_PATH="$(cd "$(dirname "$0")"; pwd)/dsp;\\\n/dsp"\necho "DSP_LIBRARY_PATH=$X" # DSP_LIBRARY_PATH=/y\n',
            "shell",
            [(2, "ADSP_LIBRARY_PATH", '$(cd "$(dirname "$0")"; pwd)/dsp;/dsp', True)],
        ),
        (
            '#!/bin/sh\nadb shell "export ADSP_LIBRARY_PATH=\\"/a;/b\\";cd /a; LD_LIBRARY_PATH=/c:\\$LD_LIBRARY_PATH ./x" && ok\n',
            "shell",
            [(2, "ADSP_LIBRARY_PATH", "/a;/b", True), (2, "LD_LIBRARY_PATH", "/c:$LD_LIBRARY_PATH", True)],
        ),
        (
            '[Service]\nEnvironment=A=1 \\\n  "DSP_LIBRARY_PATH=/a;/b"\nExecStart=/usr/bin/env LD_LIBRARY_PATH=/c;/d x\n',
            "systemd",
            [(2, "DSP_LIBRARY_PATH", "/a;/b", True), (4, "LD_LIBRARY_PATH", "/c;/d", True)],
        ),
        (
            'services:\n  a:\n    environment:\n      - "DSP_LIBRARY_PATH=/a;/b"  # own folder first\n',
            "compose",
            [(4, "DSP_LIBRARY_PATH", "/a;/b", True)],
        ),
        (
            "[Service]\nExecStart=/bin/bash -lc 'DSP_LIBRARY_PATH=/a;/b exec x'\n",
            "systemd",
            [(2, "DSP_LIBRARY_PATH", "/a;/b", False)],
        ),
        ("set ADSP_LIBRARY_PATH=C:\\x\\\nset B=1\n", "batch", [(1, "ADSP_LIBRARY_PATH", "C:\\x\\", True)]),
        ('@echo off\r\nset "ADSP_LIBRARY_PATH=%~dp0"\r\n', "batch", [(2, "ADSP_LIBRARY_PATH", "%~dp0", True)]),
        ("$env:ADSP_LIBRARY_PATH = 'C:\\x;C:\\y'\n", "batch", [(1, "ADSP_LIBRARY_PATH", "C:\\x;C:\\y", True)]),
        (
            "#!/bin/sh\ncat <<EOF\nDSP_LIBRARY_PATH=/no\nEOF\ncat > a.sh <<-'E' <<\\F\nDSP_LIBRARY_PATH=/no\n\tE\nDSP_LIBRARY_PATH=/no\nF\nDSP_LIBRARY_PATH=/a\n",
            "shell",
            [(10, "DSP_LIBRARY_PATH", "/a", True)],
        ),
        (
            "#!/bin/sh\nadb shell <<EOF\nDSP_LIBRARY_PATH=/a ./run\nEOF\ncat <<E | sh\nDSP_LIBRARY_PATH=/b ./run\nE\n",
            "shell",
            [(3, "DSP_LIBRARY_PATH", "/a", True), (6, "DSP_LIBRARY_PATH", "/b", True)],
        ),
        (
            '#!/bin/sh\nx=$((1<<2))\necho "a <<EOF"\ngrep b <<<EOF\ncat <<NEVER\nDSP_LIBRARY_PATH=/a\nEOF\n2\n',
            "shell",
            [(6, "DSP_LIBRARY_PATH", "/a", True)],
        ),
        (
            "services:\n  a:\n    environment: {DSP_LIBRARY_PATH: '/a;/b', X: 1}\n    command: sh -c \"ADSP_LIBRARY_PATH=/a;/b ./run\"\n",
            "compose",
            [(3, "DSP_LIBRARY_PATH", "/a;/b", True), (4, "ADSP_LIBRARY_PATH", "/a;/b", False)],
        ),
        (
            "x-env: &env\n  DSP_LIBRARY_PATH: /a\nservices:  # all\n  a:\n    environment: *env\n    entrypoint: [/bin/bash, -lc, 'ADSP_LIBRARY_PATH=$$HERE/a ./run']\n",
            "compose",
            [(2, "DSP_LIBRARY_PATH", "/a", True), (6, "ADSP_LIBRARY_PATH", "$HERE/a", True)],
        ),
        (
            "services:\n  a:\n    command:\n      - sh\n      - -c\n      - |\n        cd /x\n        DSP_LIBRARY_PATH=/a ./run\n",
            "compose",
            [(8, "DSP_LIBRARY_PATH", "/a", True)],
        ),
        ("services:\n  a:\n    command: run DSP_LIBRARY_PATH=/a\n    image: x\n    environment: [DSP_LIBRARY_PATH]\n", "compose", []),
    ],
)  # fmt: skip
def test_an_environment_says_what_it_sets_for_loaders(saved, text, dialect, wanted):
    facts = read_environment(saved(text))

    assert facts.dialect == dialect
    assert facts.assignments == tuple(
        Assignment(line=line, variable=variable, value=value, quoted=quoted)
        for line, variable, value, quoted in wanted
    )
