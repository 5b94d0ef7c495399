"""A context binary is somebody else's file: whatever the System library tells about it, hexrun stays in its bounds.

Run with sanitizers. Where a pointer leads cannot be checked, what it is used with can.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from runner_kit import HERE, QCS9075, SOURCES, Ran, configure, run, zig

from packager.runner import generated_tables
from packager.store import Store

pytest_plugins = ["runner_kit"]

SEEDS = 300
REFUSED = {
    "no description": "version of the description: found 0",
    "version 0": "version of the description: found 0",
    "version 4": "version of the description: found 4",
    "no graphs": "number of graphs: found 0",
    "65 graphs": "number of graphs: found 65",
    "all graphs": "number of graphs: found 4294967295",
    "graphs nowhere": "number of graphs: found 2",
    "graph version 0": "graph descriptions of no known size",
    "graph version 4": "graph descriptions of no known size",
    "graph without a name": "graph descriptions of no known size",
    "graph of an empty name": "length of a graph's name",
    "graph of an endless name": "length of a graph's name",
    "all inputs": "graph descriptions of no known size",
    "1025 outputs": "graph descriptions of no known size",
    "1024 outputs": "version of a tensor: found 0",
    "inputs nowhere": "graph descriptions of no known size",
    "tensor version 0": "version of a tensor: found 0",
    "tensor version 3": "version of a tensor: found 3",
    "tensor without a name": "length of a tensor's name",
    "tensor of an endless name": "length of a tensor's name",
    "rank 9": "rank of a tensor: found 9",
    "all ranks": "rank of a tensor: found 4294967295",
    "shape nowhere": "rank of a tensor: found 2",
    "huge shape": "elements of a tensor",
    "unknown type": "QNN data type 0x777 (unknown)",
    "axis -3 of 2": "found 2 scales along axis -3",
    "axis 2 of 2": "found 2 scales along axis 2",
    "3 scales for 2": "found 3 scales along axis 0",
    "all scales": "found 4294967295 scales along axis 0",
}
TAKEN = (
    "nothing", "no scale", "scale below zero", "scale of no number", "endless scale", "unknown encoding",
    "no build", "endless build", "metadata nowhere", "short metadata", "metadata version 2",
)  # fmt: skip


@pytest.fixture(scope="session")
def guarded_hexrun(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runner with AddressSanitizer and UndefinedBehaviorSanitizer."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "tables.c").write_text(generated_tables())
    units = [str(path) for path in SOURCES.glob("*.c") if not path.name.endswith("_windows.c")]
    compiler = shutil.which("clang") or shutil.which("gcc")
    assert compiler, "neither clang nor gcc is installed"
    flags = (
        "-std=c11",
        "-g",
        "-O1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        f"-I{SOURCES}",
    )
    subprocess.run(
        [compiler, *flags, *units, "tables.c", "-o", "hexrun", "-lm", "-ldl"], cwd=folder, check=True
    )
    return folder / "hexrun"


@pytest.fixture(scope="session")
def hostile_system(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    zig(store, folder, "-shared", "-fPIC", "-o", "libHostile.so", HERE / "hostile_system.c", "-lm")
    return folder / "libHostile.so"


@pytest.fixture
def ask(tmp_path: Path, guarded_hexrun: Path, stand_in: Path, hostile_system: Path):
    """Describes, or runs the first graph of, the model that `how` makes hostile."""
    (tmp_path / "dsp").mkdir()
    (tmp_path / "model.bin").write_text("the model")
    np.save(tmp_path / "x.npy", np.ones((2, 2), np.float32))
    conf = configure(
        tmp_path, QCS9075, backend=str(stand_in), system=str(hostile_system), simulator="no", dsp="dsp"
    )

    def asked(how: object, *, describe: bool = False) -> Ran:
        scene = ["--describe"] if describe else ["--input", tmp_path / "x.npy", "--graph", "first"]
        said = {"HOSTILE": how, "STAND_IN_SOC": 77, "STAND_IN_ARCH": 73}
        return run(guarded_hexrun, "--config", conf, "--json", *scene, **said)

    return asked


@pytest.mark.parametrize("how", REFUSED)
def test_a_description_that_makes_no_sense_is_refused_with_what_is_wrong_with_it(ask, how):
    ran = ask(how)

    evidence = ran.document["error"]["evidence"]
    assert ran.code == 1, ran.err
    assert any(REFUSED[how] in line for line in evidence), evidence


@pytest.mark.parametrize("how", TAKEN)
def test_what_hexrun_can_do_without_may_be_missing_or_wrong(ask, how):
    ran = ask(how, describe=True)

    assert ran.code == 0, ran.err
    assert [graph["name"] for graph in ran.document["graphs"]] == ["first", "second"]
    assert ran.document["variant"]["compiled_by"] == (None if "build" in how else "v2.51.0")


@pytest.mark.parametrize("how", ["no scale", "scale below zero", "scale of no number", "endless scale"])
def test_a_scale_that_is_none_is_not_calculated_with(ask, how):
    ran = ask(how)

    assert ran.code == 1, ran.err
    assert "another element type" in ran.document["error"]["what"]


def test_numbers_spoiled_by_chance_end_in_an_answer(ask):
    codes = set()
    for seed in range(SEEDS):
        ran = ask(seed, describe=bool(seed % 2))
        codes.add(ran.code)
        assert ran.code in (0, 1, 2, 4), (seed, ran.code, ran.err)
        assert json.loads(ran.out), seed

    assert codes >= {0, 1}
