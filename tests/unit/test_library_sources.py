from __future__ import annotations

import zipfile

import pytest

from packager import catalog
from packager import plan as planning
from packager.errors import InputUnavailable, ManifestError
from packager.facts.elf import read_elf
from packager.files import digest
from packager.lock import Entry
from packager.manifest import load
from packager.sources.maven import Artifact, fetch_artifact, without_logins
from packager.sources.maven_settings import repositories
from packager.sources.runtime_set import fetch_runtime, licence_keys
from packager.store import Store
from tests.make.sdk import BUILD, make_aar, make_sdk

HEAD = """
schema = 1
[package]
name = "app"
version = "1.0.0"
vendor = "V"
license = "MIT"
description = "An app"
maintainer = "M <m@example.com>"
[model]
source = { path = "m.onnx" }
"""
SDK = {"aarch64-android": "android", "aarch64-oe-linux-gcc11.2": "linux", "aarch64-qnx": "qnx"}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def maven_home(tmp_path, monkeypatch):
    """A home folder with Maven's own folder in it, and no Maven on the path."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = tmp_path / "home" / ".m2"
    folder.mkdir(parents=True)
    return folder


def runtime(tmp_path, system, qairt, *, abi=None, libraries=None, soc="sm8550"):
    """The runtime set that a manifest with one target plans; formats are not looked at."""
    extra = f'abi = "{abi}"\n' if abi else ""
    extra += f"libraries = {libraries}\n" if libraries else ""
    text = f'{HEAD}[qairt]\n{qairt}\n[[targets]]\nsoc = ["{soc}"]\nos = "{system}"\n{extra}formats = ["tar.zst"]\n'
    path = tmp_path / "app.toml"
    path.write_text(text)
    document = load(path)
    problems = planning._Problems(document)
    target = document.manifest.targets[0]
    found = planning._runtime_set(
        document.manifest, target, catalog.abi(target.abi), [73], ("targets", 0), problems
    )
    if problems.blocks:
        raise document.error(problems.blocks)
    return found


def refused(call, *arguments, **options):
    with pytest.raises((InputUnavailable, ManifestError)) as raised:
        call(*arguments, **options)
    return raised.value


@pytest.mark.parametrize(
    ("system", "edition", "folder"),
    [("android", "community", "aarch64-android"), ("qnx", "auto", "aarch64-qnx")],
)
def test_an_sdk_gives_the_libraries_of_the_targets_system(tmp_path, store, system, edition, folder):
    make_sdk(tmp_path / "sdk", SDK)
    plan = runtime(tmp_path, system, f'from = "sdk"\npath = "sdk"\nflavour = "{edition}"')

    files = fetch_runtime(plan, base=tmp_path, store=store)

    assert {name: file.origin for name, file in files.items()} == {
        "libQnnHtp.so": f"sdk 2.51.0: lib/{folder}/libQnnHtp.so",
        "libQnnSystem.so": f"sdk 2.51.0: lib/{folder}/libQnnSystem.so",
        "libQnnHtpV73Stub.so": f"sdk 2.51.0: lib/{folder}/libQnnHtpV73Stub.so",
        "libQnnHtpV73Skel.so": "sdk 2.51.0: lib/hexagon-v73/unsigned/libQnnHtpV73Skel.so",
        "LICENSE.pdf": "sdk 2.51.0: LICENSE.pdf",
        "NOTICE.txt": "sdk 2.51.0: NOTICE.txt",
    }
    assert licence_keys(plan, files) == ("LICENSE.pdf", "NOTICE.txt")
    assert read_elf(files["libQnnHtpV73Stub.so"].path).qairt_build == BUILD


@pytest.mark.parametrize("variable", ["QAIRT_SDK_ROOT", "QNN_SDK_ROOT"])
@pytest.mark.parametrize("inside", ["", "qairt/2.51.0.260929", "2.51.0.260929"])
def test_an_sdk_of_the_environment_may_be_named_by_the_folder_it_was_unpacked_to(
    tmp_path, store, monkeypatch, variable, inside
):
    make_sdk(tmp_path / "opt" / inside, SDK)
    if inside:
        make_sdk(tmp_path / "opt" / inside.replace("2.51", "2.48"), SDK)
    for name in ("QAIRT_SDK_ROOT", "QNN_SDK_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "opt"))

    files = fetch_runtime(runtime(tmp_path, "android", 'from = "sdk"'), base=tmp_path, store=store)

    assert files["libQnnHtp.so"].path.is_relative_to(tmp_path / "opt" / inside)
    assert files["libQnnHtp.so"].origin == "sdk 2.51.0: lib/aarch64-android/libQnnHtp.so"


def test_an_sdk_may_be_a_plain_folder_of_files(tmp_path, store):
    flat = tmp_path / "flat"
    make_sdk(tmp_path / "sdk", SDK)
    flat.mkdir()
    for folder in ("lib/aarch64-android", "lib/hexagon-v73/unsigned"):
        for file in (tmp_path / "sdk" / folder).iterdir():
            (flat / file.name).write_bytes(file.read_bytes())

    plan = runtime(tmp_path, "android", 'from = "sdk"\npath = "flat"')
    files = fetch_runtime(plan, base=tmp_path, store=store)

    assert files["libQnnHtpV73Skel.so"].origin == "sdk 2.51.0: libQnnHtpV73Skel.so"


def test_without_an_sdk_the_variables_that_would_name_one_are_told(tmp_path, store, monkeypatch):
    for name in ("QAIRT_SDK_ROOT", "QNN_SDK_ROOT"):
        monkeypatch.delenv(name, raising=False)

    plan = runtime(tmp_path, "android", 'from = "sdk"')
    error = refused(fetch_runtime, plan, base=tmp_path, store=store)

    assert error.evidence == ("QAIRT_SDK_ROOT is not set", "QNN_SDK_ROOT is not set")


def test_a_folder_of_sdks_without_the_release_tells_which_are_there(tmp_path, store):
    make_sdk(tmp_path / "opt" / "2.48.0.260626", SDK)

    plan = runtime(tmp_path, "android", 'from = "sdk"\npath = "opt"')
    error = refused(fetch_runtime, plan, base=tmp_path, store=store)

    assert error.evidence == ("there: 2.48.0.260626",)


def test_what_an_sdk_lacks_is_told_with_the_toolchain_that_has_it(tmp_path, store):
    make_sdk(tmp_path / "sdk", {"aarch64-oe-linux-gcc11.2": "linux"}, archs=(73,))

    plan = runtime(tmp_path, "android", 'from = "sdk"\npath = "sdk"')
    error = refused(fetch_runtime, plan, base=tmp_path, store=store)

    assert error.what == "sdk 2.51.0 lacks 3 files that the target needs"
    assert error.evidence[0] == (
        "libQnnHtp.so  only in lib/aarch64-oe-linux-gcc11.2, not for aarch64-android"
    )


def test_qnx_needs_the_edition_for_cars(tmp_path):
    error = refused(runtime, tmp_path, "qnx", 'from = "sdk"')

    assert "the community edition of the SDK has no libraries for qnx-aarch64" in error.render()
    assert 'flavour = "auto"' in error.render()


def test_an_android_archive_of_the_users_gives_everything_that_a_target_needs(tmp_path, store):
    make_aar(tmp_path / "libs" / "runtime.aar")
    plan = runtime(tmp_path, "android", 'from = "aar"\npath = "libs/runtime.aar"')

    files = fetch_runtime(plan, base=tmp_path, store=store)

    assert files.keys() == {
        "libQnnHtp.so", "libQnnSystem.so", "libQnnHtpV73Stub.so", "libQnnHtpV73Skel.so", "LICENSE.txt",
    }  # fmt: skip
    assert files["libQnnHtp.so"].origin == "path libs/runtime.aar: jni/arm64-v8a/libQnnHtp.so"
    assert Entry.of(files["libQnnHtp.so"]).sha256 == digest(tmp_path / "libs" / "runtime.aar").sha256


def test_a_damaged_archive_of_the_users_is_not_blamed_on_the_store(tmp_path, store):
    whole = make_aar(tmp_path / "runtime.aar").read_bytes()
    (tmp_path / "runtime.aar").write_bytes(whole[:-40])
    plan = runtime(tmp_path, "android", 'from = "aar"\npath = "runtime.aar"')

    error = refused(fetch_runtime, plan, base=tmp_path, store=store)

    assert error.what == "path runtime.aar is damaged"
    assert "store" not in error.fix


def test_an_archive_is_of_the_pinned_digest_or_refused(tmp_path, store):
    make_aar(tmp_path / "runtime.aar")
    plan = runtime(tmp_path, "android", f'from = "aar"\npath = "runtime.aar"\nsha256 = "{"0" * 64}"')

    error = refused(fetch_runtime, plan, base=tmp_path, store=store)

    assert "is not the file that was pinned" in error.what


def test_the_android_archive_has_nothing_for_linux(tmp_path):
    error = refused(runtime, tmp_path, "linux", 'from = "aar"')

    assert "the Android archive has no libraries for oe-linux-gcc11.2" in error.render()


def test_a_target_may_take_its_libraries_from_elsewhere_than_the_others(tmp_path):
    plan = runtime(tmp_path, "android", 'from = "wheel"', libraries='{ from = "aar" }')

    assert (plan.kind, plan.artifact) == ("aar", "com.qualcomm.qti:qnn-runtime:2.51.0:aar")


def test_where_no_wheel_is_known_the_other_sources_are_named(tmp_path):
    error = refused(runtime, tmp_path, "android", 'from = "wheel"')

    assert 'elsewhere: from = "aar" or from = "sdk" or from = "path"' in error.render()


@pytest.mark.parametrize(
    ("qairt", "said"),
    [
        ('from = "path"', "needs `path`"),
        ('from = "wheel"\npath = "x"', "not with a wheel"),
        (f'from = "sdk"\nsha256 = "{"0" * 64}"', "`sha256` goes with"),
        ('from = "sdc"', 'did you mean "sdk"?'),
        ('from = "sdk"\nflavour = "autos"', 'did you mean "auto"?'),
    ],
)
def test_words_of_the_manifest_that_do_not_fit_together_are_refused(tmp_path, qairt, said):
    assert said in refused(runtime, tmp_path, "android", qairt).render()


# Maven


def settings(folder, body):
    (folder / "settings.xml").write_text(
        f'<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0">{body}</settings>'
    )


def test_without_maven_the_users_local_repository_is_looked_into(tmp_path, store, maven_home):
    artifact = Artifact.parse("com.qualcomm.qti:qnn-runtime:2.51.0:aar")
    make_aar(maven_home / "repository" / artifact.path)

    fetched = fetch_artifact(artifact.label, pinned=None, store=store)

    assert fetched.origin == "maven com.qualcomm.qti:qnn-runtime:2.51.0:aar"
    assert zipfile.is_zipfile(fetched.path)
    assert fetch_artifact(artifact.label, pinned=None, store=store, offline=True) == fetched


def test_without_maven_and_without_a_mirror_the_message_says_what_to_name(store, maven_home):
    error = refused(fetch_artifact, "g:a:1:aar", pinned=None, store=store)

    assert error.evidence[0] == "there is no mvn on PATH"
    assert "settings.xml" in error.fix


def test_offline_no_archive_is_fetched(store, maven_home):
    error = refused(fetch_artifact, "g:a:1:aar", pinned="0" * 64, store=store, offline=True)

    assert "offline nothing is fetched" in error.what
    assert error.evidence[0] == f"wanted  sha256 {'0' * 64}"


def test_of_mavens_settings_mirrors_profiles_and_logins_are_read(maven_home, monkeypatch):
    monkeypatch.setenv("TOKEN", "s3cret")
    settings(
        maven_home,
        "<mirrors><mirror><id>m</id><mirrorOf>external:*</mirrorOf><url>https://m.example/x</url></mirror>"
        "<mirror><id>n</id><mirrorOf>*,!central</mirrorOf><url>https://n.example</url></mirror>"
        "<mirror><id>p</id><mirrorOf>*</mirrorOf><url>http://plain.example</url></mirror></mirrors>"
        "<servers><server><id>m</id><username>u</username><password>${env.TOKEN}</password></server></servers>"
        "<profiles><profile><id>a</id><repositories><repository><id>r</id><url>https://r.example</url>"
        "</repository></repositories></profile><profile><id>b</id><repositories><repository><id>s</id>"
        "<url>https://s.example</url></repository></repositories></profile></profiles>"
        "<activeProfiles><activeProfile>a</activeProfile></activeProfiles>",
    )

    assert [(one.url, one.authorization) for one in repositories()] == [
        ("https://m.example/x", "Basic dTpzM2NyZXQ="),
        ("https://r.example", None),
    ]


@pytest.mark.parametrize("text", ["<settings>", "<!DOCTYPE x [<!ENTITY a 'b'>]><settings>&a;</settings>"])
def test_settings_that_cannot_be_read_are_told(maven_home, text):
    (maven_home / "settings.xml").write_text(text)

    assert "settings.xml cannot be read" in refused(repositories).what


def test_an_address_in_a_message_of_maven_loses_its_login():
    assert without_logins("from https://u:p@h/x") == "from https://h/x"


def guest(tmp_path, folder):
    plan = runtime(
        tmp_path, "android", f'from = "sdk"\npath = "{make_sdk(tmp_path / "sdk", SDK)}"', soc="sa8255p"
    )
    return plan.model_copy(update={"dsp_runtime": folder})


def test_the_dsps_runtime_comes_from_a_folder_of_the_users_and_is_no_licence(tmp_path, store):
    folder = tmp_path / "qnx-host"
    folder.mkdir()
    for name in ("libc++.so.1", "libc++abi.so.1"):
        (folder / name).write_bytes(name.encode())

    fetched = fetch_runtime(guest(tmp_path, "qnx-host"), base=tmp_path, store=store)

    assert fetched["libc++abi.so.1"].origin == "path qnx-host/libc++abi.so.1"
    assert not {"libc++.so.1", "libc++abi.so.1"} & set(licence_keys(guest(tmp_path, "qnx-host"), fetched))


def test_a_folder_without_the_dsps_runtime_is_refused_with_what_is_there(tmp_path, store):
    folder = tmp_path / "qnx-host"
    folder.mkdir()
    (folder / "libc++.so.2").write_bytes(b"")

    with pytest.raises(InputUnavailable) as refused:
        fetch_runtime(guest(tmp_path, "qnx-host"), base=tmp_path, store=store)

    assert refused.value.what.endswith("qnx-host/libc++.so.1")
    assert any("libc++.so.2" in line for line in refused.value.evidence)
