"""hexrun.h, from C and from Python: what onnxruntime and the program compute, and an answer to every mistake."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hexrun_library import INPUT, NATIVE, OUTPUT, Call, Error, Options, buffer
from hexrun_library import Model as Handle
from runner_device import Device
from runner_kit import HERE, SOURCES, run_model, zig

from packager.runner import generated_tables
from packager.store import Store

pytest_plugins = ["runner_kit", "runner_device"]

LIBRARY = ("-shared", "-fPIC", "-fvisibility=hidden", "-DHEXRUN_BUILDING")
GUARDED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
FUNCTIONS = {
    "hexrun_close", "hexrun_describe", "hexrun_describe_channel", "hexrun_describe_graph",
    "hexrun_describe_tensor", "hexrun_last_error", "hexrun_log_to", "hexrun_open", "hexrun_own_buffer",
    "hexrun_run", "hexrun_version",
}  # fmt: skip


def units(folder: Path) -> list[Path]:
    """What a library is made of: everything but the program's own way in."""
    (folder / "tables.c").write_text(generated_tables())
    return [
        *(
            path
            for path in SOURCES.glob("*.c")
            if not path.name.endswith("_windows.c") and path.name != "main.c"
        ),
        folder / "tables.c",
    ]


@pytest.fixture(scope="session")
def library(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """libhexrun.so for this machine."""
    folder = tmp_path_factory.mktemp("library")
    zig(store, folder, *LIBRARY, *units(folder), "-o", "libhexrun.so", "-lm", "-ldl")
    return folder / "libhexrun.so"


@pytest.fixture(scope="session")
def guarded_app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app with the library in it, under AddressSanitizer and UndefinedBehaviorSanitizer."""
    return _app(tmp_path_factory.mktemp("guarded-app"), *GUARDED)


@pytest.fixture(scope="session")
def plain_app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for valgrind, which wants no sanitizers."""
    return _app(tmp_path_factory.mktemp("plain-app"), "-g", "-O1")


def _app(folder: Path, *flags: str) -> Path:
    compiler = shutil.which("gcc")
    assert compiler, "gcc is not installed"
    strict = ("-std=c11", "-D_XOPEN_SOURCE=700", "-Wall", "-Wextra", "-Werror", f"-I{SOURCES}")
    command = [compiler, *strict, *flags, HERE / "hexrun_app.c", *units(folder)]
    made = folder / "app"
    subprocess.run([*map(str, command), "-o", str(made), "-lm", "-ldl", "-pthread"], check=True)
    return made


@pytest.fixture
def opened(library: Path):
    """Opens models and closes them after the test."""
    made: list[Handle] = []

    def opening(folder: Path | None, **options: object) -> Handle:
        made.append(Handle(library, folder, **options))
        return made[-1]

    yield opening
    for handle in made:
        handle.close()


def test_the_library_shows_the_functions_of_its_header_and_nothing_else(library):
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout

    assert {line.split()[-1] for line in listed.splitlines()} == FUNCTIONS
    assert all(f"{name}(" in (SOURCES / "hexrun.h").read_text() for name in FUNCTIONS)


def test_the_header_compiles_alone_in_c_and_in_cplusplus(store, tmp_path):
    for name, language in (("use.c", "-std=c11"), ("use.cpp", "-std=c++11")):
        (tmp_path / name).write_text(
            '#include "hexrun.h"\nint main(void) { return hexrun_version() == 0; }\n'
        )
        zig(store, tmp_path, "-x", "c" if name == "use.c" else "c++", language, "-Wall", "-Wextra", "-Werror",
            "-c", name, "-o", "use.o")  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "output"), [("float32", "y_0_out"), ("float16", "y_0_out"), ("quantized", "y")]
)
def test_a_c_app_computes_what_onnxruntime_and_the_program_do(
    guarded_app, hexrun, models, tmp_path, kind, output
):
    model = models[kind]
    (tmp_path / "x.raw").write_bytes(model.array("x").tobytes())
    command = [guarded_app, model.folder, tmp_path / "x.raw", tmp_path / "y.raw"]

    done = subprocess.run([*map(str, command), "3", "4"], capture_output=True, text=True, check=False)
    ran = run_model(hexrun, model, "--input", model.folder / "x.npy", "--output", tmp_path, "--json")

    assert done.returncode == 0, done.stderr
    found = np.fromfile(tmp_path / "y.raw", np.float32)
    np.testing.assert_array_equal(found, model.array(output).astype(np.float32).ravel())
    np.testing.assert_array_equal(found, np.load(ran.document["outputs"][0]["file"]).ravel())


