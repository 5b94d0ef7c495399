"""What hexrun reads and writes: files, folders of samples, batches, and numbers quantized per axis."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from runner_kit import run, run_model

pytest_plugins = ["runner_kit", "runner_device"]

ON = {"SOC": 77, "ARCH": 73}
SCALE_OFFSET, AXIS, BITS, BITS_AXIS = range(4)
TYPES = {
    0x308: np.int8,
    0x316: np.int16,
    0x332: np.int32,
    0x408: np.uint8,
    0x416: np.uint16,
    0x432: np.uint32,
}


def scales(count: int) -> np.ndarray:
    """As stand_in_qnn.c has them."""
    return np.float32(0.0131) * np.arange(1, count + 1, dtype=np.float32)


def offsets(count: int) -> np.ndarray:
    return -3 * np.arange(count, dtype=np.int64)


def along(values: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """One value for each index along an axis, in a shape that broadcasts over the tensor."""
    return values.reshape([-1 if i == axis else 1 for i in range(rank)])


def quantized(x: np.ndarray, scale: np.ndarray, offset: np.ndarray, low: int, high: int) -> np.ndarray:
    """QuantizeLinear of ONNX."""
    return np.clip(np.rint(x / scale).astype(np.float64) - offset, low, high).astype(np.int64)


def real(stored: np.ndarray, scale: np.ndarray, offset: np.ndarray) -> np.ndarray:
    return ((stored.astype(np.float64) + offset) * scale.astype(np.float64)).astype(np.float32)


@pytest.fixture
def numbers() -> np.ndarray:
    """[2, 3, 4]: ordinary, beyond both ends of every range, and halves of steps of the first channels."""
    values = (np.random.default_rng(3).standard_normal((2, 3, 4)) * 2).astype(np.float32)
    values.flat[:4] = [1e12, -1e12, 0, np.inf]
    values[0, 1] = np.float32(0.0131) * np.float32(2) * np.array([0.5, 1.5, -0.5, -2.5], np.float32)
    return values


@pytest.mark.parametrize("data_type", TYPES, ids=hex)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("encoding", [AXIS, BITS_AXIS])
def test_scales_along_an_axis_convert_bit_for_bit_in_both_directions(
    device, numbers, data_type, axis, encoding
):
    dtype, place = TYPES[data_type], axis % 3
    settings = {"DATA_TYPE": data_type, "SHAPE": "2x3x4", "ENCODING": encoding, "AXIS": axis, **ON}
    settings |= {"CHANNELS": numbers.shape[place], "BITS": 32}
    np.save(device.folder / "x.npy", numbers)

    kept = device.run("--output", device.folder / "stored", "--native", **settings)
    made = device.run("--output", device.folder / "real", **settings)

    scale = along(scales(numbers.shape[place]), place, 3)
    offset = along(offsets(numbers.shape[place]), place, 3)
    stored, back = (np.load(device.folder / name / "y.npy") for name in ("stored", "real"))
    info = np.iinfo(dtype)
    assert (kept.code, made.code, stored.dtype, back.dtype) == (0, 0, dtype, np.float32)
    np.testing.assert_array_equal(stored, quantized(numbers, scale, offset, info.min, info.max))
    np.testing.assert_array_equal(back, real(stored, scale, offset))


@pytest.mark.parametrize(
    ("data_type", "low", "high"), [(0x308, -8, 7), (0x408, 0, 15)], ids=["signed", "unsigned"]
)
@pytest.mark.parametrize("encoding", [BITS, BITS_AXIS])
def test_numbers_of_fewer_bits_than_their_place_saturate_at_their_own_ends(
    device, numbers, data_type, low, high, encoding
):
    settings = {"DATA_TYPE": data_type, "SHAPE": "2x3x4", "ENCODING": encoding, "BITS": 4, **ON}
    np.save(device.folder / "x.npy", numbers)

    device.run("--output", device.folder, "--native", AXIS=1, CHANNELS=3, **settings)

    scale, offset = along(scales(3), 1, 3), along(offsets(3), 1, 3)
    if encoding == BITS:
        scale, offset = scale[:, 1:2], offset[:, 1:2]
    np.testing.assert_array_equal(
        np.load(device.folder / "y.npy"), quantized(numbers, scale, offset, low, high)
    )


def test_without_offsets_they_are_zero(device, numbers):
    settings = {"DATA_TYPE": 0x316, "SHAPE": "2x3x4", "ENCODING": BITS_AXIS, "BITS": 16, "CHANNELS": 2}
    np.save(device.folder / "x.npy", numbers)

    device.run("--output", device.folder, "--native", NO_OFFSETS=1, **settings, **ON)

    expected = quantized(numbers, along(scales(2), 0, 3), np.zeros(1), -32768, 32767)
    np.testing.assert_array_equal(np.load(device.folder / "y.npy"), expected)


def test_a_description_tells_scales_and_offsets_of_every_channel(device):
    settings = {"DATA_TYPE": 0x408, "SHAPE": "2x3x4", "ENCODING": AXIS, "AXIS": 1, "CHANNELS": 3, **ON}

    text = device.run_plainly("--describe", **settings).out
    (graph,) = device.run("--describe", **settings).document["graphs"]

    (said,) = graph["inputs"]
    assert said["axis"] == 1
    np.testing.assert_array_equal(np.array(said["scales"], np.float32), scales(3))
    assert said["offsets"] == [0, -3, -6]
    assert "ufixed_point_8 [2, 3, 4] = (stored + offset) * scale, 3 of each along axis 1" in text


@pytest.mark.parametrize(
    "settings",
    [
        {"AXIS": 3},
        {"AXIS": -4},
        {"CHANNELS": 2},
        {"CHANNELS": 0},
        {"CHANNELS": 4000000000},
        {"NO_SCALES": 1},
    ],
    ids=str,
)
def test_channels_that_do_not_match_the_shape_are_refused(device, settings):
    settings = {"AXIS": 1, "CHANNELS": 3, **settings}

    ran = device.run(DATA_TYPE=0x408, SHAPE="2x3x4", ENCODING=AXIS, **settings, **ON)

    assert ran.code == 1
    assert ran.document["error"]["evidence"] == [
        f"tensor x [2, 3, 4]: found {settings['CHANNELS']} scales along axis {settings['AXIS']}"
    ]


def test_a_channel_whose_scale_is_none_leaves_the_tensor_as_it_is_stored(device):
    ran = device.run(
        "--describe", DATA_TYPE=0x408, SHAPE="2x3x4", ENCODING=AXIS, AXIS=1, CHANNELS=3, BAD_SCALE=2, **ON
    )

    assert ran.document["graphs"][0]["inputs"][0]["takes_float32"] is False


# ---- batches ----


@pytest.mark.parametrize("count", [2, 7])
def test_a_longer_array_is_a_batch_whose_outputs_are_joined(device, count):
    batch = np.arange(count * 4, dtype=np.float32).reshape(count * 2, 2)
    np.save(device.folder / "x.npy", batch)

    ran = device.run("--output", device.folder, "--iterations", 3, **ON)

    assert ran.code == 0, ran.err
    assert ran.document["runs"] == {"kind": "batch", "count": count}
    assert ran.document["iterations"] == 3 * count
    assert ran.document["outputs"][0]["shape"] == [2 * count, 2]
    np.testing.assert_array_equal(np.load(device.folder / "y.npy"), 2 * batch)


def test_a_single_input_beside_a_batch_serves_every_run(device):
    np.save(device.folder / "x.npy", np.arange(12, dtype=np.float32).reshape(6, 2))
    np.save(device.folder / "w.npy", np.full((2, 2), 100, np.float32))

    ran = device.run_plainly(
        *("--input", f"x={device.folder}/x.npy", "--input", f"w={device.folder}/w.npy"),
        *("--output", device.folder),
        INPUTS=2,
        **ON,
    )

    assert ran.code == 0, ran.err
    expected = 2 * np.arange(12, dtype=np.float32).reshape(6, 2) + 100
    np.testing.assert_array_equal(np.load(device.folder / "y.npy"), expected)


def test_batches_of_two_sizes_are_refused(device):
    np.save(device.folder / "x.npy", np.zeros((6, 2), np.float32))
    np.save(device.folder / "w.npy", np.zeros((4, 2), np.float32))

    ran = device.run_plainly(
        "--input", f"x={device.folder}/x.npy", "--input", f"w={device.folder}/w.npy", INPUTS=2, **ON
    )

    assert ran.code == 1
    assert "input w is a batch of another size than the other inputs" in ran.err
    assert "wanted once, or 3 times" in ran.err


def test_a_part_of_a_run_too_much_is_no_batch(device):
    np.save(device.folder / "x.npy", np.zeros((5, 2), np.float32))

    ran = device.run(**ON)

    assert ran.code == 1
    assert ran.document["error"]["evidence"] == [f"found [5, 2] in {device.folder}/x.npy", "wanted [2, 2]"]


def test_a_batch_on_the_simulator_computes_what_its_parts_compute(hexrun, models, tmp_path):
    model = models["quantized"]
    x = model.array("x")
    np.save(tmp_path / "batch.npy", np.concatenate([x, x[:, :, ::-1], x]))

    ran = run_model(hexrun, model, "--input", tmp_path / "batch.npy", "--output", tmp_path, "--json")

    whole = np.load(ran.document["outputs"][0]["file"])
    assert whole.shape == (3, 3, 8, 8)
    np.testing.assert_array_equal(whole[:1], model.array("y"))
    np.testing.assert_array_equal(whole[2:], model.array("y"))
    assert np.any(whole[1:2] != model.array("y"))


# ---- folders of samples ----


@pytest.fixture
def samples(device):
    """Three samples of two inputs; the files of a folder are no array and no raw numbers all."""
    for number, name in enumerate(("b", "a", "10")):
        for kind in ("x", "w"):
            folder = device.folder / kind
            folder.mkdir(exist_ok=True)
            np.save(folder / f"{name}.npy", np.full((2, 2), number + (100 if kind == "w" else 0), np.float32))
    (device.folder / "w" / "10.npy").unlink()
    (device.folder / "w" / "10.raw").write_bytes(np.full((2, 2), 102, np.float32).tobytes())
    (device.folder / "x" / "notes.txt").write_text("what these are")
    (device.folder / "x" / ".npy").write_text("hidden")
    return device


def inputs(device) -> tuple[str, ...]:
    return ("--input", f"x={device.folder}/x", "--input", f"w={device.folder}/w")


def test_every_sample_of_a_folder_runs_and_has_a_folder_of_outputs(samples):
    out = samples.folder / "out"

    ran = samples.run_plainly(*inputs(samples), "--output", out, "--json", INPUTS=2, **ON)

    assert ran.code == 0, ran.err
    assert ran.document["runs"] == {"kind": "samples", "count": 3, "samples": ["10", "a", "b"]}
    assert ran.document["outputs"][0]["file"] == f"{out}/{{sample}}/y.npy"
    for number, name in enumerate(("b", "a", "10")):
        np.testing.assert_array_equal(np.load(out / name / "y.npy"), np.full((2, 2), 3 * number + 100))


def test_samples_are_compared_with_a_folder_as_the_output_option_writes_it(samples):
    out = samples.folder / "out"
    samples.run_plainly(*inputs(samples), "--output", out, INPUTS=2, **ON)

    same = samples.run_plainly(*inputs(samples), "--compare", out, "--json", INPUTS=2, **ON)
    np.save(out / "a" / "y.npy", np.array([[103, 103], [103, 80]], np.float32))
    other = samples.run_plainly(*inputs(samples), "--compare", out, "--json", INPUTS=2, **ON)

    assert same.document["outputs"][0]["reference"]["cosine"] == pytest.approx(1)
    assert other.code == 1
    (line,) = other.document["error"]["evidence"]
    assert re.fullmatch(
        r"output y of sample a: cosine 0\.99\d+, wanted at least 0\.999; largest difference 23 at element 3",
        line,
    )


@pytest.mark.parametrize(
    ("change", "code", "lines"),
    [
        (lambda x: (x / "c.npy").write_bytes(b""), 1, ["do not hold the same names", "holds no more"]),
        (lambda x: shutil.copy(x / "a.npy", x / "a.raw"), 1, ["two files for one sample", "a.npy and a.raw"]),
        (lambda x: np.save(x / "b.npy", np.zeros((4, 2), np.float32)), 1, ["a sample holds a batch"]),
        (lambda x: np.save(x / "b.npy", np.zeros((2, 3), np.float32)), 1, ["another shape than the graph"]),
        (lambda x: np.save(x / "b.npy", np.zeros((2, 2))), 1, ["another element type"]),
        (lambda x: (x / "b.npy").write_bytes((x / "b.npy").read_bytes()[:-1]), 3, ["the elements that it"]),
        (lambda x: [f.unlink() for f in list(x.iterdir())], 3, ["it holds no .npy and no .raw file"]),
    ],
    ids=["more names", "two files", "batch", "shape", "type", "short", "empty"],
)
def test_samples_that_do_not_fit_are_refused_before_the_device_is_opened(samples, change, code, lines):
    change(samples.folder / "x")

    ran = samples.run_plainly(*inputs(samples), INPUTS=2, **ON)

    assert ran.code == code, ran.err
    for line in lines:
        assert line in ran.err
    assert not any(line.startswith("deviceCreate") for line in samples.journal)


def test_a_file_beside_folders_serves_every_sample(samples):
    np.save(samples.folder / "w.npy", np.full((2, 2), 7, np.float32))

    ran = samples.run_plainly(
        *("--input", f"x={samples.folder}/x", "--input", f"w={samples.folder}/w.npy"),
        *("--output", samples.folder / "out"),
        INPUTS=2,
        **ON,
    )

    assert ran.code == 0, ran.err
    np.testing.assert_array_equal(np.load(samples.folder / "out" / "10" / "y.npy"), np.full((2, 2), 11))


def test_a_time_to_run_for_and_several_samples_do_not_go_together(samples):
    ran = samples.run_plainly(*inputs(samples), "--duration", 1, INPUTS=2, **ON)

    assert ran.code == 2
    assert "--duration is for one sample" in ran.err
    assert "found 3 samples" in ran.err


@pytest.mark.parametrize("size", [0, 15, 17, 32])
def test_a_raw_file_must_have_exactly_the_inputs_size(device, size):
    (device.folder / "x.raw").write_bytes(bytes(size))

    ran = device.run_plainly("--input", device.folder / "x.raw", **ON)

    assert ran.code == 1
    assert f"found {size} bytes" in ran.err
    assert "wanted 16 bytes of float32" in ran.err


# ---- folders of samples with odd names ----


def test_samples_of_two_inputs_go_together_by_their_names_without_endings(device):
    names = ("a", "a.o", "a-b", "b")
    for kind, ending in (("x", "npy"), ("w", "raw")):
        (device.folder / kind).mkdir()
        for number, name in enumerate(names):
            array = np.full((2, 2), number + (100 if kind == "w" else 0), np.float32)
            np.save(device.folder / "made.npy", array)
            made = device.folder / kind / f"{name}.{ending}"
            made.write_bytes(
                array.tobytes() if ending == "raw" else (device.folder / "made.npy").read_bytes()
            )
    out = device.folder / "out"

    ran = device.run_plainly(
        *("--input", f"x={device.folder / 'x'}", "--input", f"w={device.folder / 'w'}", "--output", out),
        INPUTS=2,
        **ON,
    )

    assert ran.code == 0, ran.err
    for number, name in enumerate(names):
        np.testing.assert_array_equal(np.load(out / name / "y.npy"), np.full((2, 2), 3 * number + 100))


def test_two_files_for_one_sample_are_seen_although_another_name_sorts_between_them(device):
    (device.folder / "x").mkdir()
    for name in ("a.npy", "a.o.npy"):
        np.save(device.folder / "x" / name, np.zeros((2, 2), np.float32))
    (device.folder / "x" / "a.raw").write_bytes(bytes(16))

    ran = device.run_plainly("--input", device.folder / "x", **ON)

    assert ran.code == 1
    assert "input x has two files for one sample" in ran.err


def test_hidden_files_are_no_samples_and_lead_nowhere(device):
    (device.folder / "x").mkdir()
    for name in ("a.npy", "._a.npy", "..npy", "...npy"):
        np.save(device.folder / "x" / name, np.zeros((2, 2), np.float32))
    out = device.folder / "out" / "deeper"
    out.parent.mkdir()

    ran = device.run_plainly("--input", device.folder / "x", "--output", out, **ON)

    assert ran.code == 0, ran.err
    assert [str(path.relative_to(out.parent)) for path in out.parent.rglob("*.npy")] == ["deeper/a/y.npy"]


def test_a_head_that_claims_more_than_any_file_holds_is_refused(device):
    """2^32 bytes for a run, 2^32 - 1 times: the product does not fit into 64 bits."""
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967295, 65535, 4096), }"
    head += " " * (117 - len(head)) + "\n"
    (device.folder / "x.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
    )

    ran = device.run(SHAPE="1x65535x4096", **ON)

    assert ran.code == 3
    assert "does not hold the elements that it should" in ran.err


# ---- files that are whole or not there ----


def in_the_same_folder(device, batch: int) -> None:
    """Runs at once with inputs of ones and of twos; what they leave is all of one of them."""
    settings = {"SHAPE": "256x256", **ON}
    commands, told = [], {**os.environ, **device.environment(**settings)}
    for number in (1, 2, 3):
        np.save(device.folder / f"{number}.npy", np.full((256 * batch, 256), number, np.float32))
        inputs = ("--input", device.folder / f"{number}.npy", "--output", device.folder / "out")
        commands.append(device.command(*inputs))

    started = [
        subprocess.Popen(command, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for command in commands
    ]

    assert [each.wait(timeout=60) for each in started] == [0] * 3
    (left,) = (device.folder / "out").iterdir()
    made = np.load(left)
    assert made.shape == (256 * batch, 256)
    assert np.unique(made).size == 1
    assert made[0, 0] in (2, 4, 6)


@pytest.mark.parametrize("batch", [1, 8])
def test_runners_that_write_to_the_same_folder_at_once_leave_whole_outputs(device, batch):
    for _ in range(8):
        in_the_same_folder(device, batch)


@pytest.mark.parametrize("limit", [0, 100, 128, 4096, 260000])
def test_an_output_that_is_not_written_whole_is_not_there(device, limit):
    np.save(device.folder / "x.npy", np.zeros((256, 256), np.float32))
    small = (
        f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit},) * 2); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = device.command("--input", device.folder / "x.npy", "--output", device.folder / "out")

    # The stand-in's journal would be too large as well.
    told = device.environment(SHAPE="256x256", **ON) | {"STAND_IN_JOURNAL": "/dev/null"}
    ran = run(Path(sys.executable), "-c", small, *command, **told)

    assert ran.code == 3
    assert "output y cannot be written" in ran.err
    assert "y.npy: File too large" in ran.err
    assert not list((device.folder / "out").iterdir())


def test_an_output_whose_name_is_taken_by_a_folder_leaves_nothing_else(device):
    (device.folder / "out" / "y.npy").mkdir(parents=True)

    ran = device.run("--output", device.folder / "out", **ON)

    assert ran.code == 3
    assert [path.name for path in (device.folder / "out").iterdir()] == ["y.npy"]
