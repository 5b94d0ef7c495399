"""The output folder holds all packages of a run or none of its new ones."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from packager.emission import Written, emission, require_writable, unchanged
from packager.errors import InputUnavailable, VerificationFailed
from packager.files import digest
from packager.formats.zip import Zip
from tests.make.bundle import bundle_of, target_plan

CONTENT = {"bin/hexrun": b"#!program", "share/models/qcs9075.bin": b"context" * 1000}


def test_packages_appear_when_all_are_written(tmp_path):
    plan = target_plan(formats=("tar.zst", "deb"))
    bundle = bundle_of(CONTENT, tmp_path)

    with emission(tmp_path / "dist") as output:
        for package in plan.packages:
            output.write(plan, package, bundle, 1_577_836_800)
            assert not list((tmp_path / "dist").glob("*.deb"))
        output.publish()

    assert sorted(path.name for path in (tmp_path / "dist").iterdir()) == sorted(
        package.file_name for package in plan.packages
    )


def test_nothing_appears_when_the_second_package_fails(tmp_path):
    plan = target_plan(formats=("tar.zst", "deb"))
    bundle = bundle_of(CONTENT, tmp_path)

    with pytest.raises(KeyboardInterrupt), emission(tmp_path / "dist") as output:
        output.write(plan, plan.packages[0], bundle, 0)
        raise KeyboardInterrupt

    assert list((tmp_path / "dist").iterdir()) == []


def test_an_older_package_survives_a_run_that_fails(tmp_path):
    plan = target_plan()
    (tmp_path / "dist").mkdir()
    older = tmp_path / "dist" / plan.packages[0].file_name
    older.write_bytes(b"yesterday's")

    with pytest.raises(RuntimeError), emission(tmp_path / "dist") as output:
        output.write(plan, plan.packages[0], bundle_of(CONTENT, tmp_path), 0)
        raise RuntimeError

    assert older.read_bytes() == b"yesterday's"


class Elsewhere(Zip):
    """A zip that says other places of its files than it has."""

    def places(self, plan, bundle):
        return {file.path: f"app/{file.name}" for file in bundle.files}


def test_a_format_that_moves_files_is_held_to_the_places_that_it_names(tmp_path, monkeypatch):
    monkeypatch.setattr("packager.emission.by_id", lambda _: Elsewhere())
    plan = target_plan(formats=("zip",))

    with (
        pytest.raises(VerificationFailed) as refused,
        emission(tmp_path / "dist") as output,
    ):
        output.write(plan, plan.packages[0], bundle_of(CONTENT, tmp_path), 0)

    assert refused.value.evidence[0] == "bin/hexrun: found None bytes, wanted 9"


def test_a_file_that_changed_after_it_was_judged_is_never_packed(tmp_path):
    plan = target_plan()
    bundle = bundle_of(CONTENT, tmp_path)
    bundle.files[1].local.write_bytes(b"Context" * 1000)

    with (
        pytest.raises(InputUnavailable, match="changed after it was judged"),
        emission(tmp_path / "dist") as output,
    ):
        output.write(plan, plan.packages[0], bundle, 0)

    assert list((tmp_path / "dist").iterdir()) == []


def test_what_a_killed_run_left_is_swept_by_the_next_and_a_living_runs_folder_is_not(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = tmp_path / f".hexpack-{dead.pid}-abc"
    living = tmp_path / f".hexpack-{os.getpid()}-abc"
    for folder in (left, living):
        folder.mkdir()
        (folder / "half").write_bytes(b"half")

    with emission(tmp_path):
        pass

    assert not left.exists()
    assert (living / "half").exists()


def test_an_output_folder_that_is_a_file_is_a_clear_error(tmp_path):
    (tmp_path / "dist").write_text("a file")

    with pytest.raises(InputUnavailable) as refused, emission(tmp_path / "dist"):
        pass

    assert "packages cannot be written" in refused.value.render()
    assert "--out" in refused.value.render()


def test_packages_count_as_unchanged_only_byte_for_byte(tmp_path):
    path = tmp_path / "a.deb"
    path.write_bytes(b"package")
    written = Written(file_name="a.deb", format="deb", blob=digest(path))

    assert unchanged(tmp_path, [written])
    path.write_bytes(b"Package")
    assert not unchanged(tmp_path, [written])
    path.unlink()
    assert not unchanged(tmp_path, [written])


def test_older_packages_come_back_when_a_later_one_cannot_take_its_place(tmp_path):
    plan = target_plan(formats=("tar.zst", "deb"))
    dist = tmp_path / "dist"
    dist.mkdir()
    first, second = (dist / package.file_name for package in plan.packages)
    first.write_bytes(b"yesterday's")
    with pytest.raises(InputUnavailable), emission(dist) as output:
        for package in plan.packages:
            output.write(plan, package, bundle_of(CONTENT, tmp_path), 0)
        output.write(plan, plan.packages[1], bundle_of(CONTENT, tmp_path), 0)
        (output._folder / plan.packages[1].file_name).unlink()
        output.publish()

    assert first.read_bytes() == b"yesterday's"
    assert not second.exists()


@pytest.mark.parametrize("place", ["loop", "loop/dist", "file", "file/dist", "gone"])
def test_a_folder_that_cannot_be_written_is_known_before_anything_is_done(tmp_path, place):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone").symlink_to("nowhere/else")
    (tmp_path / "file").write_text("no folder")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(InputUnavailable, match="packages cannot be written to") as refused:
        require_writable(tmp_path / place)

    assert refused.value.fix == "name another folder with --out"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_is_not_there_yet_may_be_written_and_is_not_made_for_the_question(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)

    require_writable(tmp_path / "new" / "dist")
    require_writable(tmp_path / "link")

    assert not (tmp_path / "new").exists()
