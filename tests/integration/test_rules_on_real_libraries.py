"""The rules on the vendor's own files: silent about real sets, exact about mixed and damaged ones."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from packager import catalog, layouts
from packager.bundle import BundleFile
from packager.facts.identify import examine
from packager.facts.types import Facts
from packager.files import digest
from packager.plan_model import TargetPlan
from packager.rules.core import Case, Examined, Finding, Stage, judge
from packager.sources import Fetched
from packager.sources.wheel import fetch_wheel
from packager.sources.zipped import file_names, member
from packager.store import Store
from tests.make.bundle import target_plan

BUILD_251 = "v2.51.0.260929181845"
BUILD_248 = "v2.48.0.260626120635"
SKEL = "libQnnHtpV73Skel.so"
STUB = "libQnnHtpV73Stub.so"

# `dlc` rather than a context binary: the preparer belongs to the set, and no context has to be compiled.
LINUX = target_plan(
    socs=("qcs6490", "sm8450", "qcs9075", "qcs8275", "sm8750", "sm8850"), runtime="dlc", name="linux"
)
WINDOWS = target_plan(
    socs=("sc8280x", "x-elite", "x2-elite"), abi="windows-arm64", formats=("zip",), runtime="dlc", name="win"
)
SIMULATOR = target_plan(socs=("sm8650",), abi="x86_64-linux-clang", runtime="dlc", name="simulator")


@functools.cache
def known(path: Path) -> Facts:
    return examine(path)


def findings(
    plan: TargetPlan, files: Mapping[str, Path], further: Sequence[Examined] = ()
) -> tuple[Finding, ...]:
    """What the rules say about the plan's vendor files, each taken from `files` by its name, and others."""
    layout = layouts.layout_of(plan.system)
    runtime = plan.runtime_set
    wanted = [(w.role, layouts.vendor_place(w.folder), w.name, w.arch) for w in runtime.files]
    wanted += [("support", "host", member.rpartition("/")[2], None) for member in runtime.extra]
    wanted += [("licence", "licences", member.rpartition("/")[2], None) for member in runtime.licences]
    staged = [
        Examined(
            file=BundleFile(
                path=layout.path(place, name),
                role=role,
                blob=digest(files[name]),
                local=files[name],
                arch=arch,
            ),
            facts=known(files[name]),
        )
        for role, place, name, arch in wanted
        if name in files
    ]
    return judge(Case(plan=plan, files=(*staged, *further)), Stage.FILES)


def never_packed(wheel: Fetched, plan: TargetPlan, store: Store) -> list[Examined]:
    """The files of a wheel that the role table knows and no package carries, laid out as the plan would."""
    layout = layouts.layout_of(plan.system)
    roles = {
        role.files[plan.system].format(arch=arch): (role, arch if role.per_arch else None)
        for role in catalog.roles()
        for arch in (plan.archs or (0,))
        if role.needed in ("never", "unit") and plan.system in role.files
    }
    found = []
    for inside in file_names(wheel, store):
        folder, _, name = inside.rpartition("/")
        if name in roles:
            role, arch = roles[name]
            local = member(wheel, inside, store).path
            place = layout.path(layouts.vendor_place(role.folder), name)
            path = (
                place.replace(name, f"{folder.split('/')[-2]}/{name}")
                if role.id == "calculator-skel"
                else place
            )
            file = BundleFile(path=path, role=role.id, blob=digest(local), local=local, arch=arch)
            found.append(Examined(file=file, facts=known(local)))
    return found


def the_wheel(abi: str, store: Store) -> Fetched:
    """The wheel of QAIRT 2.51 for an ABI."""
    row = catalog.runtime_set("2.51.0", abi)
    assert row is not None
    return fetch_wheel(row.wheel, platform=row.platform, python=row.python, pinned=row.sha256, store=store)


def without_byte(path: Path, tmp_path: Path) -> Path:
    shorter = tmp_path / path.name
    shorter.write_bytes(path.read_bytes()[:-1])
    return shorter


def with_flipped_byte(path: Path, at: int, tmp_path: Path) -> Path:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x01
    altered = tmp_path / path.name
    altered.write_bytes(data)
    return altered


def test_the_set_for_linux_has_no_finding_for_any_of_its_six_architectures(runtime_linux):
    assert LINUX.archs == (68, 69, 73, 75, 79, 81)
    assert findings(LINUX, runtime_linux) == ()