def test_nothing_is_lost_or_misused_by_threads_and_handles(plain_app, tmp_path, device, monkeypatch):
    """On the stand-in: the real simulator's own generated code is more than valgrind can follow."""
    monkeypatch.setenv("STAND_IN_SOC", "77")
    monkeypatch.setenv("STAND_IN_ARCH", "73")
    (tmp_path / "x.raw").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    watch = ["valgrind", "-q", "--error-exitcode=90", "--leak-check=full", "--show-leak-kinds=definite"]

    done = subprocess.run(
        [*watch, plain_app, device.folder, tmp_path / "x.raw", tmp_path / "y.raw", "4", "25"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.fromfile(tmp_path / "y.raw", np.float32), [0, 2, 4, 6])


def test_python_describes_and_runs_a_quantized_model_in_both_forms(opened, models):
    model = models["quantized"]
    handle = opened(model.folder)
    x, y = handle.tensor(INPUT), handle.tensor(OUTPUT)
    real, stored = np.zeros((1, 3, 8, 8), np.float32), np.zeros((1, 3, 8, 8), np.uint16)

    said = handle.describe()
    float_run = handle.run([buffer(model.array("x"))], [buffer(real)])
    native_run = handle.run([buffer(model.array("x"))], [buffer(stored)])

    assert handle.opened == 0
    assert (said.package, said.soc, said.unit, said.graph_count, said.simulated) == (
        b"text-direction", b"qcs9075", b"npu", 1, 1,
    )  # fmt: skip
    assert (x.name, x.dtype, x.stored_as, list(x.dims[: x.rank])) == (
        b"x", b"uint16", b"ufixed_point_16", [1, 3, 8, 8],
    )  # fmt: skip
    assert (x.bytes, x.takes_float32, x.quantized, x.offset) == (2 * 192, 1, 1, -30000)
    assert x.scale == pytest.approx(1 / 8192)
    assert (float_run[0], native_run[0]) == (0, 0)
    np.testing.assert_array_equal(real, model.array("y"))
    dequantized = (stored.astype(np.int64) + y.offset) * np.float64(np.float32(y.scale))
    np.testing.assert_array_equal(dequantized.astype(np.float32), model.array("y"))
    assert float_run[1].copied_bytes == 2 * 192 + 4 * 192
    assert native_run[1].copied_bytes == 2 * 192


def test_native_buffers_are_used_where_they_lie(opened, models):
    model = models["float32"]
    handle = opened(model.folder)
    out = np.zeros((1, 3, 8, 8), np.float32)

    status, call = handle.run([buffer(model.array("x"), NATIVE)], [buffer(out, NATIVE)])

    assert (status, call.copied_bytes) == (0, 0)
    np.testing.assert_array_equal(out, model.array("y_0_out"))


def test_the_handles_own_buffers_need_no_copy(opened, models):
    model = models["quantized"]
    handle = opened(model.folder)
    x, y = handle.own(INPUT, np.uint16), handle.own(OUTPUT, np.uint16)
    x[:] = np.clip(np.rint(model.array("x").ravel() / np.float32(1 / 8192)) + 30000, 0, 65535)

    status, call = handle.run([], [])

    assert (status, call.copied_bytes) == (0, 0)
    real = (y.astype(np.int64) - 32768) * np.float64(np.float32(1 / 4096))
    np.testing.assert_array_equal(real.astype(np.float32), model.array("y").ravel())


def test_each_graph_runs_by_its_name_on_one_handle(opened, models):
    model = models["split"]
    handle = opened(model.folder)
    b = np.ascontiguousarray(model.array("b").transpose(0, 2, 3, 1))

    def run(index: int) -> dict[bytes, np.ndarray]:
        graph = handle.graph(index)
        given = model.array("x") if handle.tensor(INPUT, 0, index).name == b"x" else b
        names = [handle.tensor(OUTPUT, k, index).name for k in range(graph.output_count)]
        made = {name: np.zeros(192, np.float32) for name in names}
        status, _ = handle.run([buffer(given)], [buffer(array) for array in made.values()], graph=graph.name)
        assert status == 0, handle.error.what + handle.error.evidence
        return made

    found = [run(index) for index in (0, 1, 0, 1)]

    both = found[2] | found[3]
    np.testing.assert_array_equal(both[b"a"], model.array("a").ravel())
    np.testing.assert_array_equal(both[b"c"], model.array("c").ravel())
    assert handle.run([], [])[0] == 2
    assert b"the model has 2 graphs" in handle.error.what


def test_the_lines_of_a_runner_conf_do_instead_of_the_file(opened, models, tmp_path):
    model = models["float32"]
    shutil.copy(model.folder / "model.bin", tmp_path)
    lines = (model.folder / "runner.conf").read_text()
    out = np.zeros((1, 3, 8, 8), np.float32)

    handle = opened(tmp_path, conf=lines)

    assert handle.opened == 0, handle.error.what
    assert handle.run([buffer(model.array("x"))], [buffer(out)])[0] == 0
    np.testing.assert_array_equal(out, model.array("y_0_out"))
    broken = opened(tmp_path, conf=lines + "nonsense 1\n")
    assert broken.opened == 2
    assert b"runner.conf:10" in broken.error.what + broken.error.evidence


def test_a_package_folder_has_its_conf_in_share(opened, models, tmp_path):
    shutil.copytree(models["float32"].folder, tmp_path / "share")

    assert opened(tmp_path, describe_only=1).opened == 0


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        ({"graph": "nowhere"}, 2, 'the model has no graph "nowhere"'),
        ({"power": "loud"}, 2, 'unknown power profile "loud"'),
        ({"soc": "sm9999"}, 2, "no model for --soc sm9999"),
        ({"memory": 7}, 2, "7 is no enum hexrun_memory"),
        ({"size": 0}, 2, "options.size is not the size"),
        ({"size": 4}, 2, "options.size is not the size"),
    ],
)
def test_options_that_cannot_be_met_are_refused_in_words(opened, models, options, status, words):
    handle = opened(models["float32"].folder, **options)

    assert (handle.opened, handle.error.status) == (status, status)
    assert words in handle.error.what.decode()
    assert handle.run([], [])[0] == 2


