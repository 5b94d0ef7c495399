"""The compiled runner: the same bytes everywhere, hardened, and content with an old system."""

from __future__ import annotations

import threading

import lief
import pytest
from runner_kit import compiled

from packager import catalog
from packager.errors import ToolFailed
from packager.runner import build, generated_tables
from packager.store import Store

pytest_plugins = ["runner_kit"]


def test_two_builds_in_different_folders_have_the_same_bytes(store, tmp_path):
    other = Store(tmp_path / "another place")

    first, second = compiled(store, "x86_64-linux-clang")[0], compiled(other, "x86_64-linux-clang")[0]

    assert first == second
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
    assert all(name.startswith(("libc.so", "libm.so", "libdl.so", "ld-linux")) for name in binary.libraries)
    assert str(store.root).encode() not in path.read_bytes()


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
    monkeypatch.setattr("packager.runner.generated_tables", lambda: generated_tables() + "broken")

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
