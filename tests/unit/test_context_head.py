import struct

import pytest

from packager.errors import UnreadableFile
from packager.facts.context_head import METADATA_OFFSET, looks_like_context, read_head
from packager.facts.part import Part
from tests.make.context import UFIXED8, UFIXED16, Graph, Tensor, context


@pytest.fixture
def saved(tmp_path):
    def save(content):
        path = tmp_path / "model.bin"
        path.write_bytes(content)
        return path

    return save


def test_the_head_names_the_release_and_the_silicon(saved):
    path = saved(context(soc_model=57, arch=75))

    facts = read_head(path)

    assert facts.authority == "head"
    assert (facts.backend_id, facts.soc_model, facts.hexagon_arch) == (6, 57, 75)
    assert facts.qairt_build == "v2.51.0.260929181845"
    assert (facts.core_api, facts.backend_api, facts.blob_version) == ("2.40.0", "5.51.0", "4.0.6")


def test_tensors_have_names_types_shapes_and_quantization(saved):
    image = Tensor("image", (1, 224, 224, 3), UFIXED16, (0.25, -32768))
    scores = Tensor("scores", (1, 1000), UFIXED8, (0.5, -7))
    path = saved(context([Graph("classifier", (image, Tensor("mask")), (scores,))]))

    (graph,) = read_head(path).graphs

    first, second = graph.inputs
    (output,) = graph.outputs
    assert graph.name == "classifier"
    assert (first.name, first.dtype, first.shape) == ("image", "ufixed16", (1, 224, 224, 3))
    assert (first.scale, first.offset) == (0.25, -32768)
    assert (second.name, second.dtype, second.scale, second.offset) == ("mask", "float32", None, None)
    assert (output.dtype, output.shape, output.scale, output.offset) == ("ufixed8", (1, 1000), 0.5, -7)


def test_scale_and_offset_of_four_bits_are_read_from_an_encoding_of_their_own(saved):
    four = Tensor("x", dtype=0x308, quantized=(0.25, 3), bits=4)
    path = saved(context([Graph(inputs=(four,))]))

    (graph,) = read_head(path).graphs

    assert (graph.inputs[0].dtype, graph.inputs[0].scale, graph.inputs[0].offset) == ("sfixed8", 0.25, 3)


def test_an_element_type_that_no_table_knows_is_shown_in_hex(saved):
    path = saved(context([Graph(inputs=(Tensor("x", dtype=0x7AB),))]))

    (graph,) = read_head(path).graphs

    assert graph.inputs[0].dtype == "0x7ab"


@pytest.mark.parametrize("vtcm", [8, 8 << 20], ids=["in MiB", "in bytes"])
def test_vtcm_is_in_mib_whichever_unit_the_file_uses(saved, vtcm):
    path = saved(context([Graph(vtcm=vtcm, optimization=2, threads=6, spill_fill=4096)]))

    (graph,) = read_head(path).graphs

    assert (graph.vtcm_mb, graph.optimization, graph.hvx_threads, graph.spill_fill_bytes) == (8.0, 2, 6, 4096)


@pytest.mark.parametrize("shared", [None, 0, 270336])
def test_a_second_record_tells_the_size_of_shared_weights(saved, shared):
    path = saved(context([Graph(shared=shared)]))

    (graph,) = read_head(path).graphs

    assert (graph.shared_weights_bytes, graph.optimization) == (shared, 3)


def test_a_context_inside_another_file_is_read_where_it_lies(saved):
    whole = context([Graph("inside")])
    path = saved(b"before" + whole + b"after")

    facts = read_head(path, Part(6, len(whole)))

    assert [graph.name for graph in facts.graphs] == ["inside"]


def test_damage_to_a_context_inside_another_file_is_told_with_its_place_in_that_file(saved):
    whole = context()
    path = saved(b"before" + whole + b"after")

    with pytest.raises(UnreadableFile) as refusal:
        read_head(path, Part(6, len(whole) - 1))

    assert refusal.value.offset == 6 + len(whole) - 1


def test_a_part_that_ends_after_the_file_is_refused_at_the_file_s_end(saved):
    path = saved(context())

    with pytest.raises(UnreadableFile) as refusal:
        read_head(path, Part(6, len(context())))

    assert refusal.value.offset == len(context())


@pytest.mark.parametrize("version", [1, 2, 3])
def test_graphs_of_every_version_are_read_in_order(saved, version):
    path = saved(context([Graph(name, version=version) for name in ("prefill", "decode", "third")]))

    facts = read_head(path)

    assert [graph.name for graph in facts.graphs] == ["prefill", "decode", "third"]
    assert {graph.optimization for graph in facts.graphs} == {3 if version == 3 else None}


def test_only_the_htp_backend_is_believed_to_have_a_hexagon(saved):
    path = saved(context(backend=3, build=None))

    facts = read_head(path)

    assert (facts.backend_id, facts.hexagon_arch, facts.qairt_build) == (3, None, None)
    assert facts.graphs[0].vtcm_mb is None


def test_a_context_is_recognised_even_when_it_was_cut_short(saved):
    whole, cut = context(), context()[:3000]

    recognised = [
        looks_like_context(saved(content)) for content in (whole, cut, bytes(4096), b"", b"\x7fELF" * 99)
    ]

    assert recognised == [True, True, False, False, False]


@pytest.mark.parametrize("size", [0, 20, METADATA_OFFSET, 500, 6000, -1])
def test_a_truncated_file_is_refused_at_its_end(saved, size):
    path = saved(context()[:size])

    with pytest.raises(UnreadableFile) as refusal:
        read_head(path)

    assert refusal.value.offset == path.stat().st_size
    assert "ends" in refusal.value.reason


def test_bytes_after_the_blob_are_refused(saved):
    content = context()
    path = saved(content + b"tail")

    with pytest.raises(UnreadableFile) as refusal:
        read_head(path)

    assert refusal.value.offset == len(content)


def test_information_of_another_version_is_refused_by_name(saved):
    path = saved(context(version=4))

    with pytest.raises(UnreadableFile, match="damaged") as refusal:
        read_head(path)

    assert refusal.value.reason == "information of version 4, not 3"


def test_a_reference_out_of_the_metadata_is_refused_at_its_place(saved):
    content = bytearray(context())
    struct.pack_into("<I", content, METADATA_OFFSET, 0x7FFFFFF0)
    path = saved(content)

    with pytest.raises(UnreadableFile) as refusal:
        read_head(path)

    assert refusal.value.offset == METADATA_OFFSET + 0x7FFFFFF0


def test_references_to_the_same_bytes_over_and_over_are_refused(saved):
    large = Graph(inputs=tuple(Tensor(f"input {number}") for number in range(200)))
    path = saved(context([large] * 1000))

    with pytest.raises(UnreadableFile) as refusal:
        read_head(path)

    assert refusal.value.reason == "the metadata refers to the same bytes over and over"
