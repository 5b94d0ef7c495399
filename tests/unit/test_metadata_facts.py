"""The AI Hub's metadata, the note of its apps, and ONNX Runtime's model packages are read for what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from packager.errors import UnreadableFile
from packager.facts.ai_hub import read_ai_hub, read_ai_hub_release, read_hub_apps
from packager.facts.config_types import AiHubAsset, ModelPackageVariant
from packager.facts.identify import examine, identify
from packager.facts.model_package import read_model_package
from packager.facts.yaml_text import yaml_document

METADATA = {
    "model_id": "sesr_m5",
    "runtime": "qnn_context_binary",
    "precision": "w8a8",
    "tool_versions": {"qairt": "2.43.0.260127150333_193827", "onnx": 1.19},
    "model_files": {
        "sesr_m5.bin": {
            "inputs": {"image": {"shape": [1, 3, 128, 128], "dtype": "uint8"}},
            "outputs": {"upscaled": {"shape": [1, 3, 512, 512], "dtype": "uint8"}},
        }
    },
    "supplementary_files": {"labels.txt": "class names"},
    "chipset_attributes": {
        "name": "qualcomm-qcs8550-proxy",
        "reference_device": "QCS8550 (Proxy)",
        "htp_version": 73,
        "soc_model": 43,
    },
}


@pytest.fixture
def saved(tmp_path):
    def save(content: Any) -> Path:
        path = tmp_path / "file"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return save


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump])
def test_metadata_of_the_ai_hub_says_the_same_in_both_forms(saved, write):
    path = saved(write(METADATA))

    facts = read_ai_hub(path)

    assert identify(path) == "ai-hub-metadata"
    assert (facts.model, facts.runtime, facts.precision) == ("sesr_m5", "qnn_context_binary", "w8a8")
    assert (facts.chipset, facts.device) == ("qualcomm-qcs8550-proxy", "QCS8550 (Proxy)")
    assert (facts.soc_model, facts.hexagon_arch) == (43, 73)
    assert facts.tool_versions == {"qairt": "2.43.0.260127150333_193827", "onnx": "1.19"}
    (file,) = facts.files
    assert (file.name, file.inputs) == ("sesr_m5.bin", ("image uint8 1x3x128x128",))
    assert file.outputs == ("upscaled uint8 1x3x512x512",)
    assert facts.supplements == ("labels.txt",)


def test_metadata_without_a_chip_is_for_any(saved):
    facts = read_ai_hub(saved({"runtime": "tflite", "tool_versions": {"tflite": "2.19"}, "model_files": {}}))

    assert (facts.chipset, facts.soc_model, facts.files) == (None, None, ())


@pytest.mark.parametrize(
    "wrong",
    [
        {"tool_versions": {"qairt": None, "onnx": ["1"]}, "model_files": ["a"], "chipset_attributes": "x"},
        {
            "tool_versions": {"qairt": True},
            "model_files": {"a": 3},
            "chipset_attributes": {"soc_model": "43"},
        },
        {"tool_versions": {"qairt": {}}, "model_files": {"a": {"inputs": {"x": {"shape": "1", "dtype": 5}}}}},
    ],
)
def test_a_value_of_the_wrong_type_counts_as_not_said(saved, wrong):
    facts = read_ai_hub(saved(wrong))

    assert facts.tool_versions == {}
    assert facts.soc_model is None


RELEASE = {
    "aihm_version": "0.65.0",
    "model_id": "sesr_m5",
    "assets": [
        {
            "precision": "PRECISION_W8A8",
            "runtime": "RUNTIME_QNN_CONTEXT_BINARY",
            "chipset": "qualcomm-qcs6490-proxy",
            "download_url": "https://example.com/a.zip",
            "tool_versions": {"qairt": "2.43.0"},
        },
        {"precision": "float", "runtime": "tflite", "download_url": "https://example.com/b.zip"},
    ],
}


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump])
def test_a_release_of_the_ai_hub_lists_what_can_be_downloaded(saved, write):
    path = saved(write(RELEASE))

    facts = examine(path)

    assert facts == read_ai_hub_release(path)
    assert (facts.model, facts.version) == ("sesr_m5", "0.65.0")
    assert facts.assets == (
        AiHubAsset(
            runtime="qnn_context_binary",
            precision="w8a8",
            chipset="qualcomm-qcs6490-proxy",
            url="https://example.com/a.zip",
            tool_versions={"qairt": "2.43.0"},
        ),
        AiHubAsset(runtime="tflite", precision="float", url="https://example.com/b.zip"),
    )


def test_an_app_of_qualcomms_says_which_model_it_holds(saved):
    path = saved(
        {
            "cli_version": "0.39.1",
            "registry_version": "12",
            "model": {
                "model_id": "mobilenet_v2",
                "requested": {"model_id": "mobilenet_v2", "chipset": "qualcomm-qcs6490"},
                "files": ["assets/mobilenet_v2.tflite", "assets/labels.txt"],
            },
        }
    )

    facts = examine(path)

    assert facts == read_hub_apps(path)
    assert (facts.model, facts.chipset, facts.tool_version) == ("mobilenet_v2", "qualcomm-qcs6490", "0.39.1")
    assert facts.files == ("assets/mobilenet_v2.tflite", "assets/labels.txt")


VARIANT = {
    "variant_directory": "npu",
    "ep": "QNNExecutionProvider",
    "device": "npu",
    "compatibility_string": "v2:6:2.51.0:5.51.0:73:77:8:0",
}
READ = ModelPackageVariant(
    component="decoder",
    name="qnn",
    folder="npu",
    ep="QNNExecutionProvider",
    device="npu",
    compatibility="v2:6:2.51.0:5.51.0:73:77:8:0",
)


@pytest.mark.parametrize(
    ("document", "version"),
    [
        ({"schema_version": "1.0", "components": {"decoder": {"variants": {"qnn": VARIANT}}}}, "1.0"),
        ({"schema_version": 1, "components": {"decoder": {"variants": {"qnn": VARIANT}}}}, "1.0"),
        ({"component_name": "decoder", "variants": {"qnn": VARIANT}}, None),
        (
            {
                "component_name": "decoder",
                "variants": {
                    "qnn": {
                        "variant_directory": "npu",
                        "ep_compatibility": [{k: v for k, v in VARIANT.items() if k != "variant_directory"}],
                    }
                },
            },
            None,
        ),
    ],
)
def test_a_model_package_declares_its_variants_in_either_file_and_in_an_older_draft(saved, document, version):
    path = saved(document)

    facts = read_model_package(path)

    assert identify(path) == "model-package"
    assert facts.schema_version == version
    assert facts.variants == (READ,)


def test_a_component_in_a_file_of_its_own_is_named_by_its_path(saved):
    assets = {"sha256:00": "/opt/tokenizer"}

    facts = read_model_package(
        saved({"schema_version": 1.0, "components": {"decoder": "parts/decoder"}, "shared_assets": assets})
    )

    assert facts.components == ("parts/decoder",)
    assert facts.shared_assets == ("/opt/tokenizer",)
    assert (facts.schema_version, facts.variants) == ("1.0", ())


def test_a_model_package_of_before_the_library_says_the_same(saved):
    constraints = {
        "ep": VARIANT["ep"],
        "device": "npu",
        "ep_compatibility_info": VARIANT["compatibility_string"],
    }
    variants = {
        "qnn": {"model_type": "onnx", "model_file": "m.onnx", "model_id": "npu", "constraints": constraints},
        "base": {"constraints": {}},
    }
    path = saved({"component_model_name": "decoder", "model_variants": variants})

    facts = examine(path)

    assert facts == read_model_package(path)
    assert facts.variants == (
        READ.model_copy(update={"files": ("m.onnx",)}),
        ModelPackageVariant(component="decoder", name="base", folder="base"),
    )


def test_its_manifest_names_the_description_of_each_component(saved):
    path = saved({"model_name": "x", "model_version": "1.0", "component_models": ["decoder", 3]})

    facts = read_model_package(path)

    assert identify(path) == "model-package"
    assert (facts.schema_version, facts.components) == (None, ("models/decoder/metadata.json",))


@pytest.mark.parametrize("wrong", [{"a": 3}, {"a": {"constraints": "x", "model_file": {}}}, ["a"], None])
def test_a_variant_of_the_wrong_type_counts_as_not_said(saved, wrong):
    facts = read_model_package(saved({"component_model_name": "x", "model_variants": wrong}))

    assert [(variant.ep, variant.files) for variant in facts.variants] in ([], [(None, ())])


@pytest.mark.parametrize(
    ("executors", "files"),
    [
        ({"ort": {"model_file": "m.onnx"}, "other": {"filename": "m.bin"}}, ("m.onnx",)),
        ({"ort": "ort_info.json", "genai": "genai_config.json"}, ("ort_info.json", "genai_config.json")),
        ({"ort": {"model_file": "sha256:00/m.onnx"}}, ()),
        ({"ort": {"model_file": 3}}, ()),
        (["ort"], ()),
    ],
)
def test_a_variant_names_its_model_and_what_describes_it(saved, executors, files):
    path = saved({"variants": {"qnn": {"ep": "QNNExecutionProvider", "executor_info": executors}}})

    (variant,) = read_model_package(path).variants

    assert variant.files == files


def test_a_variant_without_a_folder_lies_in_one_of_its_own_name(saved):
    facts = read_model_package(saved({"variants": {"cpu": {"ep": "CPUExecutionProvider"}}}))

    assert [variant.folder for variant in facts.variants] == ["cpu"]


@pytest.mark.parametrize(
    "text",
    [
        "name: app\nversion: 1\n",
        "services:\n  a: {}\n",
        "just prose: with a colon\n",
        "- a\n- b\n",
        "{}",
        "a: [1\n",
    ],
)
def test_other_yaml_is_none_of_these(saved, text):
    assert identify(saved(text)) == "other"


def test_versions_and_all_but_simple_values_are_read_from_yaml_as_they_are_written(saved):
    path = saved('[2.50, 1:30, 2020-13-45, 0x1F, =, 07, -3, true, ~, "\\ud800\\udc00"]')

    assert yaml_document(path) == ["2.50", "1:30", "2020-13-45", "0x1F", "=", 7, -3, True, None, "𐀀"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x [1]\nb: *x\n", "alias"),
        ("a: " + "[" * 40 + "]" * 40, "nested too deep"),
        ("a: [1\nb: 2\n", "expected"),
        ('a: "\\ud800"\n', "stands for nothing"),
        ('a: "\\UFFFFFFFF"\n', "stands for nothing"),
        (f"%YAML 1.{'1' * 5000}\n---\na: 1\n", "stands for nothing"),
        ("a: \x01\n", "special characters"),
        ("a: !!python/object:os.system {}\n", "it uses a tag"),
        ("a: !!int\n", "it uses a tag"),
    ],
)
def test_yaml_that_could_do_harm_is_refused(saved, text, reason):
    with pytest.raises(UnreadableFile) as caught:
        yaml_document(saved(text))

    assert reason in caught.value.reason


@pytest.mark.parametrize(
    "text",
    ["runtime: a\nruntime: b\n", "a:\n- {runtime: a, x: 1, runtime: b}\n", "? runtime\n: a\nruntime: b\n"],
)
def test_a_key_that_is_there_twice_is_refused_as_in_json(saved, text):
    with pytest.raises(UnreadableFile) as caught:
        yaml_document(saved(text))

    assert caught.value.reason == 'the key "runtime" is there twice in one mapping'
    assert caught.value.offset == text.rindex("runtime")


def test_metadata_with_a_key_twice_is_damaged_and_not_unknown(saved):
    facts = examine(saved("tool_versions:\n  qairt: '2.51'\n  qairt: '2.48'\n"))

    assert facts.kind == "damaged"


def test_a_yaml_file_beyond_the_limit_is_not_read(saved):
    path = saved("tool_versions:\n  qairt: '2.51'\n" + "#" * (256 << 10))

    assert identify(path) == "other"
    with pytest.raises(UnreadableFile) as caught:
        yaml_document(path)
    assert "are no configuration" in caught.value.reason
