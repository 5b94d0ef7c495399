"""Info-ZIP unpacks the package for adb; shells run its scripts against an adb that works on a local folder."""

from __future__ import annotations

import hashlib
import os
import subprocess

import pytest

from packager import catalog
from tests.make.bundle import bundle_of, target_plan

RUNNER = b'#!/bin/sh\necho "$LD_LIBRARY_PATH|$*"\n'
FILES = {"bin/hexrun": RUNNER, "lib/libQnnHtp.so": b"host", "dsp/libQnnHtpV75Skel.so": b"skel"}
SUMS = "".join(f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in FILES.items())
# The tables pin no runtime set for Android; what the format reads of the plan is not in it.
PLAN = target_plan(socs=("sm8650",), formats=("adb",)).model_copy(
    update={"system": "android", "abi": catalog.abi("android-arm64")}
)
# Does on this machine what adb does on a device: /data/local/tmp is a folder here.
ADB = """#!/bin/sh
case $1 in
    wait-for-device) ;;
    shell) shift; sh -c "$(printf %s "$*" | sed "s#/data/local/tmp#$DEVICE#g")" ;;
    push) cp -R "$2" "$(printf %s "$3" | sed "s#/data/local/tmp#$DEVICE#g")"; eval "$AFTER_PUSH" ;;
esac
"""


@pytest.fixture
def unpacked(tool, write, tmp_path):
    """The folder of an unpacked package."""
    bundle = bundle_of(FILES | {"SHA256SUMS": SUMS.encode()}, tmp_path)
    roles = {"bin/hexrun": {"role": "runner", "mode": 0o755}, "SHA256SUMS": {"role": "sums"}}
    files = tuple(file.model_copy(update=roles.get(file.path, {})) for file in bundle.files)
    package = write("adb", PLAN, bundle.model_copy(update={"files": files}))
    tool("unzip")("-q", package, "-d", tmp_path / "out")
    return tmp_path / "out" / "text-direction-1.2.0"


@pytest.fixture
def push(unpacked, tmp_path):
    """Runs push.sh; `after_push` is shell for what happens to the device's files on their way."""
    (tmp_path / "device").mkdir()
    adb = tmp_path / "adb"
    adb.write_text(ADB)
    adb.chmod(0o755)

    def run(after_push=""):
        words = {"ADB": str(adb), "DEVICE": str(tmp_path / "device"), "AFTER_PUSH": after_push}
        return subprocess.run(
            [unpacked / "push.sh"], env=os.environ | words, capture_output=True, text=True, check=False
        )

    return run


def test_the_scripts_stand_beside_the_tree_and_may_be_run(unpacked):
    assert {path: (unpacked / "device" / path).read_bytes() for path in FILES} == FILES
    scripts = [unpacked / "push.sh", unpacked / "push.ps1", unpacked / "device/run.sh"]
    assert all(os.access(script, os.X_OK) for script in scripts)


@pytest.mark.parametrize("script", ["push.sh", "device/run.sh"])
def test_a_posix_shell_finds_no_fault_in_the_scripts(script, unpacked, tool):
    assert tool("dash")("-n", unpacked / script) == ""


def test_what_was_pushed_runs_from_any_folder_with_its_own_libraries(push, tmp_path):
    done = push()
    tree = tmp_path / "device/text-direction"

    assert done.returncode == 0, done.stderr
    environment = {"PATH": os.environ["PATH"]}
    run = ["sh", tree / "run.sh", "--input", "a b"]
    said = subprocess.run(run, env=environment, cwd="/", capture_output=True, text=True, check=True).stdout
    assert said == f"{tree}/lib|--input a b\n"


def test_a_second_push_takes_the_place_of_the_first(push, tmp_path):
    push()
    (tmp_path / "device/text-direction/left-over").touch()

    assert push().returncode == 0
    assert not (tmp_path / "device/text-direction/left-over").exists()
    assert [entry.name for entry in (tmp_path / "device").iterdir()] == ["text-direction"]


def test_a_file_damaged_on_its_way_leaves_the_installed_tree_alone(push, tmp_path):
    push()
    (tmp_path / "device/text-direction/mark").touch()

    failed = push("echo x >> $DEVICE/text-direction.new/lib/libQnnHtp.so")

    assert failed.returncode != 0
    assert "libQnnHtp.so" in failed.stdout
    assert (tmp_path / "device/text-direction/mark").exists()
