"""What hexrun measures: times, memory, digests, likeness to references, profiles, power, shared buffers."""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import random
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from runner_kit import SOURCES, run_model, zig

from packager.catalog import table
from packager.store import Store

pytest_plugins = ["runner_kit", "runner_device"]

ON = {"SOC": 77, "ARCH": 73}


# ---- digests ----


@pytest.fixture(scope="session")
def parts(store: Store, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """digest.c and measure.c as a library."""
    folder = tmp_path_factory.mktemp("parts")
    zig(store, folder, "-shared", "-fPIC", "-o", "parts.so", SOURCES / "digest.c", SOURCES / "measure.c")
    return ctypes.CDLL(str(folder / "parts.so"))


def sha256(parts: ctypes.CDLL, *pieces: bytes) -> str:
    digest = ctypes.create_string_buffer(256)
    out, text = ctypes.create_string_buffer(32), ctypes.create_string_buffer(65)
    parts.digest_open(digest)
    for piece in pieces:
        parts.digest_add(digest, piece, ctypes.c_size_t(len(piece)))
    parts.digest_finish(digest, out)
    parts.digest_text(out, text)
    return text.value.decode()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (b"a" * 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ],
    ids=["empty", "abc", "two blocks", "a million"],
)
def test_the_digest_of_the_standards_messages_is_the_standards(parts, message, expected):
    assert sha256(parts, message) == expected


def test_digests_of_every_length_in_pieces_are_those_of_hashlib(parts):
    source = random.Random(4)
    for length in range(300):
        message = source.randbytes(length)
        cut = source.randint(0, length)

        assert sha256(parts, message[:cut], message[cut:]) == hashlib.sha256(message).hexdigest(), length


def test_the_report_digests_what_is_written(device):
    ran = device.run("--output", device.folder, **ON)

    (output,) = ran.document["outputs"]
    expected = hashlib.sha256(np.load(output["file"]).tobytes())
    assert output["sha256"] == expected.hexdigest()
    assert ran.document["outputs_sha256"] == hashlib.sha256(expected.digest()).hexdigest()


def test_a_batch_is_digested_like_its_file(device):
    np.save(device.folder / "x.npy", np.arange(12, dtype=np.float32).reshape(6, 2))

    ran = device.run("--output", device.folder, **ON)

    (output,) = ran.document["outputs"]
    assert output["sha256"] == hashlib.sha256(np.load(output["file"]).tobytes()).hexdigest()


def test_text_and_json_tell_the_same_digest_and_another_input_another(device):
    command = ("--input", device.folder / "x.npy")
    text = device.run_plainly(*command, **ON).out
    first = device.run(**ON).document["outputs_sha256"]
    np.save(device.folder / "x.npy", np.ones((2, 2), np.float32))

    assert f"sha256 of the outputs {first}" in text
    assert device.run(**ON).document["outputs_sha256"] != first


# ---- times and memory ----


class Times(ctypes.Structure):
    _fields_ = (
        ("kept", ctypes.POINTER(ctypes.c_uint64)),
        ("capacity", ctypes.c_size_t),
        ("held", ctypes.c_size_t),
        *((name, ctypes.c_uint64) for name in ("step", "count", "min", "max", "sum")),
    )


class Summary(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("count", "min", "median", "p90", "p99", "max")),
        ("mean", ctypes.c_double),
    )


def summary(parts: ctypes.CDLL, values: list[int], expected: int) -> tuple[Summary, int]:
    """What is said about these times, and how many were held at most."""
    times = Times()
    parts.times_open.argtypes = [ctypes.POINTER(Times), ctypes.c_uint64]
    parts.times_add.argtypes = [ctypes.POINTER(Times), ctypes.c_uint64]
    parts.times_summary.restype = Summary
    assert parts.times_open(times, expected)
    held = 0
    for value in values:
        parts.times_add(times, value)
        held = max(held, times.held)
    made = parts.times_summary(ctypes.byref(times))
    parts.times_close(ctypes.byref(times))
    return made, held


def nearest_rank(values: list[int], percent: int) -> int:
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 99, 100, 101, 1000])
@pytest.mark.parametrize("known", [True, False])
def test_percentiles_are_exact(parts, count, known):
    values = [random.Random(count).randint(1, 10**9) for _ in range(count)]

    said, _ = summary(parts, values, count if known else 0)

    assert (said.count, said.min, said.max) == (count, min(values), max(values))
    assert said.mean == pytest.approx(sum(values) / count)
    for percent, found in ((50, said.median), (90, said.p90), (99, said.p99)):
        assert found == nearest_rank(values, percent)


