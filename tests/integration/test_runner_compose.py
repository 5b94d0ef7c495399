"""hexrun composes graphs itself, from a container or by a model library, and can keep what it composed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from runner_container import cosine
from runner_kit import HERE, VENDOR, Model, Ran, configure, run, zig

from packager.facts.context_binary import read_context
from packager.store import Store

pytest_plugins = ["runner_kit", "runner_container"]

LENGTH_251 = 75  # functions in the interface of QAIRT 2.51, see qnn_abi.h
SM8650 = "variant soc=sm8650 soc_model=57 accepts=- hexagon=75 vtcm_mb=8 linux_soc_ids=557"
QCS9075 = "variant soc=qcs9075 soc_model=77 accepts=- hexagon=73 vtcm_mb=8 linux_soc_ids=667"
NPU = f"compute npu {VENDOR / 'libQnnHtp.so'}"


def compose(folder: Path, *lines: str, **replaced: str | None) -> Path:
    """A runner.conf of format 2 for the simulator."""
    keys = {"format": "2", "backend": None, "compute": None, **replaced}
    return configure(folder, *lines, **keys)


@pytest.fixture(scope="module")
def library(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model library for the simulator's release: Relu and Neg of x."""
    folder = tmp_path_factory.mktemp("library")
    flags = (f"-DINTERFACE_LENGTH={LENGTH_251}", "-shared", "-fPIC", "-fvisibility=hidden")
    zig(store, folder, *flags, "-o", "model.so", HERE / "model_library.c")
    np.save(folder / "x.npy", np.linspace(-4, 4, 192, dtype=np.float32).reshape(1, 3, 8, 8))
    return Model(folder)


def output(ran: Ran) -> np.ndarray:
    assert ran.code == 0, ran.err
    return np.load(ran.document["outputs"][0]["file"])


# ---- containers ----


@pytest.mark.parametrize("prepare", [(), ("prepare optimization=3 vtcm_mb=8 hvx_threads=4 fp16=yes",)])
def test_a_container_runs_on_the_simulator_as_onnxruntime_computes_it(hexrun, container, tmp_path, prepare):
    conf = compose(container.folder, NPU, *prepare, f"{SM8650} dlc=model.dlc")

    ran = run(hexrun, "--config", conf, "--input", container.folder / "x.npy", "--output", tmp_path, "--json")

    found, wanted = output(ran), container.array("y")
    assert found.shape == wanted.shape
    assert cosine(found, wanted) > 0.99999  # half precision
    np.testing.assert_allclose(found, wanted, atol=0.01)
    assert ran.document["unit"] == "npu"
    assert ran.document["variant"]["dlc"] == "model.dlc"
    assert ran.document["variant"]["compiled_by"] is None


def test_a_container_is_described_without_being_prepared(hexrun, container):
    conf = compose(container.folder, NPU, f"{SM8650} dlc=model.dlc")

    (graph,) = run(hexrun, "--config", conf, "--describe", "--json").document["graphs"]

    assert [(x["name"], x["dtype"], x["shape"]) for x in graph["inputs"]] == [("x", "float32", [1, 3, 8, 8])]
    assert [y["name"] for y in graph["outputs"]] == ["y_0_out"]  # as its writer spells it


def test_a_damaged_container_is_refused_with_the_call_that_refused_it(hexrun, container, tmp_path):
    (tmp_path / "model.dlc").write_bytes((container.folder / "model.dlc").read_bytes()[:2000])
    conf = compose(tmp_path, NPU, f"{SM8650} dlc=model.dlc")

    ran = run(hexrun, "--config", conf, "--describe")

    assert ran.code == 4
    assert "cannot read the DLC (systemDlcCreateFromFile)" in ran.err
    assert str(tmp_path / "model.dlc") in ran.err


# ---- model libraries ----


@pytest.mark.parametrize(
    ("graph", "function"), [("rectified", lambda x: np.maximum(x, 0)), ("negated", np.negative)]
)
def test_each_graph_of_a_model_library_runs_by_its_name(hexrun, library, tmp_path, graph, function):
    conf = compose(library.folder, NPU, "prepare fp16=yes", f"{SM8650} library=model.so")
    x = library.folder / "x.npy"

    ran = run(hexrun, "--config", conf, "--graph", graph, "--input", x, "--output", tmp_path, "--json")

    np.testing.assert_allclose(output(ran), function(library.array("x")), atol=0.002)  # half precision
    assert ran.document["graph"] == graph


