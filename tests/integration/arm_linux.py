"""Linux on Arm as far as a program needs it: qemu, Debian's C libraries for it, and files of a Qualcomm board.

Debian: qemu-user-static libstdc++6-arm64-cross libatomic1-arm64-cross.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from runner_kit import Ran

LIBRARIES = Path("/usr/aarch64-linux-gnu/lib")
# The libraries read these while they load: without them they end, whatever the machine.
BOARD = {
    "proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x51\nCPU architecture: 8\nCPU part\t: 0x001\n",
    "sys/devices/soc0/soc_id": "603\n",
    "sys/devices/system/soc/soc0/id": "603\n",
    "sys/devices/system/cpu/possible": "0\n",
    "sys/devices/system/cpu/present": "0\n",
    "sys/devices/system/cpu/online": "0\n",
    "sys/devices/system/cpu/kernel_max": "511\n",
}


class Board:
    """Programs run here see a QCS8550."""

    def __init__(self, folder: Path) -> None:
        self._root = folder
        qemu = shutil.which("qemu-aarch64-static")
        assert qemu, "qemu-user-static is not installed"
        assert LIBRARIES.is_dir(), "libstdc++6-arm64-cross and libatomic1-arm64-cross are not installed"
        self._qemu = qemu
        for name, text in BOARD.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "lib").symlink_to(LIBRARIES)

    def run(self, program: Path, *arguments: object, **environment: str) -> Ran:
        command = [self._qemu, "-L", str(self._root), str(program), *map(str, arguments)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, "LC_ALL": "C", **environment},
        )
        return Ran(done)
