"""The example for cars: a QNX host and a Linux guest, from a tree of the SDK's shape with small genuine ELF files.

No SDK with QNX libraries can be had here; contexts, proofs, the runner and the package are the real ones.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from packager.facts.build_file import read_build_file
from packager.facts.elf import read_elf
from tests.integration.program import ROOT, run
from tests.make.elf import elf
from tests.make.sdk import make_sdk

NAMES = [
    "text-direction-cockpit-1.0.0-linux-arm64-guest.tar.gz",
    "text-direction-cockpit-1.0.0-qnx-aarch64-host.tar.gz",
]
RUNTIME = ("libc++.so.1", "libc++abi.so.1")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, an SDK and a copy of the host's image folder."""
    desk = tmp_path_factory.mktemp("cockpit")
    make_sdk(desk / "sdk", {"aarch64-qnx": "qnx", "aarch64-oe-linux-gcc9.3": "linux"}, (73,))
    for name in ("text-direction", "qnx-cockpit"):
        shutil.copytree(ROOT / "examples" / name, desk / "examples" / name)
    host = desk / "examples" / "qnx-cockpit" / "qnx-host"
    host.mkdir()
    for name in RUNTIME:
        (host / name).write_bytes(elf(machine="HEXAGON", flags=0x68, soname=name))
    return desk


def package(desk: Path, out: str, manifest: str = "app.toml") -> subprocess.CompletedProcess[str]:
    return run(
        "package", "--manifest", str(desk / "examples" / "qnx-cockpit" / manifest), "--out", str(desk / out),
        "--json", QAIRT_SDK_ROOT=str(desk / "sdk"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def built(desk: Path) -> dict[str, Any]:
    done = package(desk, "dist")
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.fixture(scope="module")
def tree(desk: Path, built: dict[str, Any]) -> Path:
    """The package for the host, unpacked by tar."""
    folder = desk / "unpacked"
    folder.mkdir()
    subprocess.run(["tar", "-xzf", str(desk / "dist" / NAMES[1]), "-C", str(folder)], check=True)
    (tree,) = folder.iterdir()
    return tree


def test_host_and_guest_get_a_package_each_with_proved_contexts(desk, built):
    assert sorted(path.name for path in (desk / "dist").iterdir()) == NAMES
    for target in built["targets"]:
        assert [proof["cosine"] > 0.999 for proof in target["proofs"]] == [True]


def test_the_runner_without_an_sdk_is_a_finding_until_it_is_accepted_by_name(desk, built):
    manifest = desk / "examples" / "qnx-cockpit" / "app.toml"
    strict = manifest.with_name("strict.toml")
    strict.write_text(manifest.read_text().partition("[[allow]]")[0])

    told = package(desk, "strict", "strict.toml")

    (finding,) = json.loads(told.stdout)["findings"]
    assert (finding["rule"], finding["allowed"]) == ("HEX244", None)
    (accepted,) = built["findings"]
    assert (accepted["rule"], accepted["allowed"]) == (
        "HEX244",
        "runner for QNX built without its SDK, to be replaced by one of qcc",
    )


def test_the_host_has_its_tree_with_both_domains_and_every_sum_holds(tree):
    assert {path.name for path in tree.iterdir()} == {
        "README.txt", "SHA256SUMS", "bin", "dsp", "env.sh", "images", "install.sh", "lib", "share",
    }  # fmt: skip
    for domain in ("cdsp0", "cdsp1"):
        assert {path.name for path in (tree / "images" / domain).iterdir()} == {
            "libQnnHtpV73Skel.so",
            *RUNTIME,
        }
    checked = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tree, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout


def test_host_and_guest_bring_the_dsps_runtime_beside_the_skel_as_hexagon_files(desk, tree):
    assert {read_elf(tree / "dsp" / name).machine for name in RUNTIME} == {"HEXAGON"}
    with tarfile.open(desk / "dist" / NAMES[0]) as guest:
        inside = {name.partition("/")[2] for name in guest.getnames()}
    assert {f"dsp/{name}" for name in RUNTIME} <= inside
    assert not any(name.startswith("images") for name in inside)


def test_the_build_files_name_everything_that_is_packed_but_the_sums(tree):
    packed = {
        path.relative_to(tree).as_posix()
        for path in tree.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    own = {"SHA256SUMS", "env.sh", "install.sh"}

    for path in (tree / "share").glob("*.build"):
        entries = read_build_file(path).entries
        named = {
            str(entry.source).partition("/")[2] for entry in entries if entry.attributes["type"] == "file"
        }
        assert named == {name for name in packed - own if not name.endswith(".build")}


@pytest.mark.parametrize("shell", ["mksh", "dash"])
def test_the_package_installs_on_a_host_and_leaves_no_trace_when_it_is_undone(tree, tmp_path, shell):
    images = tmp_path / "images"
    for domain in ("cdsp0", "cdsp1"):
        (images / domain).mkdir(parents=True)
    (images / "cdsp0" / "libQnnHtpV73Skel.so").write_bytes(b"of the board")
    where = ["--images", str(images), "--mount", str(tmp_path)]

    subprocess.run([shell, str(tree / "install.sh"), *where], check=True, capture_output=True)
    installed = {path.relative_to(images).as_posix() for path in images.rglob("*.so*")}
    subprocess.run([shell, str(tree / "install.sh"), "--undo", *where], check=True, capture_output=True)

    assert {
        f"{domain}/{name}" for domain in ("cdsp0", "cdsp1") for name in ("libQnnHtpV73Skel.so", *RUNTIME)
    } <= installed
    assert {
        path.relative_to(images).as_posix(): path.read_bytes() for path in images.rglob("*") if path.is_file()
    } == {"cdsp0/libQnnHtpV73Skel.so": b"of the board"}


def test_the_same_manifest_gives_the_same_bytes(desk, built):
    again = package(desk, "again")

    assert again.returncode == 0
    for name in NAMES:
        one, other = ((desk / folder / name).read_bytes() for folder in ("dist", "again"))
        assert hashlib.sha256(one).hexdigest() == hashlib.sha256(other).hexdigest()


def test_a_runtime_for_another_processor_is_refused(desk, built):
    manifest = desk / "examples" / "qnx-cockpit" / "app.toml"
    wrong = manifest.with_name("wrong.toml")
    wrong.write_text(manifest.read_text().replace('"qnx-host"', '"wrong-host"'))
    folder = manifest.with_name("wrong-host")
    folder.mkdir()
    for name in RUNTIME:
        (folder / name).write_bytes(elf(machine="AARCH64", soname=name))

    refused = package(desk, "none", "wrong.toml")

    assert refused.returncode != 0
    assert '"HEX113"' in refused.stdout
    assert not (desk / "none").exists()
