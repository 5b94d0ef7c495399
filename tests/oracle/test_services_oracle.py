"""systemd, dpkg and two shells judge services, scripts and what they do to a system."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from packager.bundle import Bundle
from packager.manifest_linux import LinuxSystem, Service
from packager.plan_model import TargetPlan
from tests.make.bundle import bundle_of, target_plan
from tests.make.elf import hexagon_skel

SKEL = "libQnnHtpV73Skel.so"
TREE = {"bin/hexrun": b"#!/bin/sh\nexit 0\n", f"dsp/{SKEL}": hexagon_skel(73), "README.txt": b"read me\n"}
NEWER, OLDER = "usr/share/qcom/qcs9075/Example/Board/dsp/cdsp", "usr/lib/rfsa/adsp"
LINUX = LinuxSystem(
    group="fastrpc",
    udev=True,
    board_folders=(f"/{NEWER}", f"/{OLDER}"),
    service=Service(
        arguments=("--input", 'x=a "b" $HOME 100%\\', "--output", "out"),
        enable=True,
        restart="on-failure",
        environment={"PATHS": "/a;/b c"},
    ),
)
PLAN = target_plan(formats=("deb", "ipk")).model_copy(update={"linux": LINUX})


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return bundle_of(TREE, tmp_path, roles={f"dsp/{SKEL}": "skel"}, depends=("libc6 (>= 2.17)",))


def plan_of(**words: object) -> TargetPlan:
    return PLAN.model_copy(update={"linux": LINUX.model_copy(update=words)})


def test_systemd_has_nothing_to_say_about_the_unit(tool, write, tmp_path, bundle):
    root = tmp_path / "root"
    tool("dpkg-deb")("--extract", write("deb", PLAN, bundle), root)
    unit = root / "usr/lib/systemd/system/text-direction.service"
    # systemd looks whether the program is there, and this is not the system that it is installed on.
    unit.write_text(unit.read_text().replace("/usr/lib/text-direction", f"{root}/usr/lib/text-direction"))

    assert tool("systemd-analyze")("verify", "--recursive-errors=no", "--man=no", unit) == ""


def test_lintian_has_nothing_to_say_about_units_rules_and_scripts(tool, write, bundle):
    package = write("deb", PLAN, bundle)

    # The tiny skel has no RELRO segment; real ones have.
    said = tool("lintian")("--allow-root", "--no-cfg", "--suppress-tags", "hardening-no-relro", package)

    assert said == ""


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_shells_read_the_scripts_of_every_manager(tool, write, tmp_path, bundle, shell):
    for plan in (PLAN, plan_of(service=None), plan_of(board_folders=(), udev=False)):
        for format_id in ("deb", "ipk"):
            control = tmp_path / f"{format_id}-{len(list(tmp_path.iterdir()))}"
            tool("dpkg-deb")("--control", write(format_id, plan, bundle), control)
            scripts = [path for path in control.iterdir() if path.name not in ("control", "md5sums")]
            assert scripts
            for script in scripts:
                tool(shell)("-n", script)


def test_installing_twice_and_removing_twice_leaves_only_the_firmwares_files(tool, write, tmp_path, bundle):
    root, firmware = tmp_path / "root", tmp_path / "root" / NEWER / SKEL
    for folder in ("info", "updates", "triggers"):
        (root / "var/lib/dpkg" / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    (root / "etc").mkdir()
    firmware.parent.mkdir(parents=True)
    firmware.write_bytes(b"of the firmware")
    package = write("deb", PLAN, bundle)
    tool("dpkg-deb")("--control", package, tmp_path / "control")

    def dpkg(*words: str | Path) -> str:
        forced = ("--force-architecture", "--force-depends", "--force-script-chrootless")
        return tool("dpkg")(f"--root={root}", "--log=/dev/null", *forced, *words)

    def script(name: str, word: str) -> None:
        tool("env")(f"DPKG_ROOT={root}", tmp_path / "control" / name, word)

    said = dpkg("--install", package)
    dpkg("--install", package)
    script("postinst", "configure")

    assert f"/{NEWER}/{SKEL} was there before and stays" in said
    link = root / OLDER / SKEL
    assert str(link.readlink()) == f"/usr/lib/text-direction/dsp/{SKEL}"
    wants = root / "etc/systemd/system/multi-user.target.wants/text-direction.service"
    assert str(wants.readlink()) == "/usr/lib/systemd/system/text-direction.service"
    assert "fastrpc:x:" in (root / "etc/group").read_text()

    dpkg("--remove", "text-direction")
    script("prerm", "remove")
    dpkg("--purge", "text-direction")

    assert firmware.read_bytes() == b"of the firmware"
    assert not link.is_symlink()
    assert not wants.is_symlink()
    shutil.rmtree(root / "var/lib/dpkg")
    left = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert left == {f"{NEWER}/{SKEL}", "etc/group", "etc/gshadow", "etc/.pwd.lock"}
