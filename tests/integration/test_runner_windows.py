"""hexrun.exe among the DLLs of three QAIRT releases, under Wine: what it loads, from where, and what it then says."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from runner_container import cosine
from runner_kit import QCS9075, Model, zig
from windows_lab import BACKEND, RELEASES, SYSTEM, Package, Wine

from packager.store import Store

pytest_plugins = ["runner_kit", "runner_container", "windows_lab"]

PREPARE = "prepare optimization=1 vtcm_mb=0 hvx_threads=0 fp16=yes"
FOR_QCS9075 = QCS9075.rpartition(" ")[0]
NEWEST = "2.51"
TELL = '#include <stdio.h>\nvoid helped(void) { fprintf(stderr, "helped by the one in %s\\n", PLACE); }\n'
HELP = """
void helped(void);
unsigned long long QnnInterface_getProviders(const void ***list, unsigned *count)
{
    (void)list;
    helped();
    *count = 0;
    return 0;
}
"""


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def packages(wine: Wine, store: Store, container: Model, tmp_path_factory) -> dict[str, Package]:
    """A package of each release, whose context binary that release composed of one container."""
    made = {}
    for release in RELEASES:
        package = Package(tmp_path_factory.mktemp(release) / "app", wine, store, release)
        package.put(container.folder / "x.npy")
        package.put(container.folder / "model.dlc")
        package.configure(f"{FOR_QCS9075} dlc=model.dlc", PREPARE)
        ran = package.run("--soc", "qcs9075", "--save-context", "model.bin")
        assert ran.code == 0, ran.err
        package.configure(QCS9075)
        made[release] = package
    return made


@pytest.fixture
def package(wine: Wine, store: Store, packages: dict[str, Package], tmp_path: Path) -> Package:
    """One of the newest release, to be spoilt."""
    package = Package(tmp_path / "app", wine, store, NEWEST)
    for name in ("model.bin", "x.npy"):
        package.put(packages[NEWEST].root / name)
    package.configure(QCS9075)
    return package


def numbers(package: Package, *more: object, **where: object) -> np.ndarray:
    ran = package.run("--input", package.root / "x.npy", "--output", "out", "--json", *more, **where)
    assert ran.code == 0, ran.err
    return np.load(package.root / "out" / "y_0_out.npy")


def test_a_release_composes_keeps_and_executes_what_onnxruntime_computes(packages, container, release):
    found = numbers(packages[release])

    wanted = container.array("y")
    assert cosine(found.astype(np.float32), wanted) > 0.999999
    np.testing.assert_allclose(found.astype(np.float32), wanted, rtol=0, atol=0.005)


@pytest.mark.parametrize("maker", RELEASES)
def test_a_release_takes_contexts_that_are_not_newer_than_itself(packages, tmp_path, release, maker):
    shutil.copyfile(packages[maker].root / "model.bin", tmp_path / "model.bin")
    package = packages[release]
    shutil.copyfile(package.root / "runner.conf", tmp_path / "runner.conf")
    names = [(BACKEND, package.root / BACKEND), (SYSTEM, package.root / SYSTEM)]
    text = (tmp_path / "runner.conf").read_text()
    for name, path in names:
        text = text.replace(f" {name}", f" {path}")
    (tmp_path / "runner.conf").write_text(text)

    ran = package.run(
        "--config",
        tmp_path / "runner.conf",
        "--input",
        package.root / "x.npy",
        "--output",
        tmp_path / "out",
        "--json",
    )

    if list(RELEASES).index(maker) <= list(RELEASES).index(release):
        assert ran.code == 0, ran.err
        assert ran.document["variant"]["compiled_by"] == RELEASES[maker].build
        assert ran.document["backend"]["build"] == RELEASES[release].build
    else:
        error = ran.document["error"]
        assert (ran.code, error["code"]["decimal"]) == (4, 5000)
        assert error["evidence"] == [
            f"compiled by QAIRT {RELEASES[maker].build}, opened by {RELEASES[release].build}"
        ]
        assert any("newer context binary on old SDK" in line for line in error["backend_log"])


def test_the_libraries_of_the_package_are_taken_whatever_lies_on_the_search_path(package, store, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    for name in (BACKEND, SYSTEM):
        package.take("2.47", name, f"../elsewhere/{name}")

    ran = package.run(
        "--input", package.root / "x.npy", "--output", tmp_path / "out", "--json",
        cwd=elsewhere, WINEPATH=str(elsewhere),
    )  # fmt: skip

    assert ran.code == 0, ran.err
    assert ran.document["backend"]["build"] == RELEASES[NEWEST].build


def test_what_a_library_links_to_is_taken_from_beside_it_and_never_from_the_current_folder(
    package, store, tmp_path
):
    decoys = tmp_path / "decoys"
    decoys.mkdir()
    (package.root / "lib").mkdir()
    windows = ("-target", "x86_64-windows-gnu", "-shared")
    for folder, word in ((package.root / "lib", "own"), (decoys, "current")):
        (folder / "helper.c").write_text(TELL)
        zig(
            store, folder, *windows, f'-DPLACE="the {word} folder"', "helper.c", "-o", "helper.dll",
            "-Wl,--out-implib,helper.lib",
        )  # fmt: skip
    (package.root / "lib" / "backend.c").write_text(HELP)
    zig(store, package.root / "lib", *windows, "backend.c", "helper.lib", "-o", BACKEND)
    package.configure(QCS9075)
    conf = (package.root / "runner.conf").read_text().replace(f"npu {BACKEND}", f"npu lib\\{BACKEND}")
    (package.root / "runner.conf").write_text(conf)

    ran = package.run("--input", "x.npy", cwd=decoys, WINEPATH=str(decoys))

    assert "helped by the one in the own folder" in ran.err
    assert "the current folder" not in ran.err


@pytest.mark.parametrize(("name", "what"), [(BACKEND, "QNN backend library"), (SYSTEM, "QNN System library")])
def test_a_missing_library_is_named_with_what_it_is_for(package, name, what):
    (package.root / name).unlink()

    ran = package.run("--input", "x.npy", "--json")

    assert ran.code == 3
    assert what in ran.document["error"]["what"]
    assert any(name in line for line in ran.document["error"]["evidence"])


def test_a_library_without_what_it_links_to_is_told_with_windows_own_words(package, store):
    windows = ("-target", "x86_64-windows-gnu", "-shared")
    (package.root / "helper.c").write_text(TELL)
    (package.root / "backend.c").write_text(HELP)
    zig(
        store,
        package.root,
        *windows,
        '-DPLACE=""',
        "helper.c",
        "-o",
        "helper.dll",
        "-Wl,--out-implib,helper.lib",
    )
    (package.root / BACKEND).unlink()
    zig(store, package.root, *windows, "backend.c", "helper.lib", "-o", BACKEND)
    (package.root / "helper.dll").unlink()

    ran = package.run("--input", "x.npy", "--json")

    assert ran.code == 3
    assert "the QNN backend library cannot be loaded" in ran.document["error"]["what"]
    assert "(Windows error 126)" in ran.document["error"]["evidence"][0]


def test_a_file_that_is_no_library_is_told_with_windows_own_words(package):
    (package.root / BACKEND).unlink()
    (package.root / BACKEND).write_text("no library")

    ran = package.run("--input", "x.npy", "--json")

    assert ran.code == 3
    assert "(Windows error 193)" in ran.document["error"]["evidence"][0]


def test_a_system_library_of_another_release_reads_the_same_context(package):
    package.take("2.47", SYSTEM)

    ran = package.run("--input", "x.npy", "--output", "out", "--json")

    assert ran.code == 0, ran.err
    assert ran.document["backend"]["build"] == RELEASES[NEWEST].build


def test_two_libraries_in_each_others_place_are_refused_by_what_they_export(package):
    package.take(NEWEST, SYSTEM, BACKEND)

    ran = package.run("--input", "x.npy", "--json")

    assert ran.code == 3
    assert "is not a QNN library" in ran.document["error"]["what"]


def test_a_truncated_context_is_refused_and_nothing_is_written(package):
    whole = (package.root / "model.bin").read_bytes()
    (package.root / "model.bin").unlink()
    (package.root / "model.bin").write_bytes(whole[: len(whole) // 2])

    ran = package.run("--input", "x.npy", "--output", "out", "--json")

    assert ran.code == 4
    assert ran.document["error"]["code"]["decimal"] in (5000, 30010)
    assert not (package.root / "out" / "y_0_out.npy").exists()