def test_a_folder_without_a_conf_is_refused_with_where_it_was_looked_for(opened, tmp_path):
    handle = opened(tmp_path)

    assert handle.opened == 3
    assert handle.error.what == b"there is no runner.conf"
    assert (
        f"looked for {tmp_path}/runner.conf and {tmp_path}/share/runner.conf"
        in handle.error.evidence.decode()
    )


def test_options_of_a_newer_header_are_refused_only_where_they_ask_for_something(library, models):
    class Newer(ctypes.Structure):
        _fields_ = [("old", Options), ("more", ctypes.c_uint64)]

    loaded, statuses = ctypes.CDLL(str(library)), []
    for more in (0, 1):
        asked, handle = Newer(old=Options(describe_only=1), more=more), ctypes.c_void_p()
        asked.old.size = ctypes.sizeof(Newer)
        folder = str(models["float32"].folder).encode()
        statuses.append(loaded.hexrun_open(folder, ctypes.byref(asked), ctypes.byref(handle)))
        loaded.hexrun_close(ctypes.byref(handle))

    assert statuses == [0, 2]


def test_an_older_caller_gets_the_part_of_a_struct_that_it_knows(opened, models):
    handle = opened(models["float32"].folder, describe_only=1)
    room = ctypes.create_string_buffer(b"\xa5" * 64, 64)
    known = ctypes.sizeof(ctypes.c_size_t) + 2 * ctypes.sizeof(ctypes.c_char_p)
    ctypes.memmove(room, known.to_bytes(8, "little"), 8)

    assert handle.library.hexrun_describe(handle.handle, room) == 0

    package = ctypes.c_char_p.from_buffer(room, 8).value
    assert (package, room.raw[known:]) == (b"text-direction", b"\xa5" * (64 - known))