def test_a_model_library_of_two_graphs_and_no_choice_is_refused_with_their_names(hexrun, library):
    conf = compose(library.folder, NPU, f"{SM8650} library=model.so")

    ran = run(hexrun, "--config", conf, "--input", library.folder / "x.npy")

    assert ran.code == 2
    assert [line for line in ran.err.splitlines() if "it has" in line] == [
        '  it has "rectified"',
        '  it has "negated"',
    ]


def test_what_a_model_library_answers_is_said_in_words(hexrun, library):
    conf = compose(library.folder, NPU, f"{SM8650} library=model.so")

    ran = run(hexrun, "--config", conf, "--describe", FAULT_IN_MODEL=9)

    assert ran.code == 4
    assert "model error 9: a file is wrong" in ran.err


def test_a_library_that_is_no_model_is_refused_with_what_it_lacks(hexrun, tmp_path):
    conf = compose(tmp_path, NPU, f"{SM8650} library={VENDOR / 'libQnnSystem.so'}")

    ran = run(hexrun, "--config", conf, "--describe")

    assert ran.code == 3
    assert "libQnnSystem.so does not export QnnModel_composeGraphs" in ran.err


# ---- storing what was composed ----


@pytest.mark.parametrize(("soc", "soc_model", "hexagon"), [("sm8650", 57, 75), ("qcs9075", 77, 73)])
def test_a_container_becomes_a_context_binary_for_the_chosen_soc(
    hexrun, container, tmp_path, soc, soc_model, hexagon
):
    prepare = "prepare optimization=2 vtcm_mb=4 hvx_threads=2 fp16=yes"
    conf = compose(container.folder, NPU, prepare, f"{SM8650} dlc=model.dlc", f"{QCS9075} dlc=model.dlc")

    ran = run(hexrun, "--config", conf, "--soc", soc, "--save-context", tmp_path / "made.bin", "--json")

    assert ran.code == 0, ran.err
    facts = read_context(tmp_path / "made.bin")
    (graph,) = facts.graphs
    assert (facts.soc_model, facts.hexagon_arch) == (soc_model, hexagon)
    assert (graph.optimization, graph.vtcm_mb, graph.hvx_threads) == (2, 4, 2)
    assert ran.document["saved"] == {
        "file": str(tmp_path / "made.bin"),
        "bytes": (tmp_path / "made.bin").stat().st_size,
        "soc_model": soc_model,
        "hexagon": hexagon,
        "graphs": [graph.name],
    }
    assert [path.name for path in tmp_path.iterdir()] == ["made.bin"]


def test_a_stored_context_computes_what_the_composed_graphs_computed(hexrun, library, tmp_path):
    x = library.folder / "x.npy"
    composed = compose(library.folder, NPU, "prepare fp16=yes", f"{SM8650} library=model.so")
    (direct := tmp_path / "direct").mkdir()
    first = run(
        hexrun, "--config", composed, "--graph", "negated", "--input", x, "--output", direct, "--json"
    )

    saved = run(hexrun, "--config", composed, "--save-context", tmp_path / "made.bin", "--json")
    conf = compose(tmp_path, NPU, f"{SM8650} context=made.bin")
    again = run(hexrun, "--config", conf, "--graph", "negated", "--input", x, "--output", tmp_path, "--json")

    assert saved.document["saved"]["graphs"] == ["rectified", "negated"]
    np.testing.assert_array_equal(output(again), output(first))


def test_a_context_for_another_hexagon_than_was_asked_for_is_not_kept(hexrun, container, tmp_path):
    conf = compose(container.folder, NPU, f"{SM8650.replace('hexagon=75', 'hexagon=79')} dlc=model.dlc")

    ran = run(hexrun, "--config", conf, "--save-context", tmp_path / "made.bin")

    assert ran.code == 1
    assert "the stored context binary is another than was asked for" in ran.err
    assert "Hexagon: found 75, wanted 79" in ran.err
    assert not list(tmp_path.iterdir())


def test_a_context_that_cannot_be_written_leaves_the_old_one_alone(hexrun, container, tmp_path):
    conf = compose(container.folder, NPU, f"{SM8650} dlc=model.dlc")
    (tmp_path / "made.bin").write_bytes(b"the old one")
    small = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (4096,) * 2); os.execv(*sys.argv[1:2], sys.argv[1:])"

    ran = run(
        *(
            Path(sys.executable),
            "-c",
            small,
            hexrun,
            "--config",
            conf,
            "--save-context",
            tmp_path / "made.bin",
        )
    )

    assert ran.code == 3
    assert "the context binary cannot be written" in ran.err
    assert "made.bin: File too large" in ran.err
    assert (tmp_path / "made.bin").read_bytes() == b"the old one"
    assert [path.name for path in tmp_path.iterdir()] == ["made.bin"]


