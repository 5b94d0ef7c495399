"""What a package for QNX brings: the host's image folders are served by a script that can take everything back."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from packager import catalog
from packager.bundle import Bundle
from packager.facts.environment import read_environment
from packager.layouts.additions import additions
from packager.plan_model import TargetPlan
from tests.make.bundle import bundle_file, target_plan

SKEL, RUNTIME = "libQnnHtpV73Skel.so", "libc++.so.1"
SHELLS = [shell for shell in ("mksh", "dash") if shutil.which(shell)]


def qnx_plan(*socs: str) -> TargetPlan:
    return target_plan(socs=socs or ("sa8255p",)).model_copy(
        update={"system": "qnx", "abi": catalog.abis()["qnx-aarch64"]}
    )


def unpacked(tmp_path: Path, plan: TargetPlan | None = None) -> Path:
    """The tree of a package for QNX, as tar would unpack it."""
    plan = plan or qnx_plan()
    contents = {
        f"dsp/{SKEL}": b"a new skel" * 50,
        f"dsp/{RUNTIME}": b"runtime" * 9,
        "share/runner.conf": b"format 1\n",
    }
    files = [bundle_file(path, content, tmp_path) for path, content in contents.items()]
    files.append(bundle_file("bin/hexrun", b"runner", tmp_path))
    beside = additions(plan, files)
    tree = tmp_path / "package"
    for path, content in [(file.path, file.local.read_bytes()) for file in files]:
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content)
    for script in beside.scripts:
        path = tree / ("share" if script.place == "config" else "") / script.name
        path.write_text(script.text)
        path.chmod(script.mode)
    for link in beside.links:
        (tree / link.path).parent.mkdir(parents=True, exist_ok=True)
        (tree / link.path).symlink_to(link.target)
    return tree


class Host:
    """A QNX host's `/mnt`, with a `mount` that makes it writable and says what it was asked for."""

    def __init__(self, tmp_path: Path, shell: str, domains: tuple[str, ...] = ("cdsp0", "cdsp1")) -> None:
        self.root, self.shell = tmp_path / "mnt", shell
        self.images = self.root / "images"
        self.calls = tmp_path / "mount.log"
        self.bin = tmp_path / "bin"
        self.bin.mkdir()
        for domain in domains:
            (self.images / domain).mkdir(parents=True)
        self.program("mount", f'echo "$@" >> {self.calls}\n')

    def program(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}")
        path.chmod(0o755)

    def run(self, tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.shell, str(tree / "install.sh"), *arguments, "--images", str(self.images), "--mount", str(self.root)],
            env={"PATH": f"{self.bin}:{os.environ['PATH']}"}, capture_output=True, text=True, timeout=60, check=False, start_new_session=True,
        )  # fmt: skip

    def state(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.images)): path.read_bytes()
            for path in sorted(self.images.rglob("*"))
            if path.is_file()
        }


@pytest.fixture(params=SHELLS)
def host(tmp_path: Path, request: pytest.FixtureRequest) -> Host:
    host = Host(tmp_path, request.param)
    (host.images / "cdsp0" / SKEL).write_bytes(b"the board's own skel")
    return host


def test_a_soc_with_two_npus_gets_both_domains_and_another_one_the_first(tmp_path):
    files = [bundle_file(f"dsp/{SKEL}", b"skel", tmp_path)]

    both = [link.path for link in additions(qnx_plan("sa8255p"), files).links]
    one = [link.path for link in additions(qnx_plan("sa7255p"), files).links]

    assert both == [f"images/cdsp0/{SKEL}", f"images/cdsp1/{SKEL}"]
    assert one == [f"images/cdsp0/{SKEL}"]


def test_the_links_of_the_image_folders_lead_to_the_files_of_the_tree(tmp_path):
    tree = unpacked(tmp_path)

    for domain in ("cdsp0", "cdsp1"):
        assert (tree / "images" / domain / SKEL).read_bytes() == (tree / "dsp" / SKEL).read_bytes()
        assert (tree / "images" / domain / RUNTIME).is_symlink()


