"""Dead weight, licences, traces of the build machine, and allowances that nobody needs."""

from __future__ import annotations

import pytest

from packager.facts.types import OtherFacts, PeFacts
from packager.manifest_model import Allow
from packager.rules.core import allowed
from tests.unit.rule_cases import (
    TARGETS,
    facts_of,
    findings,
    skel_facts,
    sound_case,
    staged,
    with_facts,
    with_file,
    with_plan,
    without,
)

STUB = "lib/libQnnHtpV73Stub.so"


def test_HEX501_fires_as_a_warning_for_a_skel_that_no_soc_loads():
    case = with_file(sound_case(), staged("dsp/libQnnHtpV81Skel.so", "skel", skel_facts(81), arch=81))

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.refuses) == ("HEX501", "dsp/libQnnHtpV81Skel.so", False)
    assert finding.found == "1000 bytes for Hexagon v81"


def test_HEX501_fires_for_the_preparer_beside_context_binaries():
    facts = facts_of(sound_case(), "lib/libQnnHtp.so").model_copy(update={"soname": "libQnnHtpPrepare.so"})

    (finding,) = findings(with_file(sound_case(), staged("lib/libQnnHtpPrepare.so", "prepare", facts)))

    assert finding.found == "1000 bytes to compose graphs, beside context binaries that are composed already"


def test_HEX501_fires_for_a_stub_on_the_simulator():
    backend = facts_of(sound_case("simulator"), "lib/libQnnHtp.so")
    facts = backend.model_copy(update={"soname": "libQnnHtpV75Stub.so"})

    (finding,) = findings(
        with_file(sound_case("simulator"), staged("lib/libQnnHtpV75Stub.so", "stub", facts, arch=75))
    )

    assert finding.found == "1000 bytes for a device, in a package for the simulator"


def test_HEX501_fires_for_a_context_of_a_soc_that_the_target_does_not_list():
    facts = facts_of(sound_case(), "share/models/qcs9075.bin")

    (finding,) = findings(
        with_file(sound_case(), staged("share/models/sm8650.bin", "context", facts, soc="sm8650"))
    )

    assert finding.found == "1000 bytes for sm8650, which the target does not list"


def test_HEX501_is_silent_about_the_preparer_where_graphs_are_composed():
    case = sound_case(runtime="dlc")

    assert any(e.file.role == "prepare" for e in case.files)
    assert not findings(case)


@pytest.mark.parametrize("kind", TARGETS)
def test_HEX502_fires_for_a_licence_text_that_was_left_out(kind):
    (finding,) = findings(without(sound_case(kind), "licenses/Qualcomm_LICENSE.pdf"))

    assert (finding.rule, finding.file, finding.refuses) == ("HEX502", "Qualcomm_LICENSE.pdf", False)


def test_HEX502_fires_when_the_libraries_came_without_any_licence():
    case = sound_case()
    bare = case.plan.runtime_set.model_copy(update={"licences": ()})
    case = with_plan(case, runtime_set=bare)
    for path in [e.file.path for e in case.files if e.file.role == "licence"]:
        case = without(case, path)

    (finding,) = findings(case)

    assert finding.found == "4 vendor files without any licence text"


def test_HEX502_is_silent_for_a_package_without_vendor_files():
    case = sound_case()

    nothing = case.model_copy(update={"files": tuple(e for e in case.files if e.file.role == "runner")})

    assert "HEX502" not in {finding.rule for finding in findings(nothing)}


def test_HEX503_fires_for_a_search_path_of_the_build_machine():
    (finding,) = findings(with_facts(sound_case(), STUB, search_path=("$ORIGIN", "/build/out/lib")))

    assert (finding.rule, finding.file, finding.found) == ("HEX503", STUB, "searches /build/out/lib")


def test_HEX503_is_silent_for_paths_below_the_files_own_folder():
    assert not findings(
        with_facts(sound_case(), STUB, search_path=("$ORIGIN", "$ORIGIN/../lib", "${ORIGIN}"))
    )


def test_HEX601_fires_for_an_allowance_that_fits_no_finding():
    found = findings(without(sound_case(), STUB))
    entry = Allow(rule="HEX104", reason="it was wrong last year")

    refused, unused = allowed(found, [entry])

    assert (refused.rule, refused.allowed) == ("HEX106", None)
    assert (unused.rule, unused.found, unused.refuses) == ("HEX601", "[[allow]] HEX104", False)


def test_HEX601_is_silent_when_every_allowance_is_of_use():
    found = findings(without(sound_case(), STUB))
    entry = Allow(rule="HEX106", reason="the image brings the stub")

    (finding,) = allowed(found, [entry])

    assert (finding.rule, finding.refuses, finding.allowed) == ("HEX106", False, "the image brings the stub")


