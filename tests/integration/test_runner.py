"""hexrun on the real simulator: value for value what onnxruntime computes."""

from __future__ import annotations

import ctypes
import shutil

import numpy as np
import pytest
from runner_kit import SOURCES, run, run_model, zig

from packager import catalog
from packager.store import Store

pytest_plugins = ["runner_kit"]


@pytest.mark.parametrize(
    ("kind", "output"), [("float32", "y_0_out"), ("float16", "y_0_out"), ("quantized", "y")]
)
def test_values_are_those_of_onnxruntime_bit_for_bit(hexrun, models, tmp_path, kind, output):
    model = models[kind]

    ran = run_model(hexrun, model, "--input", model.folder / "x.npy", "--output", tmp_path / "out", "--json")

    assert ran.code == 0, ran.err
    (said,) = ran.document["outputs"]
    found = np.load(said["file"])
    assert found.dtype == np.float32
    assert list(found.shape) == said["shape"]
    assert np.any(found != 0)
    np.testing.assert_array_equal(found, model.array(output).astype(np.float32))


def test_native_output_of_a_quantized_model_is_what_the_graph_stores(hexrun, models, tmp_path):
    model = models["quantized"]

    ran = run_model(
        hexrun, model, "--input", model.folder / "x.npy", "--output", tmp_path, "--native", "--json"
    )

    (said,) = ran.document["outputs"]
    stored = np.load(said["file"])
    assert said["dtype"] == "uint16"
    real = (stored.astype(np.int64) - 32768) * np.float64(np.float32(1 / 4096))
    np.testing.assert_array_equal(real.astype(np.float32), model.array("y"))


def test_a_native_input_gives_the_same_result_as_a_float_one(hexrun, models, tmp_path):
    model = models["quantized"]
    steps = np.rint(model.array("x") / np.float32(1 / 8192)) + 30000
    np.save(tmp_path / "q.npy", np.clip(steps, 0, 65535).astype(np.uint16))
    (tmp_path / "q.raw").write_bytes(np.load(tmp_path / "q.npy").tobytes())
    (tmp_path / "x.raw").write_bytes(model.array("x").tobytes())

    results = []
    for number, name in enumerate(("q.npy", "q.raw", "x.raw")):
        out = tmp_path / f"out{number}"
        ran = run_model(hexrun, model, "--input", f"x={tmp_path / name}", "--output", out, "--json")
        results.append(np.load(ran.document["outputs"][0]["file"]))

    for result in results:
        np.testing.assert_array_equal(result, model.array("y"))


def test_each_graph_of_a_context_runs_by_its_name(hexrun, models, tmp_path):
    model = models["split"]
    described = run_model(hexrun, model, "--describe", "--json").document["graphs"]
    first, second = sorted(described, key=lambda graph: graph["inputs"][0]["name"] != "x")
    np.save(tmp_path / "b.npy", np.ascontiguousarray(model.array("b").transpose(0, 2, 3, 1)))

    ran = [
        run_model(hexrun, model, "--graph", graph["name"], "--input", path, "--output", tmp_path, "--json")
        for graph, path in ((first, model.folder / "x.npy"), (second, tmp_path / "b.npy"))
    ]

    assert [r.code for r in ran] == [0, 0]
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), model.array("a"))
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), model.array("c"))


def test_two_graphs_and_no_choice_is_refused_with_their_names(hexrun, models):
    model = models["split"]

    ran = run_model(hexrun, model, "--input", model.folder / "x.npy")

    assert ran.code == 2
    assert "the model has 2 graphs; choose one with --graph" in ran.err
    assert ran.err.count('it has "') == 2


