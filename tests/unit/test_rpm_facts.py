"""What is read of rpm packages, and which ones are refused."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest
import zstandard

from packager.errors import UnreadableFile
from packager.facts.archive import opened_archive, read_archive
from packager.facts.identify import identify
from packager.facts.rpm import rpm_digests
from packager.facts.types import ArchiveMember
from tests.make.rpm import cpio_of, rpm_of

TREE = {
    "usr/bin/app": "../lib/app/hexrun",
    "usr/lib/app/hexrun": b"\x7fELF" * 999,
    "usr/lib/app/Größe": b"",
    "usr/lib/libx.so": "/usr/lib/libx.so.1",
}


@pytest.fixture
def package(tmp_path: Path):
    def written(content: bytes) -> Path:
        path = tmp_path / "package"
        path.write_bytes(content)
        return path

    return written


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_an_rpm_lists_what_it_installs(package, compress):
    path = package(rpm_of(TREE, compress))

    facts = read_archive(path)

    assert (identify(path), facts.format) == ("archive", "rpm")
    assert facts.members == (
        ArchiveMember(name="usr/bin/app", size=0, mode=0o777, link="../lib/app/hexrun"),
        ArchiveMember(name="usr/lib/app/hexrun", size=3996, mode=0o644),
        ArchiveMember(name="usr/lib/app/Größe", size=0, mode=0o644),
        ArchiveMember(name="usr/lib/libx.so", size=0, mode=0o777, link="/usr/lib/libx.so.1"),
    )


def test_files_of_an_rpm_are_read_as_they_are_met(package):
    with opened_archive(package(rpm_of(TREE, zstandard.compress))) as archive:
        content = {entry.member.name: entry.open().read(4000) for entry in archive.entries if entry.open}

    assert content == {path: data for path, data in TREE.items() if isinstance(data, bytes)}


def test_the_header_tells_the_digest_of_each_file(package):
    path = package(rpm_of(TREE, digests={"usr/bin/app": "0" * 64}))

    assert rpm_digests(path) == {
        name: hashlib.sha256(data).hexdigest() for name, data in TREE.items() if isinstance(data, bytes)
    }


def refusal(path: Path, read=read_archive) -> str:
    with pytest.raises(UnreadableFile) as refused:
        read(path)
    return refused.value.reason


WHOLE = rpm_of(TREE)
HEADER = WHOLE.index(b"\x8e\xad\xe8\x01", 100)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (WHOLE[:50], "after the file's end"),
        (WHOLE[: HEADER + 4], "inside the intro"),
        (WHOLE[: HEADER + 60], "inside the index"),
        (WHOLE.replace(b"\x8e\xad\xe8\x01", b"\x8e\xad\xe8\x02"), "no rpm header"),
        (WHOLE[: HEADER + 8] + b"\xff" * 8 + WHOLE[HEADER + 16 :], "4294967295 tags"),
        (WHOLE[:-2000], "ends"),
        (WHOLE[:-200], "no header of a cpio member"),
        (WHOLE[:-500] + bytes(500), "no header of a cpio member"),
        (WHOLE.replace(b"070701", b"07070X"), "no header of a cpio member"),
        (rpm_of({"../up": b""}), "leaves the archive's root"),
        (rpm_of({"usr/lib/x": "../../../etc/passwd"}), "outside the archive's root"),
    ],
)
def test_an_rpm_that_is_not_whole_or_not_safe_is_refused(package, content, reason):
    assert reason in refusal(package(content))


def test_lists_that_do_not_fit_each_other_are_refused(package):
    # The index says that there is one name more than there are.
    at = WHOLE.index((1117).to_bytes(4, "big"), HEADER)
    content = WHOLE[: at + 12] + (5).to_bytes(4, "big") + WHOLE[at + 16 :]

    assert "do not fit each other" in refusal(package(content), rpm_digests)


def test_a_device_node_in_an_rpm_is_refused(package):
    content = rpm_of({"dev/x": b""}).replace(b"000081a4", b"000021a4")

    assert "neither file, folder nor link" in refusal(package(content))


def test_a_cpio_without_its_end_is_refused(package):
    cpio = cpio_of(TREE)
    content = WHOLE.replace(
        cpio_of({f"./{p}": d for p, d in TREE.items()}), cpio[: cpio.index(b"TRAILER") - 110]
    )

    assert "no header of a cpio member" in refusal(package(content))
