"""The plan resolves every word of a manifest, or says at which place it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from packager import catalog
from packager.errors import ManifestError
from packager.manifest import load
from packager.plan import make_plan
from packager.plan_model import Plan

HEAD = """schema = 1
[package]
name = "app"
version = "1.2.0"
vendor = "Example Devices"
license = "Apache-2.0"
description = "An example"
maintainer = "Release Team <release@example.com>"
[model]
source = { path = "model.onnx" }
"""


def planned(tmp_path: Path, targets: str, head: str = HEAD) -> Plan:
    manifest = tmp_path / "app.toml"
    manifest.write_text(head + targets)
    return make_plan(load(manifest))


def refusal(tmp_path: Path, targets: str, head: str = HEAD) -> str:
    with pytest.raises(ManifestError) as refused:
        planned(tmp_path, targets, head)
    return refused.value.render()


LINUX = '[[targets]]\nsoc = ["qcs9075"]\nos = "linux"\nformats = ["deb"]\n'
WINDOWS = '[[targets]]\nsoc = ["x-elite"]\nos = "windows"\nformats = ["zip"]\n'


def test_a_device_target_needs_backend_system_and_the_stub_and_skel_of_its_architecture(tmp_path):
    (target,) = planned(tmp_path, LINUX).targets

    assert [(f.role, f.name) for f in target.runtime_set.files] == [
        ("backend", "libQnnHtp.so"),
        ("system", "libQnnSystem.so"),
        ("stub", "libQnnHtpV73Stub.so"),
        ("skel", "libQnnHtpV73Skel.so"),
    ]


def test_two_socs_of_one_architecture_share_stub_and_skel(tmp_path):
    (target,) = planned(tmp_path, LINUX.replace('["qcs9075"]', '["qcs9075", "qcs8550", "qcs8275"]')).targets

    assert target.archs == (73, 75)
    assert [f.arch for f in target.runtime_set.files if f.role == "skel"] == [73, 75]


def test_windows_gets_the_catalogues_that_the_release_has(tmp_path):
    (elite,) = planned(tmp_path, WINDOWS).targets
    (older,) = planned(tmp_path, WINDOWS.replace("x-elite", "8cx-gen3")).targets

    assert "libqnnhtpv73.cat" in [f.name for f in elite.runtime_set.files]
    assert not [f for f in older.runtime_set.files if f.role == "catalogue"]


def test_a_simulator_needs_no_stub_no_skel_but_the_libraries_its_wheel_links_to(tmp_path):
    (target,) = planned(tmp_path, LINUX + 'abi = "x86_64-linux-clang"\n').targets

    assert {f.role for f in target.runtime_set.files} == {"backend", "system"}
    assert len(target.runtime_set.extra) == 3


def test_the_plan_is_json_and_comes_back_equal(tmp_path):
    plan = planned(tmp_path, LINUX + WINDOWS)

    assert Plan.model_validate(json.loads(json.dumps(plan.model_dump(mode="json", by_alias=True)))) == plan


def test_file_names_carry_version_system_architecture_and_the_targets_name(tmp_path):
    plan = planned(tmp_path, LINUX + 'name = "board"\n' + WINDOWS)

    assert [p.file_name for t in plan.targets for p in t.packages] == [
        "app-1.2.0-linux-arm64-board.deb",
        "app-1.2.0-windows-arm64.zip",
    ]


def test_settings_of_a_target_win_over_defaults_and_defaults_over_the_table(tmp_path):
    text = (
        '[defaults]\npower = "balanced"\noptimization = 2\n'
        + LINUX
        + LINUX
        + 'name = "second"\npower = "burst"\n'
    )

    first, second = planned(tmp_path, text).targets

    assert (first.power, second.power) == ("balanced", "burst")
    assert (first.optimization, second.optimization, first.rpc_latency_us) == (2, 2, 100)


def test_words_about_the_linux_system_stand_over_their_defaults(tmp_path):
    words = '[targets.linux]\nboard_folders = ["/usr/share/qcom/qcs9075/Vendor/Board/dsp/cdsp"]\n'
    service = '[targets.linux.service]\narguments = ["--doctor"]\nenable = false\n'

    plain, fitted, served = planned(
        tmp_path,
        LINUX + 'name = "aa"\n' + LINUX + 'name = "bb"\n' + words + LINUX + 'name = "cc"\n' + service,
    ).targets

    assert plain.linux is None
    assert (fitted.linux.group, fitted.linux.udev, fitted.linux.service) == ("fastrpc", False, None)
    assert (served.linux.service.enable, served.linux.service.restart) == (False, "on-failure")


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        (LINUX.replace("qcs9075", "qcs6940"), 'did you mean "qcs6490" (Dragonwing QCS6490, Hexagon v68)?'),
        (LINUX.replace('"linux"', '"linus"'), 'did you mean "linux"?'),
        (LINUX + 'abi = "oe-linux-gcc11.3"\n', 'did you mean "oe-linux-gcc11.2"?'),
        (LINUX.replace('"deb"', '"dep"'), 'did you mean "deb"?'),
        (LINUX.replace('"deb"', '"zip"'), 'unknown package format for linux "zip"'),
        (LINUX + 'abi = "ubuntu-gcc9.4"\n', "no wheel is known that carries QAIRT 2.51.0 for ubuntu-gcc9.4"),
        (WINDOWS.replace("x-elite", "sm8650"), "no stub and skel for Hexagon v75"),
        (LINUX.replace('"deb"', '"deb", "deb"'), '"deb" is listed already'),
        (LINUX + LINUX, "2 packages would be called app-1.2.0-linux-arm64.deb"),
        (LINUX.replace('["qcs9075"]', '["qcs9075", "iq-9075-evk"]'), "which is listed already"),
        (LINUX.replace('os = "linux"', 'os = "qnx"'), '"deb"'),
        (LINUX + 'precision = "w8a16"\n', "needs calibration data"),
        (LINUX + 'io = "quantized"\n', 'io = "quantized" does not go with precision = "float"'),
        (LINUX + '[[allow]]\nrule = "HEX999"\nreason = "of another program"\n', 'unknown rule "HEX999"'),
        (WINDOWS + "[targets.linux]\nudev = true\n", "windows has no use for these words"),
        (
            LINUX.replace('"deb"', '"tar.zst"') + "[targets.linux]\n",
            "none of these formats puts files into the system",
        ),
        (
            LINUX + '[targets.linux]\nboard_folders = ["/usr/lib/rfsa/adsp", "/opt/dsp"]\n',
            "no board looks for DSP libraries in /opt/dsp",
        ),
        (LINUX + 'compute = ["npu", "gpu"]\n', 'compute "gpu" is not built by this version yet'),
        (LINUX + 'compute = ["cpu"]\n', 'compute = ["cpu"] does not go with context binaries'),
        (LINUX + 'compute = ["npu", "cpu"]\nhvx_threads = 2\n', "does not go with hvx_threads = 2"),
    ],
)
def test_a_word_that_cannot_be_resolved_is_shown_at_its_place(tmp_path, targets, says):
    message = refusal(tmp_path, targets)

    assert says in message
    assert "app.toml:" in message
    assert "^" in message


def test_a_release_without_a_row_lists_those_that_are_known(tmp_path):
    message = refusal(tmp_path, '[qairt]\nversion = "2.15.0"\n' + LINUX)

    assert 'unknown QAIRT release "2.15.0"' in message


def test_all_problems_are_shown_at_once(tmp_path):
    message = refusal(tmp_path, LINUX.replace("qcs9075", "qcs6940") + WINDOWS.replace('"zip"', '"zpi"'))

    assert "qcs6940" in message
    assert "zpi" in message


def test_formats_that_are_known_and_not_written_yet_are_said_to_be_that(tmp_path):
    later = [(row.later[0], row.id) for row in catalog.formats().values() if row.later]
    for system, word in later:
        message = refusal(tmp_path, LINUX.replace('"linux"', f'"{system}"').replace('"deb"', f'"{word}"'))

        assert "are not written yet" in message


def test_an_app_cannot_leave_the_vendor_s_libraries_to_the_device(tmp_path):
    target = LINUX.replace('"linux"', '"android"').replace('"deb"', '"aar", "adb"')
    target += 'vendor_libraries = "require"\nhost = { libraries = "/vendor/lib64" }\n'

    message = refusal(tmp_path, '[qairt]\nfrom = "path"\npath = "x"\n' + target)

    assert '"aar" packages bring the vendor\'s libraries' in message
    assert '"adb" packages bring' not in message


def test_qnx_takes_no_packages_of_a_package_manager(tmp_path):
    message = refusal(tmp_path, LINUX.replace('"linux"', '"qnx"'))

    assert 'unknown package format for qnx "deb"' in message


def test_an_allow_for_a_target_that_has_another_problem_is_not_called_unknown(tmp_path):
    allow = '[[allow]]\nrule = "HEX104"\ntarget = "board"\nreason = "checked on the board"\n'

    message = refusal(tmp_path, LINUX.replace("qcs9075", "qcs6940") + 'name = "board"\n' + allow)

    assert "unknown target" not in message


def test_an_allow_for_a_target_that_does_not_exist_is_an_error(tmp_path):
    allow = '[[allow]]\nrule = "HEX104"\ntarget = "bord"\nreason = "checked on the board"\n'

    message = refusal(tmp_path, LINUX + 'name = "board"\n' + allow)

    assert 'did you mean "board"?' in message


def test_a_file_name_that_no_folder_holds_is_shown_at_the_name(tmp_path):
    message = refusal(tmp_path, LINUX, HEAD.replace("1.2.0", "1" * 250))

    assert (
        f"app.toml:3:8: deb: a package would be called app-{'1' * 56}… with 270 bytes in its name" in message
    )


REQUIRING = LINUX + 'vendor_libraries = "require"\n'


def test_libraries_of_the_device_need_a_place_there(tmp_path):
    said = refusal(tmp_path, REQUIRING)

    assert ":15:20: qcs9075 does not say where the device has the vendor's libraries" in said
    assert "host = {" in said


def test_the_place_on_the_device_may_come_from_the_defaults(tmp_path):
    head = HEAD + '[defaults]\nvendor_libraries = "require"\nhost = { libraries = "/usr/lib" }\n'

    (target,) = planned(tmp_path, LINUX, head).targets

    assert (target.vendor_libraries, target.host.dsp_folder) == ("require", "/usr/lib")


def test_a_place_on_the_device_is_of_no_use_to_packages_that_bring_the_libraries(tmp_path):
    said = refusal(tmp_path, LINUX + 'host = { libraries = "/usr/lib" }\n')

    assert "qcs9075 brings the vendor's libraries itself" in said


def test_a_format_that_cannot_do_without_a_setting_says_which_at_the_format(tmp_path):
    said = refusal(tmp_path, '[[targets]]\nsoc = ["qcs9075"]\nos = "linux"\nformats = ["oci", "compose"]\n')

    assert '"compose" packages need "base" in [formats.oci]' in said
    assert 'add repository = "registry.example.com/vision/text-direction"' in said
    assert said.count("^^^^^^^^^") == 2


def test_a_format_with_the_settings_that_it_needs_is_planned(tmp_path):
    settings = f"""[formats.oci]
