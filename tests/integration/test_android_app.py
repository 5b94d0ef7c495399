"""The app for measuring: its activity, compiled for this machine, runs the example on the simulator."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from packager import catalog
from packager.android.activity import activity_sources
from packager.facts.elf import read_elf
from packager.manifest import load
from packager.runner import build_library
from tests.integration.program import EXAMPLE

ASSETS = "assets/hexpack/text-direction"
STAND_IN = Path(__file__).with_name("android_stand_in.c")


@pytest.fixture(scope="module")
def installed(built, store, tmp_path_factory):
    """An app as Android installs it: `lib` with the activity and all libraries, `assets` as the APK has them."""
    folder = tmp_path_factory.mktemp("app")
    (package,) = built[0].glob("*-simulator.deb")
    subprocess.run(["dpkg-deb", "-x", package, folder / "deb"], check=True)
    tree = folder / "deb/usr/lib/text-direction-simulator"
    shutil.copytree(tree / "lib", folder / "lib")
    shutil.copytree(tree / "share", folder / ASSETS / "share")
    files = sorted(path for path in (folder / ASSETS).rglob("*") if path.is_file())
    index = [f"{'0' * 64} {path.stat().st_size} {path.relative_to(folder / ASSETS)}\n" for path in files]
    (folder / ASSETS / "index.txt").write_text("".join(index))

    library = build_library(catalog.abis()["x86_64-linux-clang"], store)
    shutil.copyfile(store.path(library.blob.sha256), folder / "lib/libhexrun.so")
    source = folder / "source"
    source.mkdir()
    for name, text in activity_sources(load(EXAMPLE / "app.toml").manifest.package).items():
        (source / name).write_text(text)
    flags = [
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsanitize=address,undefined",
    ]
    link = [f"-L{folder / 'lib'}", "-lhexrun", "-lm", "-lpthread", f"-Wl,-rpath,{folder / 'lib'}"]
    app = folder / "lib/libhexrun_app.so"
    subprocess.run(
        ["gcc", *flags, "-fvisibility=hidden", "-fPIC", "-shared", "-o", app, *source.glob("*.c"), *link],
        check=True,
    )
    program = [STAND_IN, f"-I{source}", app]
    subprocess.run(["gcc", *flags, "-rdynamic", "-o", folder / "android", *program, *link], check=True)
    return folder


@pytest.fixture
def app(installed, tmp_path):
    """Starts the app with storage of its own; gives what it logged and its report."""

    def start(**environment):
        words = {"ASSETS": str(installed / "assets"), "DATA": str(tmp_path), "ITERATIONS": "3"}
        words |= {"ASAN_OPTIONS": "detect_leaks=0"}  # the vendor's libraries leak
        done = subprocess.run(
            [installed / "android"],
            env=os.environ | words | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines(), json.loads((tmp_path / "report.json").read_text())

    return start


def copied(log):
    return [line for line in log if line.startswith("asset ") and "index.txt" not in line]


def test_the_app_copies_its_files_runs_the_model_and_reports(app, installed, tmp_path):
    log, report = app()

    assert (report["package"], report["status"], report["iterations"]) == ("text-direction", 0, 3)
    assert report["soc"] == "qcs9075"
    assert 0 < report["us"]["min"] <= report["us"]["median"] <= report["us"]["max"]
    assert "I hexrun: done" in log
    assert any("3 runs: median" in line for line in log)
    assert (tmp_path / "tree/lib").resolve() == installed / "lib"
    assert (tmp_path / "tree/share/runner.conf").read_bytes() == (
        installed / ASSETS / "share/runner.conf"
    ).read_bytes()


def test_the_second_start_copies_nothing(app):
    first, _ = app()
    second, report = app()

    assert len(copied(first)) > 3
    assert copied(second) == []
    assert report["status"] == 0


def test_an_asset_that_is_shorter_than_it_should_be_is_named_and_nothing_runs(app, installed, tmp_path):
    assets = tmp_path / "other/hexpack/text-direction"
    shutil.copytree(installed / ASSETS, assets)
    (assets / "share/models/qcs9075.bin").write_bytes(b"short")

    _, report = app(ASSETS=str(tmp_path / "other"))

    assert report["status"] == 3
    assert "share/models/qcs9075.bin has 5 bytes" in report["what"]
    assert not (tmp_path / "tree/index.txt").exists()


def test_a_model_that_the_backend_refuses_is_reported_in_words(app, tmp_path):
    app()
    context = tmp_path / "tree/share/models/qcs9075.bin"
    context.write_bytes(bytes(context.stat().st_size))

    _, report = app()

    assert report["status"] in (1, 3, 4)
    assert report["what"]
    assert "qcs9075.bin" in report["what"] + report["evidence"]


def test_a_second_start_during_a_run_ends_at_once(app):
    log, report = app(STARTS="2", ITERATIONS="50")

    assert any(line.startswith("E hexrun: a run is under way") for line in log)
    assert (report["status"], log[-1]) == (0, "ended")


def test_the_activity_for_android_shows_one_function_and_needs_the_app_s_and_the_system_s_libraries(store):
    from packager.android.activity import build_activity

    abi = catalog.abis()["android-arm64"]
    package = load(EXAMPLE / "app.toml").manifest.package
    built = build_activity(package, abi, build_library(abi, store), store)
    facts = read_elf(store.path(built.blob.sha256))

    assert set(facts.needed) == {"libhexrun.so", "libc.so", "libdl.so", "libandroid.so", "liblog.so"}
    assert (facts.machine, facts.abi, facts.page_alignment) == ("AARCH64", "bionic", 0x4000)
    names = subprocess.run(
        ["nm", "-D", "--defined-only", store.path(built.blob.sha256)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert names[2:] == ["ANativeActivity_onCreate"]
