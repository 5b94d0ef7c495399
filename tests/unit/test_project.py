"""A new project starts with a manifest that fits its SoC and that hexpack itself reads."""

from __future__ import annotations

import pytest

from packager.errors import ManifestError
from packager.manifest import load
from packager.plan import make_plan
from packager.project import create


@pytest.mark.parametrize(
    ("soc", "system", "precision"),
    [("rb3gen2", "linux", "w8a16"), ("qcs9075", "linux", "float"), ("x-elite", "windows", "float")],
)
def test_a_new_manifest_plans_at_once_with_a_precision_the_soc_takes(tmp_path, soc, system, precision):
    folder = create("my-app", soc, system, tmp_path)

    (target,) = make_plan(load(folder / "app.toml")).targets

    assert target.precision == precision
    assert target.system == system


@pytest.mark.parametrize(
    ("name", "soc", "system", "says"),
    [
        ("My App", "qcs6490", "linux", "no package name"),
        ("my-app", "qcs6940", "linux", "unknown SoC"),
        ("my-app", "qcs6490", "widnows", 'did you mean "windows"?'),
        ("my-app", "qcs6490", "qnx", "not written by this version"),
    ],
)
def test_wrong_words_are_refused_and_nothing_is_created(tmp_path, name, soc, system, says):
    with pytest.raises(ManifestError) as refused:
        create(name, soc, system, tmp_path)

    assert says in refused.value.render()
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_left_alone(tmp_path):
    (tmp_path / "my-app").mkdir()
    (tmp_path / "my-app" / "app.toml").write_text("mine")

    with pytest.raises(ManifestError, match="exists already"):
        create("my-app", "qcs6490", "linux", tmp_path)

    assert (tmp_path / "my-app" / "app.toml").read_text() == "mine"
