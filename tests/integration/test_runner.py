"""hexrun on the real simulator, value for value against onnxruntime, and on a stand-in for a device.

The runner is compiled once for x86-64. Models are compiled in processes of their own, as hexpack does.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import lief
import numpy as np
import onnxruntime_qnn
import pytest

from packager import catalog, resources
from packager.catalog import table
from packager.errors import ToolFailed
from packager.runner import RunnerBuild, build, generated_tables
from packager.store import Store

HERE = Path(__file__).parent
SOURCES = Path(str(resources.folder("templates"))) / "runner"
VENDOR = Path(onnxruntime_qnn.__file__).parent
QCS9075 = (
    "variant soc=qcs9075 soc_model=77 accepts=- hexagon=73 vtcm_mb=8 linux_soc_ids=667,676 context=model.bin"
)
SM8650 = (
    "variant soc=sm8650 soc_model=57 accepts=157,158 hexagon=75 vtcm_mb=8 linux_soc_ids=557 context=model.bin"
)


# ---- making things ----


@pytest.fixture(scope="session")
def hexrun(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runner for this machine, alone in a folder; HEXRUN_UNDER_TEST names another one to judge."""
    place = tmp_path_factory.mktemp("runner") / "hexrun"
    named = os.environ.get("HEXRUN_UNDER_TEST")
    shutil.copyfile(named or compiled(store, "x86_64-linux-clang")[1], place)
    place.chmod(0o755)
    return place


def compiled(store: Store, abi: str) -> tuple[RunnerBuild, Path]:
    """The runner of an ABI and its file in the store."""
    made = build(catalog.abis()[abi], store)
    return made, store.path(made.blob.sha256)


def zig(store: Store, folder: Path, *arguments: object) -> None:
    """Compile something of the tests' own for this machine."""
    cache = {"ZIG_GLOBAL_CACHE_DIR": str(store.root / "zig"), "ZIG_LOCAL_CACHE_DIR": str(store.root / "zig")}
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.31", "-std=c11", "-O1"]
    subprocess.run(
        [*command, f"-I{SOURCES}", *map(str, arguments)], cwd=folder, env={**os.environ, **cache}, check=True
    )


