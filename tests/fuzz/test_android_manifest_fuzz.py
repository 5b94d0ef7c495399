"""Damaged manifests, as text and compiled: facts or UnreadableFile with a place in the file, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager.errors import UnreadableFile
from packager.facts.android_manifest import read_android_manifest
from packager.facts.identify import identify
from packager.facts.types import DamagedFacts
from tests.make.axml import compiled, manifest, text

bounded = settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

APP = manifest((("libcdsprpc.so", False), ("libx.so", None)), split="config.arm64_v8a", extract=False)
SEEDS = {"text": text(APP), "utf-16": compiled(APP), "utf-8": compiled(APP, utf8=True)}

patches = st.one_of(
    st.binary(min_size=1, max_size=8),
    st.sampled_from(
        [b"\xff" * 2, b"\xff" * 4, bytes(4), b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"&b;", b"<!", b"-->"]
    ),
    st.integers(0, 2048).map(lambda number: number.to_bytes(4, "little")),
)


def read(path):
    """The facts; those of a damaged file where the reader calls it unreadable."""
    size = path.stat().st_size
    try:
        facts = read_android_manifest(path)
    except UnreadableFile as error:
        facts = DamagedFacts(offset=error.offset, reason=error.reason)
    assert type(facts).model_validate_json(facts.model_dump_json()) == facts
    assert facts.kind == "android-manifest" or (facts.reason and 0 <= facts.offset <= size)
    return facts


@pytest.mark.parametrize("form", SEEDS)
@pytest.mark.filterwarnings("error")
def test_a_damaged_manifest_is_read_or_called_unreadable(tmp_path, form):
    path = tmp_path / "AndroidManifest.xml"
    size = len(SEEDS[form])

    @bounded
    @given(
        st.lists(st.tuples(st.integers(0, size - 1), patches), max_size=6),
        st.one_of(st.just(size), st.integers(0, size)),
    )
    def check(edits, length):
        content = bytearray(SEEDS[form])
        for offset, patch in edits:
            content[offset : offset + len(patch)] = patch
        path.write_bytes(content[:length])
        identify(path)
        read(path)

    check()


@bounded
@given(st.binary(max_size=400), st.sampled_from([b"", b"\x03\x00\x08\x00", b"<manifest ", b"\xff\xfe<\0"]))
def test_random_bytes_never_fail_otherwise(tmp_path, content, begin):
    path = tmp_path / "AndroidManifest.xml"
    path.write_bytes(begin + content)

    identify(path)
    read(path)


names = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="@"), min_size=1, max_size=40)


@bounded
@given(
    st.lists(st.tuples(names, st.sampled_from([None, True, False])), max_size=4),
    st.one_of(st.none(), st.integers(1, 10_000)),
    st.sampled_from([None, True, False]),
)
def test_whatever_is_written_is_read_back_from_every_form(tmp_path, libraries, min_sdk, extract):
    root = manifest(tuple(libraries), min_sdk=min_sdk, extract=extract)
    path = tmp_path / "AndroidManifest.xml"
    found = []

    for content in (text(root), compiled(root), compiled(root, utf8=True)):
        path.write_bytes(content)
        found.append(read(path))

    assert [use.name for use in found[0].native_libraries] == [name for name, _ in libraries]
    assert (found[0].min_sdk, found[0].extract_native_libs) == (min_sdk, extract)
    assert {facts.model_copy(update={"compiled": True}) for facts in found} == {found[1]}
