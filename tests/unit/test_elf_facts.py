"""What is read from ELF files, and how a damaged one is told."""

from __future__ import annotations

import struct

import pytest

from packager.errors import InputUnavailable, UnreadableFile
from packager.facts import strings
from packager.facts.elf import read_elf
from tests.make.elf import elf, hexagon_skel, shared_library


@pytest.fixture
def read(tmp_path):
    def read_bytes(image):
        path = tmp_path / "library.so"
        path.write_bytes(image)
        return read_elf(path)

    return read_bytes


@pytest.mark.parametrize("arch", [66, 68, 69, 73, 75, 79, 81])
def test_a_skel_tells_its_architecture_and_release(read, arch):
    image = hexagon_skel(arch=arch, release="2.48.0", build="v2.48.0.260626120635")

    facts = read(image)

    assert (facts.machine, facts.bits, facts.abi) == ("HEXAGON", 32, "hexagon")
    assert (facts.hexagon_arch, facts.flags) == (arch, int(str(arch), 16))
    assert facts.skel_release == "2.48.0"
    assert (facts.qairt_build, facts.qairt_release) == ("v2.48.0.260626120635", "2.48.0")
    assert facts.soname == f"libQnnHtpV{arch}Skel.so"
    assert facts.needed == ("libc++.so.1",)
    assert facts.page_alignment == 0x1000


def test_the_smallest_alignment_counts_and_a_segment_that_asks_for_none_does_not(read):
    image = bytearray(elf(machine="AARCH64", alignment=0x4000))
    loads = [at for at in range(64, 64 + 56 * image[56], 56) if image[at : at + 4] == b"\1\0\0\0"]
    found = []

    for smallest in (0x1000, 1, 0):
        struct.pack_into("<Q", image, loads[-1] + 48, smallest)
        found.append(read(bytes(image)).page_alignment)

    assert found == [0x1000, 0x4000, 0x4000]


def test_the_bits_of_a_tiny_core_are_not_part_of_the_architecture(read):
    image = elf(machine="HEXAGON", flags=0x8067)

    facts = read(image)

    assert (facts.hexagon_arch, facts.flags) == (67, 0x8067)


@pytest.mark.parametrize("flags", [0, 5, 0x6A])
def test_an_architecture_word_that_is_not_known_is_not_guessed(read, flags):
    image = elf(machine="HEXAGON", flags=flags)

    facts = read(image)

    assert (facts.hexagon_arch, facts.flags) == (None, flags)


def test_a_host_library_tells_what_it_links_to_and_which_symbol_versions_it_needs(read):
    image = shared_library(
        needed=("libcdsprpc.so",), soname="libQnnHtpV73Stub.so", glibc="2.34", glibcxx="3.4.29"
    )

    facts = read(image)

    assert (facts.machine, facts.bits, facts.abi) == ("AARCH64", 64, "glibc")
    assert facts.needed == ("libcdsprpc.so", "libc.so.6", "libstdc++.so.6")
    assert (facts.glibc_needed, facts.glibcxx_needed) == ("2.34", "3.4.29")
    assert (facts.soname, facts.page_alignment) == ("libQnnHtpV73Stub.so", 0x10000)
    assert (facts.hexagon_arch, facts.skel_release) == (None, None)


def test_the_newest_symbol_version_counts_by_number_and_not_by_text(read):
    versions = ["GLIBC_2.4", "GLIBC_2.17", "GLIBC_2.2.5", "GLIBC_PRIVATE", "GLIBCXX_3.4"]
    image = elf(
        machine="X86_64",
        imports=[(f"f{number}", "libc.so.6", version) for number, version in enumerate(versions)],
        needed=("libc.so.6",),
    )

    facts = read(image)

    assert (facts.glibc_needed, facts.glibcxx_needed) == ("2.17", "3.4")


def test_packed_relative_relocations_need_the_glibc_that_brought_them(read):
    versions = ["GLIBC_2.17", "GLIBC_ABI_DT_RELR"]
    image = elf(machine="AARCH64", imports=[(v.lower(), "libc.so.6", v) for v in versions])

    facts = read(image)

    assert facts.glibc_needed == "2.36"