def test_the_report_says_everything_about_the_run(hexrun, models):
    model = models["float32"]

    ran = run_model(
        hexrun, model, "--input", model.folder / "x.npy", "--iterations", 7, "--warmup", 2, "--json"
    )

    said, times = ran.document, ran.document["timings_us"]
    assert said["schema_version"] == 1
    assert said["package"] == {"name": "text-direction", "version": "1.0.0"}
    assert (said["variant"]["soc"], said["variant"]["soc_model"], said["variant"]["simulated"]) == (
        "qcs9075",
        77,
        True,
    )
    assert said["backend"]["build"] == catalog.releases()["2.51.0"].build
    assert said["backend"]["core_api"].startswith("2.")
    assert said["iterations"] == 7
    assert 0 < times["min"] <= times["median"] <= times["p90"] <= times["p99"]
    assert min(times["load"], times["create"]) > 0
    assert said["power"]["profile"] == "burst"
    assert "simulator" in said["power"]["reason"]
    (output,) = said["outputs"]
    assert (output["name"], output["dtype"], output["shape"]) == ("y:0/out", "float32", [1, 3, 8, 8])
    assert output["file"] is None
    assert "the only one in runner.conf, on the simulator" in ran.err


def test_standard_output_belongs_to_the_result_although_the_vendor_prints_to_it(hexrun, models):
    model = models["float32"]

    ran = run_model(hexrun, model, "--input", model.folder / "x.npy")

    assert ran.out.startswith("text-direction 1.0.0, graph ")
    assert "output y:0/out float32 [1, 3, 8, 8] not written (no --output)" in ran.out


def test_a_description_tells_types_shapes_and_quantization(hexrun, models):
    text = run_model(hexrun, models["quantized"], "--describe").out
    (graph,) = run_model(hexrun, models["quantized"], "--describe", "--json").document["graphs"]

    assert "input  x ufixed_point_16 [1, 3, 8, 8] = (stored -30000) * 0.00012207" in text
    assert graph["inputs"] == [
        {
            "name": "x",
            "dtype": "uint16",
            "stored_as": "ufixed_point_16",
            "takes_float32": True,
            "shape": [1, 3, 8, 8],
            "scale": pytest.approx(1 / 8192),
            "offset": -30000,
        }
    ]


def test_runner_conf_is_found_beside_the_runner_and_in_share(hexrun, models, tmp_path):
    for place in ("flat", "tree/share"):
        shutil.copytree(models["float32"].folder, tmp_path / place)
    beside, tree = tmp_path / "flat" / "hexrun", tmp_path / "tree" / "bin" / "hexrun"
    tree.parent.mkdir()
    for place in (beside, tree):
        shutil.copy(hexrun, place)
    link = tmp_path / "link"
    link.symlink_to(tree)

    ran = [run(program, "--describe") for program in (beside, tree, link)]

    assert [r.code for r in ran] == [0, 0, 0]


@pytest.fixture(scope="session")
def arithmetic(store: Store, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """tensor.c as a library."""
    folder = tmp_path_factory.mktemp("arithmetic")
    units = [SOURCES / name for name in ("tensor.c", "status.c")]
    zig(store, folder, "-shared", "-fPIC", "-o", "arithmetic.so", *units, "-lm")
    library = ctypes.CDLL(str(folder / "arithmetic.so"))
    library.half_to_float.restype = ctypes.c_float
    library.half_to_float.argtypes = [ctypes.c_uint16]
    library.float_to_half.restype = ctypes.c_uint16
    library.float_to_half.argtypes = [ctypes.c_float]
    return library


def test_every_half_becomes_the_float_that_numpy_makes_of_it(arithmetic):
    halves = np.arange(65536, dtype=np.uint16)

    found = np.array([arithmetic.half_to_float(int(half)) for half in halves], np.float32)

    np.testing.assert_array_equal(found, halves.view(np.float16).astype(np.float32))


def test_floats_become_the_halves_that_numpy_makes_of_them(arithmetic):
    halves = np.arange(0, 0x7C01, 3, dtype=np.uint16).view(np.float16).astype(np.float64)
    between = np.concatenate(
        [halves, (halves[:-1] + halves[1:]) / 2, [65519.996, 65520, 1e30, np.inf, 1e-30, 2**-25]]
    )
    near = between.astype(np.float32)
    values = np.concatenate([near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(np.inf))])
    values = np.concatenate([values, -values])

    found = np.array([arithmetic.float_to_half(float(value)) for value in values], np.uint16)

    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, values.astype(np.float16).view(np.uint16))
