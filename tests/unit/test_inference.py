"""What files that somebody else put together are for: roles, sets, systems, SoCs, release."""

from __future__ import annotations

from typing import Any

import pytest

from packager import catalog
from packager.bundle import BundleLink
from packager.facts.config_types import AndroidManifestFacts
from packager.facts.types import (
    CatalogueFacts,
    ContextFacts,
    DamagedFacts,
    ElfFacts,
    OtherFacts,
    PeFacts,
)
from packager.files import Blob
from packager.inference import Asks, Item, infer
from packager.rules.core import Case, Stage, judge
from tests.unit.rule_cases import BUILD, OLDER_BUILD, digest_of, skel_facts

LINUX = {"machine": "AARCH64", "bits": 64, "abi": "glibc", "flags": 0}


def item(path: str, facts: Any) -> Item:
    return Item(path, Blob(sha256=digest_of(path), size=1000), facts)


def host(path: str, build: str | None = BUILD, **changes: Any) -> Item:
    return item(path, ElfFacts(**(LINUX | {"qairt_build": build, "needed": ("libc.so.6",)} | changes)))


def skel(path: str, arch: int, **changes: Any) -> Item:
    return item(path, skel_facts(arch, **changes))


def context(path: str, soc_model: int | None, arch: int) -> Item:
    facts = ContextFacts(
        authority="head", backend_id=6, qairt_build=BUILD, core_api="2.40.0", backend_api="5.51.0",
        blob_version="4.0.6", soc_model=soc_model, hexagon_arch=arch, graphs=(),
    )  # fmt: skip
    return item(path, facts)


def roles(case: Case) -> dict[str, tuple[str, int | None]]:
    return {e.file.path: (e.file.role, e.file.arch) for e in case.files}


def rules(case: Case) -> set[str]:
    return {finding.rule for finding in judge(case, Stage.FILES)}


ONE_SET = (
    host("lib/libQnnHtp.so"),
    host("lib/libQnnHtpV73Stub.so", needed=("libcdsprpc.so",)),
    skel("dsp/libQnnHtpV73Skel.so", 73),
    item("LICENSE.txt", OtherFacts()),
)


def test_a_vendor_file_is_known_by_its_name_and_gets_the_architecture_in_it():
    (case,) = infer("a.zip", ONE_SET)

    assert roles(case) == {
        "lib/libQnnHtp.so": ("backend", None),
        "lib/libQnnHtpV73Stub.so": ("stub", 73),
        "dsp/libQnnHtpV73Skel.so": ("skel", 73),
        "LICENSE.txt": ("licence", None),
    }


def test_a_sound_set_has_no_findings():
    (case,) = infer("a.zip", ONE_SET)

    assert judge(case, Stage.PLAN) + judge(case, Stage.FILES) == ()


def test_system_abi_release_and_architectures_are_read_off_the_files():
    (case,) = infer("a.zip", ONE_SET)

    assert (case.plan.system, case.plan.abi.id) == ("linux", "oe-linux-gcc11.2")
    assert case.plan.runtime_set.release == catalog.releases()["2.51.0"]
    assert case.plan.archs == (73,)
    assert case.inferred


def test_a_release_that_no_table_has_is_taken_as_it_is():
    (case,) = infer("a.zip", [host("libQnnHtp.so", "v9.8.7.260101000000")])

    release = case.plan.runtime_set.release
    assert (release.version, release.build) == ("9.8.7", "v9.8.7.260101000000")


def test_the_release_of_most_files_is_that_of_the_set_and_the_odd_one_is_found():
    (case,) = infer("a.zip", [*ONE_SET, host("lib/libQnnHtpPrepare.so", OLDER_BUILD)])

    assert case.plan.runtime_set.release.build == BUILD
    assert rules(case) == {"HEX102"}


def test_a_stub_without_its_skel_is_found_without_any_manifest():
    (case,) = infer("a.zip", [e for e in ONE_SET if "Skel" not in e.path])

    (finding,) = judge(case, Stage.FILES)
    assert (finding.rule, finding.file) == ("HEX106", "libQnnHtpV73Skel.so")


def test_contexts_name_the_socs():
    (case,) = infer("a.zip", [*ONE_SET, context("m.bin", 77, 73)])

    assert [soc.id for soc in case.plan.socs] == ["qcs9075"]
    assert case.plan.runtime == "context-binary"
    assert {e.file.path: e.file.soc for e in case.files}["m.bin"] == "qcs9075"


def test_a_context_of_an_unnamed_soc_stands_for_any_soc_of_its_architecture():
    (case,) = infer("a.zip", [context("m.bin", None, 75)])

    assert [(soc.id, soc.hexagon) for soc in case.plan.socs] == [("v75", 75)]


