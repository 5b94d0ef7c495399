"""What is read from deep learning containers of every lineage, and how a damaged one is told."""

from __future__ import annotations

import struct
import zipfile

import pytest

from packager.errors import UnreadableFile
from packager.facts import dlc_topology
from packager.facts.context_head import read_head
from packager.facts.dlc import read_dlc
from packager.facts.flatbuffer import Buffer
from packager.facts.identify import identify, read
from packager.facts.types import DlcFacts
from tests.make import context as contexts
from tests.make.dlc import (
    BUILD,
    INSIDE,
    OUTPUT,
    UFIXED8,
    Graph,
    Tensor,
    head,
    history,
    metadata,
    parameters,
    plain_zip,
    qairt_dlc,
    snpe1_dlc,
    snpe2_dlc,
    topology,
    zip64_without_crc,
)


@pytest.fixture
def saved(tmp_path):
    def save(content):
        path = tmp_path / "net.dlc"
        path.write_bytes(content)
        return path

    return save


@pytest.fixture
def nowhere(tmp_path):
    """A QnnSystem library that no host can load."""
    library = tmp_path / "libQnnSystem.so"
    library.write_bytes(b"no library")
    return library


def refusal_of(path, library=None):
    with pytest.raises(UnreadableFile) as refusal:
        read_dlc(path, library)
    return refusal.value


@pytest.mark.parametrize(
    ("content", "lineage", "version"),
    [
        (snpe1_dlc(), "snpe1", "3.0"),
        (snpe1_dlc(major=2), "snpe1", "2.0"),
        (snpe1_dlc(major=0), "snpe1", None),
        (snpe2_dlc(), "snpe2", "4.0"),
        (qairt_dlc(), "qairt", "4.1"),
    ],
    ids=["SNPE 1", "old SNPE 1", "SNPE 1 without heads", "SNPE 2", "QAIRT"],
)
def test_the_records_tell_who_wrote_the_container(saved, content, lineage, version):
    path = saved(content)

    facts = read(path)

    model = next(record for record in facts.records if record.name == "model")
    assert (identify(path), facts.lineage) == ("dlc", lineage)
    assert (model.role, model.version, model.identifier) == ("topology", version, "NETD")


def test_every_record_is_listed_with_its_size_and_role(saved):
    path = saved(qairt_dlc(records={"extra": b"nothing known"}))

    facts = read_dlc(path)

    assert [(record.name, record.role) for record in facts.records] == [
        ("dlc.metadata.history.2.3.0", "history"),
        ("dlc.metadata2.3.0", "metadata"),
        ("model", "topology"),
        ("model.params", "parameters"),
        ("model.params.bin", "weights"),
        ("extra", None),
    ]
    assert [record.size for record in facts.records[-2:]] == [40, 13]


def test_graphs_have_inputs_and_outputs_with_types_shapes_and_quantization(saved):
    one = Graph("one", (Tensor("x", quantized=(0.5, -3), dtype=UFIXED8), Tensor("y", OUTPUT, (1, 10))))
    two = Graph("two", (Tensor("a", INSIDE), Tensor("b", shape=()), Tensor("c", shape=(7,))))
    path = saved(qairt_dlc([one, two]))

    first, second = read_dlc(path).graphs

    (x,) = first.inputs
    (y,) = first.outputs
    assert (first.name, second.name) == ("one", "two")
    assert (x.name, x.dtype, x.shape, x.scale, x.offset) == ("x", "ufixed8", (1, 3, 8, 8), 0.5, -3)
    assert (y.name, y.dtype, y.shape, y.scale, y.offset) == ("y", "float32", (1, 10), None, None)
    assert [(tensor.name, tensor.shape) for tensor in second.inputs] == [("b", ()), ("c", (7,))]
    assert second.outputs == ()


@pytest.mark.parametrize("bits", [4, 8])
def test_scale_and_offset_are_read_from_both_encodings_that_have_one_pair(saved, bits):
    tensor = Tensor("x", dtype=0x308, quantized=(0.25, -1), bits=bits)
    path = saved(qairt_dlc([Graph("net", (tensor,))]))

    (graph,) = read_dlc(path).graphs

    (x,) = graph.inputs
    assert (x.dtype, x.scale, x.offset) == ("sfixed8", 0.25, -1)


