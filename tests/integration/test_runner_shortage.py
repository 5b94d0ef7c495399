"""hexrun when memory, reading or writing fails, at every place where it can."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from runner_device import Device
from runner_kit import HERE, SOURCES, zig

from packager.runner import generated_tables
from packager.store import Store

pytest_plugins = ["runner_kit", "runner_device"]

SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CODES = {"memory": {0, 3, 70}, "read": {0, 3}, "write": {3}}
SCENES = {
    "one": (
        "--input {0}/x.npy --output {0}/out --compare {0}/y.npy --profile detailed",
        {},
    ),
    "samples": (
        "--input x={0}/x --input w={0}/w --output {0}/out --buffers auto",
        {"INPUTS": 2, "DATA_TYPE": 0x408, "ENCODING": 1},
    ),
    "batch": ("--input {0}/batch.npy --output {0}/out --buffers plain", {}),
    "description": ("--describe --json", {"GRAPHS": 3}),
    "saved": ("--config {0}/composed.conf --save-context {0}/out/made.bin", {"GRAPHS": 2}),
    "doctor": ("--config {0}/simulated.conf --doctor --json", {}),
}
SILENT = {"description", "doctor"}
"""They write no file."""


@pytest.fixture(scope="session")
def failing_hexrun(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runner whose calls fail on demand, with sanitizers where this machine has a compiler for them."""
    folder = tmp_path_factory.mktemp("failing")
    (folder / "tables.c").write_text(generated_tables())
    units = [path for path in SOURCES.glob("*.c") if not path.name.endswith("_windows.c")]
    flags = ("-D_XOPEN_SOURCE=700", "-include", HERE / "failing_calls.h", f"-I{HERE}")
    rest = (*units, folder / "tables.c", HERE / "failing_calls.c", "-o", folder / "hexrun", "-lm", "-ldl")
    if compiler := shutil.which("gcc"):
        command = [compiler, "-std=c11", "-O1", *SANITIZED, f"-I{SOURCES}", *flags, *rest]
        subprocess.run([str(word) for word in command], cwd=folder, check=True)
    else:
        zig(store, folder, "-fsanitize=undefined", *flags, *rest)
    return folder / "hexrun"


@pytest.fixture
def device(tmp_path: Path, stand_in: Path, failing_hexrun: Path, fastrpc: Path, monkeypatch) -> Device:
    """Inputs of every kind and their references beside the package, on a system with FastRPC."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fastrpc))
    made = Device(tmp_path, stand_in, failing_hexrun)
    for kind in ("x", "w"):
        (tmp_path / kind).mkdir()
        for name in ("a", "b"):
            np.save(tmp_path / kind / f"{name}.npy", np.ones((2, 2), np.float32))
    np.save(tmp_path / "batch.npy", np.ones((4, 2), np.float32))
    (tmp_path / "model.dlc").write_text("the model")
    conf = made.conf.read_text()
    (tmp_path / "simulated.conf").write_text(conf.replace("simulator no", "simulator yes"))
    conf = conf.replace("format 1", "format 2").replace("context=model.bin", "dlc=model.dlc")
    backend = next(line for line in conf.splitlines() if line.startswith("backend "))
    conf = conf.replace(f"{backend}\n", "").replace("compute npu", backend.replace("backend", "compute npu"))
    (tmp_path / "composed.conf").write_text(conf)
    np.save(tmp_path / "y.npy", np.array([[0, 2], [4, 6]], np.float32))
    return made


@pytest.mark.parametrize(
    ("scene", "kind", "lasting"),
    [
        *(
            (scene, kind, False)
            for scene in SCENES
            for kind in CODES
            if scene not in SILENT or kind != "write"
        ),
        *((scene, "memory", True) for scene in SCENES),
    ],
)
def test_a_call_that_fails_ends_the_run_as_it_should_wherever_it_is(
    device, monkeypatch, scene, kind, lasting
):
    words, settings = SCENES[scene]
    arguments = words.format(device.folder).split()
    out, witness, journal = (device.folder / name for name in ("out", "witness", "journal"))
    monkeypatch.setenv("FAIL_KIND", kind)
    monkeypatch.setenv("FAIL_WITNESS", str(witness))
    if lasting:
        monkeypatch.setenv("FAIL_ON", "1")
    out.mkdir()
    assert device.run_plainly(*arguments, SOC=77, ARCH=73, **settings).code == 0
    whole = {file.relative_to(out): file.read_bytes() for file in out.rglob("*.*")}

    number, codes = 0, set()
    while True:
        number += 1
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        for left in (witness, journal):
            left.unlink(missing_ok=True)
        monkeypatch.setenv("FAIL_AT", str(number))
        ran = device.run_plainly(*arguments, SOC=77, ARCH=73, **settings)
        if not witness.exists():
            break
        codes.add(ran.code)
        said = journal.read_text() if journal.exists() else ""
        assert ran.code in CODES[kind], (number, ran.err)
        assert ran.code == 0 or ran.err or ran.out, number
        assert said.count("createPowerConfigId") == said.count("destroyPowerConfigId"), number
        assert said.count("memRegister") == said.count("memDeRegister"), number
        for file in out.rglob("*.*"):
            assert file.read_bytes() == whole[file.relative_to(out)], (number, file)

    assert ran.code == 0
    assert codes - {0}
