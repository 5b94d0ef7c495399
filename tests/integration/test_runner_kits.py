"""hexrun by the compilers of others, an NDK and a QNX SDP: the command lines that they get, and what comes out.

Neither can be had here. In their place stand programs that take exactly the documented options (contract_compiler.py).
"""

from __future__ import annotations

import lief
import pytest
from contract_compiler import install_ndk, install_sdp

from packager import catalog
from packager.errors import InputUnavailable, ToolFailed
from packager.runner import build, build_library, find_kit

ANDROID, QNX = "android-arm64", "qnx-aarch64"


def parsed(store, made) -> lief.ELF.Binary:
    found = lief.ELF.parse(str(store.path(made.blob.sha256)))
    assert found is not None
    return found


def test_an_ndk_makes_the_runner_for_android(store, tmp_path):
    kit = find_kit("ndk", install_ndk(tmp_path / "ndk"))

    made = build(catalog.abis()[ANDROID], store, kit=kit)
    binary = parsed(store, made)

    assert made.compiler == "Android NDK 27.2.12479018"
    assert binary.interpreter == "/system/bin/linker64"
    assert all(s.alignment % 16384 == 0 for s in binary.segments if s.type == lief.ELF.Segment.TYPE.LOAD)
    assert binary.is_pie


def test_an_ndk_makes_the_libraries_for_android(store, tmp_path):
    kit = find_kit("ndk", install_ndk(tmp_path / "ndk"))
    abi = catalog.abis()[ANDROID]

    shared, static = (build_library(abi, store, kind, kit=kit) for kind in ("shared", "static"))

    library = parsed(store, shared)
    shown = {str(symbol.name) for symbol in library.exported_symbols}
    assert "hexrun_open" in shown
    assert all(name.startswith("hexrun_") for name in shown)
    assert store.path(static.blob.sha256).read_bytes().startswith(b"!<arch>\n")


def test_an_sdp_makes_the_runner_for_qnx_which_is_no_experiment_then(store, tmp_path):
    kit = find_kit("qnx-sdp", install_sdp(tmp_path / "qnx710"))

    made = build(catalog.abis()[QNX], store, kit=kit)

    assert made.compiler == "QNX SDP 710"
    assert not made.experimental
    assert parsed(store, made).interpreter == "/usr/lib/ldqnx-64.so.2"


def test_another_release_of_a_kit_compiles_anew(store, tmp_path):
    abi = catalog.abis()[ANDROID]
    first = build(abi, store, kit=find_kit("ndk", install_ndk(tmp_path / "one")))

    second = build(abi, store, kit=find_kit("ndk", install_ndk(tmp_path / "two", "28.0.1")))

    assert (first.compiler, second.compiler) == ("Android NDK 27.2.12479018", "Android NDK 28.0.1")
    assert first.blob == second.blob  # the compiler behind both is the same


def test_a_kit_that_fails_is_named_with_its_words(store, tmp_path):
    kit = find_kit("ndk", install_ndk(tmp_path / "ndk", "1.0"))
    kit.compiler.write_text("#!/bin/sh\necho 'clang: out of patience'\nexit 3\n")

    with pytest.raises(ToolFailed) as failed:
        build(catalog.abis()[ANDROID], store, kit=kit)

    assert "clang: out of patience" in failed.value.render()
    assert "Android NDK 1.0" in failed.value.render()


def test_a_kit_is_found_by_its_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("ANDROID_NDK_ROOT", str(install_ndk(tmp_path / "ndk")))
    monkeypatch.setenv("QNX_TARGET", str(install_sdp(tmp_path / "qnx710") / "target/qnx7"))

    assert find_kit("ndk").compiler.is_relative_to(tmp_path / "ndk")
    assert find_kit("qnx-sdp").environment == {
        "QNX_HOST": str(tmp_path / "qnx710/host/linux/x86_64"),
        "QNX_TARGET": str(tmp_path / "qnx710/target/qnx7"),
    }


def test_a_kit_that_is_not_there_is_told_with_what_was_looked_for(tmp_path, monkeypatch):
    for name in ("ANDROID_NDK_ROOT", "ANDROID_NDK_HOME"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(InputUnavailable) as unnamed:
        find_kit("ndk")
    with pytest.raises(InputUnavailable) as empty:
        find_kit("ndk", tmp_path)

    assert "ANDROID_NDK_ROOT" in unnamed.value.render()
    assert "source.properties" in empty.value.render()


def test_a_kit_compiles_for_its_own_system_alone(store, tmp_path):
    kit = find_kit("ndk", install_ndk(tmp_path / "ndk"))

    with pytest.raises(InputUnavailable) as refused:
        build(catalog.abis()["oe-linux-gcc11.2"], store, kit=kit)

    assert "android" in refused.value.render()