def test_install_puts_the_files_into_both_domains_and_undo_brings_back_what_was_there(tmp_path, host):
    tree, before = unpacked(tmp_path), host.state()

    done = host.run(tree)

    assert done.returncode == 0, done.stderr
    assert (host.images / "cdsp0" / SKEL).read_bytes() == (tree / "dsp" / SKEL).read_bytes()
    assert (host.images / "cdsp1" / RUNTIME).read_bytes() == (tree / "dsp" / RUNTIME).read_bytes()
    assert not list(host.images.rglob("*.new"))
    assert host.run(tree, "--undo").returncode == 0
    assert host.state() == before


def test_installing_twice_still_brings_back_the_boards_own_files(tmp_path, host):
    tree, before = unpacked(tmp_path), host.state()
    host.run(tree)

    again = host.run(tree)

    assert again.returncode == 0, again.stderr
    host.run(tree, "--undo")
    assert host.state() == before


def test_a_damaged_file_of_the_package_is_named_before_anything_is_touched(tmp_path, host):
    tree, before = unpacked(tmp_path), host.state()
    (tree / "dsp" / RUNTIME).write_bytes(b"damaged")

    refused = host.run(tree)

    assert refused.returncode == 1
    assert f"dsp/{RUNTIME} is damaged" in refused.stderr
    assert host.state() == before
    assert not host.calls.exists()


def test_a_copy_that_fails_half_way_takes_everything_back(tmp_path, host):
    tree, before = unpacked(tmp_path), host.state()
    cp = shutil.which("cp")
    host.program("cp", f'case $2 in */cdsp1/{SKEL}.new) exit 1 ;; esac\nexec {cp} "$@"\n')

    refused = host.run(tree)

    assert refused.returncode == 1
    assert "puts everything back as it was" in refused.stderr
    assert host.state() == before


def test_a_backup_that_fails_leaves_no_trace(tmp_path, host):
    tree, before = unpacked(tmp_path), host.state()
    cp = shutil.which("cp")
    host.program("cp", f'case $2 in */.hexpack/*) {cp} "$@"; exit 1 ;; esac\nexec {cp} "$@"\n')

    refused = host.run(tree)

    assert refused.returncode == 1
    assert "is there room on" in refused.stderr
    assert host.state() == before
    assert not (host.images / ".hexpack").exists()


def test_files_that_are_there_already_are_left_and_nothing_is_remembered(tmp_path, host):
    tree = unpacked(tmp_path)
    for domain in ("cdsp0", "cdsp1"):
        for name in (SKEL, RUNTIME):
            shutil.copy(tree / "dsp" / name, host.images / domain / name)
    before = host.state()

    done = host.run(tree)

    assert done.returncode == 0, done.stderr
    assert host.state() == before
    assert not (host.images / ".hexpack").exists()


def test_storage_that_returns_other_bytes_is_noticed_and_taken_back(tmp_path, host):
    tree, before = unpacked(tmp_path), host.state()
    cp = shutil.which("cp")
    host.program("cp", f'{cp} "$@"\ncase $2 in */cdsp0/{SKEL}.new) printf x >> "$2" ;; esac\n')

    refused = host.run(tree)

    assert refused.returncode == 1
    assert "is not what was copied" in refused.stderr
    assert host.state() == before


def test_an_interrupted_installation_is_taken_back_by_undo(tmp_path, host):
    tree, before = unpacked(tmp_path), host.state()
    cp = shutil.which("cp")
    host.program("cp", f'{cp} "$@"\ncase $2 in */cdsp1/*.new) kill -9 0 ;; esac\n')
    killed = host.run(tree)
    assert killed.returncode == -9
    assert host.state() != before
    host.program("cp", f'exec {cp} "$@"\n')

    undone = host.run(tree, "--undo")

    assert undone.returncode == 0, undone.stderr
    assert host.state() == before


