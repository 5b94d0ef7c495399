"""HEX604 to HEX607: what is written about a model, against what is in the package."""

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


def test_HEX604_fires_for_a_model_made_with_a_newer_release():
    case = described(portable(), tool_versions={"qairt": "2.52.1.261001000000_9"})

    (finding,) = (finding for finding in findings(case) if finding.rule == "HEX604")

    assert finding.found == "made with QAIRT 2.52.1.261001000000_9"


@pytest.mark.parametrize(
    "versions", [{"qairt": "2.51.0.260929181845"}, {"qairt": "2.43"}, {"tflite": "9"}, {}]
)
def test_HEX604_is_silent_for_the_runtimes_release_and_older_ones(versions):
    assert rules(described(portable(), tool_versions=versions)) == []


def test_HEX604_is_silent_where_a_context_speaks_for_itself():
    assert rules(described(sound_case(), tool_versions={"qairt": "2.60"})) == []


def test_HEX606_fires_for_a_part_that_is_missing():
    case = described(
        sound_case(), files=(AiHubModelFile(name="qcs9075.bin"), AiHubModelFile(name="part2.bin"))
    )

    (finding,) = findings(case)

    assert (finding.rule, finding.found) == ("HEX606", "lists part2.bin, which is not beside it")


def test_HEX606_fires_for_a_variant_whose_folder_is_missing():
    facts = ModelPackageFacts(variants=(ModelPackageVariant(component="a", name="qnn", folder="npu"),))

    assert rules(with_file(sound_case(), staged("share/manifest.json", "model-package", facts))) == ["HEX606"]


def test_HEX606_is_silent_for_files_and_folders_that_are_there():
    case = described(
        sound_case(), files=(AiHubModelFile(name="qcs9075.bin"),), supplements=("../../licenses",)
    )
    facts = ModelPackageFacts(components=("models",))

    assert rules(with_file(case, staged("share/manifest.json", "model-package", facts))) == []


def announced(compatibility: str | None, folder: str = "models") -> Case:
    """The case with a model package whose variant holds the context."""
    variant = ModelPackageVariant(component="a", name="qnn", folder=folder, compatibility=compatibility)
    facts = ModelPackageFacts(schema_version="1.0", variants=(variant,))
    return with_file(sound_case(), staged("share/manifest.json", "model-package", facts))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("v2:6:2.51.0:5.51.0:75:77:8:0", "Hexagon v73"),
        ("v2:6:2.51.0:5.51.0:73:57,43:8:0", "soc_model 77"),
        ("v2:6:2.48.0:5.48.0:73:77:8:0", "QAIRT v2.51.0.260929181845"),
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
