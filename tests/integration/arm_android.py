"""Android as far as a program needs it under qemu: its linker's and libraries' names, with glibc behind them.

Real bionic cannot be had here. `bionic_shim.c` translates what differs.
"""

from __future__ import annotations

from pathlib import Path

from arm_linux import LIBRARIES, Board
from runner_kit import HERE, Ran, zig

from packager.store import Store

GLIBC = "aarch64-linux-gnu.2.34"
FOLDER = "/system/lib64"


class Phone(Board):
    """Programs run here find /system/bin/linker64, libc.so, libdl.so and libm.so."""

    def __init__(self, folder: Path, store: Store) -> None:
        super().__init__(folder)
        libraries = folder / FOLDER[1:]
        for place in (libraries, folder / "system/bin"):
            place.mkdir(parents=True)
        (folder / "system/bin/linker64").symlink_to(LIBRARIES / "ld-linux-aarch64.so.1")
        flags = ("-target", GLIBC, "-fPIC", "-shared", "-Wl,--no-as-needed")
        # With bionic's version on its names, libraries made for glibc do not find them.
        (folder / "versions").write_text("LIBC { *; };")
        named = ("-Wl,-soname,libc.so", f"-Wl,--version-script={folder / 'versions'}")
        zig(store, libraries, *flags, *named, "-o", "libc.so", HERE / "bionic_shim.c")
        (folder / "empty.c").write_text("")
        for name in ("libdl.so", "libm.so"):
            zig(
                store, libraries, *flags, f"-Wl,-soname,{name}", "-o", name, folder / "empty.c", "-lm", "-ldl"
            )

    def run(self, program: Path, *arguments: object, **environment: str) -> Ran:
        return super().run(program, *arguments, LD_LIBRARY_PATH=FOLDER, **environment)