def test_socs_that_the_user_names_are_what_contexts_are_judged_by():
    asks = Asks(socs=(catalog.soc("qcs6490"),))

    (case,) = infer("a.zip", [context("m.bin", 77, 73)], asks=asks)

    assert {"HEX302"} == rules(case)


def test_an_abi_that_the_user_names_sets_the_floor():
    asks = Asks(abi=catalog.abi("ubuntu-gcc9.4"))

    (case,) = infer("a.zip", [host("libQnnHtp.so", glibc_needed="2.34"), ONE_SET[-1]], asks=asks)

    assert rules(case) == {"HEX110"}


def test_models_without_libraries_are_one_case_and_nothing_is_missing_from_it():
    (case,) = infer("a.zip", [context("m.bin", 77, 73), item("metadata.json", OtherFacts())])

    assert rules(case) == set()


def test_each_folder_of_an_sdk_with_a_backend_is_a_set_and_shares_what_the_dsp_loads():
    items = [
        host("lib/aarch64-oe-linux-gcc11.2/libQnnHtp.so"),
        host("lib/aarch64-oe-linux-gcc11.2/libQnnHtpV73Stub.so"),
        host("lib/aarch64-ubuntu-gcc9.4/libQnnHtp.so"),
        host("lib/aarch64-ubuntu-gcc9.4/libQnnHtpV73Stub.so"),
        host("lib/aarch64-android/libQnnHtp.so", abi="bionic"),
        host("lib/aarch64-android/libQnnHtpV73Stub.so", abi="bionic"),
        skel("lib/hexagon-v73/unsigned/libQnnHtpV73Skel.so", 73),
    ]

    cases = infer("sdk", items)

    assert [case.plan.abi.id for case in cases] == ["android-arm64", "oe-linux-gcc11.2", "ubuntu-gcc9.4"]
    assert all("lib/hexagon-v73/unsigned/libQnnHtpV73Skel.so" in roles(case) for case in cases)
    assert len({case.plan.label for case in cases}) == 3


def test_what_the_dsp_loads_from_a_folder_of_libraries_belongs_to_that_set_alone():
    pe = {"signature_valid": None, "qairt_build": BUILD}
    items = [
        item("amd64/QnnHtp.dll", PeFacts(machine="AMD64", **pe)),
        item("arm64/QnnHtp.dll", PeFacts(machine="ARM64", **pe)),
        item("arm64/QnnHtpV73Stub.dll", PeFacts(machine="ARM64", **pe)),
        skel("arm64/libQnnHtpV73Skel.so", 73),
    ]

    simulator, device = infer("w.whl", items)

    assert (simulator.plan.abi.machine, simulator.plan.abi.simulator, simulator.plan.archs) == (
        "AMD64",
        True,
        (),
    )
    assert (device.plan.abi.id, device.plan.archs) == ("windows-arm64", (73,))


def test_a_second_copy_in_another_folder_is_found_twice_in_one_set():
    (case,) = infer("a.zip", [*ONE_SET, host("plugins/libQnnHtpV73Stub.so", needed=("libcdsprpc.so",))])

    assert rules(case) == {"HEX106"}


def test_one_library_of_another_processor_does_not_make_a_set_of_its_own():
    stray = host("lib/libQnnHtpPrepare.so", machine="X86_64")

    (case,) = infer("a.zip", [*ONE_SET, stray])

    (finding,) = judge(case, Stage.FILES)
    assert (finding.rule, finding.file) == ("HEX107", stray.path)


def test_a_dsp_library_under_the_name_of_the_only_backend_is_the_backend_for_the_wrong_processor():
    wrong = skel("lib/libQnnHtp.so", 73)

    (case,) = infer("a.zip", [e for e in ONE_SET if e.name != "libQnnHtp.so"] + [wrong])

    assert "HEX107" in rules(case)


def test_the_dsps_own_library_of_a_name_that_the_cpu_has_too_is_no_second_one():
    items = [*ONE_SET, host("lib/libQnnSystem.so"), skel("dsp/unsigned/libQnnSystem.so", 73)]

    (case,) = infer("sdk", items)

    assert roles(case)["dsp/unsigned/libQnnSystem.so"] == ("dsp-library", None)
    assert rules(case) == set()


def test_libraries_that_nothing_of_the_vendors_needs_are_nobodys_business():
    app = host("lib/libapp.so", None, needed=("libssl.so.9", "libQnnHtp.so"), glibc_needed="2.99")

    (case,) = infer("a.zip", [*ONE_SET, app])

    assert roles(case)["lib/libapp.so"][0] == "foreign"
    assert rules(case) == set()


