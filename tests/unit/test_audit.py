"""`audit` reads archives and folders of strangers to the last member, and says what is wrong in each set."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import pytest

from packager import catalog
from packager.audit import audit
from packager.errors import InputUnavailable
from packager.inference import Asks
from tests.make.archive import encrypted, put, zip_of_windows, zip_with
from tests.make.context import context
from tests.make.elf import hexagon_skel, shared_library
from tests.unit.test_commands import hexpack, invoke

SOUND = {
    "lib/libQnnHtp.so": shared_library(soname="libQnnHtp.so", glibc="2.34"),
    "lib/libQnnHtpV73Stub.so": shared_library(soname="libQnnHtpV73Stub.so", glibc="2.17"),
    "dsp/libQnnHtpV73Skel.so": hexagon_skel(73),
    "LICENSE": b"terms\n",
}
OLDER_SKEL = hexagon_skel(73, "2.48.0", "v2.48.0.260626120635")


def bound_by_permissions(*arguments: str) -> subprocess.CompletedProcess[str]:
    """hexpack by somebody whom permissions bind: root is, without two of its capabilities."""
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    code = "from packager.commands.program import main; main()"
    return subprocess.run(
        [*drop, sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture
def saved(tmp_path):
    def save(files: dict[str, bytes], name: str = "app.zip") -> Path:
        path = tmp_path / name
        path.write_bytes(zip_with(files))
        return path

    return save


def told(path: Path) -> list[tuple[str, str]]:
    return [(finding.rule, finding.file) for one in audit(path).sets for finding in one.findings]


def test_a_sound_archive_has_no_findings(saved):
    found = audit(saved(SOUND))

    assert not found.refused
    assert [(one.system, one.abi, one.socs) for one in found.sets] == [
        ("linux", "oe-linux-gcc11.2", ("v73",))
    ]
    assert told(saved(SOUND)) == []


def test_every_file_is_listed_with_its_digest_size_and_role(saved):
    (one,) = audit(saved(SOUND)).sets

    listed = {file.path: (file.role, file.size, file.sha256) for file in one.files}
    skel = SOUND["dsp/libQnnHtpV73Skel.so"]
    assert listed.keys() == SOUND.keys()
    assert listed["dsp/libQnnHtpV73Skel.so"] == ("skel", len(skel), hashlib.sha256(skel).hexdigest())


def test_a_fault_in_an_archive_inside_the_archive_is_found(saved):
    inner = zip_with(SOUND | {"dsp/libQnnHtpV73Skel.so": OLDER_SKEL})

    assert told(saved({"libs/qnn.aar": inner})) == [("HEX104", "libs/qnn.aar/dsp/libQnnHtpV73Skel.so")]


def test_a_folder_is_judged_as_an_archive_of_it_would_be(tmp_path):
    folder = put(tmp_path / "sdk", SOUND | {"dsp/libQnnHtpV73Skel.so": OLDER_SKEL})

    assert told(folder) == [("HEX104", "dsp/libQnnHtpV73Skel.so")]


def test_a_single_file_is_judged_too(tmp_path):
    path = tmp_path / "libQnnHtpV73Skel.so"
    path.write_bytes(hexagon_skel(75))

    assert ("HEX108", path.name) in told(path)


def test_a_member_that_cannot_be_read_is_a_finding_and_the_others_are_judged(saved):
    cut = SOUND["lib/libQnnHtp.so"][:200]

    assert told(saved(SOUND | {"lib/libQnnHtp.so": cut})) == [("HEX101", "lib/libQnnHtp.so")]


def test_a_zip_with_the_separators_of_windows_is_read_as_its_maker_meant_it(saved, tmp_path):
    path = tmp_path / "windows.zip"
    path.write_bytes(zip_of_windows(SOUND | {"dsp/libQnnHtpV73Skel.so": OLDER_SKEL}))

    assert told(path) == [("HEX104", "dsp/libQnnHtpV73Skel.so")]


def test_each_way_in_which_a_file_cannot_be_read_has_its_own_words(saved, tmp_path):
    locked = tmp_path / "locked.zip"
    locked.write_bytes(encrypted(zip_with(SOUND)))
    cut = saved(SOUND | {"lib/libQnnHtp.so": SOUND["lib/libQnnHtp.so"][:200]}, "cut.zip")
    leaving = saved(SOUND | {"../x": b""}, "leaving.zip")

    titles = {
        path.name: {f.title for s in audit(path).sets for f in s.findings} for path in (locked, cut, leaving)
    }

    assert titles == {
        "locked.zip": {"is encrypted"}, "cut.zip": {"is damaged"}, "leaving.zip": {"must not be unpacked"},
    }  # fmt: skip
    assert all("ZipInfo" not in f.found for one in audit(locked).sets for f in one.findings)


@pytest.mark.parametrize(
    ("second", "titles"),
    [(OLDER_SKEL, ["is there twice in its archive, with different bytes"]), (hexagon_skel(73), [])],
)
def test_an_archive_that_has_a_file_twice_is_refused_where_the_two_differ(tmp_path, second, titles):
    path = tmp_path / "app.zip"
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in [*SOUND.items(), ("dsp/libQnnHtpV73Skel.so", second)] * 2:
            archive.writestr(name, content)

    (one,) = audit(path).sets

    assert [finding.title for finding in one.findings] == titles


@pytest.mark.parametrize(
    ("closed", "told"),
    [
        ("sdk/dsp/libQnnHtpV73Skel.so", [("HEX101", "dsp/libQnnHtpV73Skel.so", "may not be read")]),
        ("sdk/dsp", [("HEX101", "dsp", "is a folder that may not be read")]),
    ],
)
def test_what_may_not_be_read_is_told_and_nothing_is_said_to_be_missing(tmp_path, closed, told):
    folder = put(tmp_path / "sdk", SOUND)
    place, mode = tmp_path / closed, (tmp_path / closed).stat().st_mode
    place.chmod(0)

    done = bound_by_permissions("audit", str(folder), "--json")

    place.chmod(mode)
    findings = json.loads(done.stdout)["audits"][0]["sets"][0]["findings"]
    assert [(f["rule"], f["file"], f["title"]) for f in findings] == told
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("command", [["audit"], ["audit", "--json"], ["inspect"], ["inspect", "--json"]])
def test_a_folder_that_may_be_listed_and_not_searched_is_no_crash(tmp_path, command):
    folder = put(tmp_path / "sdk", SOUND)
    (folder / "dsp").chmod(0o444)

    done = bound_by_permissions(*command, str(folder))

    (folder / "dsp").chmod(0o755)
    assert "Permission denied" in done.stdout
    assert done.stderr == ""


def test_a_damaged_archive_is_a_finding(saved):
    path = saved(SOUND)
    path.write_bytes(path.read_bytes()[:-40])

    assert told(path) == [("HEX101", "app.zip")]


def test_an_archive_without_anything_for_the_npu_is_no_success(saved):
    path = saved({"readme": b"text", "lib/libz.so.1": shared_library(build=None)})

    done = hexpack("audit", str(path))

    assert done.returncode == 3
    assert done.stdout.endswith("app.zip: nothing in it is for a Qualcomm NPU: nothing was judged\n")


def test_a_configuration_alone_is_judged(saved):
    found = audit(saved({"htp.json": b'{"devices": [{"dsp_arch": "v72"}]}'}))

    assert found.judged == 1
    assert [finding.rule for one in found.sets for finding in one.findings] == ["HEX404"]


def test_models_alone_are_not_judged_by_a_system_that_nobody_named(saved):
    path = saved({"m.bin": context(soc_model=43)})

    assert told(path) == []
    assert [
        (f.rule) for one in audit(path, Asks(abi=catalog.abi("ubuntu-gcc9.4"))).sets for f in one.findings
    ] != []


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("run.bat", b"@echo off\r\nset ADSP_LIBRARY_PATH=%~dp0\r\n"),
        ("run.ps1", b"$env:ADSP_LIBRARY_PATH = $PSScriptRoot\n"),
    ],
)
def test_scripts_of_windows_alone_are_judged_as_of_windows(saved, name, script):
    (one,) = audit(saved({name: script})).sets

    assert (one.system, one.abi) == ("windows", "windows-arm64")
    assert one.findings == ()


def test_scripts_of_two_systems_are_judged_as_of_linux(saved):
    (one,) = audit(
        saved({"run.bat": b"set DSP_LIBRARY_PATH=x\n", "run.sh": b"export DSP_LIBRARY_PATH=x\n"})
    ).sets

    assert one.system == "linux"


@pytest.mark.parametrize("place", ["pipe", "loop", "/dev/zero"])
def test_what_never_ends_is_refused_at_once(tmp_path, place):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(InputUnavailable):
        audit(tmp_path / place)


def test_a_name_that_is_not_there_is_answered_with_the_nearest_one(saved, tmp_path):
    saved(SOUND)

    with pytest.raises(InputUnavailable) as caught:
        audit(tmp_path / "appp.zip")

    assert "app.zip" in caught.value.render()


@pytest.mark.parametrize("run", [hexpack, invoke])
def test_the_command_prints_findings_and_ends_with_the_code_of_a_refusal(run, saved):
    path = saved(SOUND | {"dsp/libQnnHtpV73Skel.so": OLDER_SKEL})

    done = run("audit", str(path))

    assert done.returncode == 1
    assert "app.zip: 1 error\n" in done.stdout
    assert "HEX104  dsp/libQnnHtpV73Skel.so  is of another QAIRT release" in done.stdout
    assert done.stderr == ""


def test_json_is_one_document_for_many_archives(saved):
    paths = [str(saved(SOUND, name)) for name in ("a.zip", "b.zip")]

    done = hexpack("audit", "--json", *paths)

    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert document["schema_version"] == 1
    assert [one["path"] for one in document["audits"]] == paths


def test_the_user_can_say_which_soc_and_abi_it_is_meant_for(saved):
    done = hexpack("audit", str(saved(SOUND)), "--soc", "qcs6490", "--abi", "ubuntu-gcc9.4", "--json")

    (one,) = json.loads(done.stdout)["audits"][0]["sets"]
    assert (one["abi"], one["socs"]) == ("ubuntu-gcc9.4", ["qcs6490"])
    assert {"HEX106", "HEX110"} <= {finding["rule"] for finding in one["findings"]}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--soc", "sm8551"], "sm8550"),
        (["--abi", "ubuntu-gcc9.5"], "ubuntu-gcc9.4"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest_right_one(saved, words, says):
    done = hexpack("audit", str(saved(SOUND)), *words)

    assert done.returncode == 2
    assert says in done.stderr
