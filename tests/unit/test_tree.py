"""Archives as trees: one member at a time becomes a file, within limits, and links never do."""

from __future__ import annotations

import bz2
import gzip
import tarfile
import zipfile

import pytest
import zstandard

from packager.errors import UnreadableFile
from packager.facts import tree
from packager.facts.tree import Budget, examine_tree, open_tree
from packager.facts.types import ArchiveFacts, DamagedFacts, ElfFacts
from tests.make.archive import Layout, deb_of, member, put, tar_of, tar_with, zip_with
from tests.make.elf import hexagon_skel

FILES = {"lib/one.so": hexagon_skel(arch=73), "zeros": bytes(3 << 20), "empty": b"", "text": b"hello" * 99}
LINK = member("lib/two.so", kind=tarfile.SYMTYPE, link="one.so")


def image():
    made = Layout()
    made.image(gzip.compress(tar_with(FILES, LINK)))
    return tar_with(made.finished())


ARCHIVES = {
    "zip": zip_with(FILES),
    "stored zip": zip_with(FILES, zipfile.ZIP_STORED),
    "tar": tar_with(FILES, LINK),
    "tar.gz": gzip.compress(tar_with(FILES, LINK)),
    "tar.zst": zstandard.compress(tar_with(FILES, LINK)),
    "deb": deb_of(tar_with(FILES, LINK)),
    "oci": image(),
}


@pytest.fixture
def archive(tmp_path):
    def written(content):
        path = tmp_path / "archive"
        path.write_bytes(content)
        return path

    return written


@pytest.mark.parametrize("form", ARCHIVES)
def test_every_file_of_an_archive_can_be_read_as_a_file(archive, form):
    path = archive(ARCHIVES[form])

    with open_tree(path) as found:
        read = {m.about.name: m.local().read_bytes() for m in found if m.about.link is None}

    assert {name: content for name, content in read.items() if not name.startswith("DEBIAN/")} == FILES


def test_files_of_a_folder_are_read_where_they_are(tmp_path):
    folder = put(tmp_path / "sdk", FILES)

    with open_tree(folder) as found:
        places = {m.about.name: m.local() for m in found}

    assert places == {name: folder / name for name in FILES}


@pytest.mark.parametrize("form", ARCHIVES)
def test_members_may_be_passed_unread_or_read_twice(archive, form):
    path = archive(ARCHIVES[form])

    with open_tree(path) as found:
        sizes = [
            [m.local().stat().st_size for _ in range(2)] for m in found if m.about.name in ("zeros", "text")
        ]

    assert sizes == [[3 << 20] * 2, [495] * 2]


def test_a_link_has_no_bytes_and_a_member_that_was_passed_none_any_more(archive):
    path = archive(ARCHIVES["tar"])

    with open_tree(path) as found:
        members = list(found)

    with pytest.raises(ValueError, match="has been passed"):
        members[0].local()
    with open_tree(path) as found, pytest.raises(ValueError, match="is a link"):
        [m.local() for m in found]


def test_one_member_at_a_time_is_on_the_disk_and_none_afterwards(archive, tmp_path):
    path, work = archive(ARCHIVES["zip"]), tmp_path / "work"

    with open_tree(path, work=work) as found:
        counts = [len([p for p in work.rglob("*") if p.is_file()]) for m in found if m.local()]

    assert counts == [1] * len(FILES)
    assert list(work.iterdir()) == []


def test_a_zip_member_whose_bytes_are_not_those_of_its_checksum_is_damaged(archive):
    content = zip_with({"a": b"content", "b": b"other"}, zipfile.ZIP_STORED).replace(b"content", b"CONTENT")

    found = list(examine_tree(archive(content), "x.zip"))

    assert isinstance(found[0].facts, DamagedFacts)
    assert "CRC" in found[0].facts.reason
    assert found[1].facts is not None
    assert found[1].facts.kind == "other"


def test_a_zip_member_in_a_method_that_unpacks_without_bound_is_refused(archive):
    bomb = zip_with({"zeros": bytes(1 << 20)}, zipfile.ZIP_BZIP2)
    assert bz2.compress(bytes(1 << 20))[:3] in bomb

    with open_tree(archive(bomb)) as found, pytest.raises(UnreadableFile) as caught:
        [m.local() for m in found]

    assert "compressed by method 12" in caught.value.reason


def test_a_zip_member_that_unpacks_to_another_size_than_announced_is_refused(archive):
    content = bytearray(zip_with({"a": bytes(5000)}))
    at = content.index(b"PK\x01\x02") + 24
    content[at : at + 4] = (6000).to_bytes(4, "little")

    (found,) = examine_tree(archive(content), "x.zip")

    assert isinstance(found.facts, DamagedFacts)


@pytest.mark.parametrize("limit", ["MAX_MEMBER", "budget"])
def test_no_more_is_unpacked_than_the_limits_allow(archive, monkeypatch, limit):
    path = archive(ARCHIVES["tar.gz"])
    if limit == "MAX_MEMBER":
        monkeypatch.setattr(tree, "MAX_MEMBER", 2 << 20)

    with (
        open_tree(path, budget=Budget((2 << 20) if limit == "budget" else 1 << 40)) as found,
        pytest.raises(UnreadableFile) as caught,
    ):
        [m.local() for m in found if m.about.link is None]

    assert "more than may be unpacked" in caught.value.reason
    assert "'zeros'" in caught.value.reason


def test_the_facts_of_what_is_inside_come_under_the_name_of_the_archive(archive):
    path = archive(ARCHIVES["tar.gz"])

    found = {f.name: f.facts for f in examine_tree(path, "x.tgz")}

    assert found["x.tgz!/lib/one.so"].hexagon_arch == 73
    assert found["x.tgz!/lib/two.so"] is None


def test_an_archive_in_an_archive_is_looked_into_and_the_next_one_only_listed(archive):
    inner = zip_with({"deep.so": FILES["lib/one.so"]})
    middle = zip_with({"jni/one.so": FILES["lib/one.so"], "classes.jar": inner})
    path = archive(zip_with({"app/x.aar": middle}))

    found = {f.name: f.facts for f in examine_tree(path, "app.zip")}

    assert list(found) == [
        "app.zip!/app/x.aar",
        "app.zip!/app/x.aar!/jni/one.so",
        "app.zip!/app/x.aar!/classes.jar",
    ]
    assert isinstance(found["app.zip!/app/x.aar!/jni/one.so"], ElfFacts)
    listed = found["app.zip!/app/x.aar!/classes.jar"]
    assert isinstance(listed, ArchiveFacts)
    assert [m.name for m in listed.members] == ["deep.so"]


def test_one_budget_covers_an_archive_and_all_that_are_in_it(archive):
    inner = zip_with({f"{n}": bytes(100_000) for n in range(10)})
    path = archive(zip_with({"a.zip": inner, "b.zip": inner}))

    found = list(examine_tree(path, "x", budget=Budget(1_050_000)))

    refused = [f.name for f in found if isinstance(f.facts, DamagedFacts)]
    assert refused[0].startswith("x!/b.zip")
    assert "x!/a.zip!/9" not in refused


def test_a_damaged_archive_raises_from_the_iteration(archive):
    path = archive(tar_of(member("a", 10), member("../b", 10)))

    with open_tree(path) as found, pytest.raises(UnreadableFile) as caught:
        list(found)

    assert "leaves the archive's root" in caught.value.reason