base = "registry.example.com/debian@sha256:{"0" * 64}"
repository = "registry.example.com/td"
"""
    targets = '[[targets]]\nsoc = ["qcs9075"]\nos = "linux"\nformats = ["compose"]\n'

    (target,) = planned(tmp_path, targets + settings).targets

    assert target.packages[0].file_name.endswith("-linux-arm64-compose.tar")
    assert target.formats.compose.devices == ("/dev/fastrpc-cdsp", "/dev/dma_heap/system")


def test_a_layer_needs_the_names_of_the_boards_and_a_wrong_soc_among_them_is_told(tmp_path):
    machines = '[formats.machines]\nqcs6940 = ["board"]\n'
    targets = '[[targets]]\nsoc = ["qcs9075"]\nos = "linux"\nformats = ["yocto"]\n'

    said = refusal(tmp_path, targets + machines)

    assert '"yocto" packages need to know what boards with Dragonwing IQ-9075 are called' in said
    assert 'no SoC has the id "qcs6940"' in said


def test_a_recipe_that_fetches_a_package_needs_that_package(tmp_path):
    settings = '[formats]\nmachines = { qcs9075 = ["evk"] }\nyocto = { url = "https://example.com/x" }\n'
    targets = '[[targets]]\nsoc = ["qcs9075"]\nos = "linux"\nformats = ["yocto"]\n'

    assert "the recipe would fetch a tar.gz package" in refusal(tmp_path, targets + settings)
    assert planned(tmp_path, targets.replace('["yocto"]', '["yocto", "tar.gz"]') + settings).targets


@pytest.mark.parametrize(
    ("form", "boards", "says"),
    [
        ("rauc", ["evk", "other"], "a RAUC bundle fits boards of one name, and these are evk, other"),
        ("swu", ["9075.evk"], 'sw-description cannot name the board "9075.evk"'),
    ],
)
def test_a_board_that_an_updater_cannot_name_is_shown_at_the_format(tmp_path, form, boards, says):
    settings = f"[formats]\nmachines = {{ qcs9075 = {boards} }}\n"
    targets = f'[[targets]]\nsoc = ["qcs9075"]\nos = "linux"\nformats = ["{form}"]\n'

    assert says in refusal(tmp_path, targets + settings)
