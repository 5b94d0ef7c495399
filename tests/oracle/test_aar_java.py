"""HexpackRuntime on a JVM, in an app whose Android is a folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from packager import resources
from packager.formats import by_id
from tests.make.android import android_bundle, android_plan

JAVA = Path(__file__).parent / "java"
TREE = ["dsp/libQnnHtpV73Skel.so", "dsp/libQnnHtpV75Skel.so", "share/licenses/LICENSE.txt",
        "share/models/sm8550.bin", "share/models/sm8650.bin", "share/runner.conf"]  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(archive's members by the target's formats, class path of the app): the classes are the same for both."""
    if shutil.which("javac") is None and os.environ.get("CI") != "true":
        pytest.skip("javac is not installed (Debian: apt-get install openjdk-17-jdk-headless)")
    folder = tmp_path_factory.mktemp("built")
    bundle = android_bundle(android_plan("aar"), folder, classes=True)
    members = {}
    for formats in (("aar",), ("aar", "aipack")):
        with (folder / "x.aar").open("w+b") as out:
            by_id("aar").write(android_plan(*formats), bundle, out, epoch=0)
        with zipfile.ZipFile(folder / "x.aar") as archive:
            members[formats] = {name: archive.read(name) for name in archive.namelist()}
    (folder / "classes.jar").write_bytes(members[formats]["classes.jar"])
    stubs = Path(str(resources.folder("templates"))) / "aar" / "stubs"
    sources = [path for path in stubs.rglob("*.java") if path.name != "Os.java"] + list(JAVA.rglob("*.java"))
    jar = folder / "classes.jar"
    subprocess.run(["javac", "-cp", jar, "-d", folder / "app", *sources], check=True)
    return members, f"{folder / 'app'}:{jar}"


@pytest.fixture
def app(built, tmp_path):
    """An app as it is after its installation; calling it runs it, and gives the lines that it prints."""
    return installed(built, tmp_path, ("aar",))


@pytest.fixture
def app_without_models(built, tmp_path):
    """An app whose models are in an AI pack."""
    return installed(built, tmp_path, ("aar", "aipack"))


