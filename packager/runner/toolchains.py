"""Rows of `targets/toolchains.toml`: which sources and flags make the runner for an operating system."""

from __future__ import annotations

import importlib.metadata
from typing import Literal

from pydantic import Field

from packager import resources
from packager.catalog import Abi, table
from packager.errors import InputUnavailable
from packager.model import Frozen

ZIG = "zig"  # the kit that hexpack brings
Made = Literal["program", "shared", "static"]


class Toolchain(Frozen):
    """See the head of the table for the fields."""

    system: str
    kit: str = ZIG
    named_target: tuple[str, ...] = Field(default=(), alias="target")
    executable: str
    shared_library: str
    static_library: str
    import_library: str | None = None
    platform: str
    doctor: str
    flags: tuple[str, ...]
    machine_flags: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    program_flags: tuple[str, ...]
    shared_flags: tuple[str, ...]
    static_flags: tuple[str, ...]
    libraries: tuple[str, ...]
    c_library: str | None = None
    api_level: int = 0
    reservation: str = ""
    source: str

    def target(self, abi: Abi) -> tuple[str, ...]:
        """How the compiler is told what it compiles for."""
        return self.named_target or ("-target", f"{abi.zig}{self.api_level or ''}")

    def compile_flags(self, made: Made, abi: Abi) -> tuple[str, ...]:
        """The compiler's flags for what is made; the linker's too where one step does both."""
        common = table("toolchains")["common"]
        library = () if made == "program" else common["library_flags"]
        flags = (*common["flags"], *library, *self.flags, *self.machine_flags.get(abi.machine, ()))
        return flags if self.c_library and made != "static" else (*flags, *self._kind_flags(made))

    def link_flags(self, made: Made) -> tuple[str, ...]:
        """What the linker is given: libraries, and its own flags where linking is a step of its own."""
        return (*self._kind_flags(made), *self.libraries) if self.c_library else self.libraries

    def _kind_flags(self, made: Made) -> tuple[str, ...]:
        return {"program": self.program_flags, "shared": self.shared_flags, "static": self.static_flags}[made]


def toolchain_of(abi: Abi, kit: str = ZIG) -> Toolchain:
    """The row for the ABI's system and a kit. Raises InputUnavailable when there is none."""
    rows = [Toolchain.model_validate(row) for row in table("toolchains")["toolchain"]]
    rows = [row for row in rows if row.kit == kit]
    chain = next((row for row in rows if row.system == abi.system), None)
    if chain is None or (abi.zig is None and not chain.named_target):
        raise InputUnavailable(
            f"hexpack cannot compile the runner for {abi.id} with {kit}",
            evidence=(f"systems it compiles for: {', '.join(row.system for row in rows)}",),
            fix="choose a target on one of these systems",
        )
    return chain


def compiler_name() -> str:
    """The compiler and its version. Raises InputUnavailable when it is not installed."""
    try:
        return f"ziglang {importlib.metadata.version('ziglang')}"
    except importlib.metadata.PackageNotFoundError as missing:
        raise InputUnavailable(
            "the cross-compiler for the runner is not installed",
            evidence=("Python package: ziglang",),
            fix="pip install ziglang",
        ) from missing


def sources_of(chain: Toolchain) -> dict[str, str]:
    """File name to text: the C tree without other systems' files, such as `*_windows.c`."""
    rows = table("toolchains")["toolchain"]
    others = tuple({_system_of(row["platform"]) for row in rows} - {_system_of(chain.platform)})
    tree = resources.folder("templates").joinpath("runner")
    return {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in tree.iterdir()
        if entry.name.endswith((".c", ".h")) and not entry.name.endswith(others)
    }


def _system_of(platform: str) -> str:
    """How the names of the files for a system end: `_posix.c` of `platform_posix.c`."""
    return platform.removeprefix("platform")
