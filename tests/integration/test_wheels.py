"""Wheels through pip: its configuration is honoured, its refusals are understood, real wheels are as pinned.

All but the last tests need no network: pip's own configuration points at a folder of wheels made here.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from packager import catalog
from packager.errors import InputUnavailable
from packager.files import digest
from packager.sources.pip_download import download
from packager.sources.runtime_set import fetch_runtime
from packager.sources.wheel import fetch_wheel
from packager.sources.zipped import file_names, member
from packager.store import Store
from tests.integration.runtimes import whole_plan
from tests.make.wheels import make_source_archive, make_wheel


@pytest.fixture
def fresh(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def links(tmp_path, monkeypatch):
    """A folder that pip's configuration names as the only place for wheels."""
    folder = tmp_path / "links"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def no_process(monkeypatch):
    """From here on no Python can be started."""
    return lambda: monkeypatch.setattr(sys, "executable", "/no/such/python")


def refused(requirement, store, **options):
    with pytest.raises(InputUnavailable) as raised:
        fetch_wheel(requirement, store=store, **options)
    assert "Traceback" not in raised.value.render()
    assert raised.value.fix
    return raised.value


def test_pips_own_configuration_says_where_wheels_come_from(links, fresh):
    made = make_wheel(links, "models", "1.0", {"models/cls.onnx": b"model"})
    told = []

    wheel = fetch_wheel("models==1.0", store=fresh, tell=told.append)

    assert wheel.blob == digest(made)
    assert (wheel.origin, wheel.name) == ("wheel models==1.0", made.name)
    assert member(wheel, "models/cls.onnx", fresh).path.read_bytes() == b"model"
    assert told[0] == "fetching wheel models==1.0"
    assert made.name in told[-1]
    assert list(fresh.scratch.iterdir()) == []


def test_a_pinned_wheel_in_the_store_costs_no_process_and_no_network(links, fresh, no_process):
    made = make_wheel(links, "models", "1.0", {"models/cls.onnx": b"model"})
    first = fetch_wheel("models==1.0", store=fresh)
    made.unlink()
    no_process()

    second = fetch_wheel("models==1.0", pinned=first.blob.sha256, store=fresh)

    assert second == first


def test_without_a_pin_pip_is_asked_again(links, fresh):
    make_wheel(links, "models", "1.0", {"models/cls.onnx": b"model"})
    first = fetch_wheel("models==1.0", store=fresh)
    make_wheel(links, "models", "1.0", {"models/cls.onnx": b"another model"})

    second = fetch_wheel("models==1.0", store=fresh)

    assert second.blob != first.blob


def test_offline_the_last_answer_is_good_enough(links, fresh, no_process):
    make_wheel(links, "models", "1.0", {"models/cls.onnx": b"model"})
    first = fetch_wheel("models==1.0", store=fresh)
    no_process()

    second = fetch_wheel("models==1.0", store=fresh, offline=True)

    assert second == first


def test_offline_a_wheel_that_is_not_there_is_refused_with_the_way_to_get_it(fresh, no_process):
    no_process()

    error = refused("models==1.0", fresh, platform="win_arm64", pinned="0" * 64, offline=True)

    assert error.what == "wheel models==1.0 (win_arm64) is not in the store, and offline nothing is fetched"
    assert error.evidence == (f"wanted  sha256 {'0' * 64}", f"store   {fresh.root}")
    assert "PIP_FIND_LINKS" in error.fix
    assert not fresh.root.exists()


def test_a_wheel_of_another_digest_is_refused_with_both_and_its_file_name_and_is_not_kept(links, fresh):
    made = make_wheel(links, "models", "1.0", {"models/cls.onnx": b"model"})

    error = refused("models==1.0", fresh, pinned="0" * 64)

    assert error.what == "wheel models==1.0 is not the file that was pinned"
    assert error.evidence == (
        f"found   sha256 {digest(made).sha256}",
        f"wanted  sha256 {'0' * 64}",
        f"file    {made.name}",
    )
    assert not list(fresh.root.glob("blobs/*/*"))
    assert not list(fresh.root.glob("steps/*/*"))


