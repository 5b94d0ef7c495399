"""A bundle is a tree that every format and operating system can hold."""

from __future__ import annotations

import pytest

from tests.make.bundle import bundle_of


def test_files_come_out_in_byte_order_whatever_the_order_they_went_in(tmp_path):
    names = ["b", "a/z", "a/b", "B2", "é"]

    bundle = bundle_of(dict.fromkeys(names, b""), tmp_path)

    assert [file.path for file in bundle.files] == sorted(names, key=str.encode)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../up",
        "a/../../up",
        "C:/windows",
        "a\\..\\..\\b",
        "a//b",
        "./a",
        "a/",
        "a\nb",
        "a\x1bb",
    ],
)
def test_a_path_that_leaves_the_tree_or_breaks_a_list_is_refused(tmp_path, path):
    with pytest.raises(ValueError, match="not a plain relative path"):
        bundle_of({path: b""}, tmp_path)


@pytest.mark.parametrize("names", [("Lib/a", "lib/A"), ("a", "A")])
def test_two_names_that_are_one_on_windows_are_refused(tmp_path, names):
    with pytest.raises(ValueError, match="two files of one name"):
        bundle_of(dict.fromkeys(names, b""), tmp_path)


def test_a_file_that_is_also_a_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a file and a folder of one name: lib"):
        bundle_of({"lib": b"", "lib/a": b""}, tmp_path)
