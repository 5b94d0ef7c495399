"""What people get wrong: each has its own message and exit code, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

MANIFEST = """schema = 1
[package]
name = "app"
version = "1.0.0"
vendor = "Example Devices"
license = "Apache-2.0"
description = "An example"
maintainer = "Release Team <release@example.com>"
[model]
source = { path = "model.onnx" }
reference = { inputs = "samples/*.npy" }
[qairt]
from = "path"
path = "libs"
[[allow]]
rule = "HEX502"
reason = "the licence is in the product's notices"
[[targets]]
name = "board"
soc = ["qcs9075"]
os = "linux"
formats = ["tar.zst", "deb"]
"""
LIBRARIES = ("libQnnHtp.so", "libQnnSystem.so", "libQnnHtpV73Stub.so", "libQnnHtpV73Skel.so")


def save_model(path: Path, *nodes: onnx.NodeProto, shape: tuple[int, ...] = (1, 8)) -> None:
    weights = numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")
    graph = helper.make_graph(
        list(nodes) or [helper.make_node("MatMul", ["x", "w"], ["h"], "mix"), helper.make_node("Relu", ["h"], ["y"], "cut")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("rows", "columns"))],
        [weights],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Project:
    """A manifest, a small model, samples and a folder of real device libraries."""

    def __init__(self, folder: Path, libraries: dict[str, Path], store: Path) -> None:
        self.folder, self._store = folder, store
        (folder / "libs").mkdir(parents=True)
        (folder / "samples").mkdir()
        for name, source in libraries.items():
            shutil.copyfile(source, folder / "libs" / name)
        self.manifest(MANIFEST)
        save_model(folder / "model.onnx")
        np.save(folder / "samples" / "0.npy", np.linspace(-1, 1, 8, dtype=np.float32).reshape(1, 8))

    def manifest(self, text: str) -> None:
        (self.folder / "app.toml").write_text(text)

    def change(self, old: str, new: str) -> None:
        text = (self.folder / "app.toml").read_text()
        assert old in text
        self.manifest(text.replace(old, new))

    def start(self, *arguments: str, command: str = "package") -> subprocess.Popen[str]:
        code = "from packager.commands.program import main; main()"
        return subprocess.Popen(
            [sys.executable, "-c", code, command, *arguments],
            cwd=self.folder, env=os.environ | {"HEXPACK_STORE": str(self._store)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def run(self, *arguments: str, command: str = "package") -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, command=command)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def refused(self, code: int, *arguments: str) -> str:
        """Run, and assert the exit code, no traceback, and an output folder without packages."""
        done = self.run(*arguments)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert not list(self.folder.glob("dist/*"))
        return done.stdout + done.stderr

    def rules(self) -> dict[str, dict[str, str]]:
        """The findings that refuse, by rule; the run must exit with 1 and leave nothing."""
        done = self.run("--json")
        assert done.returncode == 1, done.stdout + done.stderr
        assert not list(self.folder.glob("dist/*"))
        findings = json.loads(done.stdout)["findings"]
        return {f["rule"]: f for f in findings if f["severity"] == "error" and f["allowed"] is None}


@pytest.fixture
def project(tmp_path, runtime_linux, store) -> Project:
    return Project(tmp_path / "app", {name: runtime_linux[name] for name in LIBRARIES}, store.root)


def test_the_sound_project_packs(project):
    done = project.run()

    assert done.returncode == 0, done.stderr
    assert sorted(path.suffix for path in (project.folder / "dist").iterdir()) == [".deb", ".zst"]


def test_an_unknown_key_is_shown_with_the_word_that_was_meant(project):
    project.change('vendor = "Example', 'vender = "Example')

    message = project.refused(2)

    assert 'did you mean "vendor"?' in message
    assert "app.toml:5:1" in message


def test_an_unknown_soc_is_shown_with_the_one_that_was_meant(project):
    project.change("qcs9075", "qcs6940")

    assert 'did you mean "qcs6490"' in project.refused(2)


def test_a_missing_model_names_the_nearest_file(project):
    project.change('"model.onnx"', '"modle.onnx"')

    message = project.refused(3)

    assert "modle.onnx" in message
    assert "model.onnx" in message.replace("modle.onnx", "")


def test_another_file_than_the_pinned_one_is_refused_with_both_digests(project):
    project.change('{ path = "model.onnx" }', f'{{ path = "model.onnx", sha256 = "{"ab" * 32}" }}')

    assert "ab" * 32 in project.refused(3)


def test_a_truncated_model_is_an_input_that_cannot_be_used(project):
    path = project.folder / "model.onnx"
    path.write_bytes(path.read_bytes()[:-40])

    message = project.refused(3)

    assert "model.onnx" in message


def test_a_float_model_for_a_soc_without_float_is_refused_before_anything_is_compiled(project):
    project.change("qcs9075", "qcs6490")

    message = project.refused(1)

    assert "HEX301" in message
    assert "w8a16" in message
    assert "compiling" not in message


def test_an_operator_the_npu_does_not_have_is_named_with_its_node(project):
    nodes = (
        helper.make_node("MatMul", ["x", "w"], ["h"], "mix"),
        helper.make_node("Asinh", ["h"], ["y"], "bend_it"),
    )
    save_model(project.folder / "model.onnx", *nodes)

    message = project.refused(4)

    assert "1 Asinh (float32 rank 2 → float32 rank 2): bend_it" in message
    assert "mix" not in message
    assert "qcs9075" in message


def test_an_operator_whose_output_size_depends_on_the_data_is_named_with_its_node(project):
    nodes = (
        helper.make_node("NonZero", ["x"], ["i"], "where_is_it"),
        helper.make_node("Cast", ["i"], ["y"], "as_float", to=TensorProto.FLOAT),
    )
    save_model(project.folder / "model.onnx", *nodes)

    message = project.refused(4)

    assert "1 NonZero (float32 rank 2 → int64 rank 2): where_is_it" in message
    assert "size depends on the data" in message


def test_a_free_dimension_that_nobody_fixed_is_named(project):
    save_model(project.folder / "model.onnx", shape=("batch", 8))

    message = project.refused(2)

    assert "batch" in message
    assert "inputs" in message


def test_a_sample_of_another_shape_is_named(project):
    np.save(project.folder / "samples" / "1.npy", np.zeros((1, 9), dtype=np.float32))

    message = project.refused(3)

    assert "1.npy" in message


def test_a_missing_library_is_named_with_the_nearest_that_is_there(project):
    (project.folder / "libs" / "libQnnHtpV73Stub.so").rename(project.folder / "libs" / "libQnnHtpV73Sub.so")

    message = project.refused(3)

    assert "libQnnHtpV73Stub.so" in message
    assert "libQnnHtpV73Sub.so" in message


@pytest.mark.parametrize("name", ["libQnnHtpV73Skel.so", "libQnnHtpV73Stub.so"])
def test_a_stub_and_a_skel_of_two_releases_are_refused_with_both_build_ids(project, runtime_248, name):
    shutil.copyfile(runtime_248[name], project.folder / "libs" / name)

    found = project.rules()

    assert list(found) == ["HEX104"]
    said = found["HEX104"]["found"] + found["HEX104"]["wanted"]
    assert "v2.48.0.260626120635" in said
    assert "v2.51.0.260929181845" in said


def test_a_backend_of_another_release_than_stub_and_skel_is_refused(project, runtime_248):
    shutil.copyfile(runtime_248["libQnnHtp.so"], project.folder / "libs" / "libQnnHtp.so")

    assert list(project.rules()) == ["HEX102"]


def test_a_whole_set_older_than_the_manifest_says_is_refused_once(project, runtime_248):
    for name in LIBRARIES:
        shutil.copyfile(runtime_248[name], project.folder / "libs" / name)

    assert "HEX103" in project.rules()


def test_a_runtime_older_than_the_compiler_is_refused(project, runtime_248):
    project.change('from = "path"', 'from = "path"\nversion = "2.48.0"')
    for name in LIBRARIES:
        shutil.copyfile(runtime_248[name], project.folder / "libs" / name)

    assert list(project.rules()) == ["HEX304"]


def test_a_skel_renamed_to_another_architecture_is_refused(project, runtime_linux):
    project.change("qcs9075", "qcs8275")  # v75
    for name in ("libQnnHtpV75Stub.so", "libQnnHtpV75Skel.so"):
        shutil.copyfile(runtime_linux[name.replace("75Skel", "73Skel")], project.folder / "libs" / name)

    found = project.rules()

    assert list(found) == ["HEX108"]
    assert "v73" in found["HEX108"]["found"]


def test_a_skel_one_byte_shorter_is_refused_as_damaged(project):
    skel = project.folder / "libs" / "libQnnHtpV73Skel.so"
    skel.write_bytes(skel.read_bytes()[:-1])

    assert list(project.rules()) == ["HEX101"]


def test_a_host_library_of_another_processor_is_refused(project, runtime_simulator):
    shutil.copyfile(runtime_simulator["libQnnSystem.so"], project.folder / "libs" / "libQnnSystem.so")

    assert list(project.rules()) == ["HEX107"]


@pytest.fixture
def windows(tmp_path, runtime_windows, store) -> Project:
    names = ("QnnHtp.dll", "QnnSystem.dll", "QnnHtpV73Stub.dll", "libQnnHtpV73Skel.so", "libqnnhtpv73.cat")
    made = Project(tmp_path / "app", {name: runtime_windows[name] for name in names}, store.root)
    made.change("qcs9075", "x-elite")
    made.change('os = "linux"', 'os = "windows"')
    made.change('["tar.zst", "deb"]', '["zip"]')
    return made


def test_a_catalogue_of_another_skel_is_refused_with_the_digest(windows, runtime_windows):
    shutil.copyfile(runtime_windows["libqnnhtpv81.cat"], windows.folder / "libs" / "libqnnhtpv73.cat")

    assert list(windows.rules()) == ["HEX202"]


def test_a_catalogue_that_was_changed_is_refused(windows):
    path = windows.folder / "libs" / "libqnnhtpv73.cat"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    assert {"HEX203"} & set(windows.rules()) or {"HEX101"} & set(windows.rules())


def test_a_dll_that_was_changed_after_signing_is_refused(windows):
    path = windows.folder / "libs" / "QnnSystem.dll"
    content = bytearray(path.read_bytes())
    content[4096] ^= 1
    path.write_bytes(content)

    assert list(windows.rules()) == ["HEX207"]


def test_a_result_below_the_wanted_cosine_is_refused_with_the_number(project):
    project.change('{ inputs = "samples/*.npy" }', '{ inputs = "samples/*.npy", min_cosine = 1.0 }')
    nodes = (helper.make_node("Sin", ["x"], ["y"], "wave"),)
    save_model(project.folder / "model.onnx", *nodes)

    found = project.rules()

    assert list(found) == ["HEX307"]
    assert "cosine" in found["HEX307"]["found"]


def test_a_finding_that_the_manifest_allows_with_a_reason_does_not_refuse(project):
    skel = project.folder / "libs" / "libQnnHtpV73Skel.so"
    skel.write_bytes(skel.read_bytes()[:-1])
    project.change(
        "[[targets]]", '[[allow]]\nrule = "HEX101"\nreason = "known, the loader accepts it"\n[[targets]]'
    )

    done = project.run("--json")

    assert done.returncode == 0
    assert [f["allowed"] for f in json.loads(done.stdout)["findings"] if f["rule"] == "HEX101"] == [
        "known, the loader accepts it"
    ]


def test_an_unused_allowance_is_pointed_out(project):
    project.change("[[targets]]", '[[allow]]\nrule = "HEX104"\nreason = "not needed any more"\n[[targets]]')

    done = project.run()

    assert done.returncode == 0
    assert "HEX601" in done.stdout


def test_an_output_folder_that_cannot_be_written_is_named(project):
    (project.folder / "taken").write_text("a file")

    done = project.run("--out", "taken")

    assert done.returncode == 3
    assert "taken" in done.stderr


def test_a_target_that_is_not_in_the_manifest_is_refused_with_those_that_are(project):
    done = project.run("--target", "bord")

    assert done.returncode == 2
    assert "board" in done.stderr


def test_check_judges_and_writes_no_package(project):
    done = project.run(command="check")

    assert done.returncode == 0, done.stderr
    assert not (project.folder / "dist").exists()


def test_an_input_that_drifted_from_the_lock_is_refused_when_locked(project):
    assert project.run().returncode == 0
    save_model(project.folder / "model.onnx", helper.make_node("Relu", ["x"], ["y"], "other"))

    done = project.run("--locked")

    assert done.returncode == 5
    assert "app.lock:" in done.stderr
    assert "path model.onnx" in done.stderr


def test_weights_beside_the_model_are_inputs_like_the_model_itself(project):
    model = onnx.load(project.folder / "model.onnx")
    onnx.save(
        model, project.folder / "model.onnx", save_as_external_data=True, location="model.data",
        size_threshold=0, convert_attribute=False,
    )  # fmt: skip
    assert project.run().returncode == 0
    before = {path.name: path.read_bytes() for path in (project.folder / "dist").iterdir()}
    weights = project.folder / "model.data"
    weights.write_bytes(weights.read_bytes().replace(b"\0\0\x80?", b"\0\0\0@"))

    assert "path model.data" in project.run("--locked").stderr
    assert project.run().returncode == 0

    assert all(path.read_bytes() != before[path.name] for path in (project.folder / "dist").iterdir())


@pytest.mark.parametrize("pattern", [".", "a**b/*.npy", "nothing/*.npy"])
def test_a_pattern_without_files_is_no_defect(project, pattern):
    project.change("samples/*.npy", pattern)

    done = project.run()

    assert done.returncode in (2, 3)
    assert "Traceback" not in done.stderr


def test_a_refusal_is_exit_code_1_also_when_nobody_reads_it(project):
    project.change("qcs9075", "qcs6490")
    program = f'"{sys.executable}" -c "from packager.commands.program import main; main()" package --json'

    ended = subprocess.run(
        ["bash", "-c", f"{program} | true; exit ${{PIPESTATUS[0]}}"],
        cwd=project.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr


def test_a_damaged_record_of_a_step_is_made_again(project, tmp_path):
    own = Project(tmp_path / "own", {}, tmp_path / "store")
    shutil.copytree(project.folder, own.folder, dirs_exist_ok=True)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "zig").symlink_to(project._store / "zig")
    assert own.run().returncode == 0
    for record in (tmp_path / "store" / "steps").rglob("*.json"):
        record.write_text("[1, 2]")
    shutil.rmtree(own.folder / "dist")

    again = own.run()

    assert again.returncode == 0, again.stderr
    assert len(list((own.folder / "dist").iterdir())) == 2
