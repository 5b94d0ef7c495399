"""The native runner, compiled for one target: the program `hexrun`, and the library that apps link to.

C sources from `templates/runner`, tables from `targets/`, flags from `targets/toolchains.toml`, and the
one cross-compiler of `ziglang`. The bytes depend on nothing else: not on the folder, the clock or the host.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeVar

from packager.catalog import Abi
from packager.files import Blob, write_text
from packager.model import Frozen
from packager.runner import own_c_library
from packager.runner.compilation import Compilation
from packager.runner.kits import FoundKit, find_kit
from packager.runner.tables import generated_tables
from packager.runner.toolchains import ZIG, Made, Toolchain, compiler_name, sources_of, toolchain_of
from packager.store import Store, key_of

__all__ = ["LibraryBuild", "RunnerBuild", "build", "build_library", "find_kit", "generated_tables"]

GENERATED = "tables.c"
Kind = Literal["shared", "static"]
Built = TypeVar("Built", bound=Frozen)


class RunnerBuild(Frozen):
    """A compiled runner, `hexrun` or `hexrun.exe`. `compiler` names the tool and its version.

    `reservation` is a sentence about what was never tried with this build, or empty: then it is not
    `experimental`.
    """

    blob: Blob
    file_name: str
    compiler: str
    reservation: str = ""

    @property
    def experimental(self) -> bool:
        return bool(self.reservation)


class LibraryBuild(RunnerBuild):
    """The runner as a library. `import_blob` is what a linker on Windows needs beside a DLL, else None."""

    import_blob: Blob | None = None
    import_name: str | None = None


def build(
    abi: Abi, store: Store, stop: threading.Event | None = None, kit: FoundKit | None = None
) -> RunnerBuild:
    """The runner for `abi`, compiled once and then taken from the store.

    The first build for an operating system also builds its C library: seconds for Linux, minutes for
    Windows; zig's cache in the store keeps it.

    `kit` is somebody else's compiler (`find_kit`) instead of the one that hexpack brings.

    When `stop` is set, a compilation that runs is ended. Raises ToolFailed with the compiler's output, and
    InputUnavailable where there is no compiler or hexpack has no toolchain for the system.
    """
    chain = toolchain_of(abi, kit.id if kit else ZIG)
    sources = {**sources_of(chain), GENERATED: generated_tables(chain.reservation)}
    return _made(abi, chain, kit, "program", chain.executable, sources, store, stop, RunnerBuild)


def build_library(
    abi: Abi,
    store: Store,
    kind: Kind = "shared",
    stop: threading.Event | None = None,
    kit: FoundKit | None = None,
) -> LibraryBuild:
    """The runner without `main`, as a library that shows what `hexrun_export.h` marks and nothing else.

    A shared library hides everything else. So does what a static one is linked into, but until then its other
    names are there: a program that has functions of the same names clashes with them.
    Windows' shared library comes with its import library. Raises as `build` does.
    """
    chain = toolchain_of(abi, kit.id if kit else ZIG)
    sources = {**sources_of(chain), GENERATED: generated_tables(chain.reservation)}
    del sources["main.c"]
    name = chain.shared_library if kind == "shared" else chain.static_library
    return _made(abi, chain, kit, kind, name, sources, store, stop, LibraryBuild)


def _made(
    abi: Abi,
    chain: Toolchain,
    kit: FoundKit | None,
    kind: Made,
    name: str,
    sources: dict[str, str],
    store: Store,
    stop: threading.Event | None,
    result: type[Built],
) -> Built:
    compiler = kit.title if kit else compiler_name()
    sources = {**sources, **own_c_library.sources(chain, kind)}
    key = key_of(
        {
            "sources": dict(sorted(sources.items())),
            "target": chain.target(abi),
            "kind": kind,
            "chain": chain.model_dump(mode="json"),
            "flags": [chain.compile_flags(kind, abi), chain.link_flags(kind)],
            "compiler": compiler,
        }
    )
    step = "runner" if kind == "program" else "runner-library"
    with store.lock(key):
        known = store.recall_as(result, step, key)
        if known and all(map(store.intact, _blobs(known))):
            return known
        with store.work() as folder:
            for path, text in sources.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                write_text(folder / path, text)
            store.hold("zig")  # its cache is in the store
            _compile(Compilation(folder, abi, store, stop or threading.Event(), kit), chain, kind, name)
            found = {
                "blob": store.add_file(folder / name),
                "file_name": name,
                "compiler": compiler,
                "reservation": chain.reservation,
            }
            if kind == "shared" and chain.import_library:
                found["import_blob"] = store.add_file(folder / chain.import_library)
                found["import_name"] = chain.import_library
        built = result.model_validate(found)
        store.record(step, key, built.model_dump(mode="json"))
    return built


def _blobs(built: Frozen) -> list[Blob]:
    return [blob for blob in (getattr(built, "blob", None), getattr(built, "import_blob", None)) if blob]


def _compile(compilation: Compilation, chain: Toolchain, kind: Made, name: str) -> None:
    """From the sources in the compilation's folder to the file `name` in it."""
    units = sorted(path.name for path in compilation.folder.glob("*.c"))
    if chain.c_library:
        own_c_library.compile_parts(compilation, chain, kind, name, units)
        return
    abi = compilation.abi
    prefix = f"-ffile-prefix-map={compilation.folder}=."
    compiling = [*chain.target(abi), *chain.compile_flags(kind, abi), prefix]
    if kind == "static":

        def one(unit: str) -> str:
            made = f"{unit.removesuffix('.c')}.o"
            compilation.compile("-c", *compiling, "-o", made, unit, makes=made)
            return made

        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            objects = list(pool.map(one, units))
        compilation.archive("rcsD", name, *objects, makes=name)
    else:
        compilation.compile(*compiling, "-o", name, *units, *chain.link_flags(kind), makes=name)
