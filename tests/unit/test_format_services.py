"""What a package puts into a Linux system when the manifest asks for it, and nothing otherwise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packager.formats.services import systemd_word
from packager.manifest_host import Host
from packager.manifest_linux import LinuxSystem, Service
from packager.plan_model import TargetPlan
from tests.make.bundle import bundle_of, target_plan
from tests.make.unpack import deb_part, package_bytes

SKEL = "dsp/libQnnHtpV73Skel.so"
TREE = {"bin/hexrun": b"\x7fELF", SKEL: b"skel", "share/models/a.bin": b"context"}
SERVICE = Service(arguments=("--input", "x=in"), enable=True, restart="on-failure", environment={})
BOARD = "/usr/share/qcom/qcs9075/Example/Board/dsp/cdsp"


def plan_with(abi: str = "oe-linux-gcc11.2", **words: Any) -> TargetPlan:
    linux = LinuxSystem(**{"group": "fastrpc", "udev": False, "board_folders": (), "service": None, **words})
    return target_plan(formats=("deb", "ipk"), abi=abi).model_copy(update={"linux": linux})


def parts(plan: TargetPlan, tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    package = package_bytes("deb", plan, bundle_of(TREE, tmp_path, roles={SKEL: "skel"}))
    return deb_part(package, "control"), deb_part(package, "data")


def unit(plan: TargetPlan, tmp_path: Path) -> str:
    return parts(plan, tmp_path)[1]["usr/lib/systemd/system/text-direction.service"].decode()


def outside(data: dict[str, Any]) -> set[str]:
    """What a package has beside its own tree, its command and its documents."""
    own = ("usr/lib/text-direction/", "usr/bin/", "usr/share/doc/", "usr/share/lintian/", "usr/share/man/")
    return {path for path in data if not path.startswith(own)}


def test_without_words_about_the_system_there_is_no_script_and_no_file_of_the_system(tmp_path):
    plan = target_plan(formats=("deb", "ipk"))

    control, data = parts(plan, tmp_path)

    assert set(control) == {"control", "md5sums"}
    assert outside(data) == set()


def test_a_service_gets_the_nodes_and_the_group_and_nothing_else_below_dev(tmp_path):
    text = unit(plan_with(service=SERVICE, group="dsp"), tmp_path)

    assert 'ExecStart="/usr/lib/text-direction/bin/hexrun" "--input" "x=in"\n' in text
    assert "SupplementaryGroups=dsp\nDevicePolicy=closed\n" in text
    assert set(re.findall(r"^DeviceAllow=(\S+) rw$", text, re.MULTILINE)) == {
        "/dev/adsprpc-smd",
        "/dev/dma_heap/system",
        "/dev/fastrpc-cdsp",
        "/dev/fastrpc-cdsp1",
    }


def test_variables_of_a_service_are_quoted_and_those_of_the_user_win(tmp_path):
    named = {"DSP_LIBRARY_PATH": "/a;/b", "WORDS": 'of "more" 100% $HOME'}
    service = SERVICE.model_copy(update={"environment": named})

    text = unit(plan_with(service=service), tmp_path)

    assert re.findall(r"^Environment=(.*)$", text, re.MULTILINE) == [
        '"ADSP_LIBRARY_PATH=/usr/lib/text-direction/dsp"',
        '"DSP_LIBRARY_PATH=/a;/b"',
        r'"WORDS=of \"more\" 100%% $HOME"',
    ]


def test_a_service_searches_where_the_device_has_its_libraries(tmp_path):
    host = Host(libraries="/usr/lib", dsp="/usr/lib/dsp/cdsp")
    plan = plan_with(service=SERVICE).model_copy(update={"vendor_libraries": "require", "host": host})

    assert 'Environment="DSP_LIBRARY_PATH=/usr/lib/dsp/cdsp"\n' in unit(plan, tmp_path)


def test_a_simulator_has_no_device_to_ask_for(tmp_path):
    plan = plan_with("x86_64-linux-clang", service=SERVICE, udev=True)

    control, data = parts(plan, tmp_path)

    assert outside(data) == {"usr/lib/systemd/system/text-direction.service"}
    text = data["usr/lib/systemd/system/text-direction.service"].decode()
    assert not re.search("Device|SupplementaryGroups|LIBRARY_PATH", text)
    assert b"sysusers" not in control["postinst"]


def test_a_udev_rule_comes_with_the_group_that_it_names(tmp_path):
    control, data = parts(plan_with(udev=True, group="dsp"), tmp_path)

    assert outside(data) == {
        "usr/lib/udev/rules.d/70-text-direction.rules",
        "usr/lib/sysusers.d/text-direction.conf",
    }
    assert b"\ng dsp - -\n" in data["usr/lib/sysusers.d/text-direction.conf"]
    assert set(control) == {"control", "md5sums", "postinst", "postrm"}


def test_every_udev_rule_matches_before_it_assigns(tmp_path):
    text = parts(plan_with(udev=True), tmp_path)[1]["usr/lib/udev/rules.d/70-text-direction.rules"].decode()

    rules = [line for line in text.splitlines() if not line.startswith("#")]

    match, assign = r'[A-Z]+=="[\w-]+"', r'GROUP="fastrpc", MODE="0660"'
    assert len(rules) == 4
    assert all(re.fullmatch(rf"{match}(, {match})*, {assign}", rule) for rule in rules)


def test_the_groups_name_and_the_folders_are_words_that_a_shell_leaves_alone():
    for wrong in ({"group": "a b"}, {"group": "$(id)"}, {"board_folders": ("/a b",)}):
        with pytest.raises(ValueError, match="pattern"):
            plan_with(**wrong)


@pytest.mark.parametrize("words", [{"service": SERVICE}, {"board_folders": (BOARD,)}])
def test_what_installation_changes_removal_takes_back(tmp_path, words):
    control, _ = parts(plan_with(**words), tmp_path)

    assert {"postinst", "prerm"} <= set(control)


def test_scripts_of_an_ipk_are_those_of_opkg(tmp_path):
    import gzip
    import io

    from tests.make.unpack import ar_members, tar_infos, tar_tree

    package = package_bytes("ipk", plan_with(service=SERVICE), bundle_of(TREE, tmp_path))

    (control,) = (m.content for m in ar_members(package) if m.name == "control.tar.gz")
    tar = gzip.GzipFile(fileobj=io.BytesIO(control)).read()
    modes = {info.name: info.mode for info in tar_infos(tar)}
    assert (modes["./postinst"], modes["./prerm"], modes["./control"]) == (0o755, 0o755, 0o644)
    assert b"purge" not in tar_tree(tar)["./postrm"]


WORDS = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" "), max_size=40)


@given(WORDS, st.booleans())
def test_systemd_reads_every_word_as_it_was_written(word, variables):
    quoted = systemd_word(word, variables=variables)

    assert (quoted[0], quoted[-1]) == ('"', '"')
    # Each pass of systemd in its order: C escapes in quotes, specifiers, and variables in commands only.
    plain = re.sub(r"\\(.)", r"\1", quoted[1:-1])
    assert not re.search(r'(?<!\\)(\\\\)*"', quoted[1:-1])
    assert not re.search("%(?!%)", plain.replace("%%", ""))
    plain = plain.replace("%%", "%")
    assert (plain if variables else plain.replace("$$", "$")) == word
