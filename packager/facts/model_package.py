"""Reads the manifest and the components of an ONNX Runtime model package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packager.facts.config_types import ModelPackageFacts, ModelPackageVariant
from packager.facts.json_text import integer, json_document, objects, strings

_SHARED = "sha256:"  # begins the address of a shared asset, where a path could stand
_FIRST_COMPONENT = "models/{name}/metadata.json"  # where the form without a schema_version has a component


def read_model_package(path: Path) -> ModelPackageFacts:
    """What it declares. Raises UnreadableFile, InputUnavailable."""
    document = json_document(path)
    top = document if isinstance(document, dict) else {}
    components = top.get("components")
    declared = components if isinstance(components, dict) else {}
    version, whole = top.get("schema_version"), integer(top.get("schema_version"))
    variants = list(_variants(_word(top.get("component_name")), top))
    for name, component in declared.items():
        if isinstance(component, dict):
            variants += _variants(name, component)
    variants += _first_variants(_word(top.get("component_model_name")), top.get("model_variants"))
    described = [_FIRST_COMPONENT.format(name=name) for name in strings(top.get("component_models"))]
    return ModelPackageFacts(
        schema_version=f"{whole}.0" if whole is not None else _word(version),
        components=(*_words(declared), *described),
        shared_assets=_words(top.get("shared_assets")),
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
                files=tuple(_files(variant.get("executor_info"))),
                ep=_word(said.get("ep")),
                device=_word(said.get("device")),
                compatibility=_word(said.get("compatibility_string")),
            )


def _first_variants(component: str | None, variants: object) -> Iterator[ModelPackageVariant]:
    """The variants of the form that was there before the library: `constraints` say what each is for."""
    for name, variant in variants.items() if isinstance(variants, dict) else ():
        if isinstance(variant, dict):
            said = next(iter(objects(variant.get("constraints"))), {})
            file = _word(variant.get("model_file"))
            yield ModelPackageVariant(
                component=component,
                name=name,
                folder=_word(variant.get("model_id")) or name,
                files=(file,) if file else (),
                ep=_word(said.get("ep")),
                device=_word(said.get("device")),
                compatibility=_word(said.get("ep_compatibility_info")),
            )


def _files(executors: object) -> Iterator[str]:
    """What each executor is told: a file with a description, or the description, which names ORT's model."""
    for told in executors.values() if isinstance(executors, dict) else ():
        name = _word(told.get("model_file")) if isinstance(told, dict) else _word(told)
        if name and not name.startswith(_SHARED):
            yield name


def _words(value: object) -> tuple[str, ...]:
    """The values of an object that are text."""
    return tuple(one for one in value.values() if isinstance(one, str)) if isinstance(value, dict) else ()


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