def test_the_topology_of_the_first_snpe_is_not_looked_into(saved):
    path = saved(snpe1_dlc())

    assert read_dlc(path).graphs == ()


def test_lines_of_text_tell_converter_and_version(saved):
    path = saved(snpe1_dlc(version="1.68.0.3932"))

    facts = read_dlc(path)

    assert facts.converter_command == "snpe-onnx-to-dlc input_dim=[['x', '1,3,8,8']]"
    assert (facts.converter_version, facts.qairt_build, facts.copyright) == ("1.68.0.3932", None, None)


def test_a_copyright_is_told(saved):
    words = metadata("snpe-onnx-to-dlc", "1.68.0.3932").replace(
        b"copyright=N/A", b"copyright=Example Devices"
    )
    path = saved(snpe1_dlc(records={"dlc.metadata": words}))

    assert read_dlc(path).copyright == "Example Devices"


def test_a_json_document_tells_converter_version_and_build(saved):
    path = saved(qairt_dlc())

    facts = read_dlc(path)

    assert facts.converter_command == "qairt-converter input_network=net.onnx float_bitwidth=16"
    assert (facts.converter_version, facts.qairt_build) == (BUILD, f"v{BUILD}")


@pytest.mark.parametrize("tool", ["qairt-converter", "snpe-onnx-to-dlc"])
def test_of_the_records_of_version_4_the_converter_s_name_tells_whose_they_are(saved, tool):
    path = saved(qairt_dlc(records={"dlc.metadata2.3.0": history(tool, BUILD)}))

    facts = read_dlc(path)

    assert facts.lineage == {"qairt-converter": "qairt", "snpe-onnx-to-dlc": "snpe2"}[tool]


@pytest.mark.parametrize("converter", ["null", "7", "[7]", '{"tool": 7, "args": [7]}'])
def test_a_converter_of_an_unknown_form_is_not_said(saved, converter):
    document = f'{{"dlcGenerationInfo": [{{"converterCommand": {converter}}}]}}'.encode()
    path = saved(qairt_dlc(records={"dlc.metadata.history.2.3.0": document}))

    facts = read_dlc(path)

    assert (facts.converter_command, facts.converter_version) == (None, None)


def test_records_with_zip64_extras_and_without_crc_are_read_though_zipfile_refuses_them(saved):
    path = saved(qairt_dlc())

    with zipfile.ZipFile(path) as archive, pytest.raises(zipfile.BadZipFile, match="CRC"):
        archive.read("model")
    assert [graph.name for graph in read_dlc(path).graphs] == ["net"]


def test_a_container_that_somebody_compressed_is_read_too(saved):
    made = {"model": head(4) + topology(), "model.params": head(4) + parameters()}
    path = saved(plain_zip({**made, "extra": contexts.context()}, zipfile.ZIP_DEFLATED))

    facts = read_dlc(path)

    assert [graph.name for graph in facts.graphs] == ["net"]
    assert [(cache.record, cache.context) for cache in facts.caches] == [("extra", None)]


@pytest.mark.parametrize("written", [snpe2_dlc, qairt_dlc])
def test_a_compiled_model_inside_is_known_by_its_content_and_tells_its_silicon(
    saved, nowhere, written, tmp_path
):
    whole = contexts.context([contexts.Graph("compiled")], soc_model=57, arch=75, blob_size=100)
    path = saved(written(records={"any.name": whole, "another": contexts.context(soc_model=69, arch=79)}))
    alone = tmp_path / "alone.bin"
    alone.write_bytes(whole)

    facts = read_dlc(path, nowhere)

    first, second = facts.caches
    assert first.context == read_head(alone)
    assert (first.record, first.size, second.context.soc_model) == ("any.name", len(whole), 69)
    assert [record.role for record in facts.records if record.name in ("any.name", "another")] == [
        "cache"
    ] * 2


