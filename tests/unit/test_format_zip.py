"""What the zip for Windows promises to old readers and to the same bytes everywhere."""

from __future__ import annotations

import stat
import struct
import zipfile
from pathlib import Path

import pytest

from packager.bundle import Bundle
from packager.plan_model import TargetPlan
from tests.make.bundle import bundle_of, target_plan, whole_bundle
from tests.make.unpack import (
    package_bytes,
    zip_infos,
)

EPOCH = 1_700_000_000
FORMATS = ("zip",)


@pytest.fixture
def plan() -> TargetPlan:
    return target_plan(formats=FORMATS)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return whole_bundle(tmp_path)


def test_a_zip_stores_its_files_below_one_folder_and_lists_no_folders(plan, bundle):
    infos = zip_infos(package_bytes("zip", plan, bundle))

    names = [info.filename for info in infos]
    assert names == sorted(names, key=str.encode)
    assert {name.partition("/")[0] for name in names} == {"text-direction-1.2.0"}
    assert {info.compress_type for info in infos} == {zipfile.ZIP_STORED}
    assert not [info for info in infos if info.is_dir()]


def test_a_zip_carries_unix_modes_whatever_the_host(plan, bundle):
    infos = {
        i.filename.removeprefix("text-direction-1.2.0/"): i
        for i in zip_infos(package_bytes("zip", plan, bundle))
    }

    assert {info.create_system for info in infos.values()} == {3}
    assert infos["bin/hexrun"].external_attr == (stat.S_IFREG | 0o755) << 16
    assert infos["README.txt"].external_attr == (stat.S_IFREG | 0o644) << 16
    assert infos["lib/libBackend.so.1"].external_attr == (stat.S_IFLNK | 0o777) << 16


def test_a_zip_has_no_descriptors_and_no_extra_fields_and_marks_utf8_only_where_needed(plan, tmp_path):
    package = package_bytes("zip", plan, bundle_of({"a.txt": b"a", "Größe.txt": b"b"}, tmp_path))

    infos = zip_infos(package)
    local = [struct.unpack_from("<HHH", package, info.header_offset + 4) for info in infos]
    extra = [struct.unpack_from("<H", package, info.header_offset + 28)[0] for info in infos]

    assert {info.filename: info.flag_bits for info in infos} == {
        "text-direction-1.2.0/Größe.txt": 0x800,
        "text-direction-1.2.0/a.txt": 0,
    }
    assert [flags for _, flags, _ in local] == [info.flag_bits for info in infos]
    assert extra == [0, 0]
    assert [info.extra for info in infos] == [b"", b""]


@pytest.mark.parametrize(
    ("epoch", "written"),
    [
        (EPOCH, (2023, 11, 14, 22, 13, 20)),
        (EPOCH + 1, (2023, 11, 14, 22, 13, 20)),
        (0, (1980, 1, 1, 0, 0, 0)),
        (1 << 33, (2107, 12, 31, 23, 59, 58)),
    ],
)
def test_a_zip_says_the_time_as_well_as_the_format_can(plan, bundle, epoch, written):
    infos = zip_infos(package_bytes("zip", plan, bundle, epoch))

    assert {info.date_time for info in infos} == {written}


def test_with_the_zip64_limit_lowered_only_the_larger_file_gets_64_bit_fields(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    bundle = bundle_of({"large.bin": bytes(1001), "small.bin": bytes(990)}, tmp_path)

    package = package_bytes("zip", plan, bundle)

    extra = {
        name: struct.unpack_from("<H", package, package.index(f"text-direction-1.2.0/{name}".encode()) - 2)[0]
        for name in ("large.bin", "small.bin")
    }
    assert extra == {"large.bin": 20, "small.bin": 0}
