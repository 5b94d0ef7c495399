"""ar, tar and gzip, which opkg's own reader stands for, judge our ipk and our tar.gz."""

from __future__ import annotations

from packager.facts.archive import read_archive
from tests.make.bundle import TREE, bundle_of, target_plan

PLAN = target_plan(formats=("ipk", "tar.gz"))


def test_ar_and_tar_unpack_an_ipk_as_dpkg_would(tool, write, tmp_path):
    big = {**TREE, "share/models/big.bin": bytes(range(251)) * 20_000}
    bundle = bundle_of(big, tmp_path).model_copy(update={"opkg_depends": ("libc6 (>= 2.34)",)})
    package = write("ipk", PLAN, bundle)

    tool("ar")("x", package, "--output", tmp_path)
    for part in ("control", "data"):
        (tmp_path / part).mkdir()
        tool("tar")("-xzf", tmp_path / f"{part}.tar.gz", "-C", tmp_path / part)

    top = tmp_path / "data/usr/lib/text-direction"
    assert {path: (top / path).read_bytes() for path in big} == big
    control = (tmp_path / "control/control").read_text()
    assert "Architecture: aarch64\n" in control
    assert "Depends: libc6 (>= 2.34)\n" in control
    assert "License: Apache-2.0\n" in control


def test_dpkg_deb_reads_an_ipk_too_because_its_parts_are_the_same(tool, write, tmp_path):
    package = write("ipk", PLAN, bundle_of(TREE, tmp_path))

    assert "Package: text-direction\n" in tool("dpkg-deb")("--field", package)
    assert len(read_archive(package).members) == len(TREE) + 2


def test_tar_and_gzip_find_every_byte_of_a_tar_gz_of_several_members(tool, write, tmp_path):
    tree = {**TREE, "share/models/big.bin": bytes(range(251)) * 20_000}
    package = write("tar.gz", PLAN, bundle_of(tree, tmp_path))

    tool("gzip")("--test", package)
    tool("tar")("-xzf", package, "-C", tmp_path)

    top = tmp_path / "text-direction-1.2.0"
    assert {path: (top / path).read_bytes() for path in tree} == tree
