"""No metadata from outside makes its reader or a rule fail in any other way than by saying where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager.errors import UnreadableFile
from packager.facts.ai_hub import read_ai_hub, read_ai_hub_release, read_hub_apps
from packager.facts.model_package import read_model_package
from packager.facts.yaml_text import yaml_document
from packager.rules.core import Stage, judge
from tests.unit.rule_cases import sound_case, staged, with_file

READERS = (read_ai_hub, read_ai_hub_release, read_hub_apps, read_model_package)
KEYS = st.sampled_from(
    ["tool_versions", "qairt", "runtime", "model_id", "model_files", "inputs", "shape", "dtype", "soc_model", "name",
     "chipset_attributes", "htp_version", "reference_device", "supplementary_files", "assets", "download_url", "model",
     "requested", "files", "components", "variants", "variant_directory", "executor_info", "ort", "model_file",
     "compatibility_string", "schema_version", "shared_assets", "ep_compatibility"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["qnn_dlc", "2.99", "v73", "qcs9075.bin", "../models", "..", ".", "/", "C:\\x", "a\\b", "", "sha256:0/a", "models",
     "v2:6:2.48.0:5.48.0:75:57:8:0", "v2:::::::", "v2:6:2.51.0:5.51.0:,0,x:-1:8:1"]
)  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | WORDS, inner, max_size=5),
    max_leaves=24,
)
# Where the readers look, with anything in these places.
DOCUMENTS = VALUES | st.fixed_dictionaries(
    {},
    optional={
        "runtime": WORDS,
        "tool_versions": st.dictionaries(st.just("qairt"), WORDS | VALUES),
        "model_files": st.dictionaries(WORDS, VALUES, max_size=3),
        "supplementary_files": st.dictionaries(WORDS, VALUES, max_size=3),
        "components": st.dictionaries(WORDS, WORDS | VALUES, max_size=3),
        "shared_assets": st.dictionaries(WORDS, WORDS, max_size=2),
        "variants": st.dictionaries(
            WORDS, st.dictionaries(KEYS, WORDS | VALUES, max_size=5) | VALUES, max_size=3
        ),
    },
)
TOKENS = st.lists(
    st.sampled_from(
        ["tool_versions:", " ", "\n", "- ", "&a ", "*a", "<<: ", "!!int ", "!x ", "1:" * 200, "1.0", "'", '"', "{", "}", "[", "]", ",", ": ",
         "? ", "| ", "> ", "---\n", "...\n", "%YAML 9\n", "#", "2020-13-45", "0x_", "1:61:61", "\t", "\x85", "\u2028", "é",
         ".inf", "=", "~", "qairt"]
    ),
    max_size=24,
).map("".join)  # fmt: skip
CASE = sound_case()
SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("read", READERS)
@SETTINGS
@given(document=DOCUMENTS)
def test_any_document_has_facts_and_can_be_judged(tmp_path: Path, read, document):
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document), encoding="utf-8")

    facts = read(path)
    case = with_file(CASE, staged("share/m.json", facts.kind, facts))

    assert facts == type(facts).model_validate_json(facts.model_dump_json())
    assert all(finding.found and finding.wanted for finding in judge(case, Stage.FILES))


def without_fractions(value: object) -> object:
    """YAML keeps a number as it is written, JSON as what it is worth: 1e-7 and 1.0e-07 differ as words."""
    if isinstance(value, dict):
        return {key: without_fractions(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_fractions(one) for one in value]
    large = isinstance(value, int) and abs(value) >= 10**18
    return None if isinstance(value, float) or large else value


@pytest.mark.parametrize("read", READERS[:2])
@SETTINGS
@given(document=st.dictionaries(KEYS, VALUES, min_size=1).map(without_fractions))
def test_a_document_says_the_same_as_yaml(tmp_path: Path, read, document):
    as_json, as_yaml = tmp_path / "m.json", tmp_path / "m.yaml"
    as_json.write_text(json.dumps(document), encoding="utf-8")
    as_yaml.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")

    assert read(as_yaml) == read(as_json)


@pytest.mark.parametrize("read", [*READERS, yaml_document])
@SETTINGS
@given(text=TOKENS | st.text(max_size=60))
def test_any_text_is_read_or_refused_at_an_offset_inside_it(tmp_path: Path, read, text):
    path = tmp_path / "t"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))

    offset = 0
    try:
        read(path)
    except UnreadableFile as error:
        offset = error.offset

    assert 0 <= offset <= path.stat().st_size
