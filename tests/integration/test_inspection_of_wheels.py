"""Inspection of everything in the wheels: lief is the witness, and time and memory are bounded."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import lief
import pytest

from packager import catalog
from packager.facts.elf import read_elf
from packager.facts.pe import read_pe
from packager.inspection import schema
from packager.sources.wheel import fetch_wheel

# What a user with two cores waits for at most, and what a small build machine has. Measured over 600 MB
# of libraries: 2 s, 58 MB.
SECONDS, MEGABYTES = 8, 300


@pytest.fixture(scope="module")
def everything(store) -> Iterator[Path]:
    """A folder with all files of three wheels."""
    with tempfile.TemporaryDirectory() as folder:
        for abi in ("oe-linux-gcc11.2", "x86_64-linux-clang", "windows-arm64"):
            known = catalog.runtime_set("2.51.0", abi)
            wheel = fetch_wheel(
                known.wheel, platform=known.platform, python=known.python, pinned=known.sha256, store=store
            )
            with zipfile.ZipFile(wheel.path) as archive:
                archive.extractall(Path(folder) / abi)
        yield Path(folder)


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def beginning_with(magic: bytes, folder: Path) -> list[Path]:
    found = []
    for path in files_of(folder):
        with path.open("rb") as stream:
            if stream.read(len(magic)) == magic:
                found.append(path)
    return found


def inspect(path: Path) -> tuple[dict[str, dict[str, object]], float, int]:
    """The files of `inspect --json`, the processor's seconds, and the largest memory of its processes in MB."""
    code = (
        "import re, resource, sys\n"
        "from packager.commands.program import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        # ru_maxrss of this process begins with that of the one that started it.
        "    own = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())\n"
        "    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]\n"
        "    seconds = sum(usage.ru_utime + usage.ru_stime for usage in both)\n"
        "    print(seconds, (int(own[1]) + both[1].ru_maxrss) // 1024, file=sys.stderr)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, "inspect", "--json", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, megabytes = run.stderr.split()[-2:]
    return json.loads(run.stdout)["files"], float(seconds), int(megabytes)


def test_all_libraries_of_three_wheels_are_inspected_in_bounded_time_and_memory(everything):
    paths = files_of(everything)
    assert sum(path.stat().st_size for path in paths) > 600 << 20

    files, seconds, megabytes = inspect(everything)

    jsonschema.Draft202012Validator(schema()).validate({"schema_version": 1, "files": files})
    assert list(files) == [str(path) for path in paths]
    assert {facts["kind"] for facts in files.values()} == {"elf", "pe", "catalogue", "other"}
    assert seconds < SECONDS
    assert megabytes < MEGABYTES


def test_a_wheel_shows_what_is_inside_as_its_unpacked_files_do(wheel_248, runtime_248):
    files, _, megabytes = inspect(wheel_248.path)

    jsonschema.Draft202012Validator(schema()).validate({"schema_version": 1, "files": files})
    assert files[str(wheel_248.path)]["format"] == "wheel"
    inside = {name.rpartition("/")[2]: facts for name, facts in files.items()}
    for name, path in runtime_248.items():
        assert inside[name] == read_elf(path).model_dump(mode="json")
    assert megabytes < MEGABYTES


def test_lief_reads_the_same_from_every_elf_file(everything):
    paths = beginning_with(b"\x7fELF", everything)
    assert len(paths) > 30

    for path in paths:
        facts, binary = read_elf(path), lief.ELF.parse(str(path))
        entries = {kind: [e for e in binary.dynamic_entries if isinstance(e, kind)] for kind in DYNAMIC}
        exported = {s.name for s in binary.dynamic_symbols if s.exported}
        needs = {a.name for r in binary.symbols_version_requirement for a in r.get_auxiliary_symbols()}
        assert facts.machine == str(binary.header.machine_type.name)
        assert facts.flags == binary.header.processor_flag
        assert list(facts.needed) == [e.name for e in entries[lief.ELF.DynamicEntryLibrary]]
        assert [facts.soname or ""] == ([e.name for e in entries[lief.ELF.DynamicSharedObject]] or [""])
        assert set(facts.qnn_entries) == {name for name in exported if name.endswith("_getProviders")}
        assert (facts.skel_release is not None) == any(n.endswith("_skel_handle_invoke") for n in exported)
        for family, newest in (("GLIBC", facts.glibc_needed), ("CXXABI", facts.cxxabi_needed)):
            assert newest is None or f"{family}_{newest}" in needs
        ids = [
            n.description.tobytes().hex() for n in binary.notes if n.type == lief.ELF.Note.TYPE.GNU_BUILD_ID
        ]
        assert facts.build_id in (ids or [None])


DYNAMIC = (lief.ELF.DynamicEntryLibrary, lief.ELF.DynamicSharedObject)


def test_lief_reads_the_same_from_every_dll(everything):
    paths = beginning_with(b"MZ", everything)
    assert len(paths) > 10

    for path in paths:
        facts, binary = read_pe(path), lief.PE.parse(str(path))
        assert facts.machine == str(binary.header.machine.name)
        assert list(facts.imports) == [e.name for e in (*binary.imports, *binary.delay_imports)]
        assert facts.debug_path == binary.codeview_pdb.filename
        verdict = binary.verify_signature(lief.PE.Signature.VERIFICATION_CHECKS.SKIP_CERT_TIME)
        assert facts.signature_valid == (verdict == lief.PE.Signature.VERIFICATION_FLAGS.OK)


def test_exports_are_found_by_the_hash_table_where_section_headers_were_stripped(runtime_linux, tmp_path):
    for name in ("libQnnSystem.so", "libQnnHtpV73Skel.so"):
        whole = runtime_linux[name]
        image = bytearray(whole.read_bytes())
        offset_at, count_at = (40, 60) if image[4] == 2 else (32, 48)
        struct.pack_into("<Q" if image[4] == 2 else "<I", image, offset_at, 0)
        struct.pack_into("<HH", image, count_at, 0, 0)
        stripped = tmp_path / name
        stripped.write_bytes(image)

        facts = read_elf(stripped)

        assert facts == read_elf(whole)


def test_the_signature_of_a_vendor_s_dll_holds_until_a_byte_is_changed(runtime_windows, tmp_path):
    image = bytearray(runtime_windows["QnnSystem.dll"].read_bytes())
    image[len(image) // 2] ^= 1
    altered = tmp_path / "QnnSystem.dll"
    altered.write_bytes(image)

    facts = read_pe(altered)

    assert read_pe(runtime_windows["QnnSystem.dll"]).signature_valid is True
    assert (facts.signature_valid, facts.signer is not None) == (False, True)