def test_of_two_builds_of_one_version_an_index_gives_the_pinned_one(links, fresh, monkeypatch):
    first = make_wheel(links, "models", "1.0", {"models/cls.onnx": b"first"}, build="1")
    newer = make_wheel(links, "models", "1.0", {"models/cls.onnx": b"newer"}, build="2")
    page = links / "index.html"
    page.write_text(
        "".join(f'<a href="{f.name}#sha256={digest(f).sha256}">{f.name}</a>' for f in (first, newer))
    )
    monkeypatch.setenv("PIP_FIND_LINKS", page.as_uri())

    pinned = fetch_wheel("models==1.0", pinned=digest(first).sha256, store=fresh)
    newest = fetch_wheel("models==1.0", store=fresh)

    assert (pinned.name, newest.name) == (first.name, newer.name)


def test_the_wheel_of_another_machine_and_another_python_is_had(links, fresh):
    made = make_wheel(links, "runtime", "2.0", {"runtime/QnnHtp.dll": b"MZ"}, tags="cp311-cp311-win_arm64")
    make_wheel(links, "runtime", "2.0", {"runtime/QnnHtp.dll": b"NZ"}, tags="cp312-cp312-win_arm64")

    wheel = fetch_wheel("runtime==2.0", platform="win_arm64", python="3.11", store=fresh)

    assert wheel.name == made.name
    assert wheel.origin == "wheel runtime==2.0 (win_arm64)"


def test_sources_are_refused_and_never_built(links, fresh):
    make_source_archive(links, "models", "1.0")

    error = refused("models==1.0", fresh)

    assert error.what == "models==1.0 is published as source only, and hexpack builds no sources"
    assert "pip wheel" in error.fix


def test_a_platform_without_a_wheel_is_refused_with_those_that_have_one(links, fresh):
    make_wheel(links, "runtime", "2.0", {}, tags="cp311-cp311-win_arm64")
    make_wheel(links, "runtime", "2.0", {}, tags="cp311-cp311-manylinux_2_34_aarch64")
    make_wheel(links, "runtime", "2.1", {}, tags="cp311-cp311-win_amd64")

    error = refused("runtime==2.0", fresh, platform="win_amd64", python="3.11")

    assert error.what == "runtime==2.0 has no wheel for win_amd64 and Python 3.11"
    assert error.evidence[0] == (
        "there are wheels for cp311-cp311-manylinux_2_34_aarch64, cp311-cp311-win_arm64"
    )


def test_a_version_that_does_not_exist_is_refused_with_the_nearest(links, fresh):
    make_wheel(links, "models", "1.4.4", {})
    make_wheel(links, "models", "2.0", {})

    error = refused("models==1.4.5", fresh)

    assert "there is no models==1.4.5" in error.what
    assert error.evidence[0] == 'nearest: "1.4.4"'
    assert "pip index versions models" in error.fix


def test_a_name_that_does_not_exist_is_refused_with_pips_words(links, fresh):
    make_wheel(links, "models", "1.0", {})
    make_source_archive(links, "other", "1.0")

    error = refused("modles==1.0", fresh)

    assert "there is no modles==1.0" in error.what
    assert any("No matching distribution" in line for line in error.evidence)


def test_a_wheel_that_is_no_zip_file_is_refused_with_pips_words(links, fresh):
    made = make_wheel(links, "models", "1.0", {"models/cls.onnx": b"model"})
    made.write_bytes(made.read_bytes()[:100])

    error = refused("models==1.0", fresh)

    assert "could not fetch wheel models==1.0" in error.what
    assert any("invalid" in line for line in error.evidence)


def test_a_wheel_with_a_damaged_member_is_refused_when_the_member_is_wanted(links, fresh):
    made = make_wheel(links, "models", "1.0", {"models/cls.onnx": os.urandom(4000)})
    data = bytearray(made.read_bytes())
    data[2000] ^= 1
    made.write_bytes(data)
    wheel = fetch_wheel("models==1.0", store=fresh)

    with pytest.raises(InputUnavailable, match=r"wheel models==1\.0 is damaged"):
        member(wheel, "models/cls.onnx", fresh)

    assert [path.name for path in fresh.root.glob("blobs/*/*")] == [wheel.blob.sha256]