def test_the_set_for_windows_has_no_finding(runtime_windows):
    assert WINDOWS.archs == (68, 73, 81)
    assert findings(WINDOWS, runtime_windows) == ()


def test_the_set_of_the_simulator_has_no_finding(runtime_simulator):
    assert findings(SIMULATOR, runtime_simulator) == ()


@pytest.mark.parametrize(("plan", "count"), [(LINUX, 5), (WINDOWS, 5), (SIMULATOR, 6)])
def test_the_rest_of_a_wheel_is_of_the_same_release(plan, count, store, request):
    fixture = {"linux": "runtime_linux", "win": "runtime_windows", "simulator": "runtime_simulator"}
    files = request.getfixturevalue(fixture[plan.label])
    rest = never_packed(the_wheel(plan.abi.id, store), plan, store)

    assert len(rest) == count
    assert findings(plan, files, rest) == ()


def test_all_that_the_wheel_of_2_48_has_is_sound_but_for_a_search_path_of_the_vendors(
    runtime_248, wheel_248, store
):
    runtime = LINUX.runtime_set.model_copy(update={"release": catalog.releases()["2.48.0"], "licences": ()})
    plan = LINUX.model_copy(update={"runtime_set": runtime})
    rest = never_packed(wheel_248, plan, store)

    found = findings(plan, runtime_248, rest)

    assert len([examined for examined in rest if "alculator" in examined.file.role]) == 14
    assert [(f.rule, f.file) for f in found] == [
        ("HEX502", "licence"),
        ("HEX503", "lib/libhta_hexagon_runtime_qnn.so"),
    ]


def test_a_system_library_of_another_release_is_known_by_the_date_of_its_build(runtime_linux, runtime_248):
    name = "libQnnSystem.so"

    (finding,) = findings(LINUX, runtime_linux | {name: runtime_248[name]})

    assert (finding.rule, finding.file) == ("HEX102", f"lib/{name}")
    assert (finding.found, finding.wanted) == ("a build of 260626120635", f"{BUILD_251}, as lib/libQnnHtp.so")


def test_libraries_of_another_release_beside_the_set_are_refused_whatever_they_are_for(
    runtime_linux, wheel_248, store
):
    names = ("cpu-backend", "calculator-stub")
    other = [e for e in never_packed(wheel_248, LINUX, store) if e.file.role in names]

    found = findings(LINUX, runtime_linux, other)

    assert {(f.rule, f.file) for f in found} == {("HEX102", e.file.path) for e in other}


def test_a_library_for_the_cpu_by_the_name_of_the_dsps_runtime_is_known_by_its_header(runtime_linux):
    name = "libQnnSystem.so"
    file = BundleFile(
        path="dsp/libc++.so.1", role="support", blob=digest(runtime_linux[name]), local=runtime_linux[name]
    )

    (finding,) = findings(LINUX, runtime_linux, [Examined(file=file, facts=known(runtime_linux[name]))])

    assert (finding.rule, finding.file) == ("HEX113", "dsp/libc++.so.1")


def test_a_skel_of_another_release_is_refused_with_both_build_ids(runtime_linux, runtime_248):
    mixed = runtime_linux | {SKEL: runtime_248[SKEL]}

    (finding,) = findings(LINUX, mixed)

    assert (finding.rule, finding.file) == ("HEX104", f"dsp/{SKEL}")
    assert (finding.found, finding.wanted) == (BUILD_248, f"{BUILD_251}, as lib/{STUB}")


def test_a_stub_of_another_release_is_refused_in_its_own_name(runtime_linux, runtime_248):
    mixed = runtime_linux | {STUB: runtime_248[STUB]}

    (finding,) = findings(LINUX, mixed)

    assert (finding.rule, finding.file, finding.found) == ("HEX104", f"lib/{STUB}", BUILD_248)


def test_a_matching_pair_of_another_release_does_not_fit_the_rest(runtime_linux, runtime_248):
    mixed = runtime_linux | {name: runtime_248[name] for name in (STUB, SKEL)}

    found = findings(LINUX, mixed)

    assert [(f.rule, f.file) for f in found] == [("HEX102", f"lib/{STUB}"), ("HEX102", f"dsp/{SKEL}")]


def test_a_backend_of_another_release_does_not_fit_the_rest(runtime_linux, runtime_248):
    mixed = runtime_linux | {"libQnnHtp.so": runtime_248["libQnnHtp.so"]}

    (finding,) = findings(LINUX, mixed)

    assert (finding.rule, finding.file, finding.found) == ("HEX102", "lib/libQnnHtp.so", BUILD_248)