@pytest.mark.parametrize("shell", SHELLS)
def test_a_file_system_that_is_read_only_is_made_writable_for_as_long_as_it_takes(tmp_path, shell):
    tree, host = unpacked(tmp_path), Host(tmp_path, shell)
    # A folder in place of the record's parent is what a read-only file system looks like to root, too.
    blocked = host.images / ".hexpack"
    blocked.write_text("")
    host.program("mount", f'echo "$@" >> {host.calls}\nif [ "$1" = -uw ]; then rm -f {blocked}; fi\n')

    done = host.run(tree)

    assert done.returncode == 0, done.stderr
    assert host.calls.read_text().splitlines() == [f"-uw {host.root}", f"-ur {host.root}"]


def test_a_board_without_the_image_folders_is_told_so(tmp_path, host):
    tree = unpacked(tmp_path)
    (host.images / "cdsp1").rmdir()

    refused = host.run(tree)

    assert refused.returncode == 1
    assert f"there is no folder {host.images}/cdsp1; is this the QNX host?" in refused.stderr


def test_undo_without_an_installation_and_unknown_words_are_refused(tmp_path, host):
    tree = unpacked(tmp_path)

    assert "is not installed in" in host.run(tree, "--undo").stderr
    assert "unknown word --force" in host.run(tree, "--force").stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_env_sets_the_search_paths_with_semicolons_and_keeps_what_was_set(tmp_path, shell):
    tree = unpacked(tmp_path)
    line = '. ./env.sh; printf "%s|" "$LD_LIBRARY_PATH" "$ADSP_LIBRARY_PATH" "$CDSP0_LIBRARY_PATH" "$CDSP1_LIBRARY_PATH"'

    said = subprocess.run(
        [shell, "-c", line], cwd=tree, env={"CDSP0_LIBRARY_PATH": "/old", "PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip

    assert said.stdout == f"{tree}/lib|{tree}/dsp|{tree}/dsp;/old|{tree}/dsp|"


def test_env_says_so_when_it_is_read_from_another_folder(tmp_path):
    tree = unpacked(tmp_path)

    said = subprocess.run(
        ["sh", "-c", f". {tree}/env.sh; echo $ADSP_LIBRARY_PATH"], cwd=tmp_path, env={"PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip

    assert said.stdout == "\n"
    assert "is not the folder of text-direction; cd there first" in said.stderr


def test_the_reader_of_scripts_understands_env(tmp_path):
    facts = read_environment(unpacked(tmp_path) / "env.sh")

    assert [(said.variable, said.quoted) for said in facts.assignments] == [
        (name, True)
        for name in ("LD_LIBRARY_PATH", "ADSP_LIBRARY_PATH", "CDSP0_LIBRARY_PATH", "CDSP1_LIBRARY_PATH")
    ]


def test_the_digests_in_the_script_are_those_of_the_files(tmp_path):
    tree = unpacked(tmp_path)
    text = (tree / "install.sh").read_text()

    for name in (SKEL, RUNTIME):
        assert f"{hashlib.sha256((tree / 'dsp' / name).read_bytes()).hexdigest()} dsp/{name}" in text


def test_a_bundle_takes_the_additions(tmp_path):
    files = [bundle_file(f"dsp/{SKEL}", b"skel", tmp_path), bundle_file("bin/hexrun", b"r", tmp_path)]
    beside = additions(qnx_plan(), files)

    bundle = Bundle.of(files, beside.links)

    assert [link.path for link in bundle.links] == [f"images/cdsp0/{SKEL}", f"images/cdsp1/{SKEL}"]


def test_other_systems_have_no_additions(tmp_path):
    assert additions(target_plan(), [bundle_file("bin/hexrun", b"r", tmp_path)]) == ((), ())
