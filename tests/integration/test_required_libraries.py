"""Packages that leave the vendor's libraries to the device: what they say, and that they run with them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.program import EXAMPLE, run

TARGETS = """
[[targets]]
name = "board"
soc = ["qcs9075"]
os = "linux"
formats = ["deb", "tar.zst"]
vendor_libraries = "require"

[targets.host]
libraries = "/usr/lib"
dsp = "/usr/lib/dsp/cdsp"
depends = ["qairt-runtime (= 2.51.0)"]
recommends = ["qairt-tools"]

[[targets]]
name = "simulator"
soc = ["qcs9075"]
os = "linux"
abi = "x86_64-linux-clang"
formats = ["tar.gz"]
vendor_libraries = "require"
host = { libraries = "LIBRARIES" }
"""


@pytest.fixture(scope="module")
def required(store, runtime_simulator, tmp_path_factory) -> tuple[Path, dict]:
    """The example for a board and the simulator, without libraries; output folder and report."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(EXAMPLE / "samples", project / "samples")
    libraries = project / "system" / "lib"
    libraries.mkdir(parents=True)
    for name, path in runtime_simulator.items():
        shutil.copy(path, libraries / name)
    head = (EXAMPLE / "app.toml").read_text(encoding="utf-8").partition("[[targets]]")[0]
    head = head.replace('calibration = { path = "calibration/*.npy" }\n', "")
    (project / "app.toml").write_text(head + TARGETS.replace("LIBRARIES", str(libraries)), encoding="utf-8")
    done = run(
        "package", "--manifest", str(project / "app.toml"), "--out", str(project / "dist"), "--json",
        HEXPACK_STORE=str(store.root),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return project, json.loads(done.stdout)


def unpacked(project: Path, pattern: str, into: Path) -> Path:
    (package,) = (project / "dist").glob(pattern)
    subprocess.run(["tar", "-xf", package, "-C", into], check=True)
    (tree,) = into.iterdir()
    return tree


def test_no_vendor_file_and_no_licence_of_one_is_in_the_package(required):
    _, report = required
    board = report["targets"][0]

    assert {file["role"] for file in board["files"]} == {
        "runner", "context", "htp-config", "runner-config", "document", "sums",
    }  # fmt: skip
    assert report["findings"] == []


def test_the_report_and_the_readme_name_what_the_device_has_to_hold(required, tmp_path):
    project, report = required
    needed = {file["path"]: file for file in report["targets"][0]["required"]}

    readme = (unpacked(project, "*board*.tar.zst", tmp_path) / "README.txt").read_text(encoding="utf-8")

    assert set(needed) == {
        "/usr/lib/libQnnHtp.so",
        "/usr/lib/libQnnSystem.so",
        "/usr/lib/libQnnHtpV73Stub.so",
        "/usr/lib/dsp/cdsp/libQnnHtpV73Skel.so",
    }
    builds = {file["build"] for file in needed.values()}
    assert builds - {None} == {"v2.51.0.260929181845"}  # libQnnSystem names none
    assert all(path in readme and file["blob"]["sha256"] in readme for path, file in needed.items())
    assert "build v2.51.0.260929181845." in readme
    assert "share/licenses" not in readme


def test_dpkg_reads_which_packages_bring_the_libraries(required):
    project, _ = required
    (deb,) = (project / "dist").glob("*board*.deb")

    fields = subprocess.run(
        ["dpkg-deb", "-f", deb, "Depends", "Recommends"], capture_output=True, text=True, check=True
    ).stdout

    assert "qairt-runtime (= 2.51.0)" in fields.partition("Recommends:")[0]
    assert "libc6" in fields
    assert fields.rstrip().endswith("Recommends: qairt-tools")


def test_the_runner_takes_the_libraries_from_where_the_device_has_them(required, tmp_path):
    project, _ = required
    tree = unpacked(project, "*simulator*.tar.gz", tmp_path)
    sample = next((EXAMPLE / "samples").glob("*.npy"))
    command = [tree / "bin" / "hexrun", "--input", f"x={sample}", "--output", tmp_path / "out", "--json"]

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    (project / "system" / "lib").rename(project / "system" / "gone")
    without = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    (project / "system" / "gone").rename(project / "system" / "lib")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outputs"]
    assert without.returncode == 3
    assert (
        "libQnnSystem.so" in without.stdout + without.stderr
        or "libQnnHtp.so" in without.stdout + without.stderr
    )
