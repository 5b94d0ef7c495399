"""hexrun for QNX, built without QNX's SDK: the shape of its file. It was never started on QNX."""

from __future__ import annotations

import lief
import pytest
from runner_kit import compiled

from packager import catalog
from packager.runner import build_library
from packager.runner.own_c_library import symbols

pytest_plugins = ["runner_kit"]

TAG = lief.ELF.DynamicEntry.TAG
QNX_ABI = "qnx-aarch64"


@pytest.fixture(scope="module", params=["program", "library"])
def binary(request, store) -> lief.ELF.Binary:
    library = build_library(catalog.abis()[QNX_ABI], store)
    paths = {"program": compiled(store, QNX_ABI)[1], "library": store.path(library.blob.sha256)}
    found = lief.ELF.parse(str(paths[request.param]))
    assert found is not None
    return found


def test_it_is_for_the_loader_of_qnx_and_says_that_it_is_experimental(store):
    made, path = compiled(store, QNX_ABI)
    program = lief.ELF.parse(str(path))

    assert program.interpreter == "/usr/lib/ldqnx-64.so.2"
    assert program.header.machine_type == lief.ELF.ARCH.AARCH64
    assert program.is_pie
    assert made.experimental
    assert made.reservation.encode() in path.read_bytes()
    assert b" (experimental: %s)" in path.read_bytes()


def test_it_needs_the_c_library_of_its_sdp_and_names_that_are_in_the_table(binary):
    offered = {name for rows in symbols("qnx", 0).values() for row in rows for name in row.functions}
    imported = {str(symbol.name) for symbol in binary.imported_symbols if symbol.name}

    assert set(binary.libraries) == {"libc.so.5", "libm.so.3"}
    assert set(catalog.abis()[QNX_ABI].c_library) & set(binary.libraries) == {"libc.so.5"}
    assert imported <= offered
    assert "__get_errno_ptr" in imported
    assert not {"__errno", "__errno_location", "stderr", "__libc_init"} & imported


def test_its_loader_finds_names_the_old_way_and_the_memory_is_protected(binary):
    assert binary.has(TAG.HASH)
    assert binary.has(lief.ELF.Segment.TYPE.GNU_RELRO)
    assert binary.get(TAG.FLAGS).has(lief.ELF.DynamicEntryFlags.FLAG.BIND_NOW)
    assert not binary.get(lief.ELF.Segment.TYPE.GNU_STACK).has(lief.ELF.Segment.FLAGS.X)
    assert not binary.has(TAG.TEXTREL)
