"""The JSON Schema that editors use must accept and refuse what the loader does."""

from __future__ import annotations

import copy
import json
import os
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from manifest_cases import GOOD, WRONG

from packager import resources
from packager.manifest import load, schema
from packager.manifest_model import Settings

UPDATE = os.environ.get("HEXPACK_UPDATE_SNAPSHOTS") == "1"
VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_the_schema_file_is_current():
    written = Path(str(resources.folder("manifests"))) / "app.schema.json"
    if UPDATE:
        written.write_bytes((json.dumps(schema(), indent=2, ensure_ascii=False) + "\n").encode())

    assert json.loads(written.read_text(encoding="utf-8")) == schema()


def test_it_is_a_valid_schema_with_a_name():
    VALIDATOR.check_schema(schema())

    assert schema()["$id"] == "urn:hexpack:manifest:1"
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_it_accepts_a_good_manifest_without_the_keys_that_have_defaults():
    VALIDATOR.validate(tomllib.loads(GOOD))


def test_it_tells_every_default_of_the_defaults_file():
    made = schema()
    properties = {name: made["$defs"][name]["properties"] for name in ("Model", "Settings", "Qairt")}

    assert properties["Settings"]["power"]["default"] == "burst"
    assert properties["Settings"]["compute"]["default"] == ["npu"]
    assert properties["Qairt"]["from"]["default"] == "wheel"
    assert properties["Model"]["precision"]["default"] == "float"
    assert made["properties"]["allow"]["default"] == []
    assert made["required"] == ["schema", "package", "model", "targets"]
    assert "required" not in made["$defs"]["Settings"]


def test_a_copy_is_given_so_that_no_caller_can_change_it():
    before = copy.deepcopy(schema())

    schema()["properties"].clear()

    assert schema() == before


def test_every_key_is_described_and_every_example_fits_its_key():
    made = schema()
    nodes = [made, *made["$defs"].values()]

    for node in nodes:
        for key, child in node["properties"].items():
            assert child.get("description"), key
            for example in child.get("examples", []):
                jsonschema.Draft202012Validator({**child, "$defs": made["$defs"]}).validate(example)


@pytest.mark.parametrize("case", WRONG)
def test_it_refuses_what_the_loader_refuses(case):
    try:
        words = tomllib.loads(WRONG[case].decode("utf-8-sig"))
    except (ValueError, RecursionError):
        words = None  # no TOML: no schema is asked

    # An editor learns the operating systems from the tables only, 4.0 is a whole number in JSON, and
    # the pair of `from` and `path` is a rule between two keys.
    beyond = {
        "bad-operating-system",
        "foreign-operating-system",
        "fraction-instead-of-whole",
        "path-without-from",
    }
    assert words is None or VALIDATOR.is_valid(_as_json(words)) == (case in beyond)


def _as_json(words: object) -> object:
    return json.loads(json.dumps(words, default=lambda date: {"date": str(date)}))


SECTIONS = {
    "Top level": "",
    "[package]": "Package",
    "[model]": "Model",
    "[model.source]": "PathSource WheelSource UrlSource HuggingFaceSource OciSource "
    "AiHubJobSource AiHubModelSource AiHubPublishedSource",
    "[model.inputs.NAME]": "Input",
    "[model.calibration]": "Samples",
    "[model.preprocessing]": "Preprocessing",
    "[model.quantization]": "Quantization",
    "[model.reference]": "Reference",
    "[qairt]": "Qairt",
    "[defaults]": "Settings",
    "[defaults.host]": "Host",
    "[defaults.signing]": "Signing",
    "[[targets]]": "Target",
    "[targets.linux]": "LinuxSystem",
    "[targets.linux.service]": "Service",
    "[formats]": "FormatSettings",
    "[formats.oci]": "OciSettings",
    "[formats.compose]": "ComposeSettings",
    "[formats.yocto]": "YoctoSettings",
    "[formats.swu]": "SwuSettings",
    "[formats.mender]": "MenderSettings",
    "[formats.rauc]": "RaucSettings",
    "[formats.msix]": "MsixSettings",
    "[[allow]]": "Allow",
}


def _documented() -> dict[str, dict[str, str]]:
    """What docs/manifest.md says in its tables: section → key → what applies without it."""
    text = (Path(__file__).parents[2] / "docs" / "manifest.md").read_text(encoding="utf-8")
    found = {}
    for part in re.split(r"^#{2,3} ", text, flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", part, flags=re.MULTILINE)
        if rows:
            found[part.splitlines()[0]] = dict(rows)
    return found


def test_the_page_about_the_manifest_has_a_table_for_each_section():
    assert list(_documented()) == list(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_page_about_the_manifest_tells_each_key_and_its_default(section):
    made = schema()
    nodes = [made["$defs"][name] for name in SECTIONS[section].split()] or [made]

    documented = _documented()[section]

    expected = {}
    for node in nodes:
        for key, child in node["properties"].items():
            required = key in node.get("required", [])
            default = f"`{json.dumps(child['default'])}`" if "default" in child else "–"
            expected[key] = "**required**" if required else default
    if section == "Top level":
        expected |= dict.fromkeys(("qairt", "defaults", "formats"), "see below")
    if section == "[formats]":
        expected |= dict.fromkeys(set(expected) - {"machines"}, "see below")
    if section == "[[targets]]":
        expected |= dict.fromkeys(Settings.model_fields, "[defaults]") | {
            "abi": "by `os`",
            "precision": "[model]",
        }
    assert documented == expected


def test_the_example_on_the_page_about_the_manifest_loads(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "manifest.md").read_text(encoding="utf-8")
    example = re.findall(r"^```toml\n(schema.*?)^```", text, flags=re.MULTILINE | re.DOTALL)[0]
    path = tmp_path / "app.toml"
    path.write_text(example, encoding="utf-8")

    document = load(path)

    assert document.manifest.package.name == "text-direction"
