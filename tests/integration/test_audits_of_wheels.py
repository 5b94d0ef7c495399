"""The audits of seven real wheels say what docs/audits.md says, where each finding was checked by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from packager.audit import Audit, audit
from packager.sources.wheel import fetch_wheel
from tests.integration.program import ROOT

WHEELS = {
    "onnxruntime-qnn 2.7.0, manylinux_2_34_aarch64": "ad08bbfebd7c07ffe83995418303215f46cb25a89e12676f47ee20c32002eaad",
    "onnxruntime-qnn 2.7.0, manylinux_2_35_x86_64": "c56c01562b8534fe8980cfea4601408d950c065f8251fb862ce82101c52c9849",
    "onnxruntime-qnn 2.7.0, win_amd64": "92ef39a0241fd941b1cb5285a43b8643e3515626eaff7fe7aec186cc9465b411",
    "onnxruntime-qnn 2.7.0, win_arm64": "b919227025f1feb0d2c5cc4232951de22f738b80995e9d4f2af79c3b66e3c95d",
    "qnnruntime 2.36.4.2, manylinux_2_34_aarch64": "d249ef04003bd068dbd4c41abb8cada8f7e39fd2e8370562bbed52c8b253e906",
    "qnnruntime 2.40.0.2, manylinux_2_34_aarch64": "4d888aa446ebb10165ace92362beff5c4629e62348e1733d62a252bac2ad7eb9",
    "qnnruntime 2.48.0.2, manylinux_2_34_aarch64": "0543be989fef3fc48df53edfbe4746f4bf1bef8e2c80a6d055cc3afe74121aa4",
}


@pytest.fixture(scope="module")
def audits(store) -> dict[str, Audit]:
    found = {}
    for name, sha256 in WHEELS.items():
        requirement, platform = name.replace(" ", "==").split(",==")
        wheel = fetch_wheel(requirement, platform=platform, python="3.11", pinned=sha256, store=store)
        found[name] = audit(wheel.path)
    return found


def written(name: str) -> list[tuple[str, str]]:
    """(rule, file) of every row that the page has for a wheel."""
    page = (ROOT / "docs" / "audits.md").read_text(encoding="utf-8")
    _, _, rest = page.partition(f"\n## {name}\n")
    section = rest.partition("\n## ")[0]
    return re.findall(r"^\| (HEX\d{3}) \| `([^`]+)` \|", section, re.MULTILINE)


@pytest.mark.parametrize("name", WHEELS)
def test_the_findings_are_those_of_the_page(audits, name):
    found = [(finding.rule, Path(finding.file).name) for one in audits[name].sets for finding in one.findings]

    assert sorted(found) == sorted(written(name))


def test_the_page_has_a_section_for_each_wheel_and_for_nothing_else():
    page = (ROOT / "docs" / "audits.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^## (.*\d.*)$", page, re.MULTILINE)) == set(WHEELS)


def test_a_wheel_for_two_processors_is_two_sets(audits):
    simulator, device = audits["onnxruntime-qnn 2.7.0, win_amd64"].sets

    assert (simulator.abi, simulator.socs) == ("windows-x86_64", ())
    assert (device.abi, device.socs) == ("windows-arm64", ("v68", "v73", "v81"))


def test_the_release_of_every_set_is_read_off_its_libraries(audits):
    releases = {name: {one.release[:5] for one in audit.sets} for name, audit in audits.items()}

    assert releases == {name: {"v2.51" if "onnx" in name else "v" + name.split()[1][:4]} for name in WHEELS}
