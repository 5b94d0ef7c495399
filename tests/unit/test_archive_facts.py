"""What is listed of archives, and which ones are refused."""

from __future__ import annotations

import gzip
import json
import lzma
import tarfile

import pytest
import zstandard

from packager.errors import UnreadableFile
from packager.facts import listing
from packager.facts.archive import read_archive
from packager.facts.types import ArchiveMember
from tests.make.archive import (
    Layout,
    ar_of,
    deb_of,
    encrypted,
    member,
    put,
    tar_of,
    tar_with,
    zip_of,
    zip_of_windows,
)

COMPRESS = {
    "tar": bytes,
    "tar.gz": gzip.compress,
    "tar.xz": lzma.compress,
    "tar.zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


@pytest.fixture
def read(tmp_path):
    def read_bytes(content):
        path = tmp_path / "archive"
        path.write_bytes(content)
        return read_archive(path)

    return read_bytes


TREE = tar_of(
    member("./", kind=tarfile.DIRTYPE, mode=0o755),
    member("./usr/lib/", kind=tarfile.DIRTYPE, mode=0o755),
    member("./usr/lib/libx.so.1", 70_000, mode=0o755),
    member("./usr/lib/libx.so", kind=tarfile.SYMTYPE, link="libx.so.1", mode=0o777),
    member("./usr/lib/copy", kind=tarfile.LNKTYPE, link="./usr/lib/libx.so.1"),
    member("./usr/share/" + "n" * 200, 3),
)
TREE_MEMBERS = (
    ArchiveMember(name="usr/lib/libx.so.1", size=70_000, mode=0o755),
    ArchiveMember(name="usr/lib/libx.so", size=0, mode=0o777, link="libx.so.1"),
    ArchiveMember(name="usr/lib/copy", size=0, mode=0o644, link="../../usr/lib/libx.so.1"),
    ArchiveMember(name="usr/share/" + "n" * 200, size=3, mode=0o644),
)


def test_a_zip_made_on_windows_has_the_names_that_were_meant(read):
    made = zip_of_windows({"npu/libx.so": b"x", "npu/a/b.json": b"{}", "top": b""})

    assert [member.name for member in read(made).members] == ["npu/libx.so", "npu/a/b.json", "top"]


@pytest.mark.parametrize("name", ["../x", "a/../../x", "C:/x", "/x"])
def test_its_separators_lead_nobody_out_of_the_archive(read, name):
    with pytest.raises(UnreadableFile) as caught:
        read(zip_of_windows({name: b"x"}))

    assert caught.value.fault == "unsafe"


def test_a_backslash_in_a_name_from_unix_is_a_part_of_it(read):
    assert [member.name for member in read(zip_of("a\\b")).members] == ["a\\b"]


def test_an_encrypted_zip_is_listed(read):
    assert [member.name for member in read(encrypted(zip_of("a", "b"))).members] == ["a", "b"]


def test_a_link_in_an_encrypted_zip_makes_it_one_that_cannot_be_read(read):
    with pytest.raises(UnreadableFile) as caught:
        read(encrypted(zip_of(link=("a", "b"))))

    assert (caught.value.fault, caught.value.reason) == ("encrypted", "only its password opens it")


@pytest.mark.parametrize("form", COMPRESS)
def test_a_tar_lists_its_files_and_links_however_it_is_compressed(read, form):
    packed = COMPRESS[form](TREE)

    facts = read(packed)

    assert facts.format == form
    assert facts.members == TREE_MEMBERS


@pytest.mark.parametrize("form", ["tar.gz", "tar.xz", "tar.zst"])
def test_a_tar_in_several_compressed_frames_is_read_to_its_end(read, form):
    half = len(TREE) // 2
    packed = COMPRESS[form](TREE[:half]) + COMPRESS[form](TREE[half:])

    facts = read(packed)

    assert facts.members == TREE_MEMBERS


@pytest.mark.parametrize("form", ["tar.gz", "tar.xz", "tar.zst"])
@pytest.mark.parametrize("missing", [1, 5, 60])
def test_a_compressed_tar_cut_short_is_damaged(read, form, missing):
    packed = COMPRESS[form](TREE)

    with pytest.raises(UnreadableFile) as caught:
        read(packed[:-missing])

    assert "damaged" in caught.value.reason


@pytest.mark.parametrize("length", [1, 600, 2000, 4000, len(TREE) - 1])
def test_a_plain_tar_cut_short_is_damaged(read, length):
    with pytest.raises(UnreadableFile):
        read(TREE[:length])


def test_a_damaged_header_in_the_middle_does_not_pass_for_the_end(read):
    content = bytearray(tar_of(member("a", 10), member("b", 10)))
    content[1024 + 20] ^= 1

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert "member 'a'" in caught.value.reason


def test_a_flipped_bit_in_a_gzip_is_found_by_its_checksum(read):
    packed = bytearray(gzip.compress(TREE, compresslevel=0))
    packed[3000] ^= 1

    with pytest.raises(UnreadableFile):
        read(packed)


@pytest.mark.parametrize(
    ("compress", "suffix"), [(bytes, ""), (gzip.compress, ".gz"), (COMPRESS["tar.zst"], ".zst")]
)
def test_a_deb_lists_what_it_installs_and_its_control_part(read, compress, suffix):
    content = deb_of(TREE, compress=compress, suffix=suffix)

    facts = read(content)

    assert facts.format == "deb"
    assert facts.members == (ArchiveMember(name="DEBIAN/control", size=40, mode=0o644), *TREE_MEMBERS)


def test_an_absolute_link_in_a_deb_stays_on_the_device_but_leaves_a_tar(read):
    tree = tar_of(member("usr/lib/x", kind=tarfile.SYMTYPE, link="/etc/alternatives/x"))

    facts = read(deb_of(tree))

    assert facts.members[1].link == "/etc/alternatives/x"
    with pytest.raises(UnreadableFile):
        read(tree)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ar_of(debian_binary=b"2.0\n"), "without its control part"),
        (ar_of(**{"debian_binary": b"2.0\n", "control.tar": TREE}), "without its data part"),
        (ar_of(**{"x.o": b""}), "no deb"),
        (deb_of(TREE)[:-2000], "ends"),
        (deb_of(TREE).replace(b"`\n", b"``", 1), "no header"),
        (deb_of(TREE)[:30], "inside the header"),
    ],
)
def test_a_deb_that_is_not_whole_is_refused(read, content, reason):
    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("names", "form"),
    [
        (["a/b.txt"], "zip"),
        (["x/__init__.py", "x-1.dist-info/WHEEL"], "wheel"),
        (["AndroidManifest.xml", "classes.dex"], "apk"),
        (["AndroidManifest.xml", "classes.jar"], "aar"),
        (["x.nuspec", "lib/net8.0/x.dll"], "nupkg"),
        (["x.dll", "AppxManifest.xml", "AppxBlockMap.xml"], "msix"),
    ],
)
def test_a_zip_is_called_by_the_file_that_its_family_must_hold(read, names, form):
    content = zip_of(*names)

    facts = read(content)

    assert facts.format == form
    assert [(m.name, m.size) for m in facts.members] == [(name, 7) for name in names]