@pytest.mark.parametrize(
    ("count", "elements", "dtype", "form", "status", "words"),
    [
        (1, 191, np.float32, 1, 1, "found 764, wanted 768"),
        (1, 192, np.float32, 0, 1, "found 768, wanted 384"),
        (2, 192, np.float32, 1, 1, "found 2, wanted 1"),
        (1, 192, np.float32, 2, 2, "the buffer's form is unknown"),
    ],
)
def test_buffers_that_do_not_fit_are_refused_and_nothing_is_run(
    opened, models, count, elements, dtype, form, status, words
):
    handle = opened(models["quantized"].folder)
    given = [buffer(np.zeros(elements, dtype), form)] * count
    out = np.full((1, 3, 8, 8), -1, np.float32)

    assert handle.run(given, [buffer(out)])[0] == status
    assert words in (handle.error.what + handle.error.evidence).decode()
    assert np.all(out == -1)
    assert handle.run([buffer(np.zeros(192, np.float32))], [buffer(out)])[0] == 0


def test_nan_has_no_place_in_a_quantized_input(opened, models):
    handle = opened(models["quantized"].folder)
    spoiled = np.full(192, np.nan, np.float32)

    status, _ = handle.run([buffer(spoiled)], [buffer(np.zeros(192, np.float32))])

    assert status == 1
    assert b"holds NaN" in handle.error.what


def test_no_handle_is_an_answer_and_no_crash(library):
    loaded, call, error = ctypes.CDLL(str(library)), Call(size=ctypes.sizeof(Call)), Error()
    error.size = ctypes.sizeof(Error)

    assert loaded.hexrun_run(None, ctypes.byref(call)) == 2
    assert loaded.hexrun_last_error(None, ctypes.byref(error)) == 0
    assert (error.status, error.what) == (70, b"out of memory")
    loaded.hexrun_close(None)
    nothing = ctypes.c_void_p()
    loaded.hexrun_close(ctypes.byref(nothing))
    assert loaded.hexrun_open(None, None, None) == 2


def _device_app(
    device: Device, app: Path, tmp_path: Path, runs: str = "1", **settings: object
) -> subprocess.CompletedProcess[str]:
    (tmp_path / "x.raw").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    environment = {
        **device.environment(SOC=77, ARCH=73),
        **{key: str(value) for key, value in settings.items()},
    }
    return subprocess.run(
        [app, device.folder, tmp_path / "x.raw", tmp_path / "y.raw", "1", runs],
        env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_closing_gives_the_vote_back_and_frees_in_reverse(device, guarded_app, tmp_path):
    done = _device_app(device, guarded_app, tmp_path)

    journal = device.journal
    assert done.returncode == 0, done.stderr
    assert journal[-6:] == [
        "destroyPowerConfigId 42", "contextFree", "deviceFree", "backendFree", "logFree", "systemContextFree",
    ]  # fmt: skip


def test_memory_shared_with_the_dsp_is_registered_once_and_given_back(device, guarded_app, fastrpc, tmp_path):
    done = _device_app(device, guarded_app, tmp_path, "3", LD_LIBRARY_PATH=fastrpc, STAND_IN_NOTE_EXECUTE=1)

    journal = device.journal
    assert done.returncode == 0, done.stderr
    assert sum(line.startswith("memRegister") for line in journal) == 2
    assert sum(line.startswith("memDeRegister") for line in journal) == 2
    executed = [line for line in journal if line.startswith("graphExecute")]
    assert len(executed) == 3
    assert all(line.endswith("memory=1/1") for line in executed)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "y.raw", np.float32), [0, 2, 4, 6])


