"""hexrun for Linux on Arm with the real CPU backends of three releases: the numbers are right."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from arm_linux import Board
from runner_container import cosine
from runner_kit import HERE, Model, Ran, compiled, configure, zig

from packager.sources.wheel import fetch_wheel
from packager.sources.zipped import file_names, member
from packager.store import Store
from tests.integration.runtimes import fetch_248

pytest_plugins = ["runner_kit", "runner_container"]

VARIANT = "variant soc=qcs8550 soc_model=66 accepts=- hexagon=73 vtcm_mb=8 linux_soc_ids=603,604"
OLDER = {
    "2.36": ("qnnruntime==2.36.4.2", "d249ef04003bd068dbd4c41abb8cada8f7e39fd2e8370562bbed52c8b253e906"),
    "2.40": ("qnnruntime==2.40.0.2", "4d888aa446ebb10165ace92362beff5c4629e62348e1733d62a252bac2ad7eb9"),
}
LIBRARIES = ("libQnnCpu.so", "libQnnSystem.so")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    return Board(tmp_path_factory.mktemp("board"))


@pytest.fixture(scope="module", params=["2.36", "2.40", "2.48"])
def release(request: pytest.FixtureRequest, store: Store, tmp_path_factory) -> tuple[str, Path]:
    """A release and the folder of its CPU backend and System library."""
    if request.param in OLDER:
        wheel, digest = OLDER[request.param]
        fetched = fetch_wheel(
            wheel, platform="manylinux_2_34_aarch64", python="3.11", pinned=digest, store=store
        )
    else:
        fetched = fetch_248(store)
    folder = tmp_path_factory.mktemp("release")
    for name in file_names(fetched, store):
        if name.rpartition("/")[2] in LIBRARIES:
            shutil.copyfile(member(fetched, name, store).path, folder / name.rpartition("/")[2])
    return request.param, folder


@pytest.fixture(scope="module")
def arm_hexrun(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runner") / "hexrun"
    shutil.copyfile(compiled(store, "oe-linux-gcc11.2")[1], place)
    place.chmod(0o755)
    return place


def repacked(source: Path, target: Path) -> None:
    """The same records in a zip file without 64-bit lengths."""
    content = source.read_bytes()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            head = entry.header_offset
            names, extra = (int.from_bytes(content[head + at : head + at + 2], "little") for at in (26, 28))
            begin = head + 30 + names + extra
            new.writestr(entry.filename, content[begin : begin + entry.file_size])


def run_on_cpu(board: Board, hexrun: Path, libraries: Path, folder: Path, asset: str, *more: object) -> Ran:
    conf = configure(
        folder,
        f"compute cpu {libraries / 'libQnnCpu.so'}",
        f"{VARIANT} {asset}",
        system=str(libraries / "libQnnSystem.so"),
        format="2",
        simulator="no",
        backend=None,
        compute=None,
    )
    x = folder / "x.npy"
    return board.run(hexrun, "--config", conf, "--input", x, "--output", folder / "out", "--json", *more)


def test_a_container_runs_on_the_cpu_as_onnxruntime_computes_it(
    board,
    arm_hexrun,
    release,
    container: Model,
    tmp_path,
):
    number, libraries = release
    shutil.copyfile(container.folder / "x.npy", tmp_path / "x.npy")
    if number in OLDER:
        repacked(container.folder / "model.dlc", tmp_path / "model.dlc")
    else:
        shutil.copyfile(container.folder / "model.dlc", tmp_path / "model.dlc")

    ran = run_on_cpu(board, arm_hexrun, libraries, tmp_path, "dlc=model.dlc")

    assert ran.code == 0, ran.err
    (said,) = ran.document["outputs"]
    found, wanted = np.load(said["file"]), container.array("y")
    assert ran.document["unit"] == "cpu"
    assert ran.document["backend"]["build"].startswith(f"v{number}.")
    assert ran.document["variant"]["chosen_because"] == "the kernel's soc_id is 603"
    assert cosine(found, wanted) > 0.9999999
    np.testing.assert_allclose(found, wanted, atol=1e-5)  # single precision, another order of adding


def test_a_container_with_64_bit_lengths_is_nothing_for_an_older_release(
    board,
    arm_hexrun,
    release,
    container: Model,
    tmp_path,
):
    number, libraries = release
    for name in ("x.npy", "model.dlc"):
        shutil.copyfile(container.folder / name, tmp_path / name)

    ran = run_on_cpu(board, arm_hexrun, libraries, tmp_path, "dlc=model.dlc")

    assert (ran.code != 0) == (number in OLDER)
    assert ("cannot read the DLC (systemDlcCreateFromFile)" in ran.err) == (number in OLDER)


@pytest.mark.parametrize(
    ("graph", "function"), [("rectified", lambda x: np.maximum(x, 0)), ("negated", np.negative)]
)
def test_a_model_library_of_another_release_runs_on_the_cpu(
    store, board, arm_hexrun, release, tmp_path, graph, function
):
    _, libraries = release
    x = np.linspace(-4, 4, 192, dtype=np.float32).reshape(1, 3, 8, 8)
    np.save(tmp_path / "x.npy", x)
    # On Arm a pointer to the interface is passed, so that its length is no matter.
    flags = ("-DINTERFACE_LENGTH=55", "-shared", "-fPIC", "-fvisibility=hidden")
    zig(
        store,
        tmp_path,
        "-target",
        "aarch64-linux-gnu.2.31",
        *flags,
        "-o",
        "model.so",
        HERE / "model_library.c",
    )

    ran = run_on_cpu(board, arm_hexrun, libraries, tmp_path, "library=model.so", "--graph", graph)

    assert ran.code == 0, ran.err
    np.testing.assert_array_equal(np.load(ran.document["outputs"][0]["file"]), function(x))
