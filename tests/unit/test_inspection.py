"""What `inspect` prints, for people and as a JSON document that its schema describes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from packager import resources
from packager.errors import InputUnavailable
from packager.facts.types import DamagedFacts, OtherFacts
from packager.inspection import document, files_below, inspected, print_inspected, schema, summary
from tests.make.archive import Layout, put, tar_with, zip_with
from tests.make.elf import hexagon_skel
from tests.make.pe import dll

UPDATE = os.environ.get("HEXPACK_UPDATE_SNAPSHOTS") == "1"
VALIDATOR = jsonschema.Draft202012Validator(schema())
INNER = {"jni/skel.so": hexagon_skel(arch=73), "classes.jar": zip_with({"a.class": b"x"})}


@pytest.fixture
def files(tmp_path):
    return put(
        tmp_path / "files",
        {
            "app.zip": zip_with({"x.aar": zip_with(INNER), "readme": b"text"}),
            "damaged.so": hexagon_skel()[:-50],
            "library.dll": dll(pdb="C:\\work\\x\\x.pdb"),
            "notes.txt": b"text",
            "skel.so": hexagon_skel(arch=81),
        },
    )


def test_the_schema_file_is_current():
    written = Path(str(resources.folder("manifests"))) / "inspect.schema.json"
    if UPDATE:
        written.write_bytes((json.dumps(schema(), indent=2, ensure_ascii=False) + "\n").encode())

    assert json.loads(written.read_text(encoding="utf-8")) == schema()


def test_it_is_a_valid_schema_with_a_name():
    VALIDATOR.check_schema(schema())

    assert schema()["$id"] == "urn:hexpack:inspect:1"


def test_the_document_of_files_of_every_kind_is_what_the_schema_says(files):
    made = document(inspected(path) for path in files_below([files]))

    VALIDATOR.validate(made)
    assert {
        name.removeprefix(f"{files}{os.sep}"): facts["kind"] for name, facts in made["files"].items()
    } == {
        "app.zip": "archive",
        "app.zip!/x.aar": "archive",
        "app.zip!/x.aar!/jni/skel.so": "elf",
        "app.zip!/x.aar!/classes.jar": "archive",
        "app.zip!/readme": "other",
        "damaged.so": "damaged",
        "library.dll": "pe",
        "notes.txt": "other",
        "skel.so": "elf",
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.pop("schema_version"),
        lambda made: made.update(schema_version=2),
        lambda made: made.update(more={}),
        lambda made: made["files"].update(x={"kind": "elf"}),
        lambda made: made["files"].update(x={"kind": "no such kind"}),
    ],
)
def test_the_schema_refuses_what_inspect_would_never_print(files, change):
    made = document([inspected(files / "skel.so")])
    change(made)

    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(made)


def test_a_folder_that_is_an_image_is_one_thing_and_any_other_is_its_files(tmp_path):
    made = Layout()
    made.image(tar_with({"usr/lib/skel.so": hexagon_skel(arch=75)}), layer_type="application/x-tar")
    folder = put(tmp_path / "image", made.finished())

    (found,) = (inspected(path) for path in files_below([folder]))

    assert found.facts.format == "oci"
    assert [(m.name.partition("!/")[2], m.facts.hexagon_arch) for m in found.members] == [
        ("usr/lib/skel.so", 75)
    ]


def test_a_missing_file_is_unavailable(tmp_path):
    with pytest.raises(InputUnavailable):
        files_below([tmp_path / "absent"])


def test_a_person_sees_a_line_for_each_member_and_what_it_is(files, capsys):
    print_inspected(inspected(files / "app.zip"))

    lines = capsys.readouterr().out.splitlines()
    (skel,) = [line for line in lines if "jni/skel.so" in line]
    assert "elf: machine HEXAGON, abi hexagon, hexagon_arch 73" in skel
    assert [line.split()[-1] for line in lines if "readme" in line] == ["readme"]


def test_libraries_are_shown_however_many_other_files_there_are(tmp_path, capsys):
    path = tmp_path / "many.zip"
    path.write_bytes(zip_with({**{f"text{n}": b"" for n in range(300)}, "z.so": hexagon_skel()}))

    print_inspected(inspected(path))

    shown = capsys.readouterr().out
    assert "z.so" in shown
    assert "text199" in shown
    assert "text200" not in shown
    assert "… 100 more (--json lists all)" in shown


def test_a_summary_tells_why_a_file_is_damaged_and_nothing_of_a_file_that_says_nothing():
    assert (
        summary(DamagedFacts(offset=7, reason="the file ends here")) == "damaged: reason the file ends here"
    )
    assert summary(OtherFacts()) == ""


MANIFEST = """\
<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="a.b">
  <application><uses-native-library android:name="libx.so" android:required="false"/></application>
</manifest>
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            '{"devices": [{"soc_model": 57, "dsp_arch": "v75"}], "graphs": [{"graph_names": ["a", "b"], "O": 3}]}',
            ["graph names a b, optimization 3", "device soc_model 57, arch 75"],
        ),
        (
            "#!/bin/sh\nexport LD_LIBRARY_PATH=/a\nexport DSP_LIBRARY_PATH='/b;/c'\n",
            ["assignment line 2, variable LD_LIBRARY_PATH, value /a, quoted True",
             "assignment line 3, variable DSP_LIBRARY_PATH, value /b;/c, quoted True"],
        ),
        (
            MANIFEST,
            ["package a.b", "native_library name libx.so, required False"],
        ),
    ],
)  # fmt: skip
def test_a_person_sees_each_entry_of_a_configuration_in_a_line(tmp_path, capsys, text, lines):
    path = tmp_path / "file"
    path.write_text(text)

    print_inspected(inspected(path))

    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if line not in shown] == []
