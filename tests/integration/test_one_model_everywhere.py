"""One model through everything that can run it: the numbers agree as far as their precision lets them.

The tolerances are those of `docs/runner.md`. Debian: wine64 qemu-user-static libstdc++6-arm64-cross
libatomic1-arm64-cross.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from arm_linux import Board
from runner_container import cosine
from runner_kit import QCS9075, Model, Ran, compiled, configure, run_model
from runtimes import fetch_248
from windows_lab import Package, Wine

from packager.sources.zipped import file_names, member
from packager.store import Store

pytest_plugins = ["runner_kit", "runner_container", "windows_lab"]

# Places that compute in single precision and in half precision, as the HTP does with a float model.
SINGLE, HALF = {"cosine": 0.9999999, "apart": 0.00001}, {"cosine": 0.999999, "apart": 0.005}
EXPECTED = {
    "onnxruntime QNN, simulator": HALF,
    "hexrun, simulator": HALF,
    "hexrun, simulator under Wine": HALF,
    "hexrun, Arm CPU under qemu": SINGLE,
}


@pytest.fixture(scope="module")
def results(
    store: Store, wine: Wine, hexrun: Path, models: dict[str, Model], container: Model, tmp_path_factory
) -> dict[str, np.ndarray]:
    """The output at each place, of one input."""
    model = models["float32"]
    folder = tmp_path_factory.mktemp("everywhere")
    shutil.copyfile(model.folder / "model.bin", folder / "model.bin")
    shutil.copyfile(container.folder / "model.dlc", folder / "model.dlc")
    shutil.copyfile(model.folder / "x.npy", folder / "x.npy")
    on_simulator = ("--input", model.folder / "x.npy", "--output", folder / "simulator", "--json")
    return {
        "onnxruntime CPU": by_onnxruntime(model),
        "onnxruntime QNN, simulator": model.array("y_0_out"),
        "hexrun, simulator": output(run_model(hexrun, model, *on_simulator)),
        "hexrun, simulator under Wine": under_wine(wine, store, folder, tmp_path_factory.mktemp("windows")),
        "hexrun, Arm CPU under qemu": under_qemu(store, folder, tmp_path_factory.mktemp("board")),
    }


def by_onnxruntime(model: Model) -> np.ndarray:
    import onnxruntime

    (y,) = onnxruntime.InferenceSession(str(model.folder / "model.onnx")).run(None, {"x": model.array("x")})
    return y


def output(ran: Ran) -> np.ndarray:
    """The only output of a run, which must have gone well."""
    assert ran.code == 0, ran.err
    (said,) = ran.document["outputs"]
    name = said["file"].replace("\\", "/").removeprefix("Z:")
    return np.load(name)


def arguments(conf: Path) -> tuple[object, ...]:
    folder = conf.parent
    return (
        "--config",
        conf,
        "--input",
        folder / "x.npy",
        "--output",
        folder / "out",
        "--soc",
        "qcs9075",
        "--json",
    )


def under_qemu(store: Store, folder: Path, root: Path) -> np.ndarray:
    libraries, program = root / "lib", root / "hexrun"
    libraries.mkdir()
    wheel = fetch_248(store)
    for name in file_names(wheel, store):
        if name.rpartition("/")[2] in ("libQnnCpu.so", "libQnnSystem.so"):
            shutil.copyfile(member(wheel, name, store).path, libraries / name.rpartition("/")[2])
    shutil.copyfile(compiled(store, "oe-linux-gcc11.2")[1], program)
    program.chmod(0o755)
    place = root / "share"
    place.mkdir()
    for name in ("model.dlc", "x.npy"):
        shutil.copyfile(folder / name, place / name)
    conf = configure(
        place,
        f"compute cpu {libraries / 'libQnnCpu.so'}",
        f"{QCS9075.rpartition(' ')[0]} dlc=model.dlc",
        format="2",
        system=str(libraries / "libQnnSystem.so"),
        simulator="no",
        backend=None,
        compute=None,
    )
    return output(Board(root / "board").run(program, *arguments(conf)))


def under_wine(wine: Wine, store: Store, folder: Path, root: Path) -> np.ndarray:
    package = Package(root, wine, store, "2.51")
    conf = configure(folder, backend=str(root / "QnnHtp.dll"), system=str(root / "QnnSystem.dll"))
    return output(package.run(*arguments(conf)))


@pytest.mark.parametrize("place", EXPECTED)
def test_the_output_is_that_of_onnxruntime_within_the_places_precision(results, place):
    wanted, found = results["onnxruntime CPU"], results[place].astype(np.float32)

    assert found.shape == wanted.shape
    assert cosine(found, wanted) > EXPECTED[place]["cosine"]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=EXPECTED[place]["apart"])


def test_simulators_and_the_programs_that_drive_them_give_the_same_bits(results):
    wanted = results["onnxruntime QNN, simulator"]

    np.testing.assert_array_equal(results["hexrun, simulator"], wanted)
    np.testing.assert_array_equal(results["hexrun, simulator under Wine"], wanted)


def test_the_page_about_the_runner_states_these_tolerances():
    page = (Path(__file__).parents[2] / "docs" / "runner.md").read_text()

    for place, limits in EXPECTED.items():
        apart = f"{limits['apart']:f}".rstrip("0")
        assert f"| {place} | {limits['cosine']} | {apart} |" in page
