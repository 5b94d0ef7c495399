"""What is read from Windows DLLs, and how a damaged or altered one is told."""

from __future__ import annotations

import struct

import pytest

from packager.errors import UnreadableFile
from packager.facts.pe import read_pe
from tests.make.authenticode import signed
from tests.make.pe import dll


@pytest.fixture
def read(tmp_path):
    def read_bytes(image):
        path = tmp_path / "library.dll"
        path.write_bytes(image)
        return read_pe(path)

    return read_bytes


@pytest.fixture(scope="module")
def signed_dll():
    return signed(dll(imports=("KERNEL32.dll",)), common_name="Example Devices")


def test_a_dll_tells_its_versions_and_imports(read):
    image = dll(imports=("KERNEL32.dll", "libcdsprpc.dll"))

    facts = read(image)

    assert facts.machine == "ARM64"
    assert (facts.file_version, facts.product_version) == ("2.51.0.0", "2.51.0.260929181845")
    assert facts.imports == ("KERNEL32.dll", "libcdsprpc.dll")
    assert (facts.qairt_build, facts.qairt_release) == ("v2.51.0.260929181845", "2.51.0")


@pytest.mark.parametrize("machine", ["ARM64", "AMD64", "ARM64EC", "ARM64X"])
def test_hybrid_metadata_tells_arm64ec_from_amd64_and_arm64x_from_arm64(read, machine):
    image = dll(machine=machine)

    facts = read(image)

    assert facts.machine == machine


def test_a_machine_without_a_name_is_given_in_hexadecimal(read):
    image = bytearray(dll())
    struct.pack_into("<H", image, 68, 0xBEEF)

    facts = read(image)

    assert facts.machine == "0xbeef"


def test_the_product_version_stands_in_for_a_missing_build_id(read):
    image = dll(product_version="2.48.0.260626120635", build=None)

    facts = read(image)

    assert (facts.qairt_build, facts.qairt_release) == ("v2.48.0.260626120635", "2.48.0")


def test_the_build_id_in_the_code_wins_over_the_product_version(read):
    image = dll(product_version="2.48.0.260626120635", build="v2.51.0.260929181845")

    facts = read(image)

    assert facts.qairt_build == "v2.51.0.260929181845"


def test_an_ordinary_product_version_is_no_build_id(read):
    image = dll(product_version="10.0.26100.1", build=None)

    facts = read(image)

    assert (facts.product_version, facts.qairt_build, facts.qairt_release) == ("10.0.26100.1", None, None)


def test_a_dll_tells_which_libraries_it_loads_at_their_first_use_after_the_others(read):
    image = dll(imports=("KERNEL32.dll",), delayed=("dxcore.dll", "QnnSystem.dll"))

    facts = read(image)

    assert facts.imports == ("KERNEL32.dll", "dxcore.dll", "QnnSystem.dll")


MODEL = ("Net_composeGraphs", "Net_freeGraphsInfo")


@pytest.mark.parametrize(
    ("exports", "entries", "prefix"),
    [
        ((*MODEL, "helper"), MODEL, "Net"),
        (MODEL[:1], MODEL[:1], None),
        (("QnnInterface_getProviders",), ("QnnInterface_getProviders",), None),
        (("helper",), (), None),
    ],
)
def test_a_model_library_is_known_by_both_of_its_exports(read, exports, entries, prefix):
    image = dll(imports=("KERNEL32.dll",), exports=exports)

    facts = read(image)

    assert (facts.qnn_entries, facts.model_prefix) == (entries, prefix)
    assert facts.imports == ("KERNEL32.dll",)


def test_a_forged_number_of_exports_is_refused_before_it_costs_time(read):
    image = bytearray(dll(exports=MODEL))
    table = image.index(b"library.dll\0") - 2 * 10 - 40
    struct.pack_into("<I", image, table + 24, 1 << 31)

    with pytest.raises(UnreadableFile) as caught:
        read(image)

    assert (caught.value.offset, "2147483648 exports" in caught.value.reason) == (table, True)


def test_lief_finds_the_exports_that_the_tests_make():
    import lief

    made = lief.PE.parse(list(dll(exports=MODEL)))

    assert sorted(entry.name for entry in made.get_export().entries) == sorted(MODEL)


def test_a_dll_tells_where_its_linker_put_the_debug_information(read):
    image = dll(pdb="C:\\work\\detector\\build\\detector.pdb")

    facts = read(image)

    assert facts.debug_path == "C:\\work\\detector\\build\\detector.pdb"
    assert facts.build_paths == (facts.debug_path,)


def test_a_pdb_named_without_a_folder_is_no_path_of_a_build_machine(read):
    image = dll(pdb="detector.pdb")

    facts = read(image)

    assert (facts.debug_path, facts.build_paths) == ("detector.pdb", ())


def test_a_dll_without_version_resource_has_no_versions(read):
    image = dll(product_version=None)

    facts = read(image)

    assert (facts.file_version, facts.product_version) == (None, None)


def test_an_unsigned_dll_is_neither_validly_nor_invalidly_signed(read):
    image = dll()

    facts = read(image)

    assert (facts.signer, facts.signature_valid) == (None, None)


def test_a_signature_over_these_bytes_is_valid_even_when_its_certificate_has_run_out(read, signed_dll):
    facts = read(signed_dll)

    assert (facts.signer, facts.signature_valid) == ("Example Devices", True)


def test_one_altered_byte_makes_the_signature_invalid(read, signed_dll):
    altered = bytearray(signed_dll)
    altered[0x400] ^= 1

    facts = read(altered)

    assert (facts.signer, facts.signature_valid) == ("Example Devices", False)


def test_a_file_cut_anywhere_is_damaged_at_its_end(tmp_path, signed_dll):
    path = tmp_path / "cut.dll"

    for length in (*range(0, len(signed_dll), 7), len(signed_dll) - 1):
        path.write_bytes(signed_dll[:length])
        with pytest.raises(UnreadableFile) as caught:
            read_pe(path)
        assert caught.value.offset <= length


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (0, b"ZM", "MZ"),
        (64, b"NE", "PE signature"),
        (84, b"\xff\xff", "optional header of"),
        (88, b"\x07\x01", "magic 0x107"),
        (84, b"\x10\x00", "of 16 bytes"),
    ],
)
def test_a_header_that_contradicts_the_format_is_named(read, offset, value, reason):
    image = bytearray(dll())
    image[offset : offset + len(value)] = value

    with pytest.raises(UnreadableFile) as caught:
        read(image)

    assert reason in caught.value.reason