def test_a_long_run_keeps_a_bounded_number_of_times_and_true_percentiles(parts):
    source = random.Random(9)
    values = [int(source.lognormvariate(7, 0.5)) for _ in range(400000)]

    said, held = summary(parts, values, 0)

    assert held == 131072
    assert (said.count, said.min, said.max) == (len(values), min(values), max(values))
    assert said.mean == pytest.approx(sum(values) / len(values))
    for percent, found in ((50, said.median), (90, said.p90), (99, said.p99)):
        assert found == pytest.approx(nearest_rank(values, percent), rel=0.02)


def test_no_time_at_all_is_zeros(parts):
    said, _ = summary(parts, [], 5)

    assert (said.count, said.min, said.max, said.mean) == (0, 0, 0, 0)


def test_the_run_goes_on_until_the_duration_is_over(device):
    begin = time.monotonic()
    ran = device.run("--duration", "0.3", EXECUTE_US=3000, **ON)
    took = time.monotonic() - begin

    assert ran.code == 0, ran.err
    assert took >= 0.3
    assert 10 <= ran.document["iterations"] <= 101
    assert ran.document["timings_us"]["min"] >= 3000


def test_the_iterations_are_run_however_short_the_duration(device):
    ran = device.run("--duration", "0.001", "--iterations", 9, EXECUTE_US=2000, **ON)

    assert ran.document["iterations"] == 9


def test_the_first_inference_is_reported_also_when_it_is_a_warm_up(device):
    ran = device.run("--warmup", 2, "--iterations", 5, EXECUTE_US=1000, NOTE_EXECUTE=1, **ON)

    times = ran.document["timings_us"]
    assert times["first"] >= 1000
    assert times["min"] <= times["mean"] <= times["max"]
    assert sum(line.startswith("graphExecute") for line in device.journal) == 7


def test_peak_memory_is_this_programs_and_not_its_parents(device):
    ballast = bytearray(os.urandom(1 << 20) * 64)

    said = device.run(**ON).document["peak_memory_bytes"]

    assert 500_000 < said < 40_000_000 < len(ballast)


def test_the_text_tells_every_time(device):
    text = device.run_plainly("--input", device.folder / "x.npy", "--iterations", 3, **ON).out

    for word in ("load ", "create ", "first inference ", "peak memory ", "3 x execute: min ", "median "):
        assert word in text
    for word in ("p90 ", "p99 ", "max ", "mean "):
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--duration", "0"), "--duration wants more than 0 seconds"),
        (("--duration", "0.0"), "--duration wants more than 0 seconds"),
        (("--duration", "-1"), '--duration wants a number up to 86400, found "-1"'),
        (("--duration", "1e3"), '--duration wants a number up to 86400, found "1e3"'),
        (("--duration", "86401"), "--duration wants a number up to 86400"),
        (("--duration", "."), "--duration wants a number"),
        (("--duration", "1.2.3"), "--duration wants a number"),
        (("--duration", "nan"), "--duration wants a number"),
        (("--min-cosine", "1.01"), '--min-cosine wants a number up to 1, found "1.01"'),
        (("--profile", "fast"), '--profile wants one of basic, detailed; found "fast"'),
        (("--buffers", "none"), '--buffers wants one of plain, shared, auto; found "none"'),
        (("--compare", "="), "--compare wants NAME=FILE"),
        (("--compare",), "--compare wants a value"),
    ],
)
def test_a_wrong_value_is_a_wrong_command_line(device, arguments, message):
    ran = device.run(*arguments, **ON)

    assert ran.code == 2
    assert message in ran.document["error"]["what"]
    assert not (device.folder / "journal").exists()


# ---- likeness ----


def compared(device, reference: np.ndarray, *arguments: object, x: np.ndarray | None = None):
    """A run whose output is 2 x."""
    if x is not None:
        np.save(device.folder / "x.npy", x)
    np.save(device.folder / "reference.npy", reference)
    return device.run("--compare", device.folder / "reference.npy", *arguments, **ON)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


X = np.array([[0.5, -1.25], [3, 7]], np.float32)


