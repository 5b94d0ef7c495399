"""What hexrun refuses, and that it says what it found, what it wanted and where."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from runner_kit import QCS9075, VENDOR, configure, run, run_model

from packager.catalog import table

pytest_plugins = ["runner_kit"]


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
        ({"format": "3"}, ':1: format "3" is not known'),
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
    assert said["error"]["what"] == 'hexrun does not know "--\ufffd\ufffd\ufffd ""'


def test_version_and_help_go_to_standard_output(hexrun):
    version, usage = run(hexrun, "--version"), run(hexrun, "--help")

    assert (version.code, usage.code) == (0, 0)
    assert re.fullmatch(r"hexrun \d+\.\d+\S*\n", version.out)
    for option in ("--input", "--output", "--soc", "--power", "--json", "--describe"):
        assert option in usage.out
