"""What is wrong with a manifest, in the words of its author rather than of the validator.

pydantic says where something does not fit; what would fit is taken from the JSON Schema of the models.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packager import catalog
from packager.diagnostics import Source, shortened
from packager.errors import nearest
from packager.manifest_schema import INHERITED, Node, Shapes
from packager.source_map import Location

if TYPE_CHECKING:
    from pydantic import ValidationError

_SETTING = 3  # parts in the location of a target's own key: targets, its number, the key
_KINDS = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "a boolean",
    "array": "an array",
    "object": "a table",
    "date": "a date or time",
}


@dataclass(frozen=True, slots=True)
class _Problem:
    location: Location
    message: str
    hint: str = ""
    at_key: bool = False


def problems(source: Source, words: dict[str, Any], refused: ValidationError) -> list[str]:
    """Blocks with position, cause and nearest right word, in the order of the document.

    `words` is the document as the user wrote it, before defaults were merged under it.
    """
    judge = _Judge(source, words)
    # Unknown keys first: a misspelt key is one mistake, although the right one is then missing too.
    errors = sorted(refused.errors(include_url=False), key=lambda error: error["type"] != "extra_forbidden")
    blocks: dict[str, tuple[float, int]] = {}
    for problem in filter(None, map(judge.problem, errors)):
        span = source.place(problem.location, key=problem.at_key)
        place = (span.line, span.column) if span else (float("inf"), 0)
        blocks.setdefault(source.block(span, problem.message, problem.hint), place)
    return sorted(blocks, key=blocks.__getitem__)


class _Judge:
    def __init__(self, source: Source, words: dict[str, Any]) -> None:
        self._source, self._words, self._shapes = source, words, Shapes()
        self._misspelt: set[Location] = set()

    def problem(self, error: Mapping[str, Any]) -> _Problem | None:
        """The problem behind one complaint of the validator; None when another complaint shows it."""
        location = self._shapes.without_kinds(error["loc"])
        if error["type"] == "extra_forbidden":
            return self._unknown_key(location)
        if error["type"] == "missing":
            return self._missing(location)
        if _inherits(location) and not self._wrote(location[:3]):
            return None
        if error["type"] == "value_error":
            return _Problem(location, str(error["ctx"]["error"]))
        return self._misfit(location, error["input"])

    def _unknown_key(self, location: Location) -> _Problem:
        parent, key = location[:-1], str(location[-1])
        node, written = self._shapes.at(parent), self._table(parent)
        known = self._shapes.keys(node)
        said = f'unknown key "{shortened(key)}"' + (f" in {_title(parent)}" if parent else "")
        section = not parent and isinstance(written.get(key), dict | list)
        if section:
            said = f"unknown section [{shortened(key)}]"
        if key in known:
            kinds = [kind for kind in self._shapes.kinds(node) if key not in kind["properties"]]
            other = next(kind for kind in kinds if kind["required"][0] in written)
            said = f'"{key}" does not go with "{other["required"][0]}"'
            return _Problem(location, said, f"known together: {', '.join(other['properties'])}", at_key=True)
        close = nearest(key, (word for word in known if word not in written))
        sections = self._shapes.sections_with(key)
        if close:
            self._misspelt.add((*parent, close))
            hint = f"did you mean [{close}]?" if section else f'did you mean "{close}"?'
        elif sections:
            hint = f"it belongs in {' or '.join(sections)}"
        else:
            hint = f"known: {', '.join(known)}"
        return _Problem(location, said, hint, at_key=True)

    def _missing(self, location: Location) -> _Problem | None:
        if _inherits(location) and len(location) == _SETTING:
            # What [defaults] or [model] should have given is a problem there; only an ABI comes from `os`.
            return self._no_abi(location) if location[-1] == "abi" else None
        unwritten = (location[:end] for end in range(1, len(location)) if not self._wrote(location[:end]))
        location = next(unwritten, location)
        if location in self._misspelt:
            return None
        parent, key = location[:-1], location[-1]
        node, item = self._shapes.at(location), self._shapes.at((*location, 0))
        if parent or not (item or "properties" in node):
            hint = f"add {key} = {_toml(node['examples'][0])}"
            return _Problem(parent, f'{_title(parent)} needs "{key}"', hint)
        return _Problem(
            (),
            f"{_title((*location, 0) if item else location)} is missing",
            f"it needs {', '.join((item or node)['required'])}",
        )

    def _no_abi(self, location: Location) -> _Problem | None:
        target = self._table(location[:-1])
        system, systems = target.get("os"), catalog.systems()
        if not isinstance(system, str):
            return None
        if system in systems:
            return _Problem(
                location[:-1],
                f'{_title(location[:-1])} needs "abi": there is no usual one for "{system}"',
                f"known: {', '.join(row.id for row in catalog.abis().values() if row.system == system)}",
            )
        close = nearest(system, systems)
        hint = f'did you mean "{close}"?' if close else f"known: {', '.join(systems)}"
        return _Problem((*location[:-1], "os"), f'unknown operating system "{shortened(system)}"', hint)

    def _misfit(self, location: Location, value: object) -> _Problem | None:
        node = self._shapes.at(location)
        wanted, found = node.get("type", "object"), _kind(value)
        if wanted != found and (wanted, found) != ("number", "integer"):
            fraction = (wanted, found) == ("integer", "number")
            message = f"{_subject(location)} must be {_KINDS[wanted]}, "
            message += "not a fraction" if fraction else f"not {_KINDS[found]}"
            return _Problem(location, message, self._rewritten(location, node, wanted, found))
        if isinstance(value, str):
            return _Problem(location, *_string_misfit(_subject(location), node, value))
        if isinstance(value, tuple):
            return self._wrong_length(location, node, len(value))
        if isinstance(value, dict):
            return self._no_kind(location, node, value)
        low, high = node.get("minimum"), node.get("maximum")
        limits = f"at least {low}" if high is None else f"{low}" if low == high else f"from {low} to {high}"
        written = shortened(self._source.positions.text(location))
        message = f"{_subject(location)} must be {limits}, not {written}"
        whole = self._shapes.at(location[:-1]) if isinstance(location[-1], int) else node
        return _Problem(location, message, whole.get("description", ""))

    def _wrong_length(self, location: Location, node: Node, length: int) -> _Problem | None:
        if length < node.get("minItems", 0):
            return _Problem(location, f"{_subject(location)} must not be empty", _for_example(location, node))
        if length > node.get("maxItems", length):
            most = f"{_subject(location)} must have at most {node['maxItems']} entries, not {length}"
            return _Problem(location, most)
        # The validator counts good entries only; the bad ones have problems of their own.
        return None

    def _no_kind(self, location: Location, node: Node, value: dict[str, Any]) -> _Problem:
        stranger = next((key for key in value if key not in self._shapes.keys(node)), None)
        if stranger is not None:
            return self._unknown_key((*location, stranger))
        heads = " or ".join(f'"{kind["required"][0]}"' for kind in self._shapes.kinds(node))
        return _Problem(location, f"{_title(location)} needs {heads}", _for_example(location, node))

    def _rewritten(self, location: Location, node: Node, wanted: str, found: str) -> str:
        """How to write what was probably meant."""
        written = self._source.positions.text(location)
        scalar = found not in ("array", "object") and bool(written)
        assign = f"{location[-1]} = " if isinstance(location[-1], str) else ""
        if len(location) == 1 and wanted in ("array", "object") and "examples" not in node:
            return f"write it under the header {_title((*location, 0) if wanted == 'array' else location)}"
        if wanted == "array" and scalar:
            return f"write it as an array: {assign}[{shortened(written)}]"
        if wanted == "string" and scalar:
            return f'write it in quotes: {assign}"{shortened(written)}"'
        if wanted == "integer" and found == "string" and written[1:-1].isdigit():
            return f"write it without quotes: {assign}{shortened(written[1:-1])}"
        return _for_example(location, node)

    def _wrote(self, location: Location) -> bool:
        return self._find(location) is not None

    def _table(self, location: Location) -> dict[str, Any]:
        found = self._find(location)
        return found if isinstance(found, dict) else {}

    def _find(self, location: Location) -> object:
        """What the user wrote there, or None, which TOML cannot say."""
        found: object = self._words
        for part in location:
            if isinstance(found, dict):
                found = found.get(part)
            elif isinstance(found, list) and isinstance(part, int) and part < len(found):
                found = found[part]
            else:
                return None
        return found


def _inherits(location: Location) -> bool:
    return len(location) > 2 and location[0] == "targets" and location[2] in INHERITED


def _string_misfit(subject: str, node: Node, value: str) -> tuple[str, str]:
    """Message and hint for a string that its field refuses."""
    cannot = f'{subject} cannot be "{shortened(value)}"'
    if "enum" in node:
        close = nearest(value, node["enum"])
        choice = f"one of: {', '.join(node['enum'])}"
        return cannot, f'did you mean "{close}"?\n{choice}' if close else choice
    meant = str(node.get("description", ""))
    if "examples" in node:
        meant += f" (for example {_toml(node['examples'][0])})"
    if not value:
        return f"{subject} must not be empty", meant
    if len(value) < node.get("minLength", 0):
        return f"{subject} must have at least {node['minLength']} characters", meant
    if len(value) > node.get("maxLength", len(value)):
        return f"{subject} must have at most {node['maxLength']} characters, not {len(value)}", meant
    if not value.isprintable() or value != value.strip():
        return f"{subject} must be one line of text without space around it", meant
    return cannot, meant


def _subject(location: Location) -> str:
    name = next(part for part in reversed(location) if isinstance(part, str))
    return f'"{shortened(name)}"' if location[-1] == name else f'an entry of "{shortened(name)}"'


def _title(location: Location) -> str:
    """How the header of a table is written."""
    if not location:
        return "the manifest"
    name = ".".join(shortened(part) for part in location if isinstance(part, str))
    return f"[[{name}]]" if isinstance(location[-1], int) else f"[{name}]"


def _for_example(location: Location, node: Node) -> str:
    if "examples" not in node:
        return str(node.get("description", ""))
    return f"for example {location[-1]} = {_toml(node['examples'][0])}"


def _kind(value: object) -> str:
    kinds: tuple[tuple[type, str], ...] = (
        (bool, "boolean"),
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (tuple, "array"),
        (dict, "object"),
        (datetime.date, "date"),
        (datetime.time, "date"),
    )
    return next(kind for python_type, kind in kinds if isinstance(value, python_type))


def _toml(value: object) -> str:
    """An example value as TOML writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