@pytest.mark.parametrize(
    ("marks", "libc"),
    [
        ({"interpreter": "/lib/ld-linux-aarch64.so.1"}, "glibc"),
        ({"interpreter": "/lib/ld-musl-aarch64.so.1"}, "musl"),
        ({"interpreter": "/system/bin/linker64"}, "bionic"),
        ({"interpreter": "/usr/lib/ldqnx-64.so.2"}, "qnx"),
        ({"note": "Android"}, "bionic"),
        ({"note": "QNX"}, "qnx"),
        ({"note": "GNU"}, "unknown"),
        ({"imports": [("a", "libc.so", "LIBC_N")]}, "bionic"),
        ({"needed": ["liblog.so", "libc.so"]}, "bionic"),
        ({"needed": ["libc.musl-aarch64.so.1"]}, "musl"),
        ({"needed": ["libc.so.5"]}, "qnx"),
        ({"needed": ["libc.so.6"]}, "unknown"),
        ({"needed": ["libc.so"]}, "unknown"),
        ({"note": "Android", "needed": ["ld-linux-aarch64.so.1"]}, "bionic"),
        ({}, "unknown"),
    ],
)
def test_the_c_library_is_told_by_the_strongest_witness_and_otherwise_unknown(read, marks, libc):
    image = elf(machine="AARCH64", **marks)

    facts = read(image)

    assert facts.abi == libc
    assert facts.interpreter == marks.get("interpreter")


def test_exports_that_make_a_qnn_library_are_listed_and_others_are_not(read):
    image = shared_library(
        exports=("QnnSystemInterface_getProviders", "detector_composeGraphs", "getProviders", "QnnSaver_x")
    )

    facts = read(image)

    assert facts.qnn_entries == ("QnnSystemInterface_getProviders", "detector_composeGraphs")


@pytest.mark.parametrize(
    ("exports", "prefix"),
    [
        (("QnnModel_composeGraphs", "QnnModel_freeGraphsInfo", "helper"), "QnnModel"),
        (("net_v2_freeGraphsInfo", "net_v2_composeGraphs"), "net_v2"),
        (("a_composeGraphs", "b_freeGraphsInfo"), None),
        (("QnnModel_composeGraphs",), None),
        (("QnnInterface_getProviders",), None),
    ],
)
def test_a_model_library_is_known_by_both_of_its_exports(read, exports, prefix):
    image = shared_library(exports=exports)

    assert read(image).model_prefix == prefix


def test_a_symbol_that_is_only_imported_is_no_entry(read):
    image = elf(machine="AARCH64", imports=[("QnnInterface_getProviders", "libQnnHtp.so", "V1")])

    facts = read(image)

    assert facts.qnn_entries == ()


def test_the_loader_ignores_rpath_where_there_is_a_runpath(read):
    both = elf(machine="AARCH64", rpath="/old", runpath="$ORIGIN:$ORIGIN/../lib")
    old = elf(machine="AARCH64", rpath="/old")

    facts, old_facts = read(both), read(old)

    assert facts.search_path == ("$ORIGIN", "$ORIGIN/../lib")
    assert old_facts.search_path == ("/old",)


def test_the_release_is_known_where_only_the_aisw_version_is_there(read):
    image = shared_library(build=None, aisw="2.48.0")

    facts = read(image)

    assert (facts.qairt_build, facts.qairt_release) == (None, "2.48.0")


def test_of_several_build_ids_the_newest_is_the_library_s_own(read):
    builds = ("v2.9.0.230101000000", "v2.51.0.260929181845_7", "v2.48.0.260626120635")
    image = elf(machine="AARCH64", strings=builds)

    facts = read(image)

    assert (facts.qairt_build, facts.qairt_release) == ("v2.51.0.260929181845_7", "2.51.0")


@pytest.mark.parametrize(
    "text",
    [
        "libv2.51.0.260929181845",
        "v2.51.0",
        "v2.51.0.260929181",
        "v2.51.0.260929181845123",
        "v" + "1" * 5000 + ".1.1.260929181845",
    ],
)
def test_a_string_that_only_resembles_a_build_id_is_none(read, text):
    image = shared_library(build=text)

    facts = read(image)

    assert facts.qairt_build is None


def test_the_identifier_of_the_link_is_read_from_its_note(read):
    image = elf(machine="AARCH64", notes=[("GNU", 1, bytes(16)), ("GNU", 3, bytes.fromhex("00c0ffee" * 5))])

    facts = read(image)

    assert facts.build_id == "00c0ffee" * 5


@pytest.mark.parametrize(
    ("content", "api", "ndk"),
    [
        (struct.pack("<I64s64s", 29, b"r27c", b"12479018"), 29, "r27c (12479018)"),
        (struct.pack("<I", 21), 21, None),
        (b"", None, None),
    ],
)
def test_android_s_note_tells_the_api_level_and_the_ndk(read, content, api, ndk):
    image = elf(machine="AARCH64", notes=[("Android", 1, content)])

    facts = read(image)

    assert (facts.abi, facts.android_api, facts.ndk) == ("bionic", api, ndk)


def test_the_c_plus_plus_abi_needed_is_the_newest_of_its_family(read):
    versions = ("CXXABI_1.3.9", "CXXABI_1.3.13", "CXXABI_TM_1", "CXXABI_FLOAT128")
    image = elf(
        machine="AARCH64", imports=[(f"f{n}", "libstdc++.so.6", name) for n, name in enumerate(versions)]
    )

    facts = read(image)

    assert facts.cxxabi_needed == "1.3.13"