def test_a_context_whose_name_is_taken_by_a_folder_leaves_nothing(hexrun, container, tmp_path):
    conf = compose(container.folder, NPU, f"{SM8650} dlc=model.dlc")
    (tmp_path / "made.bin").mkdir()

    ran = run(hexrun, "--config", conf, "--save-context", tmp_path / "made.bin")

    assert ran.code == 3
    assert "the context binary cannot be given its name" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["made.bin"]


def test_runners_that_save_the_same_context_at_once_leave_one_whole_one(hexrun, container, tmp_path):
    conf = compose(container.folder, NPU, f"{SM8650} dlc=model.dlc")
    command = [hexrun, "--config", conf, "--save-context", tmp_path / "made.bin"]
    alone = tmp_path / "alone.bin"
    assert run(hexrun, "--config", conf, "--save-context", alone).code == 0

    started = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(4)]

    assert [each.wait(timeout=120) for each in started] == [0] * 4
    assert (tmp_path / "made.bin").read_bytes() == alone.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.bin", "made.bin"]


def test_a_signal_while_a_context_is_saved_leaves_nothing(hexrun, container, tmp_path):
    conf = compose(container.folder, NPU, f"{SM8650} dlc=model.dlc")
    command = [hexrun, "--config", conf, "--save-context", tmp_path / "made.bin"]
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert started.stderr is not None
    while "model for sm8650" not in (line := started.stderr.readline()):
        assert line, "ended before the model was chosen"

    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=120)

    assert started.returncode == 130, err
    assert not list(tmp_path.iterdir())


def test_a_context_binary_is_not_stored_again(hexrun, models, tmp_path):
    ran = run(
        hexrun, "--config", models["float32"].folder / "runner.conf", "--save-context", tmp_path / "made.bin"
    )

    assert ran.code == 2
    assert "the model for qcs9075 is a context binary already" in ran.err


# ---- units ----


def test_the_next_unit_runs_where_the_first_cannot_and_both_are_said(hexrun, container, tmp_path):
    units = (f"compute gpu {tmp_path / 'libQnnGpu.so'}", NPU)
    conf = compose(container.folder, *units, f"{SM8650} dlc=model.dlc")

    ran = run(hexrun, "--config", conf, "--input", container.folder / "x.npy", "--json")

    assert ran.code == 0, ran.err
    assert ran.document["unit"] == "npu"
    assert ran.document["units_passed_over"] == [
        {"unit": "gpu", "reason": "the QNN backend library is not there"}
    ]
    assert "the gpu cannot be used: the QNN backend library is not there" in ran.err


def test_a_backend_of_another_unit_is_not_taken_for_the_unit_that_is_listed(hexrun, container):
    conf = compose(container.folder, NPU.replace("npu", "cpu"), f"{SM8650} dlc=model.dlc")

    ran = run(hexrun, "--config", conf, "--describe")

    assert ran.code == 1
    assert "the backend library is not a CPU backend that hexrun can drive" in ran.err


def test_where_no_unit_can_be_used_the_error_tells_about_all_of_them(hexrun, container, tmp_path):
    units = [f"compute {unit} {tmp_path / unit}.so" for unit in ("npu", "gpu", "cpu")]
    conf = compose(container.folder, *units, f"{SM8650} dlc=model.dlc")

    ran = run(hexrun, "--config", conf, "--describe", "--json")

    reasons = [line for line in ran.document["error"]["evidence"] if "passed over" in line]
    assert ran.code == 3
    assert [reason.split()[1] for reason in reasons] == ["npu", "gpu"]


def test_a_wrong_input_is_not_blamed_on_the_unit(hexrun, container, tmp_path):
    units = (NPU, f"compute cpu {tmp_path / 'libQnnCpu.so'}")
    conf = compose(container.folder, *units, f"{SM8650} dlc=model.dlc")

    ran = run(hexrun, "--config", conf, "--input", "x=nowhere.npy")

    assert ran.code == 3
    assert "input x cannot be read" in ran.err
    assert "cannot be used" not in ran.err
