"""Whatever bytes are called a manifest, the answer is a document or a ManifestError, with sound carets."""

from __future__ import annotations

import datetime
import re
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager.errors import ManifestError
from packager.manifest import Document, load
from packager.manifest_schema import schema
from packager.source_map import SourceMap

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

GOOD: dict[str, Any] = {
    "schema": 1,
    "package": {
        "name": "text-direction",
        "version": "1.2.0",
        "vendor": "Example Devices",
        "license": "Apache-2.0",
        "description": "Tells whether a line of text is upside down",
        "maintainer": "Release Team <release@example.com>",
    },
    "model": {"source": {"path": "cls.onnx"}, "inputs": {"x": {"shape": [1, 3], "dtype": "int8"}}},
    "qairt": {"from": "wheel"},
    "defaults": {"power": "balanced"},
    "targets": [{"soc": ["qcs6490"], "os": "linux", "formats": ["deb"]}],
    "allow": [{"rule": "HEX207", "reason": "known and accepted"}],
}


def _words(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield str(key)
            yield from _words(child)
    elif isinstance(node, list):
        for child in node:
            yield from _words(child)
    elif isinstance(node, str):
        yield node


KNOWN = sorted({word for word in _words(schema()) if len(word) < 30})
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(KNOWN)
SCALARS = (
    TEXT
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.booleans()
    | st.dates(min_value=datetime.date(1, 1, 1))
    | st.times()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def answer(content: bytes) -> Document | ManifestError:
    """What loading gives; any other exception fails the test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "app.toml"
        path.write_bytes(content)
        try:
            answered: Document | ManifestError = load(path)
        except ManifestError as refused:
            answered = refused
    assert isinstance(answered, Document) or sound(answered, content)
    return answered


def sound(refused: ManifestError, content: bytes) -> bool:
    """Whether it can be printed, and each place it names is in the document."""
    message = refused.render()
    lines = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").split("\n")
    for line, column in re.findall(r"app\.toml:(\d+):(\d+): ", message):
        if not 1 <= int(column) <= len(lines[int(line) - 1]) + 2:
            return False
    return bool(refused.what) and all(line.isprintable() for line in message.split("\n"))


@QUICK
@given(st.binary(max_size=300))
def test_any_bytes_are_answered(content):
    answer(content)


@QUICK
@given(st.text(st.sampled_from("[]{}=.,#\"'\\\n\r\t ab1-é入:_+"), max_size=80))
def test_any_text_of_tomls_own_signs_is_answered(text):
    answer(text.encode())


@QUICK
@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_any_document_is_answered(document):
    answer(tomlkit.dumps(document).encode())


def _places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for part, child in children:
        yield from _places(child, (*at, part))


@QUICK
@given(st.data())
def test_a_good_manifest_with_any_value_in_any_place_is_answered(data):
    document = tomllib.loads(tomlkit.dumps(GOOD))
    for _ in range(data.draw(st.integers(1, 3))):
        *parents, last = data.draw(st.sampled_from([place for place in _places(document) if place]))
        holder: Any = document
        for part in parents:
            holder = holder[part]
        if isinstance(holder, dict) and data.draw(st.booleans()):
            holder[data.draw(TEXT)] = holder.pop(last)
        else:
            holder[last] = data.draw(VALUES)

    answer(tomlkit.dumps(document).encode())


@QUICK
@given(st.data())
def test_a_good_manifest_with_any_cut_or_insertion_is_answered(data):
    text = tomlkit.dumps(GOOD)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    inserted = data.draw(st.sampled_from(["", "\n", '"', "'", "[", "]", "}", "=", ".", "#", "\\", "é", "\0"]))

    answer((text[:start] + inserted + text[end:]).encode())


@QUICK
@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_every_value_of_a_document_has_a_position(document):
    text = tomlkit.dumps(document).replace("\r\n", "\n")
    try:
        words = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        words = {}  # the writer of the test makes a slip of its own now and then

    positions = SourceMap(text)

    for place in _places(words):
        if place:
            assert positions.value(place) is not None, place
        if place and isinstance(place[-1], str):
            assert positions.key(place) is not None, place


def test_the_manifest_that_is_changed_here_is_a_good_one():
    answered = answer(tomlkit.dumps(GOOD).encode())

    assert isinstance(answered, Document)
