"""Reads the manifest and the components of an ONNX Runtime model package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packager.facts.config_types import ModelPackageFacts, ModelPackageVariant
from packager.facts.json_text import integer, json_document, objects


def read_model_package(path: Path) -> ModelPackageFacts:
    """What it declares. Raises UnreadableFile, InputUnavailable."""
    document = json_document(path)
    top = document if isinstance(document, dict) else {}
    components = top.get("components")
    declared = components if isinstance(components, dict) else {}
    version = top.get("schema_version")
    variants = list(_variants(_word(top.get("component_name")), top))
    for name, component in declared.items():
        if isinstance(component, dict):
            variants += _variants(name, component)
    return ModelPackageFacts(
        schema_version=f"{version}.0" if integer(version) is not None else _word(version),
        components=tuple(value for value in declared.values() if isinstance(value, str)),
        variants=tuple(variants),
    )


def _variants(component: str | None, body: dict[str, object]) -> Iterator[ModelPackageVariant]:
    """The variants of a component; older drafts list the execution provider below `ep_compatibility`."""
    variants = body.get("variants")
    for name, variant in variants.items() if isinstance(variants, dict) else ():
        if isinstance(variant, dict):
            said = next(iter(objects(variant.get("ep_compatibility"))), {}) | variant
            yield ModelPackageVariant(
                component=component,
                name=name,
                folder=_word(variant.get("variant_directory")) or name,
                ep=_word(said.get("ep")),
                device=_word(said.get("device")),
                compatibility=_word(said.get("compatibility_string")),
            )


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
