"""What is read of archives that other programs made is what they and their fellows say of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from packager.facts.archive import read_archive
from packager.facts.elf import read_elf
from packager.facts.tree import open_tree
from tests.make.elf import elf

CONTROL = """Package: detector
Version: 1.0
Architecture: arm64
Maintainer: Release Team <release@example.com>
Description: a detector
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tree with a long name, an executable, an empty file, a file of two blocks, and a link."""
    root = tmp_path / "tree"
    deep = root / "usr/lib" / ("n" * 120)
    deep.mkdir(parents=True)
    (deep / "libx.so.1").write_bytes(bytes(range(256)) * 8192)
    (root / "usr/lib/empty").write_bytes(b"")
    (root / "usr/lib/run").write_bytes(b"#!/bin/sh\n")
    (root / "usr/lib/run").chmod(0o755)
    (root / "usr/lib/libx.so").symlink_to(f"{'n' * 120}/libx.so.1")
    return root


def files_of(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def read_whole(archive: Path) -> dict[str, bytes]:
    with open_tree(archive) as tree:
        return {m.about.name: m.local().read_bytes() for m in tree if m.about.link is None}


@pytest.mark.parametrize("options", [["-cf"], ["-czf"], ["-cJf"], ["--zstd", "-cf"]])
@pytest.mark.parametrize("form", ["gnu", "pax"])
def test_a_tar_made_by_gnu_tar_is_read_as_it_was_packed(tool, folder, tmp_path, options, form):
    archive = tmp_path / "made.tar"

    tool("tar")(f"--format={form}", *options, archive, "-C", folder, ".")

    assert read_whole(archive) == files_of(folder)
    found = {m.name: (m.mode, m.link) for m in read_archive(archive).members}
    assert found["usr/lib/run"] == (0o755, None)
    assert found["usr/lib/libx.so"][1] == f"{'n' * 120}/libx.so.1"


def test_a_zip_made_by_info_zip_is_read_as_it_was_packed(tool, folder, tmp_path):
    archive = tmp_path / "made.zip"

    tool("zip")("-v")
    tool("sh")("-c", f"cd '{folder}' && exec zip -q -r -y '{archive}' .")

    assert read_whole(archive) == files_of(folder)
    assert {m.name: m.link for m in read_archive(archive).members}["usr/lib/libx.so"] is not None


@pytest.mark.parametrize("compression", ["none", "gzip", "xz", "zstd"])
def test_a_deb_made_by_dpkg_lists_what_dpkg_lists(tool, folder, tmp_path, compression):
    (folder / "DEBIAN").mkdir()
    (folder / "DEBIAN/control").write_text(CONTROL)
    archive = tmp_path / "made.deb"

    tool("dpkg-deb")("--root-owner-group", f"-Z{compression}", "--build", folder, archive)

    assert read_whole(archive) == files_of(folder)
    lines = tool("dpkg-deb")("--contents", archive).splitlines()
    listed = {line.split("./", 1)[1].split(" -> ")[0] for line in lines if not line.endswith("/")}
    assert {m.name for m in read_archive(archive).members if not m.name.startswith("DEBIAN/")} == listed


def test_the_notes_of_a_library_are_those_that_readelf_shows(tool, tmp_path):
    path = tmp_path / "library.so"
    path.write_bytes(elf(machine="AARCH64", notes=[("GNU", 3, bytes(range(20)))]))

    shown = tool("readelf")("--notes", path)

    assert f"Build ID: {read_elf(path).build_id}" in shown


def test_the_program_that_runs_these_tests_is_read_as_readelf_reads_it(tool):
    path = Path(shutil.which("tar") or "/bin/sh").resolve()

    facts = read_elf(path)

    dynamic = tool("readelf")("--dynamic", "--wide", path)
    assert [f"[{name}]" in dynamic for name in facts.needed] == [True] * len(facts.needed)
    assert dynamic.count("(NEEDED)") == len(facts.needed)
    assert f"program interpreter: {facts.interpreter}" in tool("readelf")("--program-headers", path)
    assert f"GLIBC_{facts.glibc_needed}" in tool("readelf")("--version-info", path)
    assert facts.abi == "glibc"
