"""HEX604 to HEX608: what is written about a model, against what is in the package."""

from __future__ import annotations

import pytest

from packager.facts.config_types import AiHubFacts, AiHubModelFile, ModelPackageFacts, ModelPackageVariant
from packager.facts.types import OtherFacts
from packager.rules.core import Case
from tests.unit.rule_cases import facts_of, findings, sound_case, staged, with_file, without

CONTEXT = "share/models/qcs9075.bin"


def described(case: Case, **facts: object) -> Case:
    """The case with metadata of the AI Hub beside its models."""
    return with_file(case, staged("share/models/metadata.json", "ai-hub-metadata", AiHubFacts(**facts)))


def rules(case: Case) -> list[str]:
    return [finding.rule for finding in findings(case) if finding.rule.startswith("HEX6")]


def portable() -> Case:
    """The case with a model that does not tell its release itself."""
    return with_file(without(sound_case(), CONTEXT), staged("share/models/m.dlc", "dlc", OtherFacts()))


def test_HEX604_fires_for_a_dlc_made_with_a_newer_release():
    case = described(portable(), runtime="qnn_dlc", tool_versions={"qairt": "2.52.1.261001000000_9"})

    (finding,) = (finding for finding in findings(case) if finding.rule == "HEX604")

    assert finding.found == "made with QAIRT 2.52.1.261001000000_9"


@pytest.mark.parametrize(
    "versions", [{"qairt": "2.51.0.260929181845"}, {"qairt": "2.43"}, {"tflite": "9"}, {}]
)
def test_HEX604_is_silent_for_the_runtimes_release_and_older_ones(versions):
    assert rules(described(portable(), runtime="qnn_dlc", tool_versions=versions)) == []


@pytest.mark.parametrize("runtime", ["qnn_context_binary", "precompiled_qnn_onnx", "onnx", "tflite", None])
def test_HEX604_is_silent_about_contexts_and_models_without_anything_of_qairt(runtime):
    assert rules(described(sound_case(), runtime=runtime, tool_versions={"qairt": "2.60"})) == []


def test_HEX606_fires_for_a_part_that_is_missing():
    case = described(
        sound_case(), files=(AiHubModelFile(name="qcs9075.bin"), AiHubModelFile(name="part2.bin"))
    )

    (finding,) = findings(case)

    assert (finding.rule, finding.found) == ("HEX606", "lists part2.bin, which is not beside it")


def test_HEX606_is_silent_for_files_and_folders_that_are_there():
    files = (AiHubModelFile(name="qcs9075.bin"), AiHubModelFile(name="..\\models\\qcs9075.bin"))

    case = described(sound_case(), files=files, supplements=("../../licenses",))

    assert rules(case) == []


def packaged(*, folder: str = "models", **facts: object) -> Case:
    """The case with a model package in `share/`; its one variant lies in a folder there."""
    variant = {"component": "a", "name": "qnn", "folder": folder} | dict(facts.pop("variant", {}))
    package = ModelPackageFacts(variants=(ModelPackageVariant(**variant),), **facts)
    return with_file(sound_case(), staged("share/manifest.json", "model-package", package))


@pytest.mark.parametrize(
    ("facts", "found", "wanted"),
    [
        ({"folder": "npu"}, "names npu, which is not there", "share/npu"),
        ({"components": ("c.json",)}, "names c.json, which is not there", "share/c.json"),
        (
            {"components": ("models",)},
            "names models/component.json, which is not there",
            "share/models/component.json",
        ),
        ({"shared_assets": ("assets/t",)}, "names assets/t, which is not there", "share/assets/t"),
        (
            {"variant": {"files": ("m.onnx",)}},
            "names models/m.onnx, which is not there",
            "share/models/m.onnx",
        ),
    ],
)
def test_HEX608_fires_for_each_part_that_is_missing(facts, found, wanted):
    (finding,) = findings(packaged(**facts))

    assert (finding.rule, finding.found, finding.wanted) == ("HEX608", found, wanted)


@pytest.mark.parametrize(
    "facts",
    [
        {"variant": {"files": ("qcs9075.bin",)}, "components": ("manifest.json",)},
        {"folder": ".."},
        {"shared_assets": ("/opt/models/t", "C:\\models\\t", "../../elsewhere")},
    ],
)
def test_HEX608_is_silent_for_what_is_there_and_for_what_is_elsewhere_on_the_device(facts):
    assert findings(packaged(**facts)) == ()


def test_HEX608_is_silent_for_a_component_that_is_described_in_its_folder():
    described_there = staged("share/models/component.json", "model-package", ModelPackageFacts())

    assert findings(with_file(packaged(components=("models",)), described_there)) == ()


def announced(compatibility: str | None, folder: str = "models") -> Case:
    """The case with a model package whose variant holds the context, unless the folder is another."""
    return packaged(folder=folder, variant={"compatibility": compatibility})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("v2:6:2.51.0:5.51.0:75:77:8:0", "Hexagon v73"),
        ("v2:6:2.51.0:5.51.0:73:57,43:8:0", "soc_model 77"),
        ("v2:6:2.48.0:5.48.0:73:77:8:0", "QAIRT v2.51.0.260929181845"),
        ("v2:4:2.51.0:5.51.0:73:77:8:0", "backend 6"),
    ],
)
def test_HEX607_fires_for_a_context_that_is_another_than_announced(text, found):
    (finding,) = findings(announced(text))

    assert (finding.rule, finding.file, finding.found) == ("HEX607", CONTEXT, found)


@pytest.mark.parametrize(
    "text",
    [
        "v2:6:2.51.0:5.51.0:73:77:8:0",
        "v2:6:2.51.0:5.51.0:68,73:43,77:8:0",
        "v2:6:::::8:0",
        "v2:6:2.51.0:5.51.0:0:0:0:0",
        "v2:6:2.30.0:5.51.0:73:77:8:1",
        "soc_60",
        "",
        None,
    ],
)
def test_HEX607_is_silent_for_what_fits_and_for_strings_of_others(text):
    assert findings(announced(text)) == ()


def test_HEX607_is_silent_about_contexts_in_other_folders():
    case = announced("v2:6:2.51.0:5.51.0:75:77:8:0", folder="../licenses")

    assert facts_of(case, CONTEXT).hexagon_arch == 73
    assert rules(case) == []
