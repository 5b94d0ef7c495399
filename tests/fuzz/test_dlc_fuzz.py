"""Damaged deep learning containers end in facts or in UnreadableFile, quickly and in little memory."""

from __future__ import annotations

import tracemalloc
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager.errors import UnreadableFile
from packager.facts.dlc import read_dlc
from packager.facts.dlc_topology import MOST_TABLES, graphs
from packager.facts.flatbuffer import Buffer
from packager.facts.identify import identify
from packager.facts.types import DlcFacts
from tests.make import context as contexts
from tests.make.dlc import (
    OUTPUT,
    UFIXED8,
    Graph,
    Tensor,
    head,
    metadata,
    parameters,
    plain_zip,
    qairt_dlc,
    snpe1_dlc,
    snpe2_dlc,
    topology,
)

bounded = settings(
    max_examples=150,
    deadline=4000,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    database=None,
)
QUANTIZED = Graph(
    "one",
    (Tensor("x", quantized=(0.5, -3), dtype=UFIXED8), Tensor("y", OUTPUT, quantized=(0.25, 1), bits=4)),
)
TOPOLOGY = topology([QUANTIZED, Graph("two")])
SEEDS = {
    "SNPE 1": snpe1_dlc(records={"aip.metadata0": bytes(64)}),
    "SNPE 2": snpe2_dlc([QUANTIZED, Graph("two")]),
    "QAIRT": qairt_dlc([QUANTIZED, Graph("two")]),
    "with a context": qairt_dlc(records={"cache": contexts.context(blob_size=64)}),
    "nothing but a context": plain_zip(
        {"dlc.metadata": metadata("a", "b"), "cache": contexts.context(blob_size=64)}
    ),
    "compressed": plain_zip(
        {
            "model": head(4) + TOPOLOGY,
            "model.params": head(4) + parameters(),
            "dlc.metadata": metadata("a", "b"),
        },
        zipfile.ZIP_DEFLATED,
    ),
}

patches = st.one_of(
    st.binary(min_size=1, max_size=8),
    st.sampled_from([b"\xff" * 4, b"\xff" * 8, bytes(4), bytes(8), b"\xff\xff\xff\x7f", b"\0\0\0\x80"]),
    st.integers(0, 1 << 16).map(lambda number: number.to_bytes(4, "little")),
)


@st.composite
def damages(draw, size):
    """Edits (offset, bytes), and the length at which the file is cut."""
    edits = draw(st.lists(st.tuples(st.integers(0, size - 1), patches), max_size=6))
    return edits, draw(st.one_of(st.just(size), st.just(size), st.integers(0, size)))


def damaged(seed, damage):
    edits, length = damage
    content = bytearray(seed)
    for offset, patch in edits:
        content[offset : offset + len(patch)] = patch
    return bytes(content[:length])


@pytest.fixture
def nowhere(tmp_path):
    """A QnnSystem library that no host can load: the reader under test is the pure one."""
    library = tmp_path / "libQnnSystem.so"
    library.write_bytes(b"no library")
    return library


def facts_or_refusal(path, library=None):
    try:
        return read_dlc(path, library)
    except UnreadableFile as refusal:
        return refusal


def write(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", SEEDS)
def test_a_damaged_container_has_facts_or_a_reason(tmp_path, nowhere, kind):
    seed, path = SEEDS[kind], tmp_path / "damaged.dlc"
    assert read_dlc(write(path, seed), nowhere).lineage in ("snpe1", "snpe2", "qairt")

    @bounded
    @given(damages(len(seed)))
    def check(damage):
        write(path, damaged(seed, damage))
        identify(path)
        result = facts_or_refusal(path, nowhere)

        if isinstance(result, DlcFacts):
            assert DlcFacts.model_validate_json(result.model_dump_json()) == result
        else:
            assert (bool(result.reason), result.offset >= 0) == (True, True)

    check()


@bounded
@given(damages(len(TOPOLOGY)))
def test_a_damaged_topology_costs_no_more_memory_than_its_size_allows(tmp_path, damage):
    content = damaged(TOPOLOGY, damage)

    tracemalloc.start()
    try:
        found = graphs(Buffer(tmp_path, content, 8, "topology", MOST_TABLES))
    except UnreadableFile:
        found = ()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(found) <= len(content)
    assert peak < 1 << 20


@bounded
@given(st.binary(max_size=400))
def test_a_record_of_noise_is_refused_or_read(tmp_path, noise):
    path = write(tmp_path / "noise.dlc", plain_zip({"dlc.metadata": noise, "model": head(4) + noise}))

    result = facts_or_refusal(path)

    assert isinstance(result, DlcFacts) or result.reason


@bounded
@given(st.sampled_from(sorted(SEEDS)), st.floats(0, 1, exclude_max=True))
def test_no_beginning_of_a_container_passes_for_the_whole(tmp_path, kind, part):
    path = write(tmp_path / "cut.dlc", SEEDS[kind][: int(part * len(SEEDS[kind]))])

    with pytest.raises(UnreadableFile):
        read_dlc(path)
