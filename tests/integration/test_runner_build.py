"""The compiled runner: the same bytes everywhere, hardened, and content with an old system."""

from __future__ import annotations

import ctypes
import threading

import lief
import pytest
from runner_kit import SOURCES, compiled, run, zig

from packager import __version__, catalog
from packager.errors import ToolFailed
from packager.runner import build, build_library, generated_tables
from packager.store import Store

pytest_plugins = ["runner_kit"]

SMALL = 150_000


def test_two_builds_in_different_folders_have_the_same_bytes(store, tmp_path):
    abi, other = catalog.abis()["x86_64-linux-clang"], Store(tmp_path / "another place")

    first, second = compiled(store, abi.id)[0], compiled(other, abi.id)[0]
    libraries = [build_library(abi, place, "static") for place in (store, other)]

    assert first == second
    assert libraries[0] == libraries[1]
    assert other.path(second.blob.sha256).is_file()


@pytest.mark.parametrize(
    ("abi", "machine", "newest"),
    [
        ("oe-linux-gcc11.2", lief.ELF.ARCH.AARCH64, (2, 17)),
        ("x86_64-linux-clang", lief.ELF.ARCH.X86_64, (2, 31)),
    ],
)
def test_a_linux_runner_is_hardened_and_starts_on_old_systems(store, abi, machine, newest):
    made, path = compiled(store, abi)
    binary = lief.ELF.parse(str(path))
    assert binary is not None

    versions = {
        tuple(map(int, aux.name.removeprefix("GLIBC_").split(".")))
        for need in binary.symbols_version_requirement
        for aux in need.get_auxiliary_symbols()
    }

    assert made.file_name == "hexrun"
    assert binary.header.machine_type == machine
    assert binary.is_pie
    assert max(versions) <= newest
    assert binary.get(lief.ELF.DynamicEntry.TAG.FLAGS).has(lief.ELF.DynamicEntryFlags.FLAG.BIND_NOW)
    assert binary.has(lief.ELF.Segment.TYPE.GNU_RELRO)
    assert not binary.get(lief.ELF.Segment.TYPE.GNU_STACK).has(lief.ELF.Segment.FLAGS.X)
    assert all(
        name.startswith(("libc.so", "libm.so", "libdl.so", "libpthread.so", "ld-linux"))
        for name in binary.libraries
    )
    assert str(store.root).encode() not in path.read_bytes()


@pytest.mark.parametrize("abi", ["oe-linux-gcc11.2", "x86_64-linux-clang", "android-arm64", "qnx-aarch64"])
def test_a_runner_is_small_enough_for_any_package(store, abi):
    assert compiled(store, abi)[0].blob.size < SMALL


def test_a_windows_runner_is_for_arm64_and_needs_only_system_libraries(store):
    made, path = compiled(store, "windows-arm64")
    binary = lief.PE.parse(str(path))
    assert binary is not None

    imported = {entry.name.lower() for entry in binary.imports}

    assert made.file_name == "hexrun.exe"
    assert binary.header.machine == lief.PE.Header.MACHINE_TYPES.ARM64
    assert all(
        name.startswith(("api-ms-win-crt-", "kernel32.", "shell32.", "advapi32.", "version."))
        for name in imported
    ), imported
    assert str(store.root).encode() not in path.read_bytes()
    wanted = lief.PE.OptionalHeader.DLL_CHARACTERISTICS
    assert {wanted.DYNAMIC_BASE, wanted.NX_COMPAT} <= set(binary.optional_header.dll_characteristics_lists)


def test_source_that_does_not_compile_is_a_failed_tool_with_the_compilers_words(store, monkeypatch):
    monkeypatch.setattr("packager.runner.generated_tables", lambda _: generated_tables() + "broken")

    with pytest.raises(ToolFailed) as failed:
        build(catalog.abis()["x86_64-linux-clang"], store)

    assert failed.value.exit_code == 4
    assert "the runner does not compile for x86_64-linux-clang" in failed.value.render()
    assert "tables.c" in failed.value.render()


def test_a_compilation_that_nobody_needs_any_more_is_ended_at_once(tmp_path):
    stop = threading.Event()
    stop.set()

    with pytest.raises(ToolFailed):
        build(catalog.abis()["windows-arm64"], Store(tmp_path), stop)

    assert not list((tmp_path / "steps").glob("runner/*"))
    assert not list((tmp_path / "tmp").glob(".work-*"))


PROGRAM = """
#include <stdio.h>
#include "hexrun.h"
int main(void)
{
    return puts(hexrun_version()) < 0;
}
"""


def test_a_shared_library_loads_and_shows_the_functions_of_its_header_alone(store):
    made = build_library(catalog.abis()["x86_64-linux-clang"], store)
    path = store.path(made.blob.sha256)

    binary = lief.ELF.parse(str(path))
    library = ctypes.CDLL(str(path))
    library.hexrun_version.restype = ctypes.c_char_p

    assert library.hexrun_version().decode() == __version__
    assert made.file_name == "libhexrun.so"
    names = {str(symbol.name) for symbol in binary.exported_symbols}
    assert "hexrun_version" in names
    assert all(name.startswith("hexrun_") for name in names)


def test_a_static_library_links_into_a_program(store, tmp_path):
    made = build_library(catalog.abis()["x86_64-linux-clang"], store, "static")
    (tmp_path / "app.c").write_text(PROGRAM)
    (tmp_path / made.file_name).write_bytes(store.path(made.blob.sha256).read_bytes())

    zig(
        store,
        tmp_path,
        "-DHEXRUN_STATIC",
        f"-I{SOURCES}",
        "app.c",
        made.file_name,
        "-lm",
        "-ldl",
        "-o",
        "app",
    )

    assert run(tmp_path / "app").out == f"{__version__}\n"


def test_a_windows_library_exports_what_its_import_library_offers(store):
    made = build_library(catalog.abis()["windows-arm64"], store)
    binary = lief.PE.parse(str(store.path(made.blob.sha256)))

    names = {str(entry.name) for entry in binary.get_export().entries}

    assert (made.file_name, made.import_name) == ("hexrun.dll", "hexrun.lib")
    assert "hexrun_version" in names
    assert all(name.startswith("hexrun_") for name in names)
    assert all(name.encode() in store.path(made.import_blob.sha256).read_bytes() for name in names)
