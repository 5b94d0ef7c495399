"""Reads what the Qualcomm AI Hub writes about a model: its metadata, its releases, and the note of an app."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from packager.facts.config_types import (
    AiHubAsset,
    AiHubFacts,
    AiHubModelFile,
    AiHubReleaseFacts,
    HubAppsFacts,
)
from packager.facts.json_text import integer, json_document, objects, strings
from packager.facts.reading import opened
from packager.facts.yaml_text import yaml_document

_ARCH = re.compile(r"v?(\d{2})")


def read_ai_hub(path: Path) -> AiHubFacts:
    """What the metadata says; a value of another type than expected counts as not said.

    Raises UnreadableFile, InputUnavailable.
    """
    top = _object(_document(path))
    chip = _object(top.get("chipset_attributes"))
    arch = _ARCH.fullmatch(str(chip.get("htp_version", "")))
    return AiHubFacts(
        model=_text(top.get("model_id")) or _text(top.get("model_name")),
        runtime=_text(top.get("runtime")),
        precision=_text(top.get("precision")),
        device=_text(chip.get("reference_device")),
        chipset=_text(chip.get("name")),
        soc_model=integer(chip.get("soc_model")),
        hexagon_arch=int(arch[1]) if arch else None,
        tool_versions=_versions(top.get("tool_versions")),
        files=tuple(
            AiHubModelFile(
                name=name,
                inputs=tuple(_tensors(_object(described).get("inputs"))),
                outputs=tuple(_tensors(_object(described).get("outputs"))),
            )
            for name, described in _object(top.get("model_files")).items()
        ),
        supplements=tuple(_object(top.get("supplementary_files"))),
    )


def read_ai_hub_release(path: Path) -> AiHubReleaseFacts:
    """What can be downloaded of a model. Raises UnreadableFile, InputUnavailable."""
    top = _object(_document(path))
    return AiHubReleaseFacts(
        model=_text(top.get("model_id")),
        version=_text(top.get("aihm_version")),
        assets=tuple(
            AiHubAsset(
                runtime=_constant(asset.get("runtime"), "runtime_"),
                precision=_constant(asset.get("precision"), "precision_"),
                chipset=_text(asset.get("chipset")),
                url=_text(asset.get("download_url")),
                tool_versions=_versions(asset.get("tool_versions")),
            )
            for asset in objects(top.get("assets"))
        ),
    )


def read_hub_apps(path: Path) -> HubAppsFacts:
    """What an app of Qualcomm's says about its model. Raises UnreadableFile, InputUnavailable."""
    top = _object(json_document(path))
    model = _object(top.get("model"))
    requested = _object(model.get("requested"))
    return HubAppsFacts(
        model=_text(model.get("model_id")),
        chipset=_text(requested.get("chipset")),
        device=_text(requested.get("device")),
        files=strings(model.get("files")),
        tool_version=_text(top.get("cli_version")),
    )


def _document(path: Path) -> object:
    with opened(path) as (stream, _):
        braced = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    return json_document(path) if braced else yaml_document(path)


def _object(value: object) -> dict[str, object]:
    """The mapping with its keys as text; an empty one for any other value."""
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _constant(value: object, prefix: str) -> str | None:
    """`RUNTIME_QNN_DLC`, as protobuf writes a constant, as `qnn_dlc`."""
    text = _text(value)
    return text.lower().removeprefix(prefix) if text else None


def _versions(value: object) -> dict[str, str]:
    return {
        name: str(version)
        for name, version in _object(value).items()
        if isinstance(version, str | int | float) and not isinstance(version, bool)
    }


def _tensors(value: object) -> Iterator[str]:
    """`image float32 1x3x224x224` for each tensor."""
    for name, described in _object(value).items():
        tensor = _object(described)
        shape = tensor.get("shape")
        sizes = "x".join(str(size) for size in shape) if isinstance(shape, list) else ""
        yield " ".join(word for word in (name, _text(tensor.get("dtype")) or "", sizes) if word)