def test_a_refused_context_is_not_tried_again_and_its_code_comes_in_words(device, guarded_app, tmp_path):
    done = _device_app(device, guarded_app, tmp_path, STAND_IN_CONTEXT_ERROR=5005)

    assert done.returncode == 4
    assert device.journal.count("contextCreateFromBinary the model") == 1
    assert "backend log: skel failed with 0x80000442" in done.stderr


def test_the_library_prints_nothing_and_leaves_signals_alone(library, models, tmp_path):
    script = (
        "import signal, sys; from hexrun_library import Model; from pathlib import Path\n"
        "m = Model(Path(sys.argv[1]), Path(sys.argv[2])); assert m.opened == 0; m.close()\n"
        "kept = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}\n"
        "assert all(signal.getsignal(number) == kept[number] for number in kept)\n"
        "status = Path('/proc/self/status').read_text()\n"
        "caught = int(next(l for l in status.splitlines() if l.startswith('SigCgt')).split()[1], 16)\n"
        "assert not caught & 1 << signal.SIGTERM - 1 and not caught & 1 << signal.SIGHUP - 1\n"
        "assert 'libQnnHtp.so' in Path('/proc/self/maps').read_text()\n"
    )
    done = subprocess.run(
        ["python3", "-c", script, library, models["float32"].folder],
        cwd=HERE, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "hexrun" not in done.stdout + done.stderr


def test_on_qnx_the_search_paths_of_both_compute_dsps_lead_with_the_package(device, store, tmp_path):
    """The QNX path of the sources, compiled for this machine: nothing of it was run on QNX."""
    folder = tmp_path / "qnx"
    folder.mkdir()
    made = [*units(folder), SOURCES / "main.c"]
    zig(store, folder, "-D__QNX__", *made, "-o", "hexrun", "-lm", "-ldl")
    (tmp_path / "probe.c").write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n__attribute__((destructor)) static void tell(void) {\n"
        '  for (int i = 0; i < 2; i++) { char n[] = "CDSP0_LIBRARY_PATH"; n[4] = (char)(48 + i);\n'
        '    const char *v = getenv(n); fprintf(stderr, "%s=%s\\n", n, v ? v : "-"); } }\n'
    )
    zig(store, tmp_path, "-shared", "-fPIC", "-o", "probe.so", "probe.c")
    environment = device.environment(SOC=77, ARCH=73)

    done = subprocess.run(
        [folder / "hexrun", "--config", device.conf, "--input", device.folder / "x.npy"],
        env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(tmp_path / "probe.so"), "CDSP1_LIBRARY_PATH": "/mnt/etc",
             **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    dsp = device.folder / "dsp"
    assert done.returncode == 0, done.stderr
    assert f"CDSP0_LIBRARY_PATH={dsp}\n" in done.stderr
    assert f"CDSP1_LIBRARY_PATH={dsp};/mnt/etc\n" in done.stderr
    assert f"ADSP={dsp} DSP={dsp}" in device.journal[0]


def test_opening_twice_does_not_lengthen_the_search_path(device, library, monkeypatch):
    for key, value in device.environment(SOC=77, ARCH=73).items():
        monkeypatch.setenv(key, value)
    script = (
        "import sys; from hexrun_library import Model; from pathlib import Path\n"
        "for _ in range(3):\n m = Model(Path(sys.argv[1]), Path(sys.argv[2])); assert m.opened == 0; m.close()\n"
    )
    subprocess.run(["python3", "-c", script, library, device.folder], cwd=HERE, check=True)

    started = [line for line in device.journal if line.startswith("logCreate")]
    assert len(started) == 3
    assert len(set(started)) == 1
