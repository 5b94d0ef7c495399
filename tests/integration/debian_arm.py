"""A Debian for Arm in a folder: unpacked by mmdebstrap, its programs run by qemu, its dpkg inside proot.

Nothing of it is configured, because that takes minutes under qemu; dpkg is told that it is, so that it resolves
dependencies as on a board.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGES = "dpkg,dash,coreutils,tar,sed,grep,diffutils,libc-bin,libc6,libstdc++6,libatomic1"
TOOLS = ("mmdebstrap", "proot", "qemu-aarch64-static", "dpkg-deb")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def require_tools() -> None:
    """Fails the test where CI=true and a tool is missing or another distribution is the host, skips it elsewhere."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if platform.freedesktop_os_release().get("ID") != "debian":
        missing.append("a Debian to take the mirror and its keys from")
    if os.geteuid() != 0:
        missing.append("root, for chroot")
    if missing:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"not there: {', '.join(missing)}")


class DebianArm:
    """The root folder of the system."""

    def __init__(self, root: Path) -> None:
        self.root = root
        suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
        kept = "--skip=cleanup/apt,cleanup/tmp"
        about = ("--variant=extract", "--architectures=arm64", f"--include={PACKAGES}", "--mode=root", kept)
        done = subprocess.run(
            ["mmdebstrap", *about, suite, root], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        (root / "proc").mkdir(exist_ok=True)
        status = root / "var/lib/dpkg/status"
        status.write_text("".join(map(self._installed, sorted(root.glob("var/cache/apt/archives/*.deb")))))
        shutil.copy2(str(shutil.which("qemu-aarch64-static")), root / "usr/bin")

    def dpkg(self, *arguments: object) -> str:
        """Run the system's own dpkg, with all that it starts. Returns what it said."""
        system = [
            "proot",
            "-q",
            "qemu-aarch64-static",
            "-r",
            self.root,
            "-b",
            "/dev",
            "-b",
            "/proc",
            "-0",
            "-w",
            "/",
        ]
        done = self._run([*system, "dpkg", *arguments])
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one program of the system, which can start no other, as on a machine without any device."""
        return self._run(["chroot", self.root, "/usr/bin/qemu-aarch64-static", program, *arguments])

    def files(self) -> set[str]:
        """Everything there but dpkg's own records and the cache of archives."""
        own = ("var/lib/dpkg/", "var/log/", "var/cache/", "tmp/", "dev/")
        paths = (str(path.relative_to(self.root)) for path in self.root.rglob("*"))
        return {path for path in paths if not path.startswith(own)}

    def _installed(self, archive: Path) -> str:
        fields = subprocess.run(
            ["dpkg-deb", "--field", archive], capture_output=True, text=True, check=True
        ).stdout
        info = self.root / "var/lib/dpkg/info" / f"{archive.name.partition('_')[0]}.list"
        info.touch()
        return f"Status: install ok installed\n{fields}\n"

    def _run(self, command: list[object]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False, timeout=300,
            env={"PATH": PATH, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
        )  # fmt: skip