def installed(built, tmp_path, formats):
    members, class_path = built
    for name, content in members[formats].items():
        where = {"jni": "lib", "assets": "assets"}.get(name.split("/")[0])
        if where:
            target = tmp_path / where / (name.split("/", 2)[2] if where == "lib" else name.split("/", 1)[1])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def run(**environment):
        java = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", class_path, "App", tmp_path]
        return subprocess.run(
            java, env=os.environ | environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    run.folder = tmp_path
    return run


def value(lines, word):
    return next(line.partition(" ")[2] for line in lines if line.startswith(f"{word} "))


def opened(lines):
    return sorted(
        line.removeprefix("open hexpack/text-direction/") for line in lines if line.startswith("open ")
    )


def test_at_the_first_run_everything_is_copied_and_the_tree_is_the_package_s(app):
    lines = app()
    tree = Path(value(lines, "folder"))

    assert opened(lines) == [*TREE[:2], "index.txt", "models.txt", *TREE[2:]]
    for path in TREE:
        assert (tree / path).read_bytes() == (
            app.folder / "assets/hexpack/text-direction" / path
        ).read_bytes()
    assert (tree / "lib").resolve() == app.folder / "lib"
    assert value(lines, "model") == str(tree / "share/models/sm8650.bin")
    assert tree.parent == app.folder / "no_backup/hexpack/text-direction"


def test_at_the_second_run_nothing_is_copied(app):
    first = app()

    again = app()

    assert opened(again) == ["index.txt", "models.txt"]
    assert value(again, "folder") == value(first, "folder")


def test_the_program_gets_its_configuration_and_is_a_file_that_android_installs(app):
    program, *arguments = value(app(), "program").split()

    assert Path(program).is_file()
    assert arguments[0] == "--config"
    assert Path(arguments[1]).name == "runner.conf"
    assert arguments[2:] == ["--doctor"]


@pytest.mark.parametrize(
    ("now", "after"), [("", "{dsp}"), ("/a;/b", "{dsp};/a;/b"), ("{dsp}", "{dsp}"), ("{dsp};/a", "{dsp};/a")]
)
def test_the_dsp_s_folder_comes_first_and_once_joined_by_semicolons(now, after, app):
    dsp = value(app(), "folder") + "/dsp"

    lines = app(ADSP_LIBRARY_PATH=now.format(dsp=dsp))

    assert f"setenv ADSP_LIBRARY_PATH={after.format(dsp=dsp)} true" in lines
    assert f"setenv DSP_LIBRARY_PATH={dsp} true" in lines


def test_an_asset_that_is_not_what_was_packaged_leaves_nothing_behind(app):
    (app.folder / "assets/hexpack/text-direction/share/models/sm8550.bin").write_bytes(b"other")

    said = value(app(), "refused")

    assert "share/models/sm8550.bin is not what was packaged: 5 bytes" in said
    assert [path.name for path in (app.folder / "no_backup/hexpack/text-direction").iterdir()] == ["lock"]


def test_what_a_killed_run_left_and_what_an_older_version_had_are_cleared_away(app):
    home = app.folder / "no_backup/hexpack/text-direction"
    (home / "0123456789abcdef/dsp").mkdir(parents=True)
    (home / "0123456789abcdef/dsp/libQnnHtpV73Skel.so").touch()
    (home / "0123456789abcdef/lib").symlink_to(app.folder / "lib")
    index = (app.folder / "assets/hexpack/text-direction/index.txt").read_bytes()
    part = home / f"{hashlib.sha256(index).hexdigest()[:16]}.part"
    (part / "share").mkdir(parents=True)

    tree = Path(value(app(), "folder"))

    assert sorted(home.iterdir()) == sorted([tree, home / "lock"])
    assert (app.folder / "lib/libQnnHtp.so").is_file()


def test_a_file_that_was_cut_is_copied_again(app):
    skel = Path(value(app(), "folder")) / TREE[0]
    whole = skel.read_bytes()
    skel.write_bytes(whole[:100])

    app()

    assert skel.read_bytes() == whole


def test_an_update_of_the_app_that_moves_its_libraries_is_followed(app):
    tree = Path(value(app(), "folder"))
    (tree / "lib").unlink()
    (tree / "lib").symlink_to(app.folder / "gone")

    app()

    assert (tree / "lib").resolve() == app.folder / "lib"


def test_libraries_that_stay_inside_the_apk_are_refused_with_the_setting_that_helps(app):
    shutil.rmtree(app.folder / "lib")

    assert "useLegacyPackaging" in value(app(), "refused")


def pack(folder, **models):
    """What Play has delivered."""
    folder.mkdir()
    for name, content in models.items():
        (folder / f"{name}.bin").write_bytes(content)
    return {"PACK": str(folder)}


MODEL = b"context of sm8650" * 999


def test_the_model_of_an_ai_pack_takes_its_place_in_the_tree_without_a_copy(app_without_models, tmp_path):
    delivered = pack(tmp_path / "pack", sm8650=MODEL)

    lines = app_without_models(**delivered)

    assert "share/models/sm8650.bin" not in opened(lines)
    assert value(lines, "models") == "1"
    assert Path(value(lines, "model")).resolve() == tmp_path / "pack/sm8650.bin"
    assert value(app_without_models(**delivered), "models") == "1"


@pytest.mark.parametrize(
    ("models", "said"),
    [({}, "no model of this package is in"), ({"sm8650": b"other"}, "is not what was packaged: 5 bytes")],
)
def test_a_pack_without_a_model_or_of_another_version_is_refused_in_words(
    models, said, app_without_models, tmp_path
):
    assert said in value(app_without_models(**pack(tmp_path / "pack", **models)), "refused")


def test_an_archive_with_its_own_models_takes_none_from_a_pack(app, tmp_path):
    assert "holds its models itself" in value(app(**pack(tmp_path / "pack", sm8650=MODEL)), "refused")