def test_an_output_like_its_reference_passes_with_the_figures(device):
    reference = 2 * X + np.array([[0, 0], [0.125, -0.25]], np.float32)

    ran = compared(device, reference, x=X)

    said = ran.document["outputs"][0]["reference"]
    assert ran.code == 0, ran.err
    assert said["cosine"] == pytest.approx(cosine(2 * X, reference), abs=1e-9)
    assert (said["max_abs_error"], said["error_element"], said["min_cosine"]) == (0.25, 3, 0.999)


def test_an_output_unlike_its_reference_ends_with_1_and_names_all_figures(device):
    reference = np.array([[1, -2.5], [6, -14]], np.float32)

    ran = compared(device, reference, "--output", device.folder, x=X)

    said = ran.document["error"]
    assert ran.code == said["exit"] == 1
    assert said["what"] == "the outputs are not those of the reference"
    found = f"{cosine(2 * X, reference):.9g}"
    assert said["evidence"] == [
        f"output y: cosine {found}, wanted at least 0.999; largest difference 28 at element 3"
    ]
    np.testing.assert_array_equal(np.load(device.folder / "y.npy"), 2 * X)


@pytest.mark.parametrize(("least", "code"), [("0.9", 0), ("0.99", 1), ("0", 0), ("1", 1)])
def test_the_least_likeness_is_the_callers(device, least, code):
    reference = 2 * X + np.array([[0, 5], [0, 0]], np.float32)
    assert 0.9 < cosine(2 * X, reference) < 0.99

    ran = compared(device, reference, "--min-cosine", least, x=X)

    assert ran.code == code


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("x", "reference", "code"),
    [
        ([0, 0, 0, 0], [0, 0, 0, 0], 0),
        ([0, 0, 0, 0], [0, 0, 0, 1], 1),
        ([1, 1, 1, 1], [0, 0, 0, 0], 1),
        ([INF, 1, 2, 3], [INF, 2, 4, 6], 0),
        ([INF, 1, 2, 3], [-INF, 2, 4, 6], 1),
        ([INF, 1, 2, 3], [1, 2, 4, 6], 1),
        ([NAN, 1, 2, 3], [2, 2, 4, 6], 1),
        ([1, 1, 2, 3], [NAN, 2, 4, 6], 1),
        ([NAN, 1, 2, 3], [NAN, 2, 4, 6], 1),
        ([1e38, 1e38, 1e38, 1e38], [2e38, 2e38, 2e38, 2e38], 0),
        ([1e-44, 0, 0, 0], [2e-44, 0, 0, 0], 0),
    ],
)
def test_zeros_infinities_and_what_is_no_number_are_judged_on_purpose(device, x, reference, code):
    shape = (2, 2)

    ran = compared(
        device, np.array(reference, np.float32).reshape(shape), x=np.array(x, np.float32).reshape(shape)
    )

    assert ran.code == code, ran.err


