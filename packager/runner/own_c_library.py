"""Building for a system whose C library no compiler brings: its types and its linkable libraries are ours.

`templates/c_library/posix` declares what every such system has, `templates/c_library/<name>` what differs
between them, with sizes and offsets that the compiler checks, and the start of a program. The linker gets
libraries without code that have the names in `targets/system_libraries.toml`; on the device the real ones
take their place.
"""

from __future__ import annotations

import importlib.resources
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.resources.abc import Traversable

from packager import resources
from packager.catalog import table
from packager.model import Frozen
from packager.runner.compilation import Compilation
from packager.runner.toolchains import Made, Toolchain

_INCLUDE, _STUBS, _START = "include", "stubs", "start.c"


class Symbols(Frozen):
    """A row of `targets/system_libraries.toml`."""

    system: str
    library: str
    since: int
    functions: tuple[str, ...]
    data: tuple[str, ...]
    source: str


def sources(chain: Toolchain, made: Made) -> dict[str, str]:
    """What a build needs beside hexrun's own sources, as file name to text."""
    if chain.c_library is None:
        return {}
    folder = resources.folder("templates").joinpath("c_library")
    own = dict(_texts(folder.joinpath(chain.c_library)))
    headers = {**dict(_texts(folder.joinpath("posix"))), **own}
    return {
        **{f"{_INCLUDE}/{name}": text for name, text in headers.items() if name.endswith(".h")},
        **{f"{_STUBS}/{library}.c": text for library, text in _stubs(chain).items()},
        **{name: text for name, text in own.items() if name.endswith(".c") and _is_for(name, made)},
    }


def symbols(system: str, level: int) -> Mapping[str, tuple[Symbols, ...]]:
    """Library to the rows of what it has at a level of the system's interface, in the table's order."""
    rows = [Symbols.model_validate(row) for row in table("system_libraries")["symbols"]]
    known = [row for row in rows if row.system == system and row.since <= level]
    return {
        name: tuple(row for row in known if row.library == name) for name in {row.library: 0 for row in known}
    }


def compile_parts(
    compilation: Compilation, chain: Toolchain, made: Made, name: str, units: list[str]
) -> None:
    """Compile and link in the compilation's folder, which has `sources`, to the file `name` there."""
    headers = importlib.resources.files("ziglang").joinpath("lib", "include")
    target = [*chain.target(compilation.abi), "-nostdlibinc"]
    flags = [
        *target, *chain.compile_flags(made, compilation.abi), f"-ffile-prefix-map={compilation.folder}=.",
        "-fPIE" if made == "program" else "-fPIC", "-isystem", _INCLUDE, "-isystem", str(headers),
    ]  # fmt: skip

    def one(unit: str) -> str:
        compiled = f"{unit.removesuffix('.c')}.o"
        compilation.zig("clang", "-c", *flags, "-o", compiled, unit, makes=compiled)
        return compiled

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        objects = list(pool.map(one, units))
    if made == "static":
        compilation.zig("ar", "rcsD", name, *objects, makes=name)
        return
    libraries = [_stub(compilation, [*target, "-w", "-fno-builtin"], library) for library in _stubs(chain)]
    compilation.zig("ld.lld", *chain.link_flags(made), "-o", name, *objects, *libraries, makes=name)


def _is_for(name: str, made: Made) -> bool:
    return name != _START or made == "program"


def _texts(folder: Traversable, before: str = "") -> Iterable[tuple[str, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts(entry, f"{before}{entry.name}/")
        elif entry.name.endswith((".c", ".h")):
            yield before + entry.name, entry.read_text(encoding="utf-8")


def _stubs(chain: Toolchain) -> dict[str, str]:
    """Library to C that defines its names; what they do is of no interest, nobody runs it."""
    return {
        library: "".join(
            "".join(f"void {name}(void) {{}}\n" for name in row.functions)
            + "".join(f"void *{name};\n" for name in row.data)
            for row in rows
        )
        for library, rows in symbols(chain.system, chain.api_level).items()
    }


def _stub(compilation: Compilation, flags: list[str], library: str) -> str:
    path = f"{_STUBS}/{library}"
    compilation.zig("clang", "-c", *flags, "-o", f"{path}.o", f"{path}.c", makes=f"{path}.o")
    compilation.zig("ld.lld", "-shared", f"-soname={library}", "-o", path, f"{path}.o", makes=path)
    return path
