"""GNU tar and the zstd command accept our tar.zst, and unpack what was packed."""

from __future__ import annotations

from tests.make.bundle import bundle_of, target_plan

LONG = "/".join(["Ordner-für-Modelle-" + "x" * 40] * 5) + "/modell.bin"
TREE = {"bin/hexrun": b"runner", "share/runner.conf": b"a = 1\n", LONG: b"deep", "empty": b""}


def test_zstd_finds_the_checksum_right(tool, write, tmp_path):
    package = write("tar.zst", target_plan(), bundle_of(TREE, tmp_path))

    tool("zstd")("--test", package)
    listing = tool("zstd")("--list", "--verbose", package)

    assert "XXH64" in listing


def test_gnu_tar_lists_owner_mode_time_and_link(tool, write, tmp_path):
    package = write("tar.zst", target_plan(), bundle_of(TREE, tmp_path, {"lib/a.so": "a.so.1"}))

    listing = tool("tar")("--zstd", "-tvf", package).splitlines()

    assert [line.split(maxsplit=5) for line in listing if "hexrun" in line or "a.so" in line] == [
        ["-rwxr-xr-x", "root/root", "6", "2023-11-14", "22:13", "text-direction-1.2.0/bin/hexrun"],
        ["lrwxrwxrwx", "root/root", "0", "2023-11-14", "22:13", "text-direction-1.2.0/lib/a.so -> a.so.1"],
    ]


def test_gnu_tar_unpacks_every_byte_of_long_and_foreign_names(tool, write, tmp_path):
    package = write("tar.zst", target_plan(), bundle_of(TREE, tmp_path))
    (tmp_path / "out").mkdir()

    tool("tar")("--zstd", "-xf", package, "-C", tmp_path / "out")

    top = tmp_path / "out" / "text-direction-1.2.0"
    assert {path: (top / path).read_bytes() for path in TREE} == TREE
