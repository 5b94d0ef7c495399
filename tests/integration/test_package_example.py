"""The main job from manifest to running program, on the example and the real libraries."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.integration.program import EXAMPLE, ROOT, run

NAMES = [
    "text-direction-1.0.0-linux-arm64-qcs6490.tar.zst",
    "text-direction-1.0.0-linux-arm64-qcs6490.deb",
    "text-direction-1.0.0-linux-arm64-qcs9075.tar.zst",
    "text-direction-1.0.0-linux-arm64-qcs9075.deb",
    "text-direction-1.0.0-windows-arm64.zip",
    "text-direction-1.0.0-linux-x86_64-simulator.deb",
]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="session")
def simulator_root(built, tmp_path_factory) -> Path:
    """The simulator's package as dpkg installs it."""
    out, _ = built
    root = tmp_path_factory.mktemp("root")
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates"):
        (root / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    subprocess.run(
        ["dpkg", f"--root={root}", "--force-not-root", "--force-depends", "--force-architecture", "-i", str(out / NAMES[5])],
        check=True, capture_output=True,
    )  # fmt: skip
    return root


def test_every_package_of_the_manifest_appears_and_nothing_else(built):
    out, report = built

    assert sorted(path.name for path in out.iterdir()) == sorted(NAMES)
    assert [p["file_name"] for t in report["targets"] for p in t["packages"]] == NAMES
    assert not report["refused"]


def test_the_report_lists_what_every_package_holds_with_the_largest_first(built):
    _, report = built

    files = next(target for target in report["targets"] if target["label"] == "qcs9075")["files"]

    assert [file["size"] for file in files] == sorted((file["size"] for file in files), reverse=True)
    assert files[0]["path"] == "dsp/libQnnHtpV73Skel.so"
    assert "onnxruntime-qnn==2.7.0" in files[0]["origin"]
    assert {"runner", "context", "backend", "licence", "sums"} <= {file["role"] for file in files}


def test_the_report_has_the_digest_and_size_of_every_package(built):
    out, report = built

    for target in report["targets"]:
        for package in target["packages"]:
            path = out / package["file_name"]
            assert (sha256(path), path.stat().st_size) == (package["blob"]["sha256"], package["blob"]["size"])


def test_every_context_is_proved_against_onnxruntime_on_the_cpu(built):
    _, report = built

    proofs = {target["label"]: target["proofs"] for target in report["targets"]}

    assert all(proof["samples"] >= 4 for target in proofs.values() for proof in target)
    assert proofs["qcs9075"][0]["cosine"] >= 0.999
    assert proofs["x-elite"][0]["cosine"] >= 0.999
    assert 0.99 <= proofs["qcs6490"][0]["cosine"] < proofs["qcs9075"][0]["cosine"]


def test_the_packages_hold_what_their_socs_need_and_no_more(built):
    out, _ = built

    with zipfile.ZipFile(out / NAMES[4]) as package:
        names = {name.partition("/")[2] for name in package.namelist()}
    listing = subprocess.run(
        ["dpkg-deb", "-c", out / NAMES[1]], capture_output=True, text=True, check=True
    ).stdout

    assert {n for n in names if n.endswith((".dll", ".exe", ".so", ".cat"))} == {
        "QnnHtp.dll", "QnnSystem.dll", "QnnHtpV73Stub.dll", "libQnnHtpV73Skel.so", "libqnnhtpv73.cat", "hexrun.exe",
    }  # fmt: skip
    assert "libQnnHtpV68Skel.so" in listing
    assert not [word for word in ("Prepare", "V73", "V69", ".cat", ".dll") if word in listing]


@pytest.mark.parametrize("name", [n for n in NAMES if n.endswith(".deb")])
def test_the_checksums_inside_a_package_hold_after_unpacking(built, name, tmp_path):
    out, _ = built
    subprocess.run(["dpkg-deb", "-x", out / name, tmp_path], check=True)
    (sums,) = tmp_path.rglob("SHA256SUMS")

    checked = subprocess.run(
        ["sha256sum", "-c", "--strict", "SHA256SUMS"],
        cwd=sums.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout
    assert len(checked.stdout.splitlines()) >= 10


def test_vendor_files_are_byte_for_byte_those_of_the_wheel(built, runtime_windows, tmp_path):
    out, _ = built

    with zipfile.ZipFile(out / NAMES[4]) as package:
        for name in package.namelist():
            base = name.rpartition("/")[2]
            if base in runtime_windows:
                assert package.read(name) == runtime_windows[base].read_bytes()


def test_the_installed_simulator_package_computes_what_the_proof_said(
    built, simulator_root, classifier_onnx, tmp_path
):
    import numpy as np
    import onnxruntime

    program = simulator_root / "usr" / "bin" / "text-direction"
    reference = onnxruntime.InferenceSession(str(classifier_onnx), providers=["CPUExecutionProvider"])
    samples = sorted((EXAMPLE / "samples").glob("*.npy"))
    (proof,) = built[1]["targets"][3]["proofs"]
    worst = 0.0

    for sample in samples:
        done = subprocess.run(
            [program, "--input", f"x={sample}", "--output", tmp_path / sample.stem, "--json"],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        (found,) = (np.load(tmp_path / sample.stem / Path(o["file"]).name) for o in said["outputs"])
        (wanted,) = reference.run(None, {"x": np.load(sample)})
        worst = max(worst, float(np.abs(found - wanted).max()))
        assert found.argmax() == wanted.argmax()

    assert len(samples) == proof["samples"]
    assert worst == pytest.approx(proof["max_abs"], rel=1e-3)


def test_the_installed_runner_and_onnxruntime_agree_value_for_value_on_the_same_context(
    simulator_root, store, tmp_path
):
    import numpy as np

    (context,) = simulator_root.rglob("qcs9075.bin")
    shutil.copy(context, tmp_path / "context.bin")
    sample = min((EXAMPLE / "samples").glob("*.npy"))
    program = simulator_root / "usr" / "bin" / "text-direction"
    done = subprocess.run(
        [program, "--input", f"x={sample}", "--output", tmp_path / "ours", "--json"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    (ours,) = [np.load(tmp_path / "ours" / Path(o["file"]).name) for o in json.loads(done.stdout)["outputs"]]

    subprocess.run(
        [sys.executable, "-m", "tests.integration.run_context", "context.bin", str(sample), "theirs.npy"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, capture_output=True, timeout=120,
    )  # fmt: skip

    assert ours.tobytes() == np.load(tmp_path / "theirs.npy").tobytes()


def test_a_second_run_fetches_and_builds_nothing_and_works_without_a_network(built, store):
    out, _ = built
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}

    again = run(
        "package", "--manifest", str(EXAMPLE / "app.toml"), "--out", str(out), "--json", "--offline", "--locked",
        HEXPACK_STORE=str(store.root), PIP_NO_INDEX="1",
    )  # fmt: skip

    report = json.loads(again.stdout)
    assert all(target["reused"] for target in report["targets"])
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before
    assert again.stderr == ""


WATCH = """
import os, sys
def watch(event, arguments):
    if event == "socket.__new__" and arguments[1] != getattr(__import__("socket"), "AF_UNIX", None):
        open(os.environ["SOCKETS"], "a").write(f"{sys.orig_argv} {arguments}\\n")
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.connect"):
        open(os.environ["SOCKETS"], "a").write(f"{sys.orig_argv} {event} {arguments}\\n")
sys.addaudithook(watch)
"""


def test_another_machine_gets_the_same_bytes_and_the_same_lock_without_a_network(built, store, tmp_path):
    out, _ = built
    elsewhere, watched = tmp_path / "another place", tmp_path / "watched"
    shutil.copytree(EXAMPLE, elsewhere, ignore=shutil.ignore_patterns("app.lock"))
    (tmp_path / "home").mkdir()
    watched.mkdir()
    (watched / "sitecustomize.py").write_text(WATCH)
    fresh = tmp_path / "store"
    # The same downloads and the same C libraries of the cross compiler; every step is done anew.
    shutil.copytree(store.root / "blobs", fresh / "blobs", copy_function=os.link)
    for kept in ("zig", "steps/wheel", "steps/member"):
        if (store.root / kept).exists():
            shutil.copytree(store.root / kept, fresh / kept, symlinks=True)
    command = (
        f"umask 077; exec '{sys.executable}' -c 'from packager.commands.program import main; main()'"
        " package --json --out again --offline"
    )
    environment = os.environ | {
        "HEXPACK_STORE": str(fresh), "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "PYTHONHASHSEED": "7",
        "PYTHONPATH": f"{watched}{os.pathsep}{ROOT}", "HOME": str(tmp_path / "home"),
        "SOCKETS": str(tmp_path / "sockets"),
    }  # fmt: skip

    done = subprocess.run(
        ["bash", "-c", command],
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )

    assert done.returncode == 0, done.stderr
    assert {p.name: sha256(p) for p in (elsewhere / "again").iterdir()} == {
        p.name: sha256(p) for p in out.iterdir()
    }
    lock = (elsewhere / "app.lock").read_text(encoding="utf-8")
    assert lock == (EXAMPLE / "app.lock").read_text(encoding="utf-8")
    assert str(tmp_path) not in lock
    assert not re.search(r'["\s]/', lock)
    assert not (tmp_path / "sockets").exists(), (tmp_path / "sockets").read_text()


def test_the_watch_of_the_offline_test_sees_a_socket(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(WATCH)

    subprocess.run(
        [sys.executable, "-c", "import socket; socket.socket().close()"],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "SOCKETS": str(tmp_path / "sockets")},
        check=True,
    )

    assert "socket" in (tmp_path / "sockets").read_text()
