"""What an Android manifest says, as text and compiled, and what is no manifest."""

from __future__ import annotations

import struct
import time
from xml.etree import ElementTree

import pytest

from packager.errors import UnreadableFile
from packager.facts.android_manifest import MAX_SIZE, read_android_manifest
from packager.facts.config_types import AndroidLibraryUse, AndroidManifestFacts
from packager.facts.identify import examine, identify
from packager.facts.types import DamagedFacts
from tests.make.axml import ANDROID, compiled, manifest, text

CDSPRPC = ("libcdsprpc.so", False)
FORMS = {
    "text": text,
    "utf-16": compiled,
    "utf-8": lambda root: compiled(root, utf8=True),
    "no names": lambda root: compiled(root, names=False),
}


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "AndroidManifest.xml"
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def facts(written):
    return lambda content: read_android_manifest(written(content))


@pytest.mark.parametrize("form", FORMS)
def test_an_app_says_what_it_asks_of_the_system(facts, form):
    root = manifest((CDSPRPC, ("libOpenCL.so", True)), extract=False, debuggable=True)

    said = facts(FORMS[form](root))

    assert said == AndroidManifestFacts(
        package="org.example.app",
        compiled=form != "text",
        min_sdk=27,
        target_sdk=34,
        extract_native_libs=False,
        debuggable=True,
        native_libraries=(
            AndroidLibraryUse(name="libcdsprpc.so", required=False),
            AndroidLibraryUse(name="libOpenCL.so", required=True),
        ),
    )


@pytest.mark.parametrize("form", FORMS)
def test_what_a_manifest_does_not_say_is_left_open(facts, form):
    said = facts(FORMS[form](manifest((("libx.so", None),), min_sdk=None, target_sdk=None)))

    assert (said.min_sdk, said.target_sdk, said.extract_native_libs, said.debuggable) == (None,) * 4
    assert said.split is None
    assert said.native_libraries == (AndroidLibraryUse(name="libx.so", required=True),)


@pytest.mark.parametrize("form", FORMS)
def test_a_split_says_of_which_app_it_is_a_part(facts, form):
    said = facts(FORMS[form](manifest(split="config.arm64_v8a")))

    assert (said.package, said.split) == ("org.example.app", "config.arm64_v8a")


@pytest.mark.parametrize("form", FORMS)
def test_code_names_and_references_are_no_numbers_and_no_flags(facts, form):
    root = manifest(
        (("libx.so", "@7f010203"),), min_sdk="Tiramisu", target_sdk="@7f010204", extract="@7f010205"
    )

    said = facts(FORMS[form](root))

    assert (said.min_sdk, said.target_sdk, said.extract_native_libs) == (None, None, None)
    assert said.native_libraries == (AndroidLibraryUse(name="libx.so", required=None),)


def test_elements_of_the_same_name_elsewhere_do_not_count(facts):
    inner = ElementTree.Element("queries")
    inner.append(manifest((CDSPRPC,)))
    root = manifest()
    root.append(inner)

    assert facts(compiled(root)).native_libraries == ()
    assert facts(text(root)).native_libraries == ()


@pytest.mark.parametrize(
    ("length", "utf8", "kept"),
    [
        (127, True, 127),
        (128, True, 128),
        (0x7FFF, True, 4096),
        (300, False, 300),
        (0x8001, False, 2048),
    ],
)
def test_strings_have_lengths_of_one_or_two_units_and_are_cut_at_4096_bytes(facts, length, utf8, kept):
    root = manifest((("l" * length, False), ("libx.so", False)))

    said = facts(compiled(root, utf8=utf8))

    assert [use.name for use in said.native_libraries] == ["l" * kept, "libx.so"]


@pytest.mark.parametrize("form", FORMS)
def test_a_manifest_is_known_by_its_content(written, form):
    assert identify(written(FORMS[form](manifest()))) == "android-manifest"


def test_a_licence_before_the_root_does_not_hide_it(written):
    content = text(manifest()).replace(b"<manifest", b"<!-- " + b"licence " * 500 + b"-->\n<manifest", 1)

    assert identify(written(b"\xef\xbb\xbf" + content)) == "android-manifest"


@pytest.mark.parametrize(
    "content",
    [
        compiled(ElementTree.Element("LinearLayout", {f"{{{ANDROID}}}name": "x"})),
        b'<?xml version="1.0"?><manifest><remote name="origin" fetch=".."/></manifest>',
        b'<assembly xmlns="urn:schemas-microsoft-com:asm.v1" manifestVersion="1.0"/>',
        b'<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        b"<html><body>manifest</body>",
        b'<?xml version="1.0" encoding="klingon"?><manifest package="x"/>',
        compiled(manifest())[:40],
    ],
    ids=["layout", "repo", "windows", "open document", "html", "encoding", "beginning"],
)
def test_other_xml_is_no_android_manifest(written, content):
    assert identify(written(content)) == "other"


