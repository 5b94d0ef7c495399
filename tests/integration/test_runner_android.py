"""hexrun for Android: what its file promises to the system, and runs under qemu with shims in place of bionic."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import lief
import numpy as np
import pytest
from arm_android import Phone
from runner_container import cosine
from runner_kit import Model, compiled, configure

from packager import __version__, catalog
from packager.runner import build_library
from packager.runner.own_c_library import symbols
from packager.sources.zipped import file_names, member
from packager.store import Store
from tests.integration.runtimes import fetch_248

pytest_plugins = ["runner_kit", "runner_container"]

PAGE = 16384
OLDEST = 26
TAG = lief.ELF.DynamicEntry.TAG


def files(store: Store) -> dict[str, Path]:
    library = build_library(catalog.abis()["android-arm64"], store)
    return {
        "program": compiled(store, "android-arm64")[1],
        "library": store.path(library.blob.sha256),
    }


@pytest.fixture(scope="module", params=["program", "library"])
def binary(request, store) -> lief.ELF.Binary:
    found = lief.ELF.parse(str(files(store)[request.param]))
    assert found is not None
    return found


def test_an_android_binary_needs_only_what_its_oldest_android_has(binary):
    offered = {
        name
        for rows in symbols("android", OLDEST).values()
        for row in rows
        for name in (*row.functions, *row.data)
    }
    imported = {str(symbol.name) for symbol in binary.imported_symbols if symbol.name}

    assert imported
    assert imported <= offered
    assert set(binary.libraries) <= {"libc.so", "libdl.so", "libm.so"}
    assert not binary.has(TAG.VERNEED)


def test_an_android_binary_loads_where_pages_have_16_kib(binary):
    loaded = [segment for segment in binary.segments if segment.type == lief.ELF.Segment.TYPE.LOAD]
    (relro,) = [segment for segment in binary.segments if segment.type == lief.ELF.Segment.TYPE.GNU_RELRO]
    end = -(-(relro.virtual_address + relro.virtual_size) // PAGE) * PAGE
    pages = [segment.virtual_address // PAGE for segment in loaded]
    lasts = [(segment.virtual_address + segment.virtual_size - 1) // PAGE for segment in loaded]

    assert all(segment.alignment % PAGE == 0 for segment in loaded)
    assert all(segment.virtual_address % PAGE == segment.file_offset % PAGE for segment in loaded)
    assert all(last < page for last, page in zip(lasts, pages[1:], strict=False))
    # What is made read-only after relocation ends before the next thing that is written to.
    assert all(
        segment.virtual_address >= end or segment.virtual_address <= relro.virtual_address
        for segment in loaded
    )


def test_an_android_binary_is_hardened(binary):
    flags = lief.ELF.Segment.FLAGS
    property_note = next(note for note in binary.notes if note.name == "GNU")

    assert binary.get(TAG.FLAGS).has(lief.ELF.DynamicEntryFlags.FLAG.BIND_NOW)
    assert binary.has(lief.ELF.Segment.TYPE.GNU_RELRO)
    assert not binary.get(lief.ELF.Segment.TYPE.GNU_STACK).has(flags.X)
    assert not any(segment.has(flags.X) and segment.has(flags.W) for segment in binary.segments)
    assert not binary.has(TAG.TEXTREL)
    assert int.from_bytes(bytes(property_note.description)[8:12], "little") & 3 == 3  # BTI and PAC
    # A copy relocation would want the size of a variable of bionic's, which may change.
    assert not any(entry.type == lief.ELF.Relocation.TYPE.AARCH64_COPY for entry in binary.relocations)


def test_an_android_program_is_for_the_systems_linker_and_says_its_oldest_system(store):
    path = files(store)["program"]
    program = lief.ELF.parse(str(path))

    note = next(note for note in program.notes if note.name == "Android")

    assert program.is_pie
    assert program.interpreter == "/system/bin/linker64"
    assert int.from_bytes(bytes(note.description)[:4], "little") == OLDEST
    assert not list(program.symtab_symbols)
    assert str(store.root).encode() not in path.read_bytes()


def test_readelf_has_nothing_to_complain_about(store):
    for path in files(store).values():
        read = subprocess.run(
            ["readelf", "--wide", "--all", path], capture_output=True, text=True, check=True, timeout=60
        )

        assert "TEXTREL" not in read.stdout
        assert "arning" not in read.stderr + read.stdout


def test_an_android_library_shows_the_functions_of_its_header_alone(store):
    library = lief.ELF.parse(str(files(store)["library"]))
    shown = {str(symbol.name) for symbol in library.exported_symbols}

    assert library.get(TAG.SONAME).name == "libhexrun.so"
    assert {"hexrun_open", "hexrun_run", "hexrun_close"} <= shown
    assert all(name.startswith("hexrun_") for name in shown)


@pytest.fixture(scope="module")
def phone(store, tmp_path_factory) -> Phone:
    return Phone(tmp_path_factory.mktemp("phone"), store)


@pytest.fixture(scope="module")
def android_hexrun(store, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("app") / "hexrun"
    shutil.copyfile(files(store)["program"], place)
    place.chmod(0o755)
    return place


def test_it_starts_through_the_systems_linker(phone, android_hexrun):
    ran = phone.run(android_hexrun, "--version")

    assert (ran.code, ran.out, ran.err) == (0, f"hexrun {__version__}\n", "")


def test_a_broken_configuration_is_told_with_its_line(phone, android_hexrun, tmp_path):
    conf = tmp_path / "runner.conf"
    conf.write_text("format 1\nbackend lib.so\nnonsense here\n")

    ran = phone.run(android_hexrun, "--config", conf)

    assert ran.code == 2
    assert f'{conf}:3: unknown key "nonsense"' in ran.err


def test_the_doctor_knows_that_this_is_android(phone, android_hexrun, tmp_path):
    conf = configure(
        tmp_path, backend="/data/lib/libQnnHtp.so", system="/data/lib/libQnnSystem.so", simulator="no"
    )

    ran = phone.run(android_hexrun, "--config", conf, "--doctor", "--json", SHIM_SOC_MODEL="SM8650")

    steps = {step["step"]: step for step in ran.document["steps"]}
    assert ran.code != 0
    assert "/vendor/etc/public.libraries.txt" in str(steps["transport"])
    assert "uses-native-library" in str(steps["transport"])


def test_a_container_runs_on_the_cpu_as_onnxruntime_computes_it(
    phone, android_hexrun, container: Model, store, tmp_path
):
    """With the CPU backend for Linux: the calls through the interface are the same, and glibc is there for it."""
    fetched = fetch_248(store)
    for name in file_names(fetched, store):
        if (base := name.rpartition("/")[2]) in ("libQnnCpu.so", "libQnnSystem.so"):
            shutil.copyfile(member(fetched, name, store).path, tmp_path / base)
    for name in ("x.npy", "model.dlc"):
        shutil.copyfile(container.folder / name, tmp_path / name)
    variant = "variant soc=sm8650 soc_model=57 accepts=- hexagon=75 vtcm_mb=8 linux_soc_ids=557 dlc=model.dlc"
    conf = configure(
        tmp_path, f"compute cpu {tmp_path / 'libQnnCpu.so'}", variant,
        system=str(tmp_path / "libQnnSystem.so"), format="2", simulator="no", backend=None, compute=None,
    )  # fmt: skip

    ran = phone.run(
        android_hexrun, "--config", conf, "--input", tmp_path / "x.npy", "--output", tmp_path / "out", "--json",
        SHIM_SOC_MODEL="SM8650",
    )  # fmt: skip

    assert ran.code == 0, ran.err
    found, wanted = np.load(ran.document["outputs"][0]["file"]), container.array("y")
    assert "SM8650" in ran.document["variant"]["chosen_because"]
    assert cosine(found, wanted) > 0.9999999
    np.testing.assert_allclose(found, wanted, atol=1e-5)