def test_an_index_that_cannot_be_reached_is_said_to_be_so(monkeypatch, fresh):
    for name, value in {"INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "0", "FIND_LINKS": ""}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)

    error = refused("models==1.0", fresh)

    assert error.what == "the package index could not be reached for wheel models==1.0"
    assert "PIP_FIND_LINKS" in error.fix


def test_two_that_want_the_same_wheel_fetch_it_once(links, fresh, monkeypatch):
    made = make_wheel(links, "models", "1.0", {"models/cls.onnx": b"model"})
    downloads = []
    monkeypatch.setattr(
        "packager.sources.wheel.download", lambda *given: downloads.append(given) or download(*given)
    )

    with ThreadPoolExecutor(3) as pool:
        jobs = [
            pool.submit(fetch_wheel, "models==1.0", pinned=digest(made).sha256, store=Store(fresh.root))
            for _ in range(3)
        ]
        wheels = {job.result().blob for job in jobs}

    assert (len(wheels), len(downloads)) == (1, 1)


def test_a_module_called_pip_in_the_working_folder_is_not_run(links, fresh, tmp_path, monkeypatch):
    make_wheel(links, "models", "1.0", {"models/cls.onnx": b"model"})
    (tmp_path / "pip.py").write_text("raise SystemExit('the wrong pip')")
    monkeypatch.chdir(tmp_path)

    wheel = fetch_wheel("models==1.0", store=fresh)

    assert wheel.name == "models-1.0-py3-none-any.whl"


# The real wheels


@pytest.mark.parametrize("known", catalog.runtime_sets(), ids=lambda row: row.platform)
def test_a_runtime_set_of_the_table_holds_every_file_that_it_promises(known, store):
    plan = whole_plan(known.abis[0])

    files = fetch_runtime(plan, base=store.root, store=store)

    assert {file.name for file in plan.files} <= files.keys()
    assert all(store.intact(file.blob) for file in files.values())
    assert {file.within.blob.sha256 for file in files.values() if file.within} == {known.sha256}


def test_the_archs_of_a_runtime_set_are_all_that_its_wheel_has(store):
    for known in catalog.runtime_sets():
        plan = whole_plan(known.abis[0])
        wheel = fetch_wheel(
            known.wheel, platform=known.platform, python=known.python, pinned=known.sha256, store=store
        )

        skels = {name for name in file_names(wheel, store) if name.lower().endswith(("skel.so", ".cat"))}

        promised = {file.name for file in plan.files if file.role in ("skel", "catalogue")}
        # The Windows wheel for x86-64 brings libraries of both processors; its simulator needs none for a DSP.
        inside = (
            set() if catalog.abis()[known.abis[0]].simulator else {name.rpartition("/")[2] for name in skels}
        )
        assert inside == promised


def test_the_skels_of_one_release_are_the_same_bytes_on_every_system(runtime_linux, runtime_windows):
    shared = {name for name in runtime_linux.keys() & runtime_windows.keys() if name.endswith("Skel.so")}

    assert len(shared) == 3
    assert all(runtime_linux[name] == runtime_windows[name] for name in shared)


def test_the_files_of_2_48_lie_in_two_folders_of_their_wheel_and_all_are_found(runtime_248, wheel_248, store):
    folders = {name.rpartition("/")[0] for name in file_names(wheel_248, store) if "Skel" in name}

    assert len(folders) == 6
    assert sum("Skel" in name for name in runtime_248) == 6
    assert sum("Stub" in name for name in runtime_248) == 6


def test_a_missing_architecture_is_refused_with_the_skels_that_the_wheel_has(store):
    plan = whole_plan("windows-arm64")
    skel = next(file for file in plan.files if file.role == "skel")
    wanted = skel.model_copy(update={"name": skel.name.replace(f"V{skel.arch}", "V75"), "arch": 75})

    with pytest.raises(InputUnavailable) as raised:
        fetch_runtime(plan.model_copy(update={"files": (wanted,)}), base=store.root, store=store)

    assert "lacks a file that the target needs" in raised.value.what
    assert raised.value.evidence[0].startswith("libQnnHtpV75Skel.so  nearest: ")


def test_the_model_of_the_examples_is_where_the_tests_expect_it(classifier_onnx):
    assert classifier_onnx.stat().st_size == 585532