@pytest.mark.parametrize("form", FORMS)
def test_a_cut_manifest_is_damaged_where_it_ends(written, form):
    content = FORMS[form](manifest((CDSPRPC,)))[:-30]

    found = examine(written(content))

    assert isinstance(found, DamagedFacts)
    assert len(content) - 100 < found.offset <= len(content)


def test_a_doctype_is_refused_before_anything_in_it_is_expanded(written):
    bomb = b'<!DOCTYPE manifest [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    content = b'<?xml version="1.0"?>\n' + bomb + b'<manifest package="&b;"/>'

    with pytest.raises(UnreadableFile) as caught:
        read_android_manifest(written(content))

    assert caught.value.reason == "a DOCTYPE, which no manifest needs"
    assert identify(written(content)) == "android-manifest"


def test_a_manifest_of_more_than_four_mebibytes_is_refused(written):
    content = text(manifest()) + b" " * MAX_SIZE

    with pytest.raises(UnreadableFile) as caught:
        read_android_manifest(written(content))

    assert caught.value.offset == MAX_SIZE


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<application/>", "its root is no <manifest>"),
        (b'<?xml version="1.0" encoding="klingon"?><manifest/>', "unknown encoding: klingon"),
        (b"<manifest><application></manifest>", "mismatched tag"),
        (b"<manifest a:b='1'/>", "unbound prefix"),
        (b"", "no element found"),
    ],
)
def test_text_that_makes_no_sense_says_why(written, content, reason):
    with pytest.raises(UnreadableFile) as caught:
        read_android_manifest(written(content))

    assert caught.value.reason == reason


def chunk_of(content, kind, start=8):
    """The offset of the first chunk of a kind."""
    while struct.unpack_from("<H", content, start)[0] != kind:
        start += struct.unpack_from("<I", content, start + 4)[0]
    return start


def changed(form, at, value):
    content = bytearray(compiled(manifest((CDSPRPC,))))
    struct.pack_into(form, content, at, value)
    return bytes(content)


WHOLE = compiled(manifest((CDSPRPC,)))
POOL, FIRST = chunk_of(WHOLE, 0x0001), chunk_of(WHOLE, 0x0102)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (changed("<I", FIRST + 4, 4), "a chunk of 4 bytes has a head of 16"),
        (changed("<I", FIRST + 4, 0xFFFFFFF0), f"the file ends inside the chunk of byte {FIRST}"),
        (changed("<I", FIRST + 20, 0xFFFF), "there is no string 65535 among"),
        (changed("<H", FIRST + 26, 4), "attributes of 4 bytes are too small"),
        (changed("<H", FIRST + 28, 0xFFFF), "the attribute ends after the chunk that holds it"),
        (changed("<H", FIRST, 0x0103), "an element ends here that never began"),
        (changed("<H", POOL, 0x7777), "an element comes before all strings"),
        (changed("<I", POOL + 20, 0xFFFFFF), "the length of a string ends after the chunk that holds it"),
        (changed("<I", 4, FIRST), "its root is no <manifest>"),
        (changed("<I", 4, len(WHOLE) - 24 - 24), "1 elements do not end"),
        (changed("<I", 4, len(WHOLE) + 8), "the head of a chunk ends after the chunk that holds it"),
    ],
)
def test_compiled_xml_that_makes_no_sense_says_why(written, content, reason):
    with pytest.raises(UnreadableFile) as caught:
        read_android_manifest(written(content))

    assert caught.value.reason.startswith(reason)
    assert 0 <= caught.value.offset <= len(content)


def test_a_string_that_runs_out_of_the_pool_is_refused(written):
    (text_at,) = struct.unpack_from("<I", WHOLE, POOL + 20)
    index = struct.unpack_from("<I", WHOLE, FIRST + 20)[0]
    (offset,) = struct.unpack_from("<I", WHOLE, POOL + 28 + 4 * index)

    with pytest.raises(UnreadableFile) as caught:
        read_android_manifest(written(changed("<H", POOL + text_at + offset, 0x7FFF)))

    assert caught.value.reason == "a string of 65534 bytes ends after the strings"


def test_a_long_string_that_a_small_file_repeats_is_refused(facts):
    once, often = (compiled(manifest((("l" * 2000, False),) * count)) for count in (1, 2000))

    assert len(often) < 300_000
    assert len(facts(once).native_libraries) == 1
    with pytest.raises(UnreadableFile) as caught:
        facts(often)
    assert caught.value.reason == "its elements say more than 4194304 bytes"


def test_deep_nesting_and_many_attributes_take_no_long_time(facts):
    deep = b"<manifest package='x'>" + b"<a>" * 100_000 + b"</a>" * 100_000 + b"</manifest>"
    root = manifest()
    wide = root.find("application")
    wide.attrib.update({f"x{index}": "value" for index in range(2_000)})

    began = time.monotonic()

    assert facts(deep).package == "x"
    assert facts(compiled(root)).package == "org.example.app"
    assert time.monotonic() - began < 10
