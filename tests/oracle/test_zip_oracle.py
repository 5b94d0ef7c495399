"""Info-ZIP accepts our zip, and unpacks what was packed."""

from __future__ import annotations

from tests.make.bundle import bundle_of, target_plan

TREE = {"hexrun.exe": b"MZ runner", "Modelle/Größe.bin": b"weights" * 100, "runner.conf": b"", "zz": b"\0"}
PLAN = target_plan(socs=("x-elite",), abi="windows-arm64", formats=("zip",))


def test_unzip_finds_every_checksum_right(tool, write, tmp_path):
    package = write("zip", PLAN, bundle_of(TREE, tmp_path))

    verdict = tool("unzip")("-t", package)

    assert "No errors detected in compressed data" in verdict


def test_zipinfo_sees_stored_files_of_unix_and_nothing_beside(tool, write, tmp_path):
    package = write("zip", PLAN, bundle_of(TREE, tmp_path))

    lines = [
        line.split() for line in tool("zipinfo")("-s", "-T", package).splitlines() if line.startswith("-")
    ]

    assert len(lines) == len(TREE)
    assert {(system, kind, method, time) for _, _, system, _, kind, method, time, _ in lines} == {
        # b: bytes; the minus means no extra field and no data descriptor
        ("unx", "b-", "stor", "20231114.221320")
    }


def test_unzip_unpacks_every_byte(tool, write, tmp_path):
    package = write("zip", PLAN, bundle_of(TREE, tmp_path))

    tool("unzip")("-q", package, "-d", tmp_path / "out")

    top = tmp_path / "out" / "text-direction-1.2.0"
    assert {path: (top / path).read_bytes() for path in TREE} == TREE