def test_links_and_folders_of_a_zip_are_told_from_files(read):
    content = zip_of("lib/", "lib/a.so.1", link=("lib/a.so", "a.so.1"))

    facts = read(content)

    assert [(m.name, m.size, m.link) for m in facts.members] == [
        ("lib/a.so.1", 7, None),
        ("lib/a.so", 0, "a.so.1"),
    ]


@pytest.mark.parametrize("missing", [1, 22, 40, 100])
def test_a_zip_cut_short_is_damaged(read, missing):
    content = zip_of("a", "b", "c")

    with pytest.raises(UnreadableFile):
        read(content[:-missing])


@pytest.mark.parametrize(
    "name", ["../a", "a/../../b", "/etc/passwd", "C:/a", "..\\a", "\\\\host\\a", "a\0b", "n" * 5000]
)
def test_a_zip_member_whose_name_leaves_the_root_or_cannot_be_one_is_refused(read, name):
    content = zip_of(name.replace("\0", "_"))
    if "\0" in name:
        content = content.replace(b"a_b", b"a\0b")

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert caught.value.reason.startswith(f"member {name[:200]!r}")


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/passwd", "n" * 5000])
def test_a_tar_member_whose_name_leaves_the_root_or_cannot_be_one_is_refused(read, name):
    content = tar_of(member(name, 1))

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert caught.value.reason.startswith(f"member {name[:200]!r}")