def test_a_whole_set_of_another_release_is_one_finding(runtime_linux, runtime_248):
    (finding,) = findings(LINUX, runtime_linux | runtime_248)

    assert finding.rule == "HEX103"
    assert finding.found == f"{BUILD_248}, in 14 files"


def test_a_skel_of_another_release_on_windows_is_not_reported_twice(runtime_windows, runtime_248):
    (finding,) = findings(WINDOWS, runtime_windows | {SKEL: runtime_248[SKEL]})

    assert (finding.rule, finding.wanted) == ("HEX104", f"{BUILD_251}, as QnnHtpV73Stub.dll")


def test_a_renamed_skel_is_known_by_its_header(runtime_linux):
    (finding,) = findings(LINUX, runtime_linux | {"libQnnHtpV68Skel.so": runtime_linux[SKEL]})

    assert (finding.rule, finding.file) == ("HEX108", "dsp/libQnnHtpV68Skel.so")
    assert (finding.found, finding.wanted) == ("v73", "v68, as its name says")


@pytest.mark.parametrize("name", [SKEL, STUB, "libQnnHtp.so"])
def test_a_library_one_byte_short_is_damaged_and_nothing_else(name, runtime_linux, tmp_path):
    short = without_byte(runtime_linux[name], tmp_path)

    (finding,) = findings(LINUX, runtime_linux | {name: short})

    assert (finding.rule, finding.file.rpartition("/")[2]) == ("HEX101", name)


def test_a_catalogue_of_another_skel_vouches_for_nothing_here(runtime_windows):
    swapped = runtime_windows | {"libqnnhtpv73.cat": runtime_windows["libqnnhtpv81.cat"]}

    (finding,) = findings(WINDOWS, swapped)

    assert (finding.rule, finding.file) == ("HEX202", SKEL)
    assert finding.found == f"sha256 {digest(runtime_windows[SKEL]).sha256}"
    assert digest(runtime_windows["libQnnHtpV81Skel.so"]).sha256 in finding.wanted


def test_a_catalogue_whose_content_was_changed_has_no_valid_signature(runtime_windows, tmp_path):
    catalogue = runtime_windows["libqnnhtpv73.cat"]
    at = catalogue.read_bytes().index("libqnnhtpv73skel.so".encode("utf-16-le"))

    found = findings(
        WINDOWS, runtime_windows | {"libqnnhtpv73.cat": with_flipped_byte(catalogue, at, tmp_path)}
    )

    assert [(f.rule, f.file) for f in found] == [("HEX203", "libqnnhtpv73.cat")]


def test_a_library_that_was_changed_after_signing_is_noticed(runtime_windows, tmp_path):
    library = runtime_windows["QnnSystem.dll"]
    altered = with_flipped_byte(library, library.stat().st_size // 2, tmp_path)

    (finding,) = findings(WINDOWS, runtime_windows | {"QnnSystem.dll": altered})

    assert (finding.rule, finding.file) == ("HEX207", "QnnSystem.dll")


def test_a_skel_without_its_catalogue_is_missed_on_windows_only(runtime_linux, runtime_windows):
    bare = {name: path for name, path in runtime_windows.items() if name != "libqnnhtpv81.cat"}

    (finding,) = findings(WINDOWS, bare)

    assert (finding.rule, finding.file) == ("HEX201", "libQnnHtpV81Skel.so")


def test_a_missing_stub_is_named_with_the_soc_that_needs_it(runtime_linux):
    fewer = {name: path for name, path in runtime_linux.items() if name != STUB}

    (finding,) = findings(LINUX, fewer)

    assert (finding.rule, finding.file, finding.wanted) == ("HEX106", STUB, "one, for qcs9075")


def test_a_library_of_the_wrong_machine_is_known_by_its_header(runtime_linux, runtime_simulator):
    name = "libQnnSystem.so"

    (finding,) = findings(LINUX, runtime_linux | {name: runtime_simulator[name]})

    assert (finding.rule, finding.file, finding.found) == ("HEX107", f"lib/{name}", "X86_64, 64 bit")


def test_the_simulator_misses_the_runtime_that_its_libraries_link_to(runtime_simulator):
    bare = {name: path for name, path in runtime_simulator.items() if not name.startswith("libc++-")}

    found = findings(SIMULATOR, bare)

    assert {f.rule for f in found} == {"HEX111"}
    assert {f.file for f in found} == {"lib/libQnnHtp.so", "lib/libQnnSystem.so"}
