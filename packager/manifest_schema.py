"""The JSON Schema of the manifest: made from the models, with the defaults that apply to what is left out.

It serves editors (completion, hover texts, red underlines) and our own error messages, which take their
descriptions, limits and allowed words from it.
"""

from __future__ import annotations

import copy
import functools
import tomllib
from typing import Any

from packager import resources
from packager.manifest_model import Manifest, Settings
from packager.source_map import Location

INHERITED = frozenset({*Settings.model_fields, "precision", "abi"})
"""Keys that a target need not write: they come from [defaults], [model] and the table of ABIs."""

Node = dict[str, Any]


@functools.cache
def _defaults() -> dict[str, Any]:
    return tomllib.loads(resources.text("manifests", "defaults.toml"))


def defaults() -> dict[str, Any]:
    """What `manifests/defaults.toml` says for the keys of the manifest, as a copy."""
    known = {field.alias or name for name, field in Manifest.model_fields.items()}
    return copy.deepcopy({key: value for key, value in _defaults().items() if key in known})


def default_abis() -> dict[str, str]:
    """A target's ABI when it names none, by operating system."""
    return dict(_defaults()["abi"])


def default_linux() -> dict[str, Any]:
    """What a target's `linux` says, and its `service`, where they are written and leave something out."""
    return copy.deepcopy(dict(_defaults()["linux"]))


def schema() -> Node:
    """The manifest's JSON Schema, draft 2020-12. Keys with a default are not required."""
    return copy.deepcopy(_schema())


@functools.cache
def _schema() -> Node:
    made = _tidied(Manifest.model_json_schema(by_alias=True))
    _settle(made, made, defaults())
    _settle(made, made["$defs"]["LinuxSystem"], default_linux())
    target = made["$defs"]["Target"]
    target["required"] = [key for key in target["required"] if key not in INHERITED]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:hexpack:manifest:1",
        "title": "hexpack manifest",
        **made,
        "description": "One TOML document that says what is packaged and for which devices",
    }


def _tidied(node: Node) -> Node:
    """Without generated titles, and without null, which TOML cannot write."""
    node = {key: value for key, value in node.items() if key != "title"}
    if "anyOf" in node:
        (kept,) = (choice for choice in node.pop("anyOf") if choice != {"type": "null"})
        node = {**kept, **node}
        del node["default"]
    for group in ("properties", "$defs"):
        if group in node:
            node[group] = {name: _tidied(child) for name, child in node[group].items()}
    for child in ("items", "additionalProperties"):
        if isinstance(node.get(child), dict):
            node[child] = _tidied(node[child])
    return node


def _settle(root: Node, node: Node, values: dict[str, Any]) -> None:
    """Write defaults into a table's schema; a key that always has a value is not required."""
    for key, value in values.items():
        child = node["properties"][key]
        inner = _referred(root, child)
        if isinstance(value, dict) and inner is not None:
            _settle(root, inner, value)
            settled = not inner.get("required")
        else:
            child["default"] = value
            settled = True
        if settled and key in node.get("required", []):
            node["required"].remove(key)
    if not node.get("required", True):
        del node["required"]


def _referred(root: Node, node: Node) -> Node | None:
    name = node.get("$ref", "").rpartition("/")[2]
    return root["$defs"][name] if name else None


class Shapes:
    """What the schema says about each location of a manifest."""

    def __init__(self) -> None:
        self._root = _schema()

    def at(self, location: Location) -> Node:
        """The schema of a location; empty where the manifest knows no such key."""
        node = self._resolved(self._root)
        for part in location:
            if isinstance(part, int):
                child = node.get("items")
            else:
                child = self.keys(node).get(part, node.get("additionalProperties"))
            node = self._resolved(child) if isinstance(child, dict) else {}
        return node

    def keys(self, node: Node) -> dict[str, Node]:
        """The keys of a table, those of all its kinds together."""
        found = dict(node.get("properties", {}))
        for kind in self.kinds(node):
            found |= kind["properties"]
        return found

    def kinds(self, node: Node) -> list[Node]:
        """The alternatives of a table that comes in several kinds."""
        return [self._resolved(kind) for kind in node.get("oneOf", [])]

    def sections_with(self, key: str) -> list[str]:
        """Headers of the top-level tables that know `key`."""
        found = []
        for name in self.keys(self._root):
            node = self.at((name,))
            if key in self.keys(node):
                found.append(f"[{name}]")
            elif "items" in node and key in self.keys(self.at((name, 0))):
                found.append(f"[[{name}]]")
        return found

    def without_kinds(self, location: Location) -> Location:
        """A validation location without the names of the kinds that pydantic puts into it."""
        cleaned: Location = ()
        parts = iter(location)
        for part in parts:
            cleaned = (*cleaned, part)
            if self.kinds(self.at(cleaned)):
                next(parts, None)
        return cleaned

    def _resolved(self, node: Node) -> Node:
        inner = _referred(self._root, node)
        # A field's own description says more than that of the table it refers to.
        return {**inner, **node} if inner is not None else node