def test_a_library_that_a_vendor_file_links_to_is_judged_with_it():
    backend = host("lib/libQnnHtp.so", needed=("libc++.so.9",))
    support = host("lib/libc++.so.9", None, needed=("libmissing.so.1",))
    rest = [e for e in ONE_SET if e.path != backend.path]

    (case,) = infer("a.zip", [*rest, backend, support])

    (finding,) = judge(case, Stage.FILES)
    assert (finding.rule, finding.file) == ("HEX111", support.path)


def test_a_model_library_is_known_by_what_it_exports():
    (case,) = infer("a.zip", [host("libnet.so", None, model_prefix="QnnModel")])

    assert roles(case)["libnet.so"] == ("model-library", None)
    assert case.plan.runtime == "model-library"


def test_a_damaged_vendor_file_keeps_its_role_and_is_the_only_fault():
    items = [
        e if "Skel" not in e.path else item(e.path, DamagedFacts(offset=9, reason="cut")) for e in ONE_SET
    ]

    (case,) = infer("a.zip", items)

    assert roles(case)["dsp/libQnnHtpV73Skel.so"] == ("skel", 73)
    assert rules(case) == {"HEX101"}


def test_links_are_part_of_every_case():
    link = BundleLink(path="lib/libQnnHtp.so.1", target="libQnnHtp.so")

    (case,) = infer("a.zip", ONE_SET, [link])

    assert case.links == (link,)


def test_a_catalogue_is_the_one_of_the_architecture_in_its_name():
    facts = CatalogueFacts(members=(), signer=None, signature_valid=False)

    (case,) = infer("a.zip", [item("libqnnhtpv81.cat", facts)])

    assert roles(case) == {"libqnnhtpv81.cat": ("catalogue", 81)}


@pytest.mark.parametrize("libc", ["musl", "unknown"])
def test_a_library_for_a_system_that_no_table_has_is_a_set_all_the_same(libc):
    (case,) = infer("a.zip", [host("libQnnHtp.so", abi=libc), ONE_SET[-1]])

    assert (case.plan.system, case.plan.abi.libc) == ("linux", libc)
    assert rules(case) == set()


def test_the_order_of_the_files_changes_nothing():
    def told(items: Any) -> Any:
        return [(case.plan, sorted(roles(case).items())) for case in infer("a.zip", items)]

    assert told(ONE_SET) == told(tuple(reversed(ONE_SET)))


def test_a_library_that_does_not_tell_its_c_library_goes_with_the_others():
    runtime = host("dsp/libc++.so.1", None, abi="unknown", needed=())

    (case,) = infer("a.zip", [*ONE_SET, runtime])

    assert case.plan.abi.id == "oe-linux-gcc11.2"
    assert rules(case) == {"HEX113"}


def test_an_android_manifest_makes_libraries_that_do_not_tell_it_android():
    manifest = item("AndroidManifest.xml", AndroidManifestFacts(package="org.example", compiled=True))
    app = host("lib/arm64-v8a/libapp.so", None, abi="unknown", page_alignment=0x1000)

    (case,) = infer("app.apk", [manifest, app])

    assert (case.plan.system, case.plan.abi.id) == ("android", "android-arm64")
    assert rules(case) == {"HEX211"}


def test_what_an_sdk_has_for_the_dsp_belongs_to_the_sets_that_have_its_stubs():
    pe = {"machine": "ARM64", "qairt_build": BUILD, "signature_valid": None}
    catalogue = CatalogueFacts(members=(), signer=None, signature_valid=True)
    items = [
        host("lib/aarch64-oe-linux-gcc11.2/libQnnHtp.so"),
        host("lib/aarch64-oe-linux-gcc11.2/libQnnHtpV73Stub.so"),
        host("lib/aarch64-oe-linux-gcc11.2/libQnnHtpV75Stub.so"),
        item("lib/aarch64-windows-msvc/QnnHtp.dll", PeFacts(**pe)),
        item("lib/aarch64-windows-msvc/QnnHtpV73Stub.dll", PeFacts(**pe)),
        host("lib/x86_64-linux-clang/libQnnHtp.so", machine="X86_64"),
        skel("lib/hexagon-v73/unsigned/libQnnHtpV73Skel.so", 73),
        skel("lib/hexagon-v75/unsigned/libQnnHtpV75Skel.so", 75),
        item("lib/hexagon-v73/unsigned/libqnnhtpv73.cat", catalogue),
    ]

    cases = {case.plan.abi.id: case for case in infer("sdk", items)}

    assert {abi: case.plan.archs for abi, case in cases.items()} == {
        "oe-linux-gcc11.2": (73, 75), "windows-arm64": (73,), "x86_64-linux-clang": (),
    }  # fmt: skip
    has_catalogue = {abi for abi, case in cases.items() if case.one("catalogue", 73)}
    assert has_catalogue == {"windows-arm64"}
    assert "HEX209" not in rules(cases["windows-arm64"])
