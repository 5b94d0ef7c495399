"""What is read from the layers of a base image."""

from __future__ import annotations

import io
import tarfile

import pytest

from packager.errors import UnreadableFile
from packager.facts.base_image import BaseImageFacts, read_base_image

GLIBC = b"GNU C Library (Debian GLIBC 2.%d-9) stable release version 2.%d.\n"


def layer(path, files, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def test_libraries_are_found_by_name_and_by_link_with_the_versions_inside(tmp_path):
    versions = b"".join(b"GLIBCXX_3.4.%d\0" % number for number in (9, 30, 5))
    content = {
        "usr/lib/aarch64-linux-gnu/libc.so.6": GLIBC % (36, 36),
        "usr/lib/aarch64-linux-gnu/libstdc++.so.6": "libstdc++.so.6.0.30",
        "usr/lib/aarch64-linux-gnu/libstdc++.so.6.0.30": bytes(3 << 20) + versions,
        "lib/ld-linux-aarch64.so.1": b"loader",
        "bin/sh": b"GNU C Library (fake) stable release version 9.99",
    }

    facts = read_base_image([layer(tmp_path / "layer", content)])

    assert facts == BaseImageFacts(
        libraries=("ld-linux-aarch64.so.1", "libc.so.6", "libstdc++.so.6", "libstdc++.so.6.0.30"),
        glibc="2.36",
        glibcxx="3.4.30",
    )


def test_an_upper_layer_counts_more_than_a_lower_one(tmp_path):
    lower = layer(tmp_path / "lower", {"lib/libc.so.6": GLIBC % (36, 36)})
    upper = layer(tmp_path / "upper", {"lib/libc.so.6": GLIBC % (31, 31)}, "w")

    assert read_base_image([lower, upper]).glibc == "2.31"


def test_a_version_across_two_blocks_is_found(tmp_path):
    said = GLIBC % (36, 36)
    for before in ((1 << 20) - 60, (1 << 20) - 5):
        path = layer(tmp_path / "layer", {"lib/libc.so.6": bytes(before) + said})
        assert read_base_image([path]).glibc == "2.36"


def test_an_image_with_another_c_library_has_no_version(tmp_path):
    path = layer(tmp_path / "layer", {"lib/ld-musl-aarch64.so.1": b"musl", "lib/libc.musl-aarch64.so.1": b""})

    assert read_base_image([path]) == BaseImageFacts(
        libraries=("ld-musl-aarch64.so.1", "libc.musl-aarch64.so.1")
    )


def test_a_layer_that_is_cut_off_is_told(tmp_path):
    path = layer(tmp_path / "layer", {"lib/libc.so.6": bytes(50_000)})
    path.write_bytes(path.read_bytes()[:-20])

    with pytest.raises(UnreadableFile):
        read_base_image([path])