def test_what_is_compiled_for_the_hta_is_listed_and_not_taken_for_a_context(saved):
    path = saved(snpe1_dlc(records={"aip.metadata0": bytes(64)}))

    (cache,) = read_dlc(path).caches

    assert (cache.record, cache.size, cache.context) == ("aip.metadata0", 64, None)


def test_damage_inside_a_compiled_model_is_told_with_its_record_and_its_place_in_the_file(saved, nowhere):
    whole = contexts.context(blob_size=100)
    content = qairt_dlc(records={"cache": whole[:-1]})
    path = saved(content)

    refusal = refusal_of(path, nowhere)

    assert refusal.reason.startswith("record cache: ")
    assert refusal.offset == content.index(whole[:-1]) + len(whole) - 1


def test_damage_in_the_topology_is_told_with_its_place_in_the_file(saved):
    content = bytearray(qairt_dlc())
    start = content.index(topology())
    struct.pack_into("<I", content, start, 0xFFFFFF)
    path = saved(content)

    refusal = refusal_of(path)

    assert "outside the topology" in refusal.reason
    assert refusal.offset == start + 0xFFFFFF


def test_json_that_is_cut_is_told_with_its_record(saved):
    cut = b'{"header": '
    path = saved(qairt_dlc(records={"dlc.metadata2.3.0": cut}))

    refusal = refusal_of(path)

    assert "record dlc.metadata2.3.0: " in refusal.reason
    assert refusal.offset == path.read_bytes().index(cut) + len(cut)


@pytest.mark.parametrize("cut", [1, 30, 300])
def test_a_container_cut_short_is_still_one_and_refused(saved, cut):
    path = saved(qairt_dlc()[:-cut])

    refusal = refusal_of(path)

    assert "not a whole zip" in refusal.reason
    assert identify(path) == "dlc"


def test_a_record_that_would_end_after_the_file_is_refused_at_its_end(saved):
    content = bytearray(zip64_without_crc({"model": head(4) + topology()}))
    for place in (content.index(b"model") + 5 + 4, content.rindex(b"model") + 5 + 4):
        struct.pack_into("<2Q", content, place, *[1 << 40] * 2)
    path = saved(content)

    refusal = refusal_of(path)

    assert "the file ends here, record model ends" in refusal.reason
    assert refusal.offset == len(content)


def test_a_directory_that_points_elsewhere_is_refused_there(saved):
    content = bytearray(plain_zip({"dlc.metadata": b"converter-version=1", "model": head(4) + topology()}))
    struct.pack_into("<I", content, content.index(b"PK\x01\x02") + 42, 7)
    path = saved(content)

    refusal = refusal_of(path)

    assert "no header of record dlc.metadata" in refusal.reason
    assert refusal.offset == 7


def test_an_encrypted_record_is_refused(saved):
    content = bytearray(plain_zip({"dlc.metadata": b"", "model": head(4) + topology()}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path = saved(content)

    refusal = refusal_of(path)

    assert "record dlc.metadata is encrypted" in refusal.reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("model", f"a topology of {0xFFFFFFF0} bytes"),
        ("dlc.metadata", f"more than {4 << 20} bytes of metadata"),
    ],
)
def test_a_record_of_an_absurd_size_is_refused_before_it_is_unpacked(saved, name, reason):
    content = bytearray(
        plain_zip({"model": head(4) + topology(), "dlc.metadata": bytes(99)}, zipfile.ZIP_DEFLATED)
    )
    entry = content.index(name.encode(), content.index(b"PK\x01\x02")) - 46
    struct.pack_into("<I", content, entry + 24, 0xFFFFFFF0)
    path = saved(content)

    refusal = refusal_of(path)

    assert refusal.reason == reason


def test_metadata_is_bounded_however_many_records_it_is_spread_over(saved):
    records = {f"dlc.metadata{number}": bytes(1 << 20) for number in range(5)}
    path = saved(plain_zip({"model": head(4) + topology(), **records}, zipfile.ZIP_DEFLATED))

    refusal = refusal_of(path)

    assert refusal.reason == f"more than {4 << 20} bytes of metadata"


