"""What formats carry beside the tree, and the tools that it takes."""

from __future__ import annotations

import zipfile

import pytest

from packager import android, parts
from packager.errors import InputUnavailable, ToolFailed
from packager.store import Store
from tests.make.android import android_plan
from tests.make.bundle import target_plan


@pytest.mark.parametrize(
    ("name", "package"),
    [("text-direction", "hexpack.text_direction"), ("native", "hexpack.native_"), ("a1", "hexpack.a1")],
)
def test_a_java_package_is_the_manifest_s_name_and_no_word_of_java(name, package):
    assert android.java_package(name) == package


def test_a_target_whose_formats_ask_for_nothing_has_no_parts(tmp_path):
    assert parts.parts_of(target_plan(formats=("tar.zst", "deb")), Store(tmp_path)) == ()


def test_without_a_jdk_the_archive_is_refused_before_anything_is_compiled(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(InputUnavailable) as refused:
        parts.require_tools(android_plan("aar"))

    assert refused.value.evidence == (f"JAVA_HOME is {tmp_path}",)
    assert "openjdk-17-jdk-headless" in refused.value.fix
    parts.require_tools(android_plan("adb"))


def fake_javac(folder, monkeypatch, script):
    javac = folder / "bin/javac"
    javac.parent.mkdir()
    javac.write_text(f"#!/bin/sh\n{script}\n")
    javac.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(folder))


def test_what_javac_says_is_in_the_error(monkeypatch, tmp_path):
    fake_javac(tmp_path, monkeypatch, 'echo "error: release version 11 not supported" >&2; exit 2')

    with pytest.raises(ToolFailed) as failed:
        list(parts.java_classes(android_plan("aar"), Store(tmp_path / "store")))

    assert "release version 11 not supported" in failed.value.render()


def test_the_jar_has_the_package_s_classes_alone_and_is_made_once(monkeypatch, tmp_path):
    makes = "mkdir -p ../classes/hexpack/text_direction ../classes/android/system\n"
    makes += "echo made >> ../../../made\n"
    makes += "touch ../classes/android/system/Os.class ../classes/hexpack/text_direction/HexpackRuntime.class"
    fake_javac(tmp_path, monkeypatch, f'[ "$1" = -version ] && echo "javac 17.0.1" && exit\n{makes}')

    store = Store(tmp_path / "store")
    ((first,), (second,)) = (list(parts.java_classes(android_plan("aar"), store)) for _ in range(2))

    assert zipfile.ZipFile(first.local).namelist() == ["hexpack/text_direction/HexpackRuntime.class"]
    assert (first.origin, second.blob) == ("compiled with javac 17.0.1", first.blob)
    assert (tmp_path / "store/made").read_text() == "made\n"
