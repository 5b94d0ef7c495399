"""NuGet installs our packages, and MSBuild's heir in Mono carries out their targets. Debian: nuget mono-xbuild."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
import zipfile

import pytest

from packager.facts.archive import read_archive
from tests.make.windows import windows_bundle, windows_plan

CONTENT_TYPES = "{http://schemas.openxmlformats.org/package/2006/content-types}"
RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
NATIVE = "runtimes/win-arm64/native"
PROJECT = """<Project DefaultTargets="Build" xmlns="http://schemas.microsoft.com/developer/msbuild/2003">
  <PropertyGroup><OutDir>{out}/</OutDir><Platform>{platform}</Platform></PropertyGroup>
  <Target Name="Build" />
  <Import Project="{targets}" />
</Project>
"""


@pytest.fixture
def plan():
    return windows_plan("nupkg", name="laptop")


@pytest.fixture
def package(plan, write, tmp_path):
    return write("nupkg", plan, windows_bundle(plan, tmp_path))


@pytest.fixture
def installed(package, tool, tmp_path):
    """The folder that NuGet unpacks the package into, taken from a folder of packages."""
    tool("nuget")(
        "install",
        "text-direction-laptop",
        "-Source",
        tmp_path,
        "-OutputDirectory",
        tmp_path / "packages",
        "-NoCache",
    )
    return tmp_path / "packages" / "text-direction-laptop.1.2.0"


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_nuget_finds_the_package_by_its_name_and_unpacks_every_file(installed, package, plan, tmp_path):
    bundle = windows_bundle(plan, tmp_path)
    there = files(installed)

    assert package.name == "text-direction-laptop.1.2.0.nupkg"
    for name in ("QnnHtp.dll", "QnnHtpV73Stub.dll", "libQnnHtpV73Skel.so", "libqnnhtpv73.cat", "hexrun.dll"):
        (file,) = (one for one in (*bundle.files, *bundle.parts) if one.name == name)
        assert there[f"{NATIVE}/{name}"] == file.local.read_bytes()
    assert {"hexpack/hexrun.exe", "hexpack/runner.conf", "hexpack/models/sc8380xp.bin"} <= set(there)
    assert {"build/native/include/hexrun.h", "build/native/lib/arm64/hexrun.lib"} <= set(there)


def test_after_a_build_everything_stands_beside_the_program_byte_for_byte(installed, tool, tmp_path):
    out = tmp_path / "out"
    (tmp_path / "app.proj").write_text(
        PROJECT.format(
            out=out, platform="ARM64", targets=installed / "build/native/text-direction-laptop.targets"
        )
    )

    tool("xbuild")("/nologo", tmp_path / "app.proj")

    beside = {
        name.rpartition("native/")[2]: data
        for name, data in files(installed).items()
        if name.startswith(NATIVE)
    }
    payload = {
        name.removeprefix("hexpack/"): data
        for name, data in files(installed).items()
        if name.startswith("hexpack/")
    }
    assert files(out) == beside | payload


def test_a_program_for_another_processor_gets_nothing_and_a_warning(installed, tool, tmp_path):
    (tmp_path / "app.proj").write_text(
        PROJECT.format(
            out=tmp_path / "out",
            platform="x64",
            targets=installed / "build/native/text-direction-laptop.targets",
        )
    )

    said = tool("xbuild")("/nologo", tmp_path / "app.proj")

    assert "holds native libraries for win-arm64, and this project is built for x64" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("properties", "folder"),
    [
        (
            "<TargetFrameworkIdentifier>.NETCoreApp</TargetFrameworkIdentifier><RuntimeIdentifier>win-arm64</RuntimeIdentifier>",
            "",
        ),
        (
            "<TargetFrameworkIdentifier>.NETCoreApp</TargetFrameworkIdentifier>",
            "runtimes/win-arm64/native/",
        ),
    ],
)
def test_a_net_project_copies_what_nuget_does_not_copy_by_itself(
    installed, tool, tmp_path, properties, folder
):
    (tmp_path / "app.proj").write_text(
        f"""<Project DefaultTargets="Build" xmlns="http://schemas.microsoft.com/developer/msbuild/2003">
  <PropertyGroup>{properties}</PropertyGroup>
  <Import Project="{installed / "build/text-direction-laptop.targets"}" />
  <Target Name="Build">
    <Message Importance="high" Text="copied %(None.RecursiveDir)%(None.Filename)%(None.Extension) as %(None.Link)" />
  </Target>
</Project>
"""
    )

    lines = [line.strip() for line in tool("xbuild")("/nologo", tmp_path / "app.proj").splitlines()]

    copied = dict(line.removeprefix("copied ").split(" as ") for line in lines if line.startswith("copied "))
    assert set(copied) == {
        "hexrun.exe", "runner.conf", "models/sc8380xp.bin", "htp/sc8380xp.json", "licenses/Qualcomm_LICENSE.pdf",
    }  # fmt: skip
    # Mono leaves an item's own metadata as they are written; MSBuild fills them in.
    assert {link.replace("\\", "/") for link in copied.values()} == {
        f"{folder}%(RecursiveDir)%(Filename)%(Extension)"
    }


def test_every_member_has_a_type_and_the_relations_lead_to_what_is_there(package, tool):
    assert "No errors detected" in tool("unzip")("-t", package)
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
        types = ElementTree.fromstring(archive.read("[Content_Types].xml"))
        relations = ElementTree.fromstring(archive.read("_rels/.rels"))

    extensions = {one.attrib["Extension"] for one in types.iter(f"{CONTENT_TYPES}Default")}
    overrides = {one.attrib["PartName"] for one in types.iter(f"{CONTENT_TYPES}Override")}
    for name in names - {"[Content_Types].xml"}:
        assert name.rpartition(".")[2].lower() in extensions or f"/{name}" in overrides
    targets = {one.attrib["Target"].removeprefix("/") for one in relations.iter(RELATION)}
    assert targets <= names
    assert "text-direction-laptop.nuspec" in targets


def test_our_own_reader_knows_it_and_equal_inputs_give_equal_bytes(package, plan, write, tmp_path):
    first = package.read_bytes()

    assert read_archive(package).format == "nupkg"
    assert write("nupkg", plan, windows_bundle(plan, tmp_path)).read_bytes() == first


def test_names_and_texts_from_the_manifest_cannot_break_the_xml(write, tmp_path):
    plan = windows_plan("nupkg")
    plan = plan.model_copy(
        update={
            "package": plan.package.model_copy(update={"vendor": 'A & "B" <C>', "description": "1 < 2 & 3"})
        }
    )

    with zipfile.ZipFile(write("nupkg", plan, windows_bundle(plan, tmp_path))) as archive:
        texts = [
            ElementTree.fromstring(archive.read(n))
            for n in archive.namelist()
            if n.endswith((".nuspec", ".psmdcp", ".targets"))
        ]

    authors = [node.text for node in texts[-1].iter() if node.tag.endswith("authors")]
    assert len(texts) == 5
    assert authors == ['A & "B" <C>']
