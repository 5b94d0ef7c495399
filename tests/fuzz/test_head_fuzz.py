"""Damaged files end in UnreadableFile or in facts: never in another exception, never in endless work."""

import functools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from packager.errors import UnreadableFile
from packager.facts.catalogue import read_catalogue
from packager.facts.context_head import METADATA_OFFSET, is_context, read_head
from packager.facts.onnx import read_onnx
from packager.facts.types import CatalogueFacts, ContextFacts, OnnxFacts
from tests.make.catalogue import catalogue
from tests.make.context import UFIXED8, Graph, Tensor, context

bounded = settings(
    max_examples=100,
    deadline=2000,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    database=None,
)
BLOB = 16


@functools.cache
def whole_context():
    tensors = (Tensor("x", quantized=(0.5, -3), dtype=UFIXED8), Tensor("y", (1, 2)))
    return context([Graph("one", tensors, tensors), Graph("two", version=1)], blob_size=BLOB)


@functools.cache
def whole_catalogue():
    return catalogue({"libqnnhtpv73skel.so": b"skel", "driver.inf": b"inf"}, curve=True)


@functools.cache
def whole_model():
    def value(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ("n", 3))

    inner = helper.make_graph([helper.make_node("Relu", ["x"], ["b"])], "inner", [], [value("b")])
    nodes = [
        helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner),
        helper.make_node("EPContext", ["y"], ["z"], embed_mode=0, ep_cache_context="z.bin"),
    ]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4], b"0123456789abcdef", raw=True)
    return helper.make_model(
        helper.make_graph(nodes, "g", [value("x")], [value("z")], [weight])
    ).SerializeToString()


READERS = {
    "context": (whole_context, read_head, ContextFacts),
    "catalogue": (whole_catalogue, read_catalogue, CatalogueFacts),
    "onnx": (whole_model, read_onnx, OnnxFacts),
}


@pytest.fixture(params=READERS)
def kind(request):
    return READERS[request.param]


@st.composite
def damage(draw):
    """Functions that overwrite a few bytes, or that cut out or repeat a piece."""
    places = draw(
        st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6)
    )
    cut = draw(st.one_of(st.none(), st.tuples(st.floats(0, 1), st.floats(0, 1))))
    repeat = draw(st.integers(0, 2))

    def spoil(content):
        spoiled = bytearray(content)
        for place, byte in places:
            spoiled[int(place * len(spoiled))] = byte
        if cut:
            start, end = sorted(int(part * len(spoiled)) for part in cut)
            spoiled[start:end] = spoiled[start:end] * repeat
        return bytes(spoiled)

    return spoil


def facts_or_refusal(read, path):
    try:
        return read(path)
    except UnreadableFile as refusal:
        return refusal


@bounded
@given(spoil=damage())
def test_a_damaged_file_has_facts_or_a_reason(kind, spoil, tmp_path):
    whole, read, facts = kind
    path = tmp_path / "damaged"
    path.write_bytes(spoil(whole()))

    result = facts_or_refusal(read, path)

    assert isinstance(result, facts) or (result.reason and result.offset >= 0)


@bounded
@given(content=st.binary(max_size=300))
def test_noise_has_facts_or_a_reason(kind, content, tmp_path):
    _, read, facts = kind
    path = tmp_path / "noise"
    path.write_bytes(content)

    result = facts_or_refusal(read, path)

    assert isinstance(result, facts) or result.reason


@bounded
@given(size=st.floats(0, 1, exclude_max=True))
def test_no_beginning_of_a_file_passes_for_the_whole(kind, size, tmp_path):
    whole, read, _ = kind
    path = tmp_path / "cut"
    path.write_bytes(whole()[: int(size * len(whole()))])

    with pytest.raises(UnreadableFile):
        read(path)


@bounded
@given(noise=st.binary(max_size=4000))
def test_metadata_of_noise_behind_a_good_head_is_refused(noise, tmp_path):
    head = whole_context()[:METADATA_OFFSET]
    size = int.from_bytes(head[0x10:0x18], "little")
    content = whole_context()
    path = tmp_path / "noise"
    path.write_bytes(head + noise.ljust(size, b"\xff")[:size] + content[METADATA_OFFSET + size :])

    assert is_context(head)
    with pytest.raises(UnreadableFile):
        read_head(path)


@bounded
@given(spoil=damage())
def test_a_catalogue_that_was_changed_is_not_signed_over_what_it_says(spoil, tmp_path):
    path = tmp_path / "changed.cat"
    path.write_bytes(whole_catalogue())
    genuine = read_catalogue(path)
    path.write_bytes(spoil(whole_catalogue()))

    changed = facts_or_refusal(read_catalogue, path)

    refused = isinstance(changed, UnreadableFile) or not changed.signature_valid
    assert refused or changed.members == genuine.members
