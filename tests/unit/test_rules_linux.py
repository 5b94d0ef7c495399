"""Links to nowhere, and files where the board keeps its own."""

from __future__ import annotations

import pytest

from packager import catalog
from packager.bundle import BundleLink
from packager.rules.core import Case
from packager.rules.table import firmware_folders
from tests.unit.rule_cases import facts_of, findings, sound_case, staged, with_file, without

SKEL = "dsp/libQnnHtpV73Skel.so"


def linked(path: str, target: str) -> Case:
    """A sound case with one link."""
    return sound_case().model_copy(update={"links": (BundleLink(path=path, target=target),)})


@pytest.mark.parametrize("target", ["libfoo.so.1", "../share/none", "../dsp/libQnnHtpV7"])
def test_HEX231_fires_for_a_link_to_a_file_that_is_not_packed(target):
    (finding,) = findings(linked("lib/libfoo.so", target))

    assert (finding.rule, finding.file) == ("HEX231", "lib/libfoo.so")
    assert finding.found == f"a link to {target}, which is not in the package"


@pytest.mark.parametrize("target", ["libQnnHtp.so", "../dsp", f"../{SKEL}", ".."])
def test_HEX231_is_silent_for_a_link_to_a_file_or_folder_of_the_package(target):
    assert not findings(linked("lib/link", target))


@pytest.mark.parametrize("target", ["/opt/vendor/libfoo.so", "../../libfoo.so"])
def test_HEX232_fires_as_a_warning_for_a_link_out_of_the_package(target):
    (finding,) = findings(linked("lib/libfoo.so", target))

    assert (finding.rule, finding.refuses) == ("HEX232", False)
    assert finding.found == f"a link to {target}, outside the package"


@pytest.mark.parametrize("target", ["/usr/lib/libcdsprpc.so.1", f"/{SKEL}", "/dsp"])
def test_HEX232_is_silent_for_the_boards_own_library_and_for_the_packages_root(target):
    assert not findings(linked("lib/libcdsprpc.so", target))


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("usr/lib/rfsa/adsp/libQnnHtpV73Skel.so", "usr/lib/rfsa/adsp"),
        ("root/usr/lib/dsp/cdsp/libQnnHtpV73Skel.so", "usr/lib/dsp"),
        ("usr/share/qcom/sa8775p/vendor/board/dsp/cdsp/libQnnHtpV73Skel.so", "usr/share/qcom/*/*/*/dsp"),
    ],
)
def test_HEX233_fires_as_a_warning_for_a_skel_in_a_folder_of_the_board(path, folder):
    skel = staged(path, "skel", facts_of(sound_case(), SKEL), arch=73)

    (finding,) = findings(with_file(without(sound_case(), SKEL), skel))

    assert (finding.rule, finding.file, finding.refuses) == ("HEX233", path, False)
    assert finding.found == f"in /{folder}"


@pytest.mark.parametrize("folder", ["usr/lib/text-direction/dsp", "usr/lib", "opt/dsp", "usr/share/qcom/dsp"])
def test_HEX233_is_silent_for_folders_of_the_packages_own(folder):
    skel = staged(f"{folder}/libQnnHtpV73Skel.so", "skel", facts_of(sound_case(), SKEL), arch=73)

    assert not findings(with_file(without(sound_case(), SKEL), skel))


def test_folders_of_boards_are_of_known_systems_and_relative():
    rows = firmware_folders()

    assert {row.system for row in rows} <= set(catalog.systems())
    assert not [row.folder for row in rows if row.folder.startswith("/") or row.folder.endswith("/")]
