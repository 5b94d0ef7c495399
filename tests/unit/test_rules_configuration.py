"""HEX401 to HEX416: what configuration files name and ask for."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from packager import catalog, resources
from packager.facts.config_types import GenieFacts, HtpConfigFacts, RunnerConfigFacts
from packager.facts.htp_config import read_htp_config
from packager.facts.runner_config import read_runner_config
from packager.facts.types import DamagedFacts, DlcCache, DlcFacts, ElfFacts, OnnxFacts, OtherFacts
from packager.layouts import places
from packager.plan_model import RuntimePlan
from packager.rules.core import Case, Finding
from packager.runtime_config import htp_config, json_text, runner_conf
from tests.unit.rule_cases import findings, sound_case, staged, with_file, with_plan, without

DAMAGED = DamagedFacts(offset=1, reason="cut")
CONFIG = "share/htp/qcs9075.json"
CONF = (
    "format",
    "package",
    "backend",
    "system",
    "dsp",
    "simulator",
    "compute",
    "power",
    "variant",
    "variant",
)
RUNNER_KEYS = catalog.table("runner_config")["key"]
DEVICE = {"soc_model": 77, "dsp_arch": "v73", "pd_session": "unsigned"}


@pytest.fixture
def configured(tmp_path):
    """The sound case with an HTP configuration, read by the real reader from its text."""

    def make(document: dict[str, Any], case: Case | None = None) -> Case:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(document))
        return with_file(case or sound_case(), staged(CONFIG, "htp-config", read_htp_config(path)))

    return make


def told(case: Case) -> list[Finding]:
    return [finding for finding in findings(case) if finding.rule.startswith("HEX4")]


def rules(case: Case) -> list[str]:
    return [finding.rule for finding in told(case)]


def of_release(version: str) -> Case:
    case = sound_case()
    release = case.plan.runtime_set.release.model_copy(update={"version": version})
    runtime: RuntimePlan = case.plan.runtime_set.model_copy(update={"release": release})
    return with_plan(case, runtime_set=runtime)


def test_what_hexpack_itself_writes_is_without_fault(configured, tmp_path):
    case = sound_case()
    (soc,) = case.plan.socs
    path = tmp_path / "own.json"
    path.write_text(json_text(htp_config(case.plan, soc, ("g",))))

    case = with_file(case, staged(CONFIG, "htp-config", read_htp_config(path)))

    assert told(case) == []


def test_HEX401_fires_for_a_key_that_is_nearly_a_known_one(configured):
    (finding,) = told(configured({"devices": [DEVICE | {"pd_sesion": "unsigned"}]}))

    assert (finding.rule, finding.found, finding.wanted) == (
        "HEX401",
        "devices.pd_sesion",
        "devices.pd_session",
    )


def test_HEX401_fires_once_for_a_whole_branch_under_a_misspelt_key(configured):
    case = configured({"device": [{"device_id": 0, "cores": []}], "graphs": []})

    assert [(f.rule, f.found) for f in told(case)] == [("HEX401", "device")]


@pytest.mark.parametrize(
    ("document", "found", "wanted"),
    [
        ({"devices": [{"perf_profile": "burst"}]}, "devices.perf_profile", "devices.cores.perf_profile"),
        ({"memory": {"extended_udma": True}}, "memory.extended_udma", "context.extended_udma"),
        ({"graphs": [{"vtcm_size_in_mb": 8}]}, "graphs.vtcm_size_in_mb", "graphs.vtcm_mb"),
        ({"graphs": [{"optimization_type": 3}]}, "graphs.optimization_type", "graphs.O"),
    ],
)
def test_HEX401_fires_for_a_key_in_another_place_or_under_another_name(configured, document, found, wanted):
    (finding,) = told(configured(document))

    assert (finding.rule, finding.found, finding.wanted) == ("HEX401", found, wanted)


def test_HEX401_is_silent_below_a_key_whose_content_is_the_backends_own(configured):
    assert rules(configured({"graphs": [{"finalize_config": {"P_HVX_THREADS": 4}}]})) == []


def test_HEX401_is_silent_for_known_keys(configured):
    assert rules(configured({"graphs": [{"O": 3, "dlbc": 1}], "devices": [DEVICE]})) == []


def test_HEX415_fires_for_a_key_that_resembles_none(configured):
    (finding,) = told(configured({"devices": [DEVICE | {"x_quux_9": 1}]}))

    assert (finding.rule, finding.found) == ("HEX415", "devices.x_quux_9")


def test_HEX415_is_silent_for_known_keys_and_for_those_that_a_feature_brings(configured):
    assert rules(configured({"graphs": [{"graph_names": ["g"], "graph_split_mode": 1}]})) == []


@pytest.mark.parametrize(
    ("release", "graphs", "wanted"),
    [("2.51.0", {"O": 3}, "an array"), ("2.13.0", [{"O": 3}], "an object")],
)
def test_HEX402_fires_for_graphs_in_the_form_of_another_release(configured, release, graphs, wanted):
    (finding,) = told(configured({"graphs": graphs}, of_release(release)))

    assert finding.rule == "HEX402"
    assert finding.wanted.startswith(wanted)


@pytest.mark.parametrize(
    ("release", "graphs"), [("2.51.0", [{"O": 3}]), ("2.13.0", {"O": 3}), ("2.51.0", None)]
)
def test_HEX402_is_silent_for_the_form_of_the_release(configured, release, graphs):
    assert (
        rules(configured({"graphs": graphs} if graphs else {"devices": [DEVICE]}, of_release(release))) == []
    )


def test_HEX403_fires_for_a_graph_that_no_context_has(configured):
    (finding,) = told(configured({"graphs": [{"graph_names": ["g", "gg"]}]}))

    assert (finding.rule, finding.found, finding.wanted) == ("HEX403", 'graph "gg"', "one of g")


def test_HEX403_is_silent_for_graphs_of_the_context_and_where_there_is_no_model(configured):
    assert rules(configured({"graphs": [{"graph_names": ["g"]}]})) == []
    alone = sound_case()
    alone = alone.model_copy(update={"files": tuple(e for e in alone.files if e.file.role != "context")})
    assert "HEX403" not in rules(configured({"graphs": [{"graph_names": ["other"]}]}, alone))


@pytest.mark.parametrize(
    ("device", "found"),
    [
        ({"soc_model": 31, "dsp_arch": "v66"}, "soc_model 31"),
        ({"soc_model": 57, "dsp_arch": "v68"}, "soc_model 57 and dsp_arch v68"),
        ({"soc_model": 77, "dsp_arch": "v75"}, "soc_model 77 and dsp_arch v75"),
        ({"soc_model": 57, "dsp_arch": "v75"}, "soc_model 57"),
        ({"dsp_arch": "v81"}, "dsp_arch v81"),
        ({"dsp_arch": "v80"}, "dsp_arch v80"),
    ],
)
def test_HEX404_fires_for_another_device_than_the_targets(configured, device, found):
    (finding,) = told(configured({"devices": [device]}))

    assert (finding.rule, finding.found) == ("HEX404", found)


def test_HEX404_names_the_architectures_that_exist(configured):
    (finding,) = told(configured({"devices": [{"dsp_arch": "v80"}]}))

    assert finding.wanted.startswith("one of v68, v69, v73, v75")


@pytest.mark.parametrize("device", [DEVICE, {"soc_id": 77}, {"dsp_arch": "73"}, {"device_id": 0}])
def test_HEX404_is_silent_for_the_targets_device(configured, device):
    assert rules(configured({"devices": [device]})) == []


@pytest.mark.parametrize(
    "facts",
    [
        DamagedFacts(offset=1, reason="cut"),
        OnnxFacts(ir_version=10, opset=21, producer="", inputs=(), outputs=(), operators={}, quantized=False),
        ElfFacts(machine="AARCH64", bits=64, abi="glibc", flags=0, model_prefix="QnnModel"),
        DlcFacts(lineage="qairt", records=()),
    ],
)
def test_HEX403_is_silent_where_a_model_does_not_tell_its_graphs(configured, facts):
    case = with_file(sound_case(), staged("share/models/other", "model", facts))

    assert "HEX403" not in rules(configured({"graphs": [{"graph_names": ["other"]}]}, case))


def test_HEX403_is_silent_for_a_graph_that_was_compiled_into_a_dlc(configured):
    (context,) = (facts for _, facts in sound_case().contexts())
    compiled = context.model_copy(update={"graphs": (context.graphs[0].model_copy(update={"name": "h"}),)})
    cache = DlcCache(record="htp", size=1, context=compiled)
    dlc = DlcFacts(lineage="qairt", records=(), caches=(cache,))
    case = with_file(sound_case(), staged("share/models/h.dlc", "dlc", dlc))

    assert "HEX403" not in rules(configured({"graphs": [{"graph_names": ["g", "h"]}]}, case))


def test_HEX405_fires_for_a_file_that_is_not_in_the_package(configured):
    (finding,) = told(configured({"backend_extensions": {"config_file_path": "htp/qcs9075.jsn"}}))

    assert (finding.rule, finding.file) == ("HEX405", CONFIG)
    assert finding.found == "names htp/qcs9075.jsn, not in the package"


def test_HEX405_fires_once_for_all_that_a_file_names_and_says_where_one_of_that_name_is():
    genie = GenieFacts(paths=("models/qcs9075.bin", "a.bin", "b.bin"))
    case = with_file(sound_case(), staged("genie/genie_config.json", "genie-config", genie))

    (finding,) = told(case)

    assert finding.found == "names models/qcs9075.bin and 2 more files, not in the package"
    assert finding.wanted == "share/models/qcs9075.bin?"


def test_HEX405_fires_for_a_named_model_that_is_none():
    genie = GenieFacts(paths=("models/lm.bin",), model_paths=("models/lm.bin",))
    case = with_file(sound_case(), staged("share/genie_config.json", "genie-config", genie))
    case = with_file(case, staged("share/models/lm.bin", "document", OtherFacts()))

    (finding,) = told(case)

    assert (finding.rule, finding.file) == ("HEX405", "share/models/lm.bin")


def test_HEX405_is_silent_for_paths_from_the_files_folder_or_one_above_it():
    genie = GenieFacts(
        paths=(
            "../models/qcs9075.bin",
            "models/qcs9075.bin",
            "share/models/qcs9075.bin",
            "../../dsp",
            "models\\qcs9075.bin",
        )
    )
    case = with_file(sound_case(), staged("share/llm/genie_config.json", "genie-config", genie))

    assert told(case) == []


def test_HEX405_is_silent_for_another_case_of_letters_on_windows_alone():
    genie = GenieFacts(paths=("Models\\SC8380XP.bin",), model_paths=("Models\\SC8380XP.bin",))
    told_by_system = {}
    for kind in ("windows", "linux"):
        case = with_file(sound_case(kind), staged("genie_config.json", "genie-config", genie))
        case = with_file(case, staged("models/sc8380xp.bin", "context", DAMAGED))
        told_by_system[kind] = rules(case)

    assert told_by_system == {"windows": [], "linux": ["HEX405"]}


@pytest.mark.parametrize(
    "path", ["/data/local/tmp/x.bin", "C:\\models\\x.bin", "<models_path>/x.bin", "$M/x"]
)
def test_HEX405_is_silent_for_paths_that_only_the_device_can_resolve(path):
    case = with_file(
        sound_case(),
        staged("genie_config.json", "genie-config", GenieFacts(paths=(path,), model_paths=(path,))),
    )

    assert told(case) == []


@pytest.mark.parametrize(
    ("folder", "library", "found"),
    [
        ("assets/hexpack/a/share", "jni/arm64-v8a/libQnnHtp.so", []),
        ("assets/hexpack/a/share", "jni/x/libQnnHtp.so", ["HEX405"]),
        ("share", "jni/arm64-v8a/libQnnHtp.so", ["HEX405"]),
    ],
)
def test_HEX405_takes_an_app_s_own_library_for_what_a_configuration_among_its_assets_names(
    folder, library, found
):
    facts = RunnerConfigFacts(keys=CONF, paths=("../lib/libQnnHtp.so",), contexts=())
    case = with_file(sound_case(), staged(f"{folder}/runner.conf", "runner-config", facts))
    case = with_file(case, staged(library, "document", OtherFacts()))
    case = without(case, "lib/libQnnHtp.so")

    assert [f.rule for f in findings(case) if f.rule == "HEX405"] == found


def test_HEX405_is_silent_for_a_damaged_model_that_HEX101_reports():
    facts = RunnerConfigFacts(keys=CONF, paths=(), contexts=("models/m.bin",))
    case = with_file(sound_case(), staged("share/runner.conf", "runner-config", facts))
    case = with_file(case, staged("share/models/m.bin", "document", DAMAGED))

    assert [finding.rule for finding in findings(case)] == ["HEX101"]


@pytest.mark.parametrize(
    ("graph", "found"), [({"vtcm_mb": 9}, "vtcm_mb 9"), ({"O": 0}, "O 0"), ({"O": 4}, "O 4")]
)
def test_HEX406_fires_for_settings_that_do_not_exist(configured, graph, found):
    (finding,) = told(configured({"graphs": [graph]}))

    assert (finding.rule, finding.found) == ("HEX406", found)


@pytest.mark.parametrize("graph", [{"vtcm_mb": 8, "O": 3}, {"vtcm_mb": 0, "O": 1}, {"dlbc": 1}])
def test_HEX406_is_silent_for_settings_in_range(configured, graph):
    assert rules(configured({"graphs": [graph]})) == []


def test_HEX412_fires_for_a_signed_session(configured):
    assert rules(configured({"devices": [DEVICE | {"pd_session": "Signed"}]})) == ["HEX412"]


def test_HEX412_is_silent_for_an_unsigned_one(configured):
    assert rules(configured({"devices": [DEVICE]})) == []


CONF = (
    "format",
    "package",
    "backend",
    "system",
    "dsp",
    "simulator",
    "compute",
    "power",
    "variant",
    "variant",
)


def with_runner_conf(*keys: str, version: int = 1) -> Case:
    facts = RunnerConfigFacts(format=version, keys=keys, paths=())
    return with_file(sound_case(), staged("share/runner.conf", "runner-config", facts))


@pytest.mark.parametrize(
    ("keys", "found", "wanted"),
    [
        ((*CONF, "graph"), "graph", "one of format, package"),
        ((*CONF, "rpc_latency"), "rpc_latency", "rpc_latency_us"),
        ((*CONF, "power"), "2 lines power", "one"),
        (tuple(key for key in CONF if key != "system"), "no system", "a line system"),
    ],
)
def test_HEX414_fires_for_a_runner_conf_that_hexrun_refuses(keys, found, wanted):
    (finding,) = told(with_runner_conf(*keys))

    assert (finding.rule, finding.found) == ("HEX414", found)
    assert finding.wanted.startswith(wanted)


def test_HEX414_is_silent_for_lines_that_hexrun_takes():
    assert told(with_runner_conf(*CONF)) == []
    second = [key for key in CONF if key != "backend"]
    assert told(with_runner_conf(*second, "compute", "priority", "compatibility", "prepare", version=2)) == []


@pytest.mark.parametrize(("version", "key"), [(1, "priority"), (2, "backend")])
def test_HEX414_fires_for_a_key_of_another_format(version, key):
    keys = [one for one in CONF if one != "backend"] if version == 2 else CONF

    (finding,) = told(with_runner_conf(*keys, key, version=version))

    assert finding.found == key


def test_the_table_of_runner_keys_is_the_one_that_hexrun_is_built_with():
    source = resources.text("templates", "runner", "config_lines.c")
    row = re.compile(r'^    \{"(\w+)", read_\w+, (\d), (\d), (true|false), (true|false)\}', re.MULTILINE)

    written = [
        f"{row['name']} {row['since']} {row['until']} {row.get('required', False)} {row.get('repeats', False)}"
        for row in RUNNER_KEYS
    ]

    assert [line.lower() for line in written] == [" ".join(found) for found in row.findall(source)]


def test_HEX416_fires_for_one_file_that_is_meant_for_the_tools_and_the_backend(configured):
    outer = {"backend_extensions": {"shared_library_path": "x.so"}, "context_configs": {}}

    (finding,) = told(configured(outer | {"graphs": [{"O": 3}], "devices": [DEVICE]}))

    assert (finding.rule, finding.found) == (
        "HEX416",
        "graphs, devices beside backend_extensions, context_configs",
    )


@pytest.mark.parametrize("document", [{"backend_extensions": {}, "graph_configs": []}, {"devices": [DEVICE]}])
def test_HEX416_is_silent_for_either_alone(configured, document):
    assert rules(configured(document)) == []


@pytest.mark.parametrize(("kind", "place"), [("linux", "share/runner.conf"), ("windows", "runner.conf")])
def test_the_runners_own_configuration_names_only_what_is_there(tmp_path, kind, place):
    case = sound_case(kind)
    path = tmp_path / "runner.conf"
    path.write_text(runner_conf(case.plan, places(case.plan)))

    facts = read_runner_config(path)
    case = with_file(case, staged(place, "runner-config", facts))
    for context in facts.contexts:  # the cases of other tests have it elsewhere
        case = with_file(case, staged(f"{place.rpartition('/')[0]}/{context}".lstrip("/"), "other", DAMAGED))

    assert len(facts.contexts) == 1
    assert told(case) == []


def test_a_configuration_of_nothing_is_no_fault():
    case = with_file(sound_case(), staged(CONFIG, "htp-config", HtpConfigFacts(keys=())))

    assert told(case) == []
