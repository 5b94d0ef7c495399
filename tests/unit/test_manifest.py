"""What people read when a manifest is wrong, and what the program gets when it is right.

The messages are compared letter for letter with `snapshots/manifest/<case>.txt`. After a deliberate change
of words, HEXPACK_UPDATE_SNAPSHOTS=1 writes them anew; read the difference before committing it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from manifest_cases import GOOD, WRONG, changed

from packager.errors import ManifestError
from packager.manifest import MAX_BYTES, Document, load
from packager.manifest_host import Host
from packager.manifest_model import Settings
from packager.manifest_signing import Secret, Signing
from packager.manifest_sources import PathSource, WheelSource

SNAPSHOTS = Path(__file__).parent / "snapshots" / "manifest"
UPDATE = os.environ.get("HEXPACK_UPDATE_SNAPSHOTS") == "1"


@pytest.fixture
def app(tmp_path, monkeypatch):
    """Writes app.toml into the current folder and gives its name."""
    monkeypatch.chdir(tmp_path)

    def write(content: bytes) -> Path:
        Path("app.toml").write_bytes(content)
        return Path("app.toml")

    return write


def refusal(path: Path) -> ManifestError:
    with pytest.raises(ManifestError) as refused:
        load(path)
    return refused.value


def same_as_snapshot(case: str, message: str) -> bool:
    file = SNAPSHOTS / f"{case}.txt"
    if UPDATE:
        file.write_bytes(f"{message}\n".encode())
    return file.read_bytes().decode() == f"{message}\n"


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_manifest_is_explained_as_its_snapshot_says(case, app):
    path = app(WRONG[case])

    error = refusal(path)

    assert error.exit_code == 2
    assert same_as_snapshot(case, error.render())


@pytest.mark.parametrize("case", WRONG)
def test_no_message_uses_the_validators_or_the_parsers_words(case):
    foreign = r"(?i)pydantic|valid string|instance of|extra inputs|field required|tuple|literal|\bNone\b"

    message = (SNAPSHOTS / f"{case}.txt").read_text(encoding="utf-8")

    assert not re.search(foreign, message)
    assert all(line.isprintable() for line in message.splitlines())


def test_a_manifest_that_is_not_there_is_a_manifest_error(app, tmp_path):
    error = refusal(Path("app.toml"))

    assert error.exit_code == 2
    assert same_as_snapshot("file-missing", error.render())


def test_a_manifest_of_another_name_beside_is_suggested(app):
    app(GOOD.encode())

    error = refusal(Path("aps.toml"))

    assert same_as_snapshot("file-missing-with-another-there", error.render())


def test_a_folder_is_not_a_manifest_but_the_one_inside_is_suggested(app):
    Path("project").mkdir()
    Path("project/app.toml").write_text(GOOD)

    error = refusal(Path("project"))

    assert same_as_snapshot("folder-instead-of-file", error.render())


def test_every_snapshot_belongs_to_a_case():
    cases = {*WRONG, "file-missing", "file-missing-with-another-there", "folder-instead-of-file"}

    found = {file.stem for file in SNAPSHOTS.glob("*.txt")}

    assert found == cases


def test_a_file_above_one_mebibyte_is_refused_unparsed(app):
    path = app(b"#" * (MAX_BYTES + 1))

    error = refusal(path)

    assert error.what == "app.toml is larger than 1048576 bytes"


def test_a_path_that_no_file_system_can_hold_is_a_manifest_error():
    error = refusal(Path("a\0b"))

    assert "cannot be read" in error.what


def test_a_good_manifest_gets_defaults_under_the_users_words(app):
    manifest = load(app(GOOD.encode())).manifest

    first, second = manifest.targets

    assert (manifest.defaults.power, manifest.defaults.compute) == ("balanced", ("npu",))
    assert (first.power, second.power) == ("balanced", "burst")
    assert (first.abi, second.abi) == ("oe-linux-gcc11.2", "android-arm64")
    assert (first.precision, manifest.model.precision) == ("float", "float")
    assert (manifest.qairt.version, manifest.model.reference) == ("2.51.0", None)


def test_targets_inherit_every_setting_and_the_models_precision(app):
    settings = {
        "runtime": "dlc", "compute": ["gpu", "cpu"], "optimization": 1, "power": "balanced", "vtcm_mb": 2,
        "hvx_threads": 3, "io": "quantized", "rpc_latency_us": 4, "rpc_polling_us": 5,
        "compatibility": "permissive", "vendor_libraries": "require",
    }  # fmt: skip
    written = "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
    written += (
        '\nhost = { libraries = "/usr/lib" }\nsigning = { keystore = "k.p12", password = { env = "P" } }'
    )
    path = app(changed(('power = "balanced"', written), ("[model]", '[model]\nprecision = "w8a8"')))

    target = load(path).manifest.targets[0]

    assert {*settings, "host", "signing"} == set(Settings.model_fields)
    assert target.signing == Signing(keystore="k.p12", password=Secret(env="P"))
    assert target.host == Host(libraries="/usr/lib")
    assert {key: getattr(target, key) for key in settings} == settings | {"compute": ("gpu", "cpu")}
    assert target.precision == "w8a8"


def test_the_least_cosine_has_a_default_only_where_a_reference_is_written(app):
    path = app(changed(("[model]", '[model]\nreference = { inputs = "s/*.npy" }')))

    reference = load(path).manifest.model.reference

    assert reference is not None
    assert reference.min_cosine == 0.99


def test_a_source_is_of_the_kind_that_its_keys_say(app):
    in_wheel = changed(('path = "cls.onnx"', 'wheel = "example==1.0", file = "m.onnx"'))

    of_path = load(app(GOOD.encode())).manifest.model.source
    of_wheel = load(app(in_wheel)).manifest.model.source

    assert of_path == PathSource(path="cls.onnx")
    assert of_wheel == WheelSource(wheel="example==1.0", file="m.onnx")


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(app):
    plain = load(app(GOOD.encode())).manifest

    marked = load(app(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())).manifest

    assert marked == plain


def first_line(document: Document, *location: str | int) -> str:
    return document.problem(location, "look", "a hint").splitlines()[0]


def test_a_problem_found_later_points_at_the_word(app):
    document = load(app(GOOD.encode()))

    block = document.problem(("targets", 1, "soc", 1), 'unknown SoC "sm8750"', 'did you mean "sm8650"?')

    assert block.splitlines() == [
        'app.toml:28:18: unknown SoC "sm8750"',
        '   28 | soc = ["sm8650", "sm8750"]',
        '      |                  ^^^^^^^^ did you mean "sm8650"?',
    ]


def test_a_problem_with_an_inherited_value_points_to_where_it_was_written(app):
    document = load(app(changed(("[model]", '[model]\nprecision = "w8a8"'))))

    assert first_line(document, "targets", 0, "power") == "app.toml:20:9: look"
    assert first_line(document, "targets", 1, "power") == "app.toml:32:9: look"
    assert first_line(document, "targets", 0, "precision") == "app.toml:12:13: look"


def test_a_problem_with_a_value_that_nobody_wrote_points_to_the_nearest_written_parent(app):
    document = load(app(GOOD.encode()))

    assert first_line(document, "targets", 1, "abi") == "app.toml:27:1: look"
    assert first_line(document, "targets", 0, "runtime") == "app.toml:21:1: look"
    assert first_line(document, "qairt", "version") == "app.toml:15:1: look"
    assert first_line(document, "elsewhere", 3) == "app.toml: look"


def test_problems_become_one_error(app):
    document = load(app(GOOD.encode()))
    blocks = [document.problem(("targets", index, "os"), "unsupported") for index in (0, 1)]

    single, double = document.error(blocks[:1]), document.error(blocks)

    assert (single.what, len(single.evidence)) == ("app.toml:24:6: unsupported", 2)
    assert (double.what, double.evidence) == ("app.toml: 2 problems", tuple(blocks))


def test_a_good_manifest_loads_no_position_parser(app):
    path = app(GOOD.encode())
    code = (
        "import sys; from pathlib import Path; from packager.manifest import load;"
        f"load(Path({str(path)!r})); assert not {{'tree_sitter', 'tomlkit', 'numpy'}} & set(sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