def test_paths_of_the_build_machine_are_listed_one_for_each_folder(read):
    texts = (
        "/local/mnt/workspace/a/one.cc",
        "/local/mnt/workspace/a/two.cc",
        "assertion in /home/build/b/three.cc",
        "C:\\inputs\\source\\four.cpp",
    )
    image = elf(machine="AARCH64", strings=texts)

    facts = read(image)

    assert facts.build_paths == (
        "/local/mnt/workspace/a/one.cc",
        "/home/build/b/three.cc",
        "C:\\inputs\\source\\four.cpp",
    )


@pytest.mark.parametrize(
    "text",
    [
        "/usr/lib/libc.so.6",
        "https://example.com/home/page/index",
        "C:\\Windows\\System32\\x.dll",
        "c:\\program files\\vendor\\x.dll",
        "/home/",
        "ABC:\\inputs\\x.c",
    ],
)
def test_paths_of_devices_and_addresses_are_no_paths_of_a_build_machine(read, text):
    image = elf(machine="AARCH64", strings=(text,))

    facts = read(image)

    assert facts.build_paths == ()


def test_a_string_across_the_end_of_a_block_is_found_once_and_whole(tmp_path):
    build, path = "v2.51.0.260929181845", "/local/mnt/workspace/source/file.cc"
    text = f"\0{build}\0{path}\0".encode()

    for shift in range(0, 600, 7):
        file = tmp_path / "library.so"
        file.write_bytes(bytes(strings.BLOCK - shift) + text + bytes(2000))
        found = strings.marks(file)
        assert (found.build, found.build_paths) == (build, (path,))


@pytest.mark.parametrize(
    ("texts", "stamp"),
    [
        (("260929181845",), "260929181845"),
        (("x260929181845",), None),
        (("261329181845",), None),
        (("260929181845", "AISW_VERSION: 2.51.0"), None),
    ],
)
def test_a_lone_date_of_the_build_is_told_where_the_file_says_no_more(texts, stamp, read):
    facts = read(elf(machine="AARCH64", strings=texts))

    assert facts.qairt_stamp == stamp


def test_without_section_headers_the_hash_table_tells_how_many_symbols_there_are(read):
    image = bytearray(shared_library(exports=("QnnInterface_getProviders",)))
    struct.pack_into("<Q", image, 40, 0)
    struct.pack_into("<HH", image, 60, 0, 0)

    facts = read(image)

    assert facts.qnn_entries == ("QnnInterface_getProviders",)


def test_a_machine_without_a_name_is_given_in_hexadecimal(read):
    image = bytearray(shared_library())
    struct.pack_into("<H", image, 18, 0xFFF1)

    facts = read(image)

    assert facts.machine == "0xfff1"


@pytest.mark.parametrize(
    "image",
    [hexagon_skel(), shared_library(glibc="2.34"), elf(machine="ARM", note="Android")],
    ids=["skel", "library", "arm"],
)
def test_a_file_cut_anywhere_is_damaged_at_its_end(tmp_path, image):
    path = tmp_path / "cut.so"

    for length in (*range(0, len(image), 5), len(image) - 1):
        path.write_bytes(image[:length])
        with pytest.raises(UnreadableFile) as caught:
            read_elf(path)
        assert caught.value.offset <= length
        assert caught.value.reason


def test_bytes_behind_the_last_table_do_no_harm(read):
    image = hexagon_skel()

    facts = read(image + b"signature")

    assert facts == read(image)


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (0, b"\x7fELG", "magic"),
        (4, b"\x03", "class 3"),
        (5, b"\x02", "big-endian"),
        (5, b"\x07", "byte order 7"),
        (54, b"\x37\x00", "program header of 55 bytes"),
        (58, b"\x41\x00", "section header of 65 bytes"),
        (56, b"\xfe\xff", "program header table"),
        (60, b"\xfe\xff", "section header table"),
    ],
)
def test_a_header_that_contradicts_the_format_is_named(read, offset, value, reason):
    image = bytearray(shared_library())
    image[offset : offset + len(value)] = value

    with pytest.raises(UnreadableFile) as caught:
        read(image)

    assert reason in caught.value.reason


def test_a_section_count_that_only_a_forger_writes_is_refused_before_it_costs_time(read):
    image = bytearray(shared_library())
    struct.pack_into("<H", image, 60, 0)  # the count then stands in the first section header
    (sections_at,) = struct.unpack_from("<Q", image, 40)
    struct.pack_into("<Q", image, sections_at + 32, 1 << 40)

    with pytest.raises(UnreadableFile) as caught:
        read(image)

    assert "more than" in caught.value.reason


def test_a_missing_file_is_unavailable_and_not_damaged(tmp_path):
    path = tmp_path / "absent.so"

    with pytest.raises(InputUnavailable) as caught:
        read_elf(path)

    assert not isinstance(caught.value, UnreadableFile)