def test_HEX504_fires_as_a_warning_for_a_runner_that_names_its_build_folder():
    case = with_facts(sound_case(), "bin/hexrun", build_paths=("/home/build/src/main.c", "/root/x.c"))

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.refuses) == ("HEX504", "bin/hexrun", False)
    assert finding.found == "holds /home/build/src/main.c and 1 more"


def test_HEX504_fires_for_a_model_library_of_windows():
    facts = PeFacts(machine="ARM64", model_prefix="QnnModel", build_paths=("C:\\src\\model.pdb",))

    (finding,) = findings(with_file(sound_case("windows"), staged("model.dll", "model-library", facts)))

    assert (finding.rule, finding.found) == ("HEX504", "holds C:\\src\\model.pdb")


def test_HEX504_is_silent_about_the_vendors_own_paths():
    assert not findings(with_facts(sound_case(), STUB, build_paths=("/local/mnt/workspace/a.cc",)))


CONTEXT = "share/models/qcs9075.bin"


@pytest.mark.parametrize(
    ("stand_in", "title"),
    [
        ("lfs-pointer", "is a pointer of Git LFS and not the file itself"),
        ("html", "is a web page under the name of another file"),
        ("empty", "is empty"),
        ("zeros", "holds nothing but zeros"),
    ],
)
@pytest.mark.parametrize("path", [CONTEXT, STUB, "lib/libQnnHtp.so", "share/models/extra.onnx"])
def test_HEX505_fires_alone_for_what_stands_where_a_file_was_meant(path, stand_in, title):
    facts = OtherFacts(stand_in=stand_in)
    extra = path.endswith("onnx")
    case = sound_case()
    case = with_file(case, staged(path, "document", facts)) if extra else with_facts(case, path, facts)

    found = [finding for finding in findings(case) if finding.rule != "HEX311"]

    assert [(f.rule, f.file, f.title) for f in found] == [("HEX505", path, title)]


def test_HEX505_fires_for_a_pointer_whatever_its_name_is():
    case = with_file(sound_case(), staged("docs/picture.png", "document", OtherFacts(stand_in="lfs-pointer")))

    (finding,) = findings(case)

    assert (finding.rule, finding.fix) == ("HEX505", "run `git lfs pull`, and pack again")


@pytest.mark.parametrize(
    ("name", "stand_in"),
    [("index.html", "html"), ("py.typed", "empty"), ("input_0.bin", "zeros"), ("notes.bin", None)],
)
def test_HEX505_is_silent_about_files_that_may_be_so(name, stand_in):
    assert not findings(
        with_file(sound_case(), staged(f"share/{name}", "document", OtherFacts(stand_in=stand_in)))
    )


def test_HEX505_is_silent_about_files_that_are_for_no_npu():
    case = sound_case()
    empty = staged("data/table.bin", "document", OtherFacts(stand_in="empty"))
    case = case.model_copy(update={"files": (empty,), "inferred": True})

    assert not [finding for finding in findings(case) if finding.rule == "HEX505"]


def grown(case, path, size):
    files = tuple(
        e.model_copy(
            update={"file": e.file.model_copy(update={"blob": e.file.blob.model_copy(update={"size": size})})}
        )
        if e.file.path == path
        else e
        for e in case.files
    )
    return case.model_copy(update={"files": files})


def for_format(case, format_id):
    (first, *_) = case.plan.packages
    return with_plan(case, packages=(first.model_copy(update={"format": format_id}),))


MODEL = "share/models/qcs9075.bin"


def test_HEX506_fires_for_a_model_that_rpm_cannot_count():
    case = grown(for_format(sound_case(), "rpm"), MODEL, 1 << 32)

    (finding,) = findings(case)

    assert (finding.rule, finding.file, finding.refuses) == ("HEX506", MODEL, True)
    assert finding.found == "4294967296 bytes"
    assert finding.fix.startswith("remove rpm from the formats")


def test_HEX506_fires_for_an_apk_that_is_too_large_as_a_whole():
    case = grown(for_format(sound_case(), "apk"), MODEL, (1 << 32) - 1000)

    assert [(f.rule, f.file) for f in findings(case)] == [("HEX506", "apk package")]


@pytest.mark.parametrize(("format_id", "size"), [("rpm", (1 << 32) - 1), ("deb", 1 << 33), ("zip", 1 << 33)])
def test_HEX506_is_silent_up_to_the_limit_and_for_formats_without_one(format_id, size):
    assert findings(grown(for_format(sound_case(), format_id), MODEL, size)) == ()
