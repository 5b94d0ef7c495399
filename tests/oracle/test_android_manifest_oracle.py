"""Android's own tools read what the tests write, and our reader says what they say of what they compile."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

import pytest

from packager.facts.android_manifest import read_android_manifest
from packager.facts.config_types import AndroidLibraryUse
from packager.facts.identify import identify
from tests.make.axml import compiled, manifest, text

NAME = "AndroidManifest.xml"
FRAMEWORK = Path("/usr/share/android-framework-res/framework-res.apk")
APPS = {
    "full": manifest(
        (("libcdsprpc.so", False), ("libOpenCL.so", True), ("libx.so", None)), extract=False, debuggable=True
    ),
    "bare": manifest(min_sdk=None, target_sdk=None),
    "unusual": manifest((("libgrüße.so", True),), min_sdk="Q", extract=True),
}


@pytest.fixture
def framework():
    """The resources of Android itself, without which nothing can be compiled."""
    if not FRAMEWORK.exists():
        message = "no framework-res.apk (Debian: apt-get install android-framework-res)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return FRAMEWORK


@pytest.fixture
def unpacked(tmp_path):
    """The manifest of an APK, as a file."""

    def unpack(apk):
        with zipfile.ZipFile(apk) as archive:
            return Path(archive.extract(NAME, tmp_path / apk.stem))

    return unpack


def packed(path, content):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(NAME, content)
    return path


def dumped(tree):
    """The elements in a dump of aapt's: name and attributes, in the order of the file."""
    found = []
    for kind, name, value in re.findall(r"([EA]): (?:\S+:)?([\w-]+)(?:\(0x[0-9a-f]+\))?(?:=| )(.*)", tree):
        if kind == "E":
            found.append((name, {}))
        elif value.startswith('"'):
            found[-1][1][name] = re.match(r'"(.*?)"', value)[1]
        else:
            type_, number = re.match(r"\(type 0x(\w+)\)0x(\w+)", value).groups()
            found[-1][1][name] = int(number, 16) != 0 if type_ == "12" else int(number, 16)
    return found


def said_by_aapt(tree):
    elements = dumped(tree)
    root, sdk, app = (
        next(attributes for name, attributes in elements if name == wanted)
        for wanted in ("manifest", "uses-sdk", "application")
    )
    numbers = [
        value if isinstance(value := sdk.get(name), int) else None
        for name in ("minSdkVersion", "targetSdkVersion")
    ]
    libraries = tuple(
        AndroidLibraryUse(name=attributes["name"], required=attributes.get("required", True))
        for name, attributes in elements
        if name == "uses-native-library"
    )
    return (root["package"], *numbers, app.get("extractNativeLibs"), app.get("debuggable"), libraries)


def without_form(path):
    return read_android_manifest(path).model_copy(update={"compiled": False})


def said_by_us(path):
    facts = read_android_manifest(path)
    return (
        facts.package,
        facts.min_sdk,
        facts.target_sdk,
        facts.extract_native_libs,
        facts.debuggable,
        facts.native_libraries,
    )


@pytest.mark.parametrize("utf8", [False, True], ids=["utf-16", "utf-8"])
@pytest.mark.parametrize("app", APPS)
def test_aapt_reads_what_the_tests_write_as_our_reader_does(tool, tmp_path, unpacked, app, utf8):
    apk = packed(tmp_path / "app.apk", compiled(APPS[app], utf8=utf8))

    tree = tool("aapt")("dump", "xmltree", apk, NAME)

    assert said_by_us(unpacked(apk)) == said_by_aapt(tree)


@pytest.mark.parametrize("app", APPS)
def test_our_reader_says_of_aapts_manifests_what_aapt_says(tool, framework, tmp_path, unpacked, app):
    source, apk = tmp_path / NAME, tmp_path / "app.apk"
    source.write_bytes(text(APPS[app]))

    tool("aapt")("package", "-M", source, "-I", framework, "-F", apk)

    assert identify(unpacked(apk)) == "android-manifest"
    assert said_by_us(unpacked(apk)) == said_by_aapt(tool("aapt")("dump", "xmltree", apk, NAME))
    assert without_form(unpacked(apk)) == without_form(source)


@pytest.mark.parametrize("app", APPS)
def test_our_reader_says_of_aapt2s_manifests_what_their_text_says(tool, framework, tmp_path, unpacked, app):
    source, apk = tmp_path / NAME, tmp_path / "app.apk"
    source.write_bytes(text(APPS[app]))

    tool("aapt2")("link", "--warn-manifest-validation", "--manifest", source, "-I", framework, "-o", apk)

    assert without_form(unpacked(apk)) == without_form(source)


def test_badging_shows_the_versions_that_we_read(tool, framework, tmp_path, unpacked):
    source, apk = tmp_path / NAME, tmp_path / "app.apk"
    source.write_bytes(text(APPS["full"]))
    tool("aapt")("package", "-M", source, "-I", framework, "-F", apk)

    shown = tool("aapt")("dump", "badging", apk)

    said = read_android_manifest(unpacked(apk))
    assert f"package: name='{said.package}'" in shown
    assert f"sdkVersion:'{said.min_sdk}'\ntargetSdkVersion:'{said.target_sdk}'" in shown


def test_a_compiled_layout_is_no_manifest(framework, tmp_path):
    with zipfile.ZipFile(framework) as archive:
        layouts = [name for name in archive.namelist() if name.startswith("res/layout/")][:50]
        kinds = {identify(Path(archive.extract(name, tmp_path))) for name in layouts}

    assert layouts
    assert kinds == {"other"}