@pytest.mark.parametrize("dtype", ["<f2", "<f8", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8"])
def test_a_reference_may_have_any_type_of_number(device, dtype):
    x = np.array([[1, 2], [3, 50]], np.float32)

    ran = compared(device, (2 * x).astype(dtype), x=x)

    assert ran.code == 0, ran.err
    assert ran.document["outputs"][0]["reference"]["max_abs_error"] == 0


def test_a_quantized_output_is_compared_as_real_numbers_with_either_kind_of_reference(
    hexrun, models, tmp_path
):
    model = models["quantized"]
    run = ("--input", model.folder / "x.npy", "--json")
    native = run_model(hexrun, model, *run, "--native", "--output", tmp_path).document["outputs"][0]["file"]

    ran = [
        run_model(hexrun, model, *run, "--compare", place, *more)
        for place in (model.folder / "y.npy", native)
        for more in ((), ("--native",))
    ]

    for each in ran:
        assert each.code == 0, each.err
        assert each.document["outputs"][0]["reference"]["max_abs_error"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("z=reference.npy",), 2, 'the graph has no output "z"'),
        (("y=reference.npy", "y=reference.npy"), 2, 'output "y" has two references'),
        (("folder", "reference.npy"), 2, "--compare names files and a folder"),
        (("folder", "folder"), 2, "--compare names a second folder"),
        (("nowhere.npy",), 3, "the reference of output y cannot be read"),
        (("folder",), 3, "the reference of output y cannot be read"),
        (("other.npy",), 1, "the reference of output y has another shape"),
        (("twice.npy",), 1, "the reference of output y is of another number of runs"),
        (("short.npy",), 3, "does not hold the elements that it should"),
        (("words.npy",), 1, "another element type"),
        (("complex.npy",), 1, "another element type"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_reference_that_does_not_fit_is_refused_before_the_device_is_opened(
    device, arguments, code, message
):
    (device.folder / "folder").mkdir()
    np.save(device.folder / "reference.npy", 2 * X)
    np.save(device.folder / "other.npy", np.zeros((2, 3)))
    np.save(device.folder / "twice.npy", np.zeros((4, 2)))
    np.save(device.folder / "words.npy", np.full((2, 2), "word of twelve"))
    np.save(device.folder / "complex.npy", np.zeros((2, 2), np.complex64))
    (device.folder / "short.npy").write_bytes((device.folder / "reference.npy").read_bytes()[:-1])
    words = []
    for argument in arguments:
        name, equals, file = argument.rpartition("=")
        words += ["--compare", f"{name}{equals}{device.folder / file}"]

    ran = device.run(*words, **ON)

    assert ran.code == code, ran.err
    assert message in ran.document["error"]["what"]
    assert not any(line.startswith("deviceCreate") for line in device.journal)


def test_a_folder_of_references_is_what_the_output_option_wrote(device):
    device.run("--output", device.folder / "out", **ON)

    ran = device.run("--compare", device.folder / "out", **ON)

    assert ran.code == 0
    assert ran.document["outputs"][0]["reference"]["cosine"] == pytest.approx(1)


def test_every_run_of_a_batch_is_compared_and_the_worst_is_told(device):
    x = np.arange(1, 13, dtype=np.float32).reshape(6, 2)
    reference = 2 * x
    reference[0, 1] += 1
    reference[5, 1] += 2

    ran = compared(device, reference, "--min-cosine", "0.5", x=x)

    said = ran.document["outputs"][0]["reference"]
    assert said["cosine"] == pytest.approx(cosine(2 * x[:2], reference[:2]), abs=1e-8)
    assert (said["cosine_run"], said["error_run"], said["error_element"]) == (0, 2, 3)
    assert said["max_abs_error"] == 2


def test_many_failures_are_counted(device):
    x = np.ones((60, 2), np.float32)

    ran = compared(device, -x, x=x)

    said = ran.document["error"]
    assert len(said["evidence"]) + said["evidence_left_out"] == 30
    assert said["evidence"][0].startswith("output y of run 0 of the batch: cosine -1,")


# ---- profiles ----


def test_a_profile_is_a_tree_of_names_values_and_units(device):
    ran = device.run_plainly("--input", device.folder / "x.npy", "--profile", "basic", **ON)
    document = device.run("--profile", "detailed", **ON).document["profile"]

    assert ran.out.split("profile of opening the graph\n")[1].split("profile of one execution\n")[0] == (
        "  event 0.0 100 unknown\n"
        "    event 1.0 101 unknown\n"
        "    event 1.1 101 us\n"
        "  event 0.1 100 us\n"
        "    event 1.0 101 unknown\n"
        "    event 1.1 101 us\n"
    )
    assert document["level"] == "detailed"
    assert document["create"] == document["execute"]
    assert document["execute"]["left_out"] == 0
    assert [event["name"] for event in document["execute"]["events"]] == ["event 0.0", "event 0.1"]
    assert document["execute"]["events"][1]["parts"][1] == {
        "name": "event 1.1",
        "type": 404,
        "value": 101,
        "unit": "us",
    }


@pytest.mark.parametrize(("level", "number"), [("basic", 1), ("detailed", 2)])
def test_only_one_execution_is_profiled_and_the_profile_is_given_back(device, level, number):
    device.run("--profile", level, "--iterations", 4, NOTE_EXECUTE=1, **ON)

    executions = [line for line in device.journal if line.startswith("graphExecute")]
    assert executions == ["graphExecute profile=(nil) memory=0/0"] * 4 + [
        "graphExecute profile=0x7 memory=0/0"
    ]
    assert f"profileCreate level={number}" in device.journal
    order = [
        line for line in device.journal if line.startswith(("profileFree", "backendFree", "destroyPower"))
    ]
    assert order == ["destroyPowerConfigId 42", "profileFree 0x7", "backendFree"]


def test_without_the_option_there_is_no_profile(device):
    ran = device.run(**ON)

    assert "profile" not in ran.document
    assert not any(line.startswith("profile") for line in device.journal)


@pytest.mark.parametrize(("depth", "width", "kept"), [(1, 20000, 8192), (16, 1, 6), (0, 0, 0)])
def test_the_size_of_a_profile_is_bounded_and_what_is_left_out_is_counted(device, depth, width, kept):
    ran = device.run("--profile", "detailed", DEPTH=depth, WIDTH=width, **ON)
    told = ran.document["profile"]["execute"]

    def count(events):
        return sum(1 + count(event.get("parts", [])) for event in events)

    assert count(told["events"]) == kept
    assert (told["left_out"] > 0) == (depth > 0)


@pytest.mark.parametrize("settings", [{"NAME_LENGTH": 200}, {"NAMELESS": 1}], ids=["long", "none"])
def test_names_of_events_are_bounded_and_may_be_absent(device, settings):
    ran = device.run("--profile", "basic", **settings, **ON)

    name = ran.document["profile"]["create"]["events"][0]["name"]
    assert name == ("event 404" if "NAMELESS" in settings else "n" * 127)


@pytest.mark.parametrize(
    ("settings", "call"),
    [({"PROFILE_ERROR": 12000}, "profileCreate"), ({"EVENTS_ERROR": 12001}, "profileGetEvents")],
)
def test_a_backend_that_refuses_a_profile_ends_the_run_and_the_vote(device, settings, call):
    ran = device.run("--profile", "basic", **settings, **ON)

    assert ran.code == 4
    assert f"({call})" in ran.document["error"]["what"]
    assert "destroyPowerConfigId 42" in device.journal


@pytest.mark.parametrize("level", ["basic", "detailed"])
def test_the_real_backend_tells_where_its_time_goes(hexrun, models, level):
    model = models["quantized"]

    ran = run_model(hexrun, model, "--input", model.folder / "x.npy", "--profile", level, "--json")

    assert ran.code == 0, ran.err
    events = ran.document["profile"]["execute"]["events"]
    assert any(event["unit"] == "us" and event["value"] > 0 for event in events)
    assert any(event["type"] == 400 for event in events)
    nodes = [part for event in events for part in event.get("parts", ()) if part["unit"] == "cycles"]
    assert bool(nodes) == (level == "detailed")
    assert any(event["value"] for event in ran.document["profile"]["create"]["events"])


# ---- power ----

OFF_THE_TABLE = ("default", "system_settings")
VOTES = {
    "burst": (0, 16, 40, 0xA0, "max", 9999),
    "sustained_high_performance": (0, 16, 100, 0x80, "turbo", 9999),
    "high_performance": (0, 16, 100, 0x80, "turbo", 9999),
    "balanced": (1, 16, 1000, 0x70, "nom_plus", 0),
    "low_balanced": (1, 16, 1000, 0x60, "nom", 0),
    "high_power_saver": (1, 16, 1000, 0x50, "svs_plus", 0),
    "power_saver": (1, 16, 1000, 0x40, "svs", 0),
    "low_power_saver": (1, 16, 1000, 0x30, "svs2", 0),
    "extreme_power_saver": (1, 4, 1000, 0x10, "disable", 0),
}


def test_the_votes_known_here_are_all_that_hexpack_knows():
    assert {row["id"] for row in table("power")["profile"]} == {*VOTES, *OFF_THE_TABLE}


@pytest.mark.parametrize("profile", VOTES)
def test_each_profile_votes_its_documented_values_and_prints_them(device, profile):
    dcvs, mode, sleep, corner, name, polling = VOTES[profile]
    mode_name = {4: "power_saver", 16: "performance"}[mode]

    ran = device.run("--power", profile, **ON)

    bus = f"{corner}/{corner}/{corner}"
    assert [line for line in device.journal if line.startswith("vote")][:3] == [
        f"vote 42 context=42 dcvs={dcvs} mode={mode} sleep={sleep} bus={bus} core={bus}",
        "vote 42 option=2 us=100",
        f"vote 42 option=3 us={polling}",
    ]
    assert ran.document["power"] == {
        "profile": profile,
        "applied": True,
        "rpc_applied": True,
        "corner": corner,
        "corner_name": name,
        "mode": mode,
        "mode_name": mode_name,
        "dcvs": bool(dcvs),
        "sleep_latency_us": sleep,
        "rpc_latency_us": 100,
        "rpc_polling_us": polling,
        "reason": None,
    }
    assert (
        f"power {profile}: applied: bus and core corner {name} ({corner:#x}), mode {mode_name} ({mode:#x}), "
        f"DCVS {'on' if dcvs else 'off'}, sleep latency {sleep} us, RPC latency 100 us, polling {polling} us\n"
    ) in ran.err


def held(journal: list[str]) -> int:
    """Power ids that were taken and not given back."""
    return sum(line.startswith("create") for line in journal) - sum(
        line.startswith("destroyPower") for line in journal
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_any_moment_leaves_no_vote_behind(device, number):
    command = device.command(
        "--input", device.folder / "x.npy", "--iterations", 20, "--output", device.folder
    )
    environment = {**os.environ, **device.environment(EXECUTE_US=500, **ON)}
    source, codes = random.Random(int(number)), set()

    for _ in range(60):
        started = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        )
        time.sleep(source.uniform(0, 0.025))
        started.send_signal(number)
        codes.add(started.wait(timeout=60))

    assert codes <= {0, 130, -number}
    assert 130 in codes
    assert held(device.journal) == 0


def test_a_reader_who_goes_away_does_not_end_the_run_with_the_vote_held(device):
    command = device.command("--input", device.folder / "x.npy", "--iterations", 3)
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        command, stdout=writing, stderr=writing, env={**os.environ, **device.environment(**ON)}, check=False
    )
    os.close(writing)

    assert done.returncode == 3
    assert "destroyPowerConfigId 42" in device.journal
    assert held(device.journal) == 0


def test_two_runners_at_once_each_give_their_own_vote_back(device):
    environment = {**os.environ, **device.environment(EXECUTE_US=20000, **ON)}
    started = [
        subprocess.Popen(
            device.command(
                *("--input", device.folder / "x.npy", "--iterations", 10, "--output", device.folder / f"{n}")
            ),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for n in range(2)
    ]

    codes = [each.wait(timeout=60) for each in started]

    assert codes == [0, 0]
    lines = [line for line in device.journal if line.startswith(("createPower", "destroyPower"))]
    assert [line[0] for line in lines] == ["c", "c", "d", "d"]
    for n in range(2):
        np.testing.assert_array_equal(np.load(device.folder / f"{n}" / "y.npy"), [[0, 2], [4, 6]])


# ---- buffers that the DSP shares ----


@pytest.fixture
def shared(device, fastrpc, monkeypatch):
    """A device on a system with a FastRPC library."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fastrpc))
    return device


@pytest.mark.parametrize("kind", ["shared", "auto"])
def test_shared_buffers_are_registered_used_measured_against_plain_ones_and_given_back(shared, kind):
    ran = shared.run(*("--buffers", kind, "--iterations", 3, "--output", shared.folder), NOTE_EXECUTE=1, **ON)

    said = ran.document["buffers"]
    assert ran.code == 0, ran.err
    assert (said["asked"], said["used"], said["reason"]) == (kind, "shared", None)
    assert (said["bytes"], said["plain_iterations"], said["same_outputs"]) == (32, 3, True)
    assert said["plain_us"]["min"] <= said["plain_us"]["max"]
    np.testing.assert_array_equal(np.load(shared.folder / "y.npy"), [[0, 2], [4, 6]])
    memory = [line.partition("memory=")[2] for line in shared.journal if line.startswith("graphExecute")]
    assert memory == ["1/1"] * 3 + ["0/0"] * 4
    assert [
        line for line in shared.journal if line.startswith(("memR", "memD", "rpcmem", "contextFree"))
    ] == [
        *["rpcmem_alloc 16"] * 2,
        *["memRegister count=1 type=1 rank=2 data=0x232"] * 2,
        *["memDeRegister count=1"] * 2,
        "contextFree",
        *["rpcmem_free 1"] * 2,
    ]


@pytest.mark.parametrize("name", ["libcdsprpc.so", "libcdsprpc.so.1"])
def test_fastrpc_is_found_under_both_of_its_names(device, fastrpc, tmp_path, monkeypatch, name):
    shutil.copy(fastrpc / "libcdsprpc.so", tmp_path / name)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    ran = device.run("--buffers", "shared", **ON)

    assert ran.code == 0, ran.err


def test_a_library_of_that_name_without_shared_memory_is_said(device, stand_in, tmp_path, monkeypatch):
    shutil.copy(stand_in, tmp_path / "libcdsprpc.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    ran = device.run("--buffers", "auto", **ON)

    assert ran.document["buffers"]["reason"] == "libcdsprpc.so has no rpcmem functions"


def test_the_text_shows_both_kinds_of_buffers(shared):
    text = shared.run_plainly("--input", shared.folder / "x.npy", "--buffers", "auto", **ON).out

    assert "1 x execute: min " in text
    assert "1 x execute with plain buffers instead of shared: min " in text


def test_outputs_that_differ_between_shared_and_plain_buffers_are_said(shared):
    ran = shared.run("--buffers", "shared", INCOHERENT=1, **ON)

    assert ran.document["buffers"]["same_outputs"] is False
    assert "shared and plain buffers do not give the same outputs" in ran.err


REFUSALS = [
    ({"NO_RPCMEM": 1}, "FastRPC gives no memory (rpcmem_alloc)"),
    ({"NO_DESCRIPTOR": 1}, "the buffer of x has no file descriptor (rpcmem_to_fd)"),
    ({"REFUSED_BUFFER": 1}, "the backend did not register the buffer of x (memRegister): error 8003"),
    ({"REFUSED_BUFFER": 2}, "the backend did not register the buffer of y (memRegister): error 8003"),
    ({"NO_MEMORY": 1}, "the backend registers no memory"),
]


@pytest.mark.parametrize(("settings", "reason"), REFUSALS, ids=str)
def test_where_buffers_cannot_be_shared_auto_says_why_and_runs_with_plain_ones(shared, settings, reason):
    ran = shared.run("--buffers", "auto", "--output", shared.folder, **settings, **ON)

    said = ran.document["buffers"]
    assert ran.code == 0, ran.err
    assert said["used"] == "plain"
    assert said["reason"].startswith(reason)
    assert f"buffers plain: {reason}" in ran.err
    np.testing.assert_array_equal(np.load(shared.folder / "y.npy"), [[0, 2], [4, 6]])
    registered = sum(line.startswith("memRegister") for line in shared.journal)
    refused = 1 if "REFUSED_BUFFER" in settings else 0
    assert shared.journal.count("memDeRegister count=1") == registered - refused
    assert shared.journal.count("rpcmem_free 1") == (0 if "NO_RPCMEM" in settings else 2)


@pytest.mark.parametrize(("settings", "reason"), REFUSALS, ids=str)
def test_where_buffers_must_be_shared_and_cannot_the_run_is_refused(shared, settings, reason):
    ran = shared.run("--buffers", "shared", **settings, **ON)

    assert ran.code == 1
    assert ran.document["error"]["what"] == "the buffers cannot be shared with the DSP"
    assert ran.document["error"]["evidence"][0].startswith(reason)
    assert held(shared.journal) == 0


def test_the_real_simulator_shares_no_memory_and_the_run_goes_on(hexrun, models, fastrpc, monkeypatch):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fastrpc))
    model = models["quantized"]
    run = ("--input", model.folder / "x.npy", "--buffers", "auto", "--compare", model.folder / "y.npy")

    ran = run_model(hexrun, model, *run, "--json")

    said = ran.document["buffers"]
    assert ran.code == 0, ran.err
    assert said["used"] == "plain"
    assert said["reason"].endswith("(memRegister): error 1000 COMMON_NOT_SUPPORTED")


def test_a_system_without_fastrpc_is_said(device):
    ran = device.run("--buffers", "auto", **ON)

    assert ran.code == 0
    assert ran.document["buffers"]["reason"].startswith("this system has no libcdsprpc.so: ")


def test_plain_buffers_do_not_look_for_fastrpc(shared):
    ran = shared.run(**ON)

    assert ran.document["buffers"] == {"asked": "plain", "used": "plain", "bytes": 32, "reason": None}
    assert not any(line.startswith("rpcmem") for line in shared.journal)


def test_a_folder_of_samples_goes_through_shared_buffers(shared):
    (shared.folder / "x").mkdir()
    for n in range(3):
        np.save(shared.folder / "x" / f"{n}.npy", np.full((2, 2), n, np.float32))

    ran = shared.run_plainly(
        *("--input", shared.folder / "x", "--output", shared.folder / "out", "--buffers", "shared"), **ON
    )

    assert ran.code == 0, ran.err
    for n in range(3):
        np.testing.assert_array_equal(
            np.load(shared.folder / "out" / f"{n}" / "y.npy"), np.full((2, 2), 2 * n)
        )