@pytest.mark.parametrize(
    ("kind", "name", "target"),
    [
        (tarfile.SYMTYPE, "a/b", "../../etc/passwd"),
        (tarfile.SYMTYPE, "b", "/etc/passwd"),
        (tarfile.SYMTYPE, "b", ""),
        (tarfile.LNKTYPE, "a/b", "../etc/passwd"),
        (tarfile.LNKTYPE, "a/b", "/etc/passwd"),
    ],
)
def test_a_link_that_leads_out_of_the_root_is_refused(read, kind, name, target):
    content = tar_of(member(name, kind=kind, link=target))

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert "outside the archive's root" in caught.value.reason


def test_a_link_of_a_zip_that_leads_out_of_the_root_is_refused(read):
    content = zip_of(link=("a", "../../etc/passwd"))

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert "outside the archive's root" in caught.value.reason


def test_a_device_node_is_refused(read):
    content = tar_of(member("dev/null", kind=tarfile.CHRTYPE))

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert "neither file, folder nor link" in caught.value.reason


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [("MAX_MEMBERS", 3, "more than 3 members"), ("MAX_TOTAL", 50_000, "more than 50000 bytes in all")],
)
@pytest.mark.parametrize("content", [TREE, deb_of(TREE), zip_of(*"abcd", content=bytes(20_000))])
def test_an_archive_beyond_a_limit_is_refused(read, monkeypatch, content, limit, value, reason):
    monkeypatch.setattr(listing, limit, value)

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert reason in caught.value.reason


@pytest.mark.parametrize(
    "content",
    [
        COMPRESS["tar.zst"](tar_of(member("zeros", 9 << 20))),
        COMPRESS["tar.xz"](tar_of(member("zeros", 9 << 20))),
    ],
)
def test_a_bomb_is_refused_by_its_ratio(read, monkeypatch, content):
    monkeypatch.setattr(listing, "RATIO_FREE", 1 << 20)

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert "times the size of the archive" in caught.value.reason


def test_a_header_record_that_claims_more_memory_than_any_header_needs_is_refused(read):
    header = member("pax", 2 << 20, kind=tarfile.XHDTYPE)
    content = header.tobuf(tarfile.USTAR_FORMAT) + bytes(3 << 20)

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert "a header of 2097152 bytes" in caught.value.reason


def test_a_chain_of_headers_without_a_member_is_refused(read):
    header = member("pax", 0, kind=tarfile.XHDTYPE).tobuf(tarfile.USTAR_FORMAT)

    with pytest.raises(UnreadableFile):
        read(header * 5000 + bytes(1024))


def test_a_zip_member_without_a_name_is_refused(read):
    content = zip_of("a").replace(b"a", b"\0")

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert "leaves the archive's root" in caught.value.reason


@pytest.mark.parametrize("compress", [gzip.compress, bytes])
def test_an_ipk_of_tars_lists_the_same_as_a_deb(read, compress):
    parts = {
        "./debian-binary": b"2.0\n",
        "./control.tar.gz": compress(tar_of(member("./control", 40))),
        "./data.tar.gz": compress(TREE),
    }

    facts = read(gzip.compress(tar_with(parts)))

    assert facts.format == "ipk"
    assert facts.members == read(deb_of(TREE)).members


def test_an_ipk_without_its_data_part_is_refused(read):
    content = gzip.compress(tar_with({"debian-binary": b"2.0\n", "control.tar": tar_of(member("control"))}))

    with pytest.raises(UnreadableFile) as caught:
        read(content)

    assert "without its data part" in caught.value.reason


def test_a_folder_lists_its_files_by_name_and_does_not_follow_links(tmp_path):
    folder = put(tmp_path / "sdk", {"b/two": b"22", "a": b"1"})
    (folder / "out").symlink_to("/etc")

    facts = read_archive(folder)

    assert facts.format == "folder"
    assert [(m.name, m.size, m.link) for m in facts.members] == [
        ("a", 1, None),
        ("b/two", 2, None),
        ("out", 0, "/etc"),
    ]


LOWER = gzip.compress(
    tar_with({"etc/a": b"old", "etc/b": b"b", "opt/x/one": b"1", "opt/x/two": b"2", "srv/keep": b"k"})
)
UPPER = COMPRESS["tar.zst"](
    tar_with({"etc/a": b"newer", "etc/.wh.b": b"", "opt/x/.wh..wh..opq": b"", "opt/x/three": b"3"})
)
SEEN = [("etc/a", 5), ("opt/x/three", 1), ("srv/keep", 1)]


@pytest.fixture
def layout():
    made = Layout()
    made.image(LOWER, UPPER)
    return made