@pytest.fixture(scope="session")
def stand_in(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backend that does as it is told; see stand_in_qnn.c."""
    folder = tmp_path_factory.mktemp("stand-in")
    zig(store, folder, "-shared", "-fPIC", "-o", "libStandIn.so", HERE / "stand_in_qnn.c")
    return folder / "libStandIn.so"


class Model:
    """A compiled model, an input and reference outputs, in a folder with a runner.conf."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def array(self, name: str) -> np.ndarray:
        return np.load(self.folder / f"{name}.npy")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Model]:
    """One model of each kind that runner_models.py makes, for soc_model 77."""
    made = {}
    for kind in ("float32", "float16", "quantized", "split"):
        folder = tmp_path_factory.mktemp(kind)
        script = [sys.executable, str(HERE / "runner_models.py"), str(folder), kind, "77"]
        done = subprocess.run(script, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        configure(folder)
        made[kind] = Model(folder)
    return made


def configure(folder: Path, *variants: str, **replaced: str | None) -> Path:
    """Write runner.conf; a key given as None is left out."""
    keys: dict[str, str | None] = {
        "format": "1",
        "package": "text-direction 1.0.0",
        "backend": str(VENDOR / "libQnnHtp.so"),
        "system": str(VENDOR / "libQnnSystem.so"),
        "simulator": "yes",
        "compute": "npu",
        "power": "burst",
        "rpc_latency_us": "100",
        **replaced,
    }
    lines = [f"{key} {value}" for key, value in keys.items() if value is not None]
    path = folder / "runner.conf"
    path.write_text("\n".join([*lines, *(variants or (QCS9075,)), ""]))
    return path


class Ran:
    """What a run left: exit code, both streams, and the JSON document where one was asked for."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        assert "Sanitizer" not in self.err, self.err

    @property
    def document(self) -> Any:
        return json.loads(self.out)


def run(program: Path, *arguments: object, **environment: object) -> Ran:
    return Ran(
        subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, **{key: str(value) for key, value in environment.items()}},
        )
    )


def run_model(hexrun: Path, model: Model, *arguments: object, config: Path | None = None) -> Ran:
    return run(hexrun, "--config", config or model.folder / "runner.conf", *arguments)


# ---- the simulator ----


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
    assert said["outputs"] == [{"name": "y:0/out", "dtype": "float32", "shape": [1, 3, 8, 8], "file": None}]
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


# ---- what is refused, on the simulator ----


def test_an_input_file_that_is_not_there(hexrun, models):
    ran = run_model(hexrun, models["float32"], "--input", "x=nowhere.npy")

    assert ran.code == 3
    assert "input x cannot be read" in ran.err
    assert "nowhere.npy: No such file or directory" in ran.err


@pytest.mark.parametrize(
    ("array", "code", "lines"),
    [
        (np.zeros((1, 3, 8), np.float32), 1, ["another shape", "found [1, 3, 8] in", "wanted [1, 3, 8, 8]"]),
        (np.zeros((1, 3, 8, 8), np.float64), 1, ["another element type", "found float64", "wanted float32"]),
        (np.zeros((1, 3, 8, 8), np.uint16), 1, ["another element type", "found uint16", "wanted float32"]),
        (np.zeros((1, 3, 8, 8), ">f4"), 3, ["not a .npy file that hexrun can read", "big-endian"]),
        (np.asfortranarray(np.zeros((1, 3, 8, 8), np.float32)), 3, ["Fortran order"]),
        (np.zeros((1,) * 9, np.float32), 3, ["more than 8 dimensions"]),
    ],
    ids=["shape", "float64", "uint16", "big-endian", "fortran", "rank-9"],
)
def test_an_array_that_does_not_fit_is_refused_with_found_and_wanted(
    hexrun, models, tmp_path, array, code, lines
):
    np.save(tmp_path / "x.npy", array)

    ran = run_model(hexrun, models["float32"], "--input", tmp_path / "x.npy")

    assert ran.code == code
    for line in lines:
        assert line in ran.err


@pytest.mark.parametrize("cut", [5, 9, 60, 130, -1])
def test_a_npy_file_that_is_cut_short_is_refused(hexrun, models, tmp_path, cut):
    whole = (models["float32"].folder / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(whole[:cut])

    ran = run_model(hexrun, models["float32"], "--input", tmp_path / "x.npy")

    assert ran.code == 3, ran.err


def test_a_npy_file_with_more_than_its_header_says_is_refused(hexrun, models, tmp_path):
    (tmp_path / "x.npy").write_bytes((models["float32"].folder / "x.npy").read_bytes() + b"!")

    ran = run_model(hexrun, models["float32"], "--input", tmp_path / "x.npy")

    assert ran.code == 3
    assert "does not hold the elements that it should" in ran.err


def test_a_raw_file_of_another_size_is_refused_with_both_sizes_that_fit(hexrun, models, tmp_path):
    (tmp_path / "x.raw").write_bytes(bytes(100))

    ran = run_model(hexrun, models["quantized"], "--input", tmp_path / "x.raw")

    assert ran.code == 1
    assert "found 100 bytes" in ran.err
    assert "wanted 384 bytes of uint16" in ran.err
    assert "or 768 bytes of float32" in ran.err


def test_not_a_number_is_refused_where_the_graph_cannot_store_it(hexrun, models, tmp_path):
    array = models["quantized"].array("x")
    array.flat[5] = np.nan
    np.save(tmp_path / "x.npy", array)

    ran = run_model(hexrun, models["quantized"], "--input", tmp_path / "x.npy")

    assert ran.code == 1
    assert "input x holds NaN" in ran.err
    assert "at element 5" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--graph", "nothing", "--input", "x.npy"], 'the model has no graph "nothing"'),
        (["--input", "z=x.npy"], 'the graph has no input "z"'),
        (["--input", "x=x.npy", "--input", "x=x.npy"], 'input "x" is given twice'),
        ([], 'input "x" is not given'),
        (["--input", "x=x.txt"], "input x: x.txt is neither .npy nor .raw"),
        (["--input", "x.npy", "--power", "brust"], 'unknown power profile "brust"'),
        (["--input", "x.npy", "--soc", "sm8650"], "this package has no model for --soc sm8650"),
        (["--iterations", "0"], '--iterations wants a number from 1 to 1000000, found "0"'),
        (["--warmup", "-1"], '--warmup wants a number from 0 to 1000000, found "-1"'),
        (["--input"], "--input wants a value"),
        (["--input", "x="], "--input wants NAME=FILE"),
        (["--speed"], 'hexrun does not know "--speed"'),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_what_is_wrong(hexrun, models, arguments, message):
    folder = models["float32"].folder
    there = [str(word).replace("x.npy", str(folder / "x.npy")) for word in arguments]

    ran = run_model(hexrun, models["float32"], *there)

    assert (ran.code, ran.out) == (2, "")
    assert f"hexrun: error: {message}" in ran.err.replace(f"{folder}/", "")


@pytest.mark.parametrize(
    "damage",
    [lambda whole: whole[:4096], lambda whole: bytes(len(whole)), lambda whole: b"version https://git-lfs"],
    ids=["cut short", "zeros", "pointer"],
)
def test_a_damaged_context_ends_with_4_and_the_decoded_code(hexrun, models, tmp_path, damage):
    (tmp_path / "model.bin").write_bytes(damage((models["float32"].folder / "model.bin").read_bytes()))
    code, name = 30010, "SYSTEM_MALFORMED_BINARY"
    row = next(row for row in table("errors")["error"] if row["code"] == code)

    ran = run(hexrun, "--config", configure(tmp_path), "--describe", "--json")

    said = ran.document["error"]
    assert ran.code == said["exit"] == 4
    assert said["code"]["decimal"] == code
    assert said["code"]["hex"] == f"{code:#x}"
    assert said["code"]["name"] == name
    assert said["code"]["sentence"] == row["sentence"]
    assert said["code"]["look_first"] == "; ".join(row["look_first"])
    assert f"error {code} ({code:#x}) {name}" in ran.err


@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_a_context_that_cannot_be_read_ends_with_3(hexrun, tmp_path, content):
    if content is not None:
        (tmp_path / "model.bin").write_bytes(content)

    ran = run(hexrun, "--config", configure(tmp_path), "--describe")

    assert ran.code == 3
    assert "context binary" in ran.err
    assert "model.bin" in ran.err


def test_a_library_that_is_not_there_ends_with_3_and_its_path(hexrun, tmp_path):
    ran = run(hexrun, "--config", configure(tmp_path, backend="lib/libQnnHtp.so"), "--describe")

    assert ran.code == 3
    assert "the QNN backend library is not there" in ran.err
    assert f"{tmp_path}/lib/libQnnHtp.so: No such file or directory" in ran.err


def test_a_library_that_does_not_load_ends_with_3_and_the_loaders_words(hexrun, tmp_path):
    (tmp_path / "libQnnHtp.so").write_bytes(b"\x7fELF and no more")

    ran = run(hexrun, "--config", configure(tmp_path, backend="libQnnHtp.so"), "--describe")

    assert ran.code == 3
    assert "the QNN backend library cannot be loaded" in ran.err
    assert "libQnnHtp.so: file too short" in ran.err


def test_a_library_of_another_kind_ends_with_3_and_the_symbol_that_it_lacks(hexrun, tmp_path):
    conf = configure(tmp_path, backend=str(VENDOR / "libQnnSystem.so"))

    ran = run(hexrun, "--config", conf, "--describe")

    assert ran.code == 3
    assert "does not export QnnInterface_getProviders" in ran.err


def test_an_output_folder_that_cannot_be_made_ends_with_3(hexrun, models, tmp_path):
    (tmp_path / "file").write_text("in the way")
    model = models["float32"]

    ran = run_model(hexrun, model, "--input", model.folder / "x.npy", "--output", tmp_path / "file" / "out")

    assert ran.code == 3
    assert "the output folder cannot be made" in ran.err


def test_no_configuration_ends_with_3_and_where_it_was_looked_for(hexrun):
    ran = run(hexrun, "--describe")

    assert ran.code == 3
    assert f"looked for {hexrun.parent}/runner.conf and {hexrun.parent}/../share/runner.conf" in ran.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speed 3", ':10: unknown key "speed"; known are format, package, backend'),
        ("power burst", ":10: power is said twice"),
        ("rpc_polling_us 10000", ":10: rpc_polling_us wants a number of microseconds up to 9999"),
        ("rpc_polling_us", ":10: rpc_polling_us has no value"),
        ("# " + "x" * 5000, ":10: the line is longer than 4094 bytes"),
        ("variant soc=a", ":10: variant lacks soc_model="),
        (QCS9075.replace("hexagon=73", "hexagon=v73"), ":10: variant has a hexagon that is not understood"),
        (QCS9075.replace("667,676", "667,,676"), ":10: variant has a linux_soc_ids that is not understood"),
        (QCS9075 + " soc=b", ":10: variant says soc twice"),
        (QCS9075 + " colour=red", ':10: variant does not know "colour"'),
        (QCS9075.replace("soc_model=77", "soc_model=4294967296"), ":10: variant has a soc_model that"),
        ("\n".join([QCS9075] * 64), ":73: more than 64 variants"),
    ],
    ids=lambda value: value[:24],
)  # fmt: skip
def test_a_wrong_runner_conf_ends_with_2_and_its_line(hexrun, tmp_path, text, message):
    conf = configure(tmp_path)
    conf.write_text(conf.read_text() + text + "\n")

    ran = run(hexrun, "--config", conf, "--describe")

    assert ran.code == 2
    assert f"error: {conf}{message}" in ran.err


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ({"format": "2"}, ':1: format "2" is not known'),
        ({"format": None}, ':1: the first line must be "format 1"'),
        ({"simulator": "maybe"}, ":5: simulator is yes or no"),
        ({"compute": "gpu"}, ':6: compute "gpu" is not supported'),
        ({"package": "name"}, ":2: package wants a name and a version"),
        ({"backend": None}, " lacks the key backend"),
        ({"simulator": "no"}, " lacks the key dsp, which a device needs"),
    ],
    ids=str,
)
def test_a_runner_conf_with_a_wrong_or_missing_key_is_refused(hexrun, tmp_path, replaced, message):
    conf = configure(tmp_path, **replaced)

    ran = run(hexrun, "--config", conf, "--describe")

    assert ran.code == 2
    assert f"error: {conf}{message}" in ran.err


def test_comments_blank_lines_and_windows_line_ends_are_read(hexrun, models, tmp_path):
    shutil.copytree(models["float32"].folder, tmp_path / "package")
    conf = tmp_path / "package" / "runner.conf"
    conf.write_bytes(
        b"# head\r\n\r\n" + conf.read_bytes().replace(b"\n", b"  \r\n").replace(b"power ", b"\tpower \t")
    )

    ran = run(hexrun, "--config", conf, "--describe")

    assert ran.code == 0, ran.err


def test_with_json_a_wrong_command_line_is_a_document_too(hexrun):
    ran = run(hexrun, "--speed", "--json")

    assert ran.code == 2
    assert ran.document["error"]["what"] == 'hexrun does not know "--speed"'
    assert "code" not in ran.document["error"]


def test_bytes_that_are_no_text_do_not_break_the_document(hexrun, tmp_path):
    done = subprocess.run([hexrun, "--json", b'--\xff\xc0\xaf\x01"'], capture_output=True, check=False)

    said = json.loads(done.stdout.decode("utf-8"))
    assert said["error"]["what"] == 'hexrun does not know "--\ufffd\ufffd\ufffd\u0001""'


def test_version_and_help_go_to_standard_output(hexrun):
    version, usage = run(hexrun, "--version"), run(hexrun, "--help")

    assert (version.code, usage.code) == (0, 0)
    assert re.fullmatch(r"hexrun \d+\.\d+\S*\n", version.out)
    for option in ("--input", "--output", "--soc", "--power", "--json", "--describe"):
        assert option in usage.out


# ---- a device, played by the stand-in ----


class Device:
    """A package on a device whose backend is the stand-in."""

    def __init__(self, folder: Path, library: Path, hexrun: Path) -> None:
        self.folder, self._hexrun = folder, hexrun
        (folder / "dsp").mkdir()
        (folder / "model.bin").write_text("the model")
        np.save(folder / "x.npy", np.arange(4, dtype=np.float32).reshape(2, 2))
        self.conf = configure(
            folder, QCS9075, SM8650, backend=str(library), system=str(library), simulator="no", dsp="dsp"
        )

    def run(self, *arguments: object, **settings: object) -> Ran:
        told = {f"STAND_IN_{key}": value for key, value in settings.items()}
        command = ["--config", self.conf, "--input", self.folder / "x.npy", "--json", *arguments]
        return run(self._hexrun, *command, STAND_IN_JOURNAL=self.folder / "journal", **told)

    @property
    def journal(self) -> list[str]:
        return (self.folder / "journal").read_text().splitlines()


@pytest.fixture
def device(tmp_path: Path, stand_in: Path, hexrun: Path) -> Device:
    return Device(tmp_path, stand_in, hexrun)


def test_the_dsp_folder_leads_both_search_paths_and_what_was_there_stays(device, monkeypatch):
    monkeypatch.setenv("ADSP_LIBRARY_PATH", "/vendor/dsp;/dsp")
    monkeypatch.delenv("DSP_LIBRARY_PATH", raising=False)

    device.run(SOC=77, ARCH=73)

    dsp = device.folder / "dsp"
    assert device.journal[0] == f"logCreate level=1 ADSP={dsp};/vendor/dsp;/dsp DSP={dsp}"


@pytest.mark.parametrize(("soc_model", "soc"), [(77, "qcs9075"), (57, "sm8650"), (158, "sm8650")])
def test_a_device_runs_the_model_of_the_soc_that_it_reports(device, soc_model, soc):
    ran = device.run("--output", device.folder / "out", SOC=soc_model, ARCH=75)

    assert ran.code == 0, ran.err
    assert ran.document["variant"]["soc"] == soc
    assert (
        ran.document["variant"]["chosen_because"] == f"the device reports soc_model {soc_model}, Hexagon v75"
    )
    np.testing.assert_array_equal(np.load(device.folder / "out" / "y.npy"), [[0, 2], [4, 6]])
    assert "deviceCreate soc@4=0 soc@8=0" in device.journal


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"SOC": 69, "ARCH": 79}, "found soc_model 69, Hexagon v79, 8 MB VTCM"),
        ({}, "found neither a soc_model"),
    ],
)
def test_a_device_without_a_model_of_its_own_is_refused_with_found_and_wanted(device, settings, found):
    ran = device.run(**settings)

    evidence = ran.document["error"]["evidence"]
    assert ran.code == 1
    assert ran.document["error"]["what"] == "this package has no model for this device"
    assert evidence[0].startswith(found)
    assert "wanted qcs9075 (soc_model 77, Hexagon v73)" in evidence
    assert not any(line.startswith(("deviceCreate", "contextCreate")) for line in device.journal)


def test_a_model_named_by_hand_runs_and_the_report_says_so(device):
    ran = device.run("--soc", "SM8650", SOC=69, ARCH=79)

    assert ran.code == 0
    assert (
        ran.document["variant"]["chosen_because"]
        == "named by --soc, although the device reports soc_model 69"
    )


def test_a_model_named_by_hand_is_refused_where_it_needs_a_newer_hexagon(device):
    ran = device.run("--soc", "57", SOC=77, ARCH=73)

    assert ran.code == 1
    assert "found Hexagon v73, wanted v75" in ran.err


def test_a_context_that_is_refused_is_not_tried_again(device):
    ran = device.run(SOC=77, ARCH=73, CONTEXT_ERROR=5005)

    said = ran.document["error"]
    assert ran.code == 4
    assert (said["code"]["decimal"], said["code"]["name"]) == (5005, "CONTEXT_CREATE_FROM_BINARY")
    assert device.journal.count("contextCreateFromBinary the model") == 1
    assert said["evidence"] == ["compiled by QAIRT of unknown build, opened by v2.51.0.260929181845"]


def test_the_last_sixteen_lines_of_the_backends_log_come_with_the_error(device):
    ran = device.run(SOC=77, ARCH=73, CONTEXT_ERROR=5005)

    expected = [f"remark {n}" for n in range(5, 20)] + ["skel failed with 0x80000442"]
    assert ran.document["error"]["backend_log"] == expected
    assert "0x80000442 AEE_ENOSUCHSYMBOL: a skel was found, but of another release" in ran.err


@pytest.mark.parametrize(
    ("settings", "code", "call"),
    [
        ({"LOG_ERROR": 4000}, 4000, "logCreate"),
        ({"DEVICE_ERROR": 14001}, 14001, "deviceCreate"),
        ({"EXECUTE_ERROR": 6001}, 6001, "graphExecute"),
    ],
)
def test_an_error_names_the_call_that_returned_it(device, settings, code, call):
    ran = device.run(SOC=77, ARCH=73, **settings)

    said = ran.document["error"]
    assert ran.code == 4
    assert said["code"]["decimal"] == code
    assert f"({call})" in said["what"]


def test_the_power_vote_is_that_of_the_profile_and_is_given_back(device):
    ran = device.run(SOC=77, ARCH=73)

    votes = [line for line in device.journal if "owerConfigId" in line or line.startswith("vote")]
    assert votes == [
        "createPowerConfigId 0 0",
        "vote 42 context=42 dcvs=0 mode=16 sleep=40 bus=160/160/160 core=160/160/160",
        "vote 42 option=2 us=100",
        "vote 42 option=3 us=9999",
        "vote 42 context=42 dcvs=1 mode=4 sleep=2000 bus=48/48/48 core=48/48/48",
        "destroyPowerConfigId 42",
    ]
    assert ran.document["power"] == {
        "profile": "burst",
        "applied": True,
        "rpc_applied": True,
        "corner": 160,
        "rpc_latency_us": 100,
        "rpc_polling_us": 9999,
        "reason": None,
    }


def test_what_was_opened_is_closed_in_reverse(device):
    device.run(SOC=77, ARCH=73)

    opened = (
        "contextFree",
        "deviceFree",
        "backendFree",
        "logFree",
        "systemContextFree",
        "destroyPowerConfigId 42",
    )
    closed = [line for line in device.journal if line in opened]
    assert closed == [
        "destroyPowerConfigId 42",
        "contextFree",
        "deviceFree",
        "backendFree",
        "logFree",
        "systemContextFree",
    ]


def test_an_execution_that_fails_still_gives_the_power_vote_back(device):
    device.run(SOC=77, ARCH=73, EXECUTE_ERROR=6001)

    assert "destroyPowerConfigId 42" in device.journal


def test_a_profile_named_on_the_command_line_wins(device):
    ran = device.run("--power", "balanced", SOC=77, ARCH=73)

    assert ran.document["power"]["corner"] == 0x70
    assert "vote 42 option=3 us=0" in device.journal


def test_the_polling_time_of_runner_conf_wins_over_the_profiles(device):
    device.conf.write_text(device.conf.read_text() + "rpc_polling_us 1234\n")

    device.run(SOC=77, ARCH=73)

    assert "vote 42 option=3 us=1234" in device.journal


def test_the_default_profile_votes_nothing(device):
    ran = device.run("--power", "default", SOC=77, ARCH=73)

    assert ran.code == 0
    assert ran.document["power"]["applied"] is False
    assert not any(line.startswith("vote") for line in device.journal)


@pytest.mark.parametrize(
    ("settings", "applied", "reason"),
    [
        ({"NO_POWER": 1}, (False, False), "not offered by this backend"),
        ({"REFUSED_VOTE": 1}, (False, False), "the clock vote was refused: error 13002 (0x32ca) PERF_UNSUPPORTED_CONFIG"),
        ({"REFUSED_VOTE": 3}, (True, False), "the RPC votes were refused: error 13002 (0x32ca) PERF_UNSUPPORTED_CONFIG"),
    ],
)  # fmt: skip
def test_a_vote_that_is_not_taken_is_said_and_does_not_stop_the_run(device, settings, applied, reason):
    ran = device.run(SOC=77, ARCH=73, **settings)

    power = ran.document["power"]
    assert ran.code == 0
    assert (power["applied"], power["rpc_applied"]) == applied
    assert power["reason"] == reason
    assert reason in ran.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_gives_the_power_vote_back_and_ends_with_130(device, hexrun, number):
    environment = {
        "STAND_IN_SOC": "77",
        "STAND_IN_ARCH": "73",
        "STAND_IN_JOURNAL": str(device.folder / "journal"),
    }
    command = [hexrun, "--config", device.conf, "--input", device.folder / "x.npy", "--iterations", "1000000"]
    started = subprocess.Popen(
        [*command, "--warmup", "1000000"],
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
        text=True,
    )
    assert started.stderr is not None
    while "power burst" not in (line := started.stderr.readline()):
        assert line, "ended before the vote"

    started.send_signal(number)
    _, err = started.communicate(timeout=60)

    assert started.returncode == 130, err
    assert "interrupted" in err
    assert "destroyPowerConfigId 42" in device.journal


@pytest.mark.parametrize(
    ("settings", "evidence"),
    [
        ({"CORE_MINOR": 9}, "found STAND_IN (backend id 6), core API 2.9"),
        ({"CORE_MAJOR": 3}, "found STAND_IN (backend id 6), core API 3.40"),
        ({"BACKEND": 3}, "found STAND_IN (backend id 3), core API 2.40"),
        ({"TOLD_MINOR": 41}, "table of core API 2.40.0, its getter says 2.41.0"),
    ],
)
def test_a_backend_that_hexrun_does_not_know_is_not_driven(device, settings, evidence):
    ran = device.run(SOC=77, ARCH=73, **settings)

    assert ran.code == 1
    assert evidence in ran.document["error"]["evidence"]
    assert not (device.folder / "journal").exists()


@pytest.mark.parametrize("minor", [10, 13, 14, 40])
def test_tensors_are_laid_out_as_the_backends_core_api_wants_them(device, minor):
    ran = device.run("--output", device.folder, SOC=77, ARCH=73, CORE_MINOR=minor)

    assert ran.code == 0, ran.err
    np.testing.assert_array_equal(np.load(device.folder / "y.npy"), [[0, 2], [4, 6]])


@pytest.mark.parametrize("stride", [48, 64, 88])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_graphs_are_found_at_every_known_distance_in_every_description(device, stride, version):
    ran = device.run("--describe", SOC=77, ARCH=73, GRAPHS=3, GRAPH_STRIDE=stride, INFO_VERSION=version)

    assert [graph["name"] for graph in ran.document["graphs"]] == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"GRAPHS": 65}, "number of graphs: found 65, at most 64 is believed"),
        ({"GRAPHS": 0}, "number of graphs: found 0, at most 64 is believed"),
        ({"RANK": 9}, "rank of a tensor: found 9, at most 8 is believed"),
        ({"INFO_VERSION": 4}, "version of the description: found 4, at most 3 is believed"),
        ({"DATA_TYPE": 0x404}, "QNN data type 0x404 (ufixed_point_4)"),
        ({"DATA_TYPE": 0x777}, "QNN data type 0x777 (unknown)"),
    ],
)
def test_metadata_that_makes_no_sense_is_not_believed(device, settings, line):
    ran = device.run(SOC=77, ARCH=73, **settings)

    assert ran.code == 1
    assert line in ran.document["error"]["evidence"]


# ---- the numbers ----


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


# ---- the builds ----


def test_two_builds_in_different_folders_have_the_same_bytes(store, tmp_path):
    other = Store(tmp_path / "another place")

    first, second = compiled(store, "x86_64-linux-clang")[0], compiled(other, "x86_64-linux-clang")[0]

    assert first == second
    assert other.path(second.blob.sha256).is_file()


@pytest.mark.parametrize(
    ("abi", "machine", "newest"),
    [
        ("oe-linux-gcc11.2", lief.ELF.ARCH.AARCH64, (2, 17)),
        ("x86_64-linux-clang", lief.ELF.ARCH.X86_64, (2, 31)),
    ],
)
def test_a_linux_runner_is_hardened_and_starts_on_old_systems(store, abi, machine, newest):
    made, path = compiled(store, abi)
    binary = lief.ELF.parse(str(path))
    assert binary is not None

    versions = {
        tuple(map(int, aux.name.removeprefix("GLIBC_").split(".")))
        for need in binary.symbols_version_requirement
        for aux in need.get_auxiliary_symbols()
    }

    assert made.file_name == "hexrun"
    assert binary.header.machine_type == machine
    assert binary.is_pie
    assert max(versions) <= newest
    assert binary.get(lief.ELF.DynamicEntry.TAG.FLAGS).has(lief.ELF.DynamicEntryFlags.FLAG.BIND_NOW)
    assert binary.has(lief.ELF.Segment.TYPE.GNU_RELRO)
    assert not binary.get(lief.ELF.Segment.TYPE.GNU_STACK).has(lief.ELF.Segment.FLAGS.X)
    assert all(name.startswith(("libc.so", "libm.so", "libdl.so", "ld-linux")) for name in binary.libraries)
    assert str(store.root).encode() not in path.read_bytes()


def test_a_windows_runner_is_for_arm64_and_needs_only_system_libraries(store):
    made, path = compiled(store, "windows-arm64")
    binary = lief.PE.parse(str(path))
    assert binary is not None

    imported = {entry.name.lower() for entry in binary.imports}

    assert made.file_name == "hexrun.exe"
    assert binary.header.machine == lief.PE.Header.MACHINE_TYPES.ARM64
    assert all(name.startswith(("api-ms-win-crt-", "kernel32.", "shell32.")) for name in imported), imported
    assert str(store.root).encode() not in path.read_bytes()
    wanted = lief.PE.OptionalHeader.DLL_CHARACTERISTICS
    assert {wanted.DYNAMIC_BASE, wanted.NX_COMPAT} <= set(binary.optional_header.dll_characteristics_lists)


def test_source_that_does_not_compile_is_a_failed_tool_with_the_compilers_words(store, monkeypatch):
    monkeypatch.setattr("packager.runner.generated_tables", lambda: generated_tables() + "broken")

    with pytest.raises(ToolFailed) as failed:
        build(catalog.abis()["x86_64-linux-clang"], store)

    assert failed.value.exit_code == 4
    assert "the runner does not compile for x86_64-linux-clang" in failed.value.render()
    assert "tables.c" in failed.value.render()
