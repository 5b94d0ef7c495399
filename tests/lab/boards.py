"""Boards: what a program under qemu finds where the kernel of a Qualcomm board would answer."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from packager import resources
from packager.store import Store
from tests.make.elf import hexagon_skel

HERE = Path(__file__).parent
LIBRARIES = Path("/usr/aarch64-linux-gnu/lib")
PROCESSOR = "processor\t: 0\nCPU implementer\t: 0x51\nCPU architecture: 8\nCPU part\t: 0x001\n"
PROCESSORS = {"possible": "0-1", "present": "0-1", "online": "0-1", "kernel_max": "511"}
# What the firmware of a board keeps for its DSP, as far as somebody looks for it.
OF_THE_DSP = ("fastrpc_shell_unsigned_3", "libc++.so.1", "libc++abi.so.1")
SECONDS = 300


class Kind(NamedTuple):
    """A board by its SoC; `soc_id` is what its kernel says, `hexagon` what its DSP says."""

    soc: str
    soc_model: int
    soc_id: int
    hexagon: int


# soc_id and architecture as the libraries of QAIRT 2.51 for Linux take them.
KINDS = {
    kind.soc: kind
    for kind in (
        Kind("qcs6490", 93, 497, 68),
        Kind("qcs8550", 66, 603, 73),
        Kind("qcs9075", 77, 676, 73),
        Kind("sm8650", 57, 557, 75),
        Kind("qcs8275", 82, 674, 75),
        Kind("sm8750", 69, 618, 79),
        Kind("sm8850", 87, 660, 81),
    )
}


class Board:
    """A file system as a board of that kind has it, and programs that run there.

    `dsp=False` leaves out the library that reaches the DSP; `soc_id` replaces what the kernel says.
    """

    def __init__(self, root: Path, kind: Kind, store: Store, *, dsp: bool = True, soc_id: int = 0) -> None:
        self.kind, self.root, self._journal = kind, root, root / "journal"
        number = f"{soc_id or kind.soc_id}\n"
        files = {f"sys/devices/system/cpu/{name}": f"{text}\n" for name, text in PROCESSORS.items()}
        files |= {"proc/cpuinfo": PROCESSOR, "dev/fastrpc-cdsp": ""}
        files |= {"sys/devices/soc0/soc_id": number, "sys/devices/system/soc/soc0/id": number}
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / "lib").symlink_to(LIBRARIES)
        (root / "usr/lib").mkdir(parents=True)
        (root / "usr/lib/dsp").mkdir()
        for name in OF_THE_DSP:
            (root / "usr/lib/dsp" / name).write_bytes(hexagon_skel(kind.hexagon, needed=(), soname=name))
        if dsp:
            shutil.copyfile(stand_in(store), root / "usr/lib/libcdsprpc.so")

    @property
    def journal(self) -> str:
        """What the stand-in for FastRPC noted: each skel that was opened, or that could not be."""
        return self._journal.read_text() if self._journal.exists() else ""

    def run(
        self, program: Path, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of the board. Paths outside the board's file system are this machine's."""
        process = self.start(program, *arguments, environment=environment)
        with process:
            try:
                out, err = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def start(
        self, program: Path, *arguments: object, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a program of the board, its streams in pipes."""
        qemu = shutil.which("qemu-aarch64-static")
        assert qemu, "qemu-user-static is not installed"
        assert LIBRARIES.is_dir(), "libstdc++6-arm64-cross and libatomic1-arm64-cross are not installed"
        told = {
            "LC_ALL": "C",
            "LAB_DSP_ARCH": f"0x{self.kind.hexagon}",
            "LAB_DSP_JOURNAL": str(self._journal),
            **(environment or {}),
        }
        # A board's programs get their own environment: this machine's search paths are none of theirs.
        settings = [word for name, value in told.items() for word in ("-E", f"{name}={value}")]
        return subprocess.Popen(
            [qemu, "-L", str(self.root), *settings, str(program), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={"PATH": os.environ.get("PATH", "")},
        )


def stand_in(store: Store) -> Path:
    """The stand-in for FastRPC, compiled once for each text of it."""
    flags = ("-shared", "-fPIC", "-fvisibility=hidden", "-Wextra")
    return compiled(store, "libcdsprpc.so", [HERE / "dsp_stand_in.c"], flags)


def probe(store: Store) -> Path:
    """The program that asks a bundle's backend, compiled once for each text of it."""
    runner = Path(str(resources.folder("templates"))) / "runner"
    sources = [HERE / "probe.c", *(runner / name for name in ("backend_log.c", "json.c", "status.c"))]
    headers = [runner / name for name in ("qnn_abi.h", "backend_log.h", "json.h")]
    return compiled(store, "probe", sources, (f"-I{runner}", "-ldl"), headers)


def compiled(
    store: Store, name: str, sources: Sequence[Path], flags: Sequence[str], headers: Sequence[Path] = ()
) -> Path:
    """Something of the lab's own for Linux on Arm, from the store if its text is known there."""
    text = b"\0".join([*(path.read_bytes() for path in (*sources, *headers)), *map(str.encode, flags)])
    place = store.root / "lab" / hashlib.sha256(text).hexdigest()[:16] / name
    if place.is_file():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f"{name}.{os.getpid()}")
    cache = {name: str(store.root / "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-gnu.2.31", "-std=c11", "-O2"]
    command += ["-Wall", "-Werror", *flags, "-o", str(draft), *map(str, sources)]
    subprocess.run(command, env={**os.environ, **cache}, check=True)
    draft.replace(place)
    return place
