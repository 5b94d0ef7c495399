"""What a file is, told from its content, and which reader gets it."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile

import onnx
import pytest

from packager.errors import InputUnavailable, UnreadableFile
from packager.facts.identify import examine, identify, read
from packager.facts.types import ArchiveFacts, DamagedFacts, ElfFacts, OtherFacts, PeFacts
from tests.make.context import context
from tests.make.elf import hexagon_skel, shared_library
from tests.make.pe import dll


@pytest.fixture
def written(tmp_path):
    def write(content, name="file.bin"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def model(**attributes):
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 3])
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "graph", [value], [out])
    return onnx.helper.make_model(graph, **attributes).SerializeToString()


def zip_of(*names):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, b"\xd5\x0a\x04\x00")
    return out.getvalue()


def tar_of(name):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    return out.getvalue()


def head_of_catalogue():
    """The first fields of a signed trust list: what identifies a catalogue stands in its first 60 bytes."""
    signed_data, trust_list = "06092a864886f70d010702", "06092b0601040182370a01"
    sha256 = "310f300d06096086480165030402010500"
    return bytes.fromhex(f"30820200{signed_data}a08201f1308201ed020101{sha256}308200d0{trust_list}")


TAR = tar_of("model.onnx")
KINDS = {
    "skel": (hexagon_skel(), "elf"),
    "library": (shared_library(), "elf"),
    "dll": (dll(), "pe"),
    "catalogue": (head_of_catalogue().ljust(520, b"\0"), "catalogue"),
    "context": (context(), "context-binary"),
    "onnx": (model(), "onnx"),
    "onnx with producer": (model(producer_name="pytorch", producer_version="2.5"), "onnx"),
    "dlc": (zip_of("model", "model.params", "dlc.metadata2.3.0"), "dlc"),
    "zip": (zip_of("model.onnx"), "archive"),
    "empty zip": (zip_of(), "archive"),
    "tar": (TAR, "archive"),
    "tar.gz": (gzip.compress(TAR), "archive"),
    "deb": (b"!<arch>\ndebian-binary   ", "archive"),
    "rpm": (b"\xed\xab\xee\xdb\x03\x00", "archive"),
    "static library": (b"!<arch>\nx.o/            ", "other"),
    "gzipped text": (gzip.compress(b"text" * 999), "other"),
    "text": (b"MZ is how this text begins, and it is long enough to hold a header of the format", "other"),
    "DOS program": (b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"NE\0\0", "other"),
    "zeros": (bytes(4096), "other"),
    "empty": (b"", "other"),
    "one byte": (b"\x08", "other"),
    "certificate": (bytes.fromhex("3082020006092a864886f70d010702").ljust(600, b"\0"), "other"),
}


@pytest.mark.parametrize(("content", "kind"), KINDS.values(), ids=KINDS)
def test_a_file_is_known_by_its_content(written, content, kind):
    path = written(content)

    found = identify(path)

    assert found == kind


def test_a_name_has_no_say(written):
    path = written(hexagon_skel(), "model.onnx")

    found = identify(path)

    assert found == "elf"


@pytest.mark.parametrize(
    ("content", "length", "kind"),
    [
        (hexagon_skel(), 20, "elf"),
        (dll(), 66, "pe"),
        (context(), 100, "context-binary"),
        (model(producer_name="pytorch"), 30, "onnx"),
        (model(producer_name="pytorch"), 11, "onnx"),
        (model(), 40, "onnx"),
        (head_of_catalogue(), 60, "catalogue"),
        (zip_of("model", "model.params"), 60, "dlc"),
        (zip_of("readme.txt"), 60, "archive"),
        (gzip.compress(TAR), 20, "archive"),
    ],
)
def test_a_file_cut_short_is_still_of_the_kind_that_its_beginning_promises(written, content, length, kind):
    path = written(content[:length])

    found = identify(path)

    assert found == kind


def field(number, wire, payload):
    return bytes([number << 3 | wire]) + payload


@pytest.mark.parametrize(
    "content",
    [
        field(1, 0, b"\x01") + field(2, 2, b"\x04\x0a\x02\x08\x01"),
        field(1, 0, b"\x0a") + field(7, 2, b"\x02\x18\x01"),
        field(1, 0, b"\x0a") + field(9, 2, b"\x01a"),
        field(1, 0, b"\x0a") + field(2, 0, b"\x01"),
        field(1, 0, b"\x00") + field(7, 2, b"\x00"),
        field(1, 0, b"\xff\x7f") + field(7, 2, b"\x00"),
        field(7, 2, b"\x00"),
        field(1, 0, b"\x0a"),
        field(1, 0, b"\x0a") * 20_000,
        field(1, 0, b"\x0a") + field(2, 2, b"\xff" * 9 + b"\x01"),
        field(1, 0, b"\x0a") + field(5, 0, b"\xff" * 12),
    ],
    ids=[
        "message where the producer's name is", "graph with a number first", "unknown field",
        "wrong wire type", "no ir_version", "absurd ir_version", "graph alone", "ir_version alone", "endless",
        "absurd length", "overlong number",
    ],
)  # fmt: skip
def test_protobuf_of_another_kind_is_not_taken_for_a_model(written, content):
    path = written(content)

    found = identify(path)

    assert found == "other"


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0a" * 32 + b"\nsize 13214\n"


@pytest.mark.parametrize(
    ("content", "stand_in"),
    [
        (b"", "empty"),
        (bytes(1), "zeros"),
        (bytes((2 << 20) + 1), "zeros"),
        (bytes(2 << 20) + b"\1", None),
        (POINTER, "lfs-pointer"),
        (POINTER.replace(b"oid", b"ext-0-a sha256:11\noid"), "lfs-pointer"),
        (POINTER + b"and more\n", None),
        (POINTER[:60], None),
        (b"see " + POINTER, None),
        (b"<!DOCTYPE html>\n<html>", "html"),
        (b"\xef\xbb\xbf\r\n<!-- login -->\n<HTML lang='en'>", "html"),
        (b"<htmlish>", None),
        (b"<?xml version='1.0'?>", None),
        (b"text", None),
    ],
)
def test_a_file_that_stands_for_another_is_told(written, content, stand_in):
    assert examine(written(content)) == OtherFacts(stand_in=stand_in)


@pytest.mark.parametrize(
    ("content", "facts"),
    [(hexagon_skel(), ElfFacts), (dll(), PeFacts), (TAR, ArchiveFacts), (b"text", OtherFacts)],
)
def test_each_kind_goes_to_its_reader(written, content, facts):
    path = written(content)

    found = read(path)

    assert isinstance(found, facts)
    assert examine(path) == found


def test_a_damaged_file_has_facts_about_its_damage_when_it_is_examined(written):
    path = written(hexagon_skel()[:-1])

    found = examine(path)

    with pytest.raises(UnreadableFile) as caught:
        read(path)
    assert found == DamagedFacts(offset=caught.value.offset, reason=caught.value.reason)
    assert found.offset == len(hexagon_skel()) - 1


@pytest.mark.parametrize("name", ["absent", "."])
def test_what_cannot_be_opened_is_unavailable(tmp_path, name):
    path = tmp_path / name

    with pytest.raises(InputUnavailable) as caught:
        examine(path)

    assert not isinstance(caught.value, UnreadableFile)
