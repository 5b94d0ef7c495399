"""The tables that the runner carries, and the toolchains that compile it."""

import re

import pytest

from packager import __version__, catalog, resources
from packager.catalog import table
from packager.errors import InputUnavailable
from packager.files import Blob
from packager.runner import build, generated_tables
from packager.store import Store

CORE_PROFILES = {"burst", "sustained_high_performance", "high_performance", "balanced", "low_balanced"} | {
    "high_power_saver",
    "power_saver",
    "low_power_saver",
    "extreme_power_saver",
    "default",
    "system_settings",
}


def test_every_error_row_is_in_the_generated_source_once_and_in_its_place():
    source, rows = generated_tables(), table("errors")["error"]
    codes = re.search(r"ERROR_CODES\[\] = \{(.*?)\};", source)
    words = re.search(r"ERROR_WORDS\[\] =\n(.*?)\n    ;", source, re.DOTALL)
    assert codes is not None
    assert words is not None

    names = [line.strip()[1:].split("\\000")[0] for line in words[1].splitlines()]

    assert [int(code, 16) for code in codes[1].split(", ")] == [row["code"] for row in rows]
    assert names == [row["name"] for row in rows]
    assert f"ERROR_CODE_COUNT = {len(rows)};" in source


def test_the_generated_source_carries_the_version():
    assert f'HEXRUN_VERSION[] = "{__version__}"' in generated_tables()


def test_the_generated_source_is_plain_ascii_with_closed_strings():
    source = generated_tables()

    assert source.isascii()
    for line in source.splitlines():
        assert re.sub(r"\\.", "", line).count('"') % 2 == 0, line


def test_the_burst_row_is_the_documented_vote():
    source = generated_tables()

    assert '{"burst", 1, 0, 16, 40, 160, 9999},' in source
    assert '{"default", 0, 0, 0, 0, 0, 0},' in source
    assert '{"release", 1, 1, 4, 2000, 48, 0}' in source


def test_profiles_name_corners_and_modes_that_exist():
    power = table("power")
    corners, modes = ({row["id"] for row in power[kind]} for kind in ("corner", "power_mode"))

    assert {row["id"] for row in power["profile"]} == CORE_PROFILES
    for row in (*power["profile"], power["release"]):
        assert row["source"]
        if row.get("vote", True):
            assert row["corner"] in corners
            assert row["power_mode"] in modes
            assert 0 <= row.get("rpc_polling_us", 0) <= 9999


def test_the_manifest_default_power_profile_is_one_the_runner_knows():
    import tomllib

    defaults = tomllib.loads(resources.text("manifests", "defaults.toml"))

    assert defaults["defaults"]["power"] in CORE_PROFILES


def test_every_abi_with_a_zig_target_has_a_toolchain_and_its_platform_file():
    rows = {row["system"]: row for row in table("toolchains")["toolchain"]}

    for abi in catalog.abis().values():
        if abi.zig:
            assert resources.folder("templates").joinpath("runner", rows[abi.system]["platform"]).is_file()


def test_an_abi_without_a_toolchain_is_refused_with_the_systems_that_have_one(tmp_path):
    abi = catalog.abis()["qnx800-aarch64"]

    with pytest.raises(InputUnavailable) as refused:
        build(abi, Store(tmp_path))

    assert "linux, windows" in refused.value.render()


def test_a_runner_in_the_store_is_not_compiled_again(tmp_path, monkeypatch):
    store, abi = Store(tmp_path), catalog.abis()["x86_64-linux-clang"]
    compiled = []

    def compile_once(compilation, chain, kind, name):
        compiled.append(compilation.abi.id)
        (compilation.folder / name).write_bytes(b"runner")

    monkeypatch.setattr("packager.runner._compile", compile_once)
    first, second = build(abi, store), build(abi, store)

    assert compiled == [abi.id]
    assert first == second
    assert store.path(first.blob.sha256).read_bytes() == b"runner"


def test_a_runner_whose_bytes_were_lost_is_compiled_again(tmp_path, monkeypatch):
    store, abi = Store(tmp_path), catalog.abis()["x86_64-linux-clang"]
    monkeypatch.setattr(
        "packager.runner._compile",
        lambda compilation, chain, kind, name: (compilation.folder / name).write_bytes(b"runner"),
    )
    first = build(abi, store)
    store.path(first.blob.sha256).write_bytes(b"damage")

    again = build(abi, store)

    assert again == first
    assert store.intact(Blob(sha256=first.blob.sha256, size=6))