@pytest.mark.parametrize("form", ["folder", *COMPRESS])
def test_an_image_in_an_oci_layout_shows_what_its_container_would_see(read, tmp_path, layout, form):
    files = layout.finished()

    if form == "folder":
        facts = read_archive(put(tmp_path / "image", files))
    else:
        facts = read(COMPRESS[form](tar_with(files)))

    assert facts.format == "oci"
    assert [(m.name, m.size) for m in facts.members] == SEEN


def test_a_layout_may_begin_with_its_blobs_or_with_its_index(read, layout):
    files = layout.finished()
    turned = dict(reversed(files.items()))

    assert read(tar_with(turned)).members == read(tar_with(files)).members


def test_images_for_several_platforms_are_told_apart(read):
    made = Layout()
    made.image(gzip.compress(tar_with({"a": b"1"})), platform=("linux", "arm64"))
    made.image(gzip.compress(tar_with({"a": b"22"})), platform=("linux", "amd64"))

    facts = read(tar_with(made.finished()))

    assert [(m.name, m.size) for m in facts.members] == [("linux/arm64/a", 1), ("linux/amd64/a", 2)]


def test_a_blob_that_is_no_layer_is_a_member_by_its_title(read):
    made = Layout()
    title = {"annotations": {"org.opencontainers.image.title": "model.bin"}}
    made.image(b"weights", layer_type="application/octet-stream", **title)

    facts = read(tar_with(made.finished()))

    assert [(m.name, m.size) for m in facts.members] == [("model.bin", 7)]


def test_a_tar_of_blobs_without_an_index_is_a_plain_tar(read):
    facts = read(tar_with({"blobs/sha256/x": b"x", "oci-layout": b"{}"}))

    assert facts.format == "tar"


def _altered(files, wanted):
    """The blob that begins like `wanted`, with its last byte changed."""
    name = next(name for name, content in files.items() if name.startswith("blobs/") and content == wanted)
    return {**files, name: wanted[:-1] + bytes([wanted[-1] ^ 1])}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda files: {**files, "index.json": b"{}"}, "makes no sense"),
        (lambda files: {**files, "index.json": b"\xff"}, "makes no sense"),
        (lambda files: {**files, "index.json": bytes(5 << 20)}, "a document of more than"),
        (lambda files: {n: c for n, c in files.items() if c != LOWER}, "named but not there"),
        (lambda files: _altered(files, UPPER), "damaged"),
        (
            lambda files: {n: (b"{}" if b"layers" in c[:40] else c) for n, c in files.items()},
            "not what its name",
        ),
    ],
)
def test_a_layout_that_contradicts_itself_is_refused(read, layout, change, reason):
    files = change(layout.finished())

    with pytest.raises(UnreadableFile) as caught:
        read(tar_with(files))

    assert reason in caught.value.reason


def test_a_layer_that_is_not_what_its_digest_says_is_refused(read):
    made = Layout()
    layer = tar_with({"a": b"content"})
    made.image(layer, layer_type="application/vnd.oci.image.layer.v1.tar")
    files = {n: (c.replace(b"content", b"CONTENT") if c == layer else c) for n, c in made.finished().items()}

    with pytest.raises(UnreadableFile) as caught:
        read(tar_with(files))

    assert "is not what its name and size say" in caught.value.reason


@pytest.mark.parametrize("digest", ["sha256:../../../etc/passwd", "md5:00", "sha256:" + "A" * 64])
def test_a_digest_that_is_none_names_no_file(read, digest):
    made = Layout()
    made.manifests.append(
        {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1}
    )

    with pytest.raises(UnreadableFile) as caught:
        read(tar_with(made.finished()))

    assert "a digest that is none" in caught.value.reason


def test_an_index_that_names_itself_through_others_without_end_is_refused(read):
    made = Layout()
    kind = "application/vnd.oci.image.index.v1+json"
    below = made.blob(b'{"manifests": []}', kind)
    for _ in range(4):
        below = made.blob(json.dumps({"manifests": [below]}).encode(), kind)
    made.manifests.append(below)

    with pytest.raises(UnreadableFile) as caught:
        read(tar_with(made.finished()))

    assert "deep" in caught.value.reason


def test_a_layer_whose_name_leaves_the_root_makes_the_image_unreadable(read):
    made = Layout()
    made.image(gzip.compress(tar_of(member("../../etc/passwd", 1))))

    with pytest.raises(UnreadableFile) as caught:
        read(tar_with(made.finished()))

    assert "leaves the archive's root" in caught.value.reason