def test_a_second_record_of_a_name_is_refused(saved):
    content = plain_zip({"model": head(4) + topology(), "again": head(4) + topology()})
    path = saved(content.replace(b"again", b"model"))

    refusal = refusal_of(path)

    assert refusal.reason == "a second record model"
    assert refusal.offset == content.index(b"again") + len(b"again")


def test_records_that_share_bytes_are_refused(saved):
    whole = contexts.context()
    content = plain_zip({"model": head(4) + topology(), "one": whole, "two": b""})
    directory = content.index(b"PK\x01\x02")
    entry = content.index(b"two", directory) - 46
    header = struct.pack("<I", content.index(b"one") - 30)
    # Its local header is that of the first record, so that both lead to the same bytes.
    sizes = struct.pack("<2I", len(whole), len(whole))
    forged = content[: entry + 20] + sizes + content[entry + 28 : entry + 42] + header + content[entry + 46 :]
    path = saved(forged)

    refusal = refusal_of(path)

    assert refusal.reason == "record two begins inside record one"


@pytest.mark.parametrize(
    ("tool", "lineage"), [("qairt-converter", "qairt"), ("snpe-onnx-to-dlc", "snpe2"), ("", "qairt")]
)
def test_a_container_that_kept_only_its_compiled_model_is_read(saved, nowhere, tool, lineage):
    told = metadata(tool, BUILD) if tool else b""
    path = saved(plain_zip({"dlc.metadata": told, "compiled": contexts.context(soc_model=57)}))

    facts = read_dlc(path, nowhere)

    (cache,) = facts.caches
    assert (identify(path), facts.lineage, facts.graphs) == ("dlc", lineage, ())
    assert cache.context.soc_model == 57


@pytest.mark.parametrize(
    ("absurd", "reason"),
    [
        ([Graph("net", (Tensor("x", shape=(1,) * 33),))], "33 elements where at most 32 make sense"),
        ([Graph("n" * 4097)], "4097 elements where at most 4096 make sense"),
    ],
    ids=["dimensions", "name"],
)
def test_an_absurd_length_in_a_topology_is_refused(saved, absurd, reason):
    path = saved(qairt_dlc(absurd))

    assert refusal_of(path).reason == reason


def test_a_topology_of_more_inputs_and_outputs_than_make_sense_is_refused(saved, monkeypatch):
    monkeypatch.setattr(dlc_topology, "MOST_AT_BORDERS", 3)
    path = saved(qairt_dlc([Graph("one"), Graph("two")]))  # of two each

    refusal = refusal_of(path)

    assert refusal.reason == "more than 3 inputs and outputs"


def test_a_topology_of_more_tables_than_make_sense_is_refused(tmp_path):
    buffer = Buffer(tmp_path, topology(), 8, "topology", tables=4)

    with pytest.raises(UnreadableFile) as refusal:
        dlc_topology.graphs(buffer)

    assert refusal.value.reason == "more than 4 tables in the topology"


def test_a_topology_of_more_graphs_than_make_sense_is_refused(saved):
    path = saved(qairt_dlc([Graph("net", ())] * 4097))

    refusal = refusal_of(path)

    assert refusal.reason == "more than 4096 graphs"


def test_without_a_model_there_is_nothing_to_tell_the_lineage_from(saved):
    path = saved(plain_zip({"dlc.metadata": b"converter-version=2.10.0.1\n"}))

    refusal = refusal_of(path)

    assert "no record of it is a model's topology or parameters" in refusal.reason


@pytest.mark.parametrize(
    "records",
    [{"model": b"another format"}, {"model.params": bytes(64), "model.json": b"{}"}, {"model": b""}],
)
def test_a_zip_of_another_format_with_a_model_in_it_is_no_dlc(saved, records):
    path = saved(plain_zip(records))

    assert identify(path) == "archive"


def test_facts_survive_json(saved):
    facts = read_dlc(saved(qairt_dlc()))

    assert DlcFacts.model_validate_json(facts.model_dump_json()) == facts
