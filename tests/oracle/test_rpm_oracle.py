"""rpm and cpio judge our rpm."""

from __future__ import annotations

import json
import os

import pytest

from packager.errors import InputUnavailable
from packager.facts.archive import read_archive
from packager.formats import require_tools
from packager.manifest_linux import LinuxSystem, Service
from tests.make.bundle import TREE, bundle_of, target_plan, whole_bundle

PLAN = target_plan(formats=("rpm",))
ODD = {**TREE, "share/Maße für $HOME *.bin": bytes(range(251)) * 20_000}


def query(tool, package, text: str) -> str:
    return tool("rpm")("--query", "--package", "--queryformat", text, package)


def test_rpm_finds_every_digest_right(tool, write, tmp_path):
    package = write("rpm", PLAN, bundle_of(ODD, tmp_path))

    assert tool("rpm")("--checksig", package).endswith(": digests OK\n")


def test_rpm_reads_what_the_plan_says(tool, write, tmp_path):
    about = PLAN.package.model_copy(
        update={"homepage": "https://example.com/$A", "description": 'Costs $5 "net"'}
    )
    planned = PLAN.package_of("rpm").model_copy(
        update={"version": "2:1.2.0~rc1", "name": "text-direction-board"}
    )
    plan = PLAN.model_copy(update={"package": about, "packages": (planned,)})
    bundle = bundle_of(TREE, tmp_path).model_copy(update={"rpm_requires": ("libc.so.6(GLIBC_2.34)(64bit)",)})

    package = write("rpm", plan, bundle)

    fields = query(tool, package, "%{EPOCH} %{VERSION} %{RELEASE} %{ARCH} %{URL} %{BUILDTIME}\n%{SUMMARY}")
    assert fields == '2 1.2.0~rc1 1 aarch64 https://example.com/$A 1700000000\nCosts $5 "net"'
    assert "libc.so.6(GLIBC_2.34)(64bit)\n" in tool("rpm")("-qp", "--requires", package)
    assert "text-direction\n" in tool("rpm")("-qp", "--provides", package)
    assert tool("rpm")("-qp", "--conflicts", package) == "text-direction\n"
    assert tool("rpm")("-qp", "--licensefiles", package) == ""


def test_rpm_lists_owner_mode_and_time_of_what_the_package_owns(tool, write, tmp_path):
    package = write("rpm", PLAN, whole_bundle(tmp_path))

    listed = query(
        tool, package, "[%{FILEUSERNAME} %{FILEMTIMES} %{FILEMODES:octal} %{FILENAMES}\n]"
    ).splitlines()

    assert {line.split()[:2] == ["root", "1700000000"] for line in listed} == {True}
    modes = {path: mode for _, _, mode, path in (line.split(maxsplit=3) for line in listed)}
    assert modes["/usr/lib/text-direction/bin/hexrun"] == "100755"
    assert modes["/usr/lib/text-direction"] == "40755"
    assert modes["/usr/bin/text-direction"].startswith("120")
    assert "/usr/lib" not in modes
    assert "/usr/lib/text-direction/share/licenses/terms.txt\n" in tool("rpm")(
        "-qp", "--licensefiles", package
    )


def test_every_byte_of_odd_names_comes_out_again(tool, write, tmp_path):
    package = write("rpm", PLAN, bundle_of(ODD, tmp_path))

    tool("sh")("-c", 'cd "$1" && rpm2cpio "$2" | cpio --quiet -idm', "-", tmp_path, package)

    top = tmp_path / "usr/lib/text-direction"
    assert {path: (top / path).read_bytes() for path in ODD} == ODD
    found = {member.name: member.size for member in read_archive(package).members}
    assert {
        f"usr/lib/text-direction/{path}": len(data) for path, data in ODD.items()
    }.items() <= found.items()
    assert read_archive(package).format == "rpm"


def test_rpm_installs_and_removes_it_in_a_root_of_its_own(tool, write, tmp_path):
    package, root = write("rpm", PLAN, whole_bundle(tmp_path)), tmp_path / "root"
    at = ("--root", root, "--dbpath", "/db")

    tool("rpm")(*at, "--install", "--nodeps", "--ignorearch", package)
    tool("rpm")(*at, "--verify", "--nodeps", "text-direction")
    assert (root / "usr/bin/text-direction").resolve() == root / "usr/lib/text-direction/bin/hexrun"

    tool("rpm")(*at, "--erase", "text-direction")
    assert not (root / "usr/lib/text-direction").exists()


@pytest.mark.parametrize("number", ["1", "2"])
def test_rpm_carries_the_scripts_in_the_words_of_rpm(tool, write, tmp_path, number):
    service = Service(arguments=("--doctor",), enable=True, restart="no", environment={})
    linux = LinuxSystem(group="fastrpc", udev=True, board_folders=(), service=service)

    package = write("rpm", PLAN.model_copy(update={"linux": linux}), whole_bundle(tmp_path))

    assert "/bin/sh\n" in tool("rpm")("-qp", "--requires", package)
    names = {
        "POSTIN": "enable text-direction.service",
        "PREUN": "disable text-direction.service",
        "POSTUN": "daemon-reload",
    }
    for tag, does in names.items():
        script = tmp_path / tag
        script.write_text(query(tool, package, f"%{{{tag}}}"))
        assert does in script.read_text()
        # dash reads all of it and does nothing: without an init system, and in a root without systemd.
        tool("env")("-i", f"D={tmp_path}", "PATH=/nowhere", "/bin/dash", script, number)


def test_the_bytes_do_not_depend_on_the_number_of_processors_nor_on_the_environment(
    write, tmp_path, monkeypatch
):
    first = write("rpm", PLAN, bundle_of(ODD, tmp_path)).read_bytes()
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    monkeypatch.setenv("A", "another word")
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        second = write("rpm", PLAN, bundle_of(ODD, tmp_path)).read_bytes()
    finally:
        os.sched_setaffinity(0, allowed)

    assert second == first


def test_our_facts_are_one_json_document(write, tmp_path):
    package = write("rpm", PLAN, whole_bundle(tmp_path))

    facts = json.loads(read_archive(package).model_dump_json())

    assert facts["format"] == "rpm"
    links = {member["name"]: member["link"] for member in facts["members"] if member["link"]}
    assert links["usr/lib/text-direction/lib/libBackend.so.1"] == "libBackend.so"


def test_without_nfpm_an_rpm_is_refused_before_anything_is_compiled(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda *_arguments, **_words: None)

    with pytest.raises(InputUnavailable, match="nfpm, which writes rpm packages, is not installed"):
        require_tools(PLAN)


def test_a_format_that_hexpack_writes_itself_needs_no_tool(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda *_arguments, **_words: None)

    require_tools(target_plan(formats=("deb", "tar.zst")))
