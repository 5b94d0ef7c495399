"""From the text of a manifest to its models, with the defaults merged under the user's words.

Every problem is found in one run and shown with its line. tomllib reads (a good manifest costs no
positions), tree-sitter finds the places of what is wrong.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from packager.diagnostics import Source
from packager.errors import ManifestError, nearest
from packager.manifest_model import Manifest, Settings
from packager.manifest_problems import problems
from packager.manifest_schema import INHERITED, default_abis, default_linux, defaults, schema
from packager.source_map import Location, Span
from packager.toml_errors import in_words
from packager.visible import visible

__all__ = ["Document", "load", "schema"]

MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Document:
    """A manifest, the file it came from, and where in it each word stands."""

    manifest: Manifest
    path: Path
    source: Source

    def problem(self, location: Location, message: str, hint: str = "") -> str:
        """A block that points at the value of `location`, for example `("targets", 0, "soc", 1)`.

        A value that a target inherits is shown where it was written; one that nobody wrote, at the
        nearest parent that somebody did.
        """
        return self.source.block(self._place(location), message, hint)

    def error(self, blocks: Sequence[str]) -> ManifestError:
        """All problems of one run as one error."""
        return self.source.error(blocks)

    def _place(self, location: Location) -> Span | None:
        positions = self.source.positions
        if location[:1] == ("targets",) and len(location) > 2 and positions.value(location[:3]) is None:
            for origin in ("defaults", "model"):
                if location[2] in INHERITED and positions.value((origin, location[2])) is not None:
                    return self.source.place((origin, *location[2:]))
        return self.source.place(location)


def load(path: Path) -> Document:
    """Read, merge and validate a manifest of at most 1 MiB.

    Raises ManifestError with every problem: what is not UTF-8, not TOML, unknown, missing or out of
    range. Words that the tables must know (SoCs, ABIs, formats) are looked up by the plan.
    """
    source = Source(str(path), _text(path))
    words = _parsed(source)
    if not words:
        raise ManifestError(f"{source.name} says nothing", fix="`hexpack init` writes a manifest that works")
    try:
        manifest = Manifest.model_validate(_merged(words), strict=True)
    except ValidationError as refused:
        raise source.error(problems(source, words, refused)) from None
    return Document(manifest=manifest, path=path, source=source)


def _text(path: Path) -> str:
    """The text with `\\n` line ends and without a byte order mark."""
    name = visible(str(path))
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ManifestError(f"there is no manifest {name}", fix=_instead(path)) from None
    except IsADirectoryError:
        raise ManifestError(f"{name} is a folder, not a manifest", fix=_instead(path / "app.toml")) from None
    except (OSError, ValueError) as reason:
        said = getattr(reason, "strerror", None) or str(reason)
        raise ManifestError(f"{name} cannot be read", evidence=[said]) from None
    if len(content) > MAX_BYTES:
        raise ManifestError(
            f"{name} is larger than {MAX_BYTES} bytes", fix="name the manifest, not a model or a package"
        )
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as reason:
        line = content.count(b"\n", 0, reason.start) + 1
        raise ManifestError(
            f"{name}:{line}: the text is not UTF-8",
            evidence=[f"byte {content[reason.start]:#04x} at offset {reason.start}"],
            fix="save the file as UTF-8",
        ) from None


def _instead(path: Path) -> str:
    """What to do about a manifest that is not there."""
    try:
        there = sorted(entry.name for entry in path.parent.glob("*.toml"))
    except (OSError, ValueError):
        there = []
    close = nearest(path.name, there) or (there[0] if len(there) == 1 else None)
    if close:
        return f"did you mean {visible(str(path.parent / close))}?"
    return "`hexpack init` starts a new project; --manifest names the manifest of another"


def _parsed(source: Source) -> dict[str, Any]:
    try:
        return tomllib.loads(source.text)
    except RecursionError:
        raise source.error([source.block(None, "arrays or tables are nested too deeply")]) from None
    except ValueError as reason:
        raise source.error([in_words(source, reason)]) from None


def _merged(words: dict[str, Any]) -> object:
    """The user's words over the defaults, and in each target what it inherits."""
    under = defaults()
    model = words.get("model")
    for section in ("reference", "preprocessing", "quantization"):
        if not isinstance(model, dict) or section not in model:
            # The defaults are what such a section says, not that there is one.
            del under["model"][section]
    document = _over(under, words)
    inherited = _inherited(document)
    if isinstance(document.get("targets"), list):
        document["targets"] = [
            {**inherited, **_abi(target), **_linux(target)} if isinstance(target, dict) else target
            for target in document["targets"]
        ]
    return _with_tuples(document)


def _inherited(document: dict[str, Any]) -> dict[str, Any]:
    """What every target gets from [defaults] and [model]."""
    settings, model = document["defaults"], document["model"]
    found = {}
    if isinstance(settings, dict):
        found = {key: settings[key] for key in Settings.model_fields if key in settings}
    if isinstance(model, dict):
        found["precision"] = model["precision"]
    return found


def _linux(target: dict[str, Any]) -> dict[str, Any]:
    """The target's words, those about the Linux system over their defaults."""
    words = target.get("linux")
    if not isinstance(words, dict):
        return target
    under = default_linux()
    if "service" not in words:
        del under["service"]
    return {**target, "linux": _over(under, words)}


def _abi(target: dict[str, Any]) -> dict[str, str]:
    """The usual ABI of the target's operating system, if there is one."""
    system, abis = target.get("os"), default_abis()
    return {"abi": abis[system]} if isinstance(system, str) and system in abis else {}


def _over(under: dict[str, Any], words: dict[str, Any]) -> dict[str, Any]:
    """Tables merge key by key, anything else replaces."""
    merged = dict(under)
    for key, value in words.items():
        below = under.get(key)
        merged[key] = _over(below, value) if isinstance(value, dict) and isinstance(below, dict) else value
    return merged


def _with_tuples(value: object) -> object:
    """Arrays as tuples, which is what the models hold; strict validation does not convert."""
    if isinstance(value, dict):
        return {key: _with_tuples(item) for key, item in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value
