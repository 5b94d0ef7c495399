"""Android: page sizes, files that are files, and what the app's manifest has to say."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from packager import catalog
from packager.audit import audit
from packager.facts.config_types import AndroidLibraryUse, AndroidManifestFacts
from packager.facts.types import ElfFacts, OtherFacts
from packager.plan_model import PackagePlan
from packager.rules.core import Case, Examined
from tests.make.axml import compiled, manifest
from tests.make.bundle import target_plan
from tests.make.elf import elf, hexagon_skel
from tests.unit.rule_cases import (
    BUILD,
    findings,
    skel_facts,
    sound_case,
    staged,
    with_facts,
    with_file,
    without,
)

MANIFEST = "AndroidManifest.xml"
LIB = "lib/arm64-v8a"
BACKEND, STUB = f"{LIB}/libQnnHtp.so", f"{LIB}/libQnnHtpV75Stub.so"
SKEL = "assets/dsp/libQnnHtpV75Skel.so"
CONTEXT = "assets/models/sm8650.bin"
CDSPRPC = AndroidLibraryUse(name="libcdsprpc.so", required=False)
APK = AndroidManifestFacts(
    package="org.example.app", compiled=True, min_sdk=28, target_sdk=35, native_libraries=(CDSPRPC,)
)
AAR = AndroidManifestFacts(package="org.example.lib", compiled=False, min_sdk=28, native_libraries=(CDSPRPC,))


def host(name, *, needed=("libc.so", "libm.so", "libdl.so", "liblog.so"), build=BUILD, **fields):
    return ElfFacts(
        **{
            "machine": "AARCH64",
            "bits": 64,
            "abi": "bionic",
            "flags": 0,
            "soname": name,
            "needed": needed,
            "qairt_build": build,
            "qairt_release": build and "2.51.0",
            "page_alignment": 0x4000,
            "android_api": 28,
            "ndk": "r27c (12479018)",
        }
        | fields
    )


def skel(arch=75):
    return skel_facts(arch).model_copy(update={"page_alignment": 0x1000})


def android_plan():
    plan = target_plan(socs=("sm8650",))
    abi = catalog.abi("android-arm64")
    return plan.model_copy(
        update={
            "system": abi.system,
            "abi": abi,
            "packages": (),
            "runtime_set": plan.runtime_set.model_copy(update={"wheel": None, "licences": (), "extra": ()}),
        }
    )


def apk():
    """An app whose skel is among the assets, as the store wants it."""
    plan = android_plan()
    context = next(e for e in sound_case(socs=("sm8650",)).files if e.file.role == "context")
    files = (
        staged(MANIFEST, "android-manifest", APK),
        staged(BACKEND, "backend", host("libQnnHtp.so", qnn_entries=("QnnInterface_getProviders",))),
        staged(f"{LIB}/libQnnSystem.so", "system", host("libQnnSystem.so", build=None)),
        staged(
            STUB,
            "stub",
            host("libQnnHtpV75Stub.so", needed=("libcdsprpc.so", "liblog.so", "libc.so")),
            arch=75,
        ),
        staged(SKEL, "skel", skel(), arch=75),
        staged(CONTEXT, "context", context.facts, arch=75, soc="sm8650"),
        staged("assets/licenses/NOTICE.txt", "licence", OtherFacts()),
    )
    return Case(plan=plan, files=files, inferred=True)


def moved(case, source, target):
    """The case with one file at another path."""
    files = (
        Examined(file=e.file.model_copy(update={"path": target}), facts=e.facts)
        if e.file.path == source
        else e
        for e in case.files
    )
    return case.model_copy(update={"files": tuple(files)})


def aar():
    """The same as an AAR: `jni` for `lib`, and a manifest that is text."""
    case = with_facts(apk(), MANIFEST, AAR)
    for examined in case.files:
        if examined.file.path.startswith("lib/"):
            case = moved(case, examined.file.path, f"jni/{examined.file.path.removeprefix('lib/')}")
    return case


def adb():
    """The same for adb: plain folders and no manifest."""
    case = without(apk(), MANIFEST)
    for examined in case.files:
        name = examined.file.name
        if examined.file.path.startswith(LIB):
            case = moved(case, examined.file.path, f"lib/{name}")
    return moved(case, SKEL, "dsp/libQnnHtpV75Skel.so")


def foreign(path, **fields):
    return staged(path, "foreign", host(Path(path).name, build=None, **fields))


def runtime(path, **fields):
    return staged(path, "support", host("libc++_shared.so", build=None, **fields))


def rules(case):
    return [finding.rule for finding in findings(case)]


def finding(case, rule):
    (found,) = [finding for finding in findings(case) if finding.rule == rule]
    return found


@pytest.mark.parametrize("form", [apk, aar, adb])
def test_a_complete_package_gives_no_finding(form):
    assert rules(form()) == []


def test_HEX211_fires_for_a_library_with_small_pages():
    case = with_facts(apk(), BACKEND, page_alignment=0x1000)

    found = finding(case, "HEX211")

    assert (found.file, found.found, found.wanted) == (
        BACKEND, "LOAD segments aligned to 0x1000", "0x4000",
    )  # fmt: skip
    assert "-Wl,-z,max-page-size=16384" in found.fix
    assert rules(case) == ["HEX211"]


def test_HEX211_fires_for_other_peoples_libraries_too():
    case = with_file(aar(), foreign("jni/arm64-v8a/libother.so", page_alignment=0x1000))

    assert finding(case, "HEX211").file == "jni/arm64-v8a/libother.so"


def test_HEX211_fires_in_the_source_of_a_module():
    case = with_file(aar(), foreign("src/main/jniLibs/arm64-v8a/libother.so", page_alignment=0x1000))

    assert rules(case) == ["HEX211"]


def test_HEX211_is_silent_for_32_bit_larger_pages_and_other_places():
    small = {"page_alignment": 0x1000}
    case = with_file(apk(), foreign("lib/armeabi-v7a/libother.so", machine="ARM", bits=32, **small))
    case = with_file(case, foreign(f"{LIB}/liblarge.so", page_alignment=0x10000))
    case = with_file(case, foreign("assets/plugins/libother.so", **small))

    assert rules(case) == []
    assert rules(with_facts(adb(), "lib/libQnnHtp.so", **small)) == []


@pytest.mark.parametrize(("formats", "fires"), [((), False), (("adb",), False), (("adb", "aar"), True)])
def test_HEX211_fires_for_a_library_that_an_app_s_package_of_ours_will_have(formats, fires):
    packages = tuple(PackagePlan(format=word, file_name="x", name="x", version="1") for word in formats)
    case = with_facts(adb(), "lib/libQnnHtp.so", page_alignment=0x1000)
    case = case.model_copy(
        update={"inferred": False, "plan": case.plan.model_copy(update={"packages": packages})}
    )

    found = [finding.file for finding in findings(case) if finding.rule in ("HEX211", "HEX212")]

    assert found == (["lib/libQnnHtp.so"] if fires else [])


def test_HEX212_fires_for_a_skel_among_the_libraries():
    case = moved(apk(), SKEL, f"{LIB}/libQnnHtpV75Skel.so")

    found = finding(case, "HEX212")

    assert (found.file, found.found) == (
        f"{LIB}/libQnnHtpV75Skel.so",
        "a Hexagon library with LOAD segments aligned to 0x1000",
    )
    assert "assets/" in found.fix
    assert rules(case) == ["HEX212"]


def test_HEX212_is_silent_for_a_skel_with_large_pages_or_in_a_package_for_adb():
    path = f"{LIB}/libQnnHtpV75Skel.so"
    case = with_facts(moved(apk(), SKEL, path), path, page_alignment=0x4000)

    assert rules(case) == []
    assert rules(moved(adb(), "dsp/libQnnHtpV75Skel.so", "lib/libQnnHtpV75Skel.so")) == []


def test_HEX212_is_silent_for_assets_whose_folders_are_called_like_abis():
    assert rules(moved(apk(), SKEL, "assets/npu/lib/arm64-v8a/libQnnHtpV75Skel.so")) == []


def test_HEX213_fires_when_a_skel_stays_inside_the_apk():
    case = with_facts(apk(), MANIFEST, extract_native_libs=False)
    case = moved(case, SKEL, f"{LIB}/libQnnHtpV75Skel.so")

    found = finding(case, "HEX213")

    assert found.file == MANIFEST
    assert found.found == 'extractNativeLibs="false", with libQnnHtpV75Skel.so among its libraries'


def test_HEX213_fires_for_a_library_that_is_found_by_listing_a_folder():
    case = with_facts(apk(), MANIFEST, extract_native_libs=False)
    case = with_file(case, foreign(f"{LIB}/libLiteRtDispatch_Qualcomm.so"))

    assert rules(case) == ["HEX213"]


def test_HEX213_fires_for_a_skel_in_a_split_of_the_app():
    split = AndroidManifestFacts(package=APK.package, compiled=True, split="config.arm64_v8a")
    case = with_facts(apk(), MANIFEST, extract_native_libs=False)
    case = moved(case, MANIFEST, f"base.apk/{MANIFEST}")
    case = moved(case, SKEL, "split.apk/lib/arm64-v8a/libQnnHtpV75Skel.so")
    case = with_file(case, staged(f"split.apk/{MANIFEST}", "android-manifest", split))

    assert finding(case, "HEX213").file == f"base.apk/{MANIFEST}"


@pytest.mark.parametrize("extracted", [None, True])
def test_HEX213_is_silent_when_libraries_are_extracted(extracted):
    case = with_facts(apk(), MANIFEST, extract_native_libs=extracted)
    case = moved(case, SKEL, f"{LIB}/libQnnHtpV75Skel.so")

    assert rules(case) == ["HEX212"]


def test_HEX213_is_silent_when_the_skel_is_an_asset():
    assert rules(with_facts(apk(), MANIFEST, extract_native_libs=False)) == []


def test_HEX214_fires_for_a_library_of_the_device_that_the_app_does_not_name():
    case = with_facts(apk(), MANIFEST, native_libraries=())

    found = finding(case, "HEX214")

    assert found.found == "no <uses-native-library> for libcdsprpc.so, to which libQnnHtpV75Stub.so links"
    assert found.wanted == "one, as the app targets API 35"
    assert '<uses-native-library android:name="libcdsprpc.so" android:required="false"/>' in found.fix
    assert rules(case) == ["HEX214"]


def test_HEX214_fires_by_the_oldest_system_where_no_target_is_set():
    case = with_facts(apk(), MANIFEST, native_libraries=(), target_sdk=None, min_sdk=31)

    assert rules(case) == ["HEX214"]


def test_HEX214_is_silent_for_an_app_that_targets_android_11():
    assert rules(with_facts(apk(), MANIFEST, native_libraries=(), target_sdk=30)) == []


def test_HEX214_is_silent_when_no_packed_library_links_to_one():
    case = with_facts(apk(), MANIFEST, native_libraries=())

    assert rules(with_facts(case, STUB, needed=("libc.so",))) == []


def test_HEX214_is_silent_for_a_split_whose_base_is_elsewhere():
    case = with_facts(apk(), MANIFEST, native_libraries=(), split="config.arm64_v8a")

    assert rules(case) == []


def test_HEX215_fires_for_two_builds_of_the_cxx_runtime():
    case = with_file(aar(), runtime("jni/arm64-v8a/libc++_shared.so", ndk="r26b (10909125)"))
    case = with_file(case, runtime("other.aar/jni/arm64-v8a/libc++_shared.so"))

    found = finding(case, "HEX215")

    assert found.file == "other.aar/jni/arm64-v8a/libc++_shared.so"
    assert found.found == (
        "2 builds: jni/arm64-v8a/libc++_shared.so (NDK r26b (10909125)), "
        "other.aar/jni/arm64-v8a/libc++_shared.so (NDK r27c (12479018))"
    )
    assert rules(case) == ["HEX215"]


def test_HEX215_is_silent_for_two_copies_of_one_build():
    case = with_file(aar(), runtime("jni/arm64-v8a/libc++_shared.so"))
    again = moved(case, "jni/arm64-v8a/libc++_shared.so", "other.aar/jni/arm64-v8a/libc++_shared.so")

    assert rules(with_file(case, again.files[-1])) == []


def test_HEX215_is_silent_for_two_apps_and_for_two_abis():
    other = APK.model_copy(update={"package": "org.example.other"})
    case = with_file(apk(), runtime(f"{LIB}/libc++_shared.so"))
    case = with_file(case, staged(f"other.apk/{MANIFEST}", "android-manifest", other))
    case = with_file(case, runtime("other.apk/lib/arm64-v8a/libc++_shared.so"))
    case = with_file(case, foreign("lib/x86_64/libc++_shared.so", machine="X86_64"))

    assert rules(case) == []


def test_HEX216_fires_for_a_library_in_the_folder_of_another_abi():
    case = moved(apk(), BACKEND, "lib/armeabi-v7a/libQnnHtp.so")

    found = finding(case, "HEX216")

    assert (found.found, found.wanted) == ("AARCH64, 64 bit", "ARM, 32 bit, in armeabi-v7a/")
    assert found.fix == "move libQnnHtp.so to arm64-v8a/"
    assert rules(case) == ["HEX216"]


def test_HEX216_is_silent_where_the_processor_is_wrong_for_the_target_and_for_skels():
    case = with_facts(apk(), BACKEND, machine="X86_64")

    assert rules(case) == ["HEX107"]
    assert "HEX216" not in rules(moved(apk(), SKEL, f"{LIB}/libQnnHtpV75Skel.so"))


def test_HEX217_fires_for_a_library_built_for_a_newer_android():
    case = with_facts(aar(), "jni/arm64-v8a/libQnnHtp.so", android_api=31)

    found = finding(case, "HEX217")

    assert found.found == "built for API 31"
    assert found.wanted == "API 28 or older, the minSdkVersion of AndroidManifest.xml"
    assert rules(case) == ["HEX217"]


def test_HEX217_is_silent_for_others_libraries_and_without_a_lowest_version():
    assert rules(with_file(apk(), foreign(f"{LIB}/libother.so", android_api=33))) == []
    case = with_facts(apk(), MANIFEST, min_sdk=None)
    assert rules(with_facts(case, BACKEND, android_api=33)) == []


def test_HEX218_fires_for_an_aar_that_leaves_the_line_to_the_app():
    case = with_facts(aar(), MANIFEST, native_libraries=())

    found = finding(case, "HEX218")

    assert found.wanted == "one, for apps that target API 31 or later"
    assert rules(case) == ["HEX218"]


def test_HEX218_is_silent_for_an_app_and_for_an_aar_that_names_the_library():
    assert "HEX218" not in rules(with_facts(apk(), MANIFEST, native_libraries=()))
    assert rules(aar()) == []


def test_HEX219_fires_for_a_required_library_of_the_device():
    required = CDSPRPC.model_copy(update={"required": True})
    case = with_facts(apk(), MANIFEST, native_libraries=(required,))

    assert finding(case, "HEX219").found == "libcdsprpc.so is required"
    assert rules(case) == ["HEX219"]


def test_HEX219_is_silent_for_other_libraries_and_where_a_resource_decides():
    uses = (
        CDSPRPC.model_copy(update={"required": None}),
        AndroidLibraryUse(name="libcamera.so", required=True),
    )

    assert rules(with_facts(apk(), MANIFEST, native_libraries=uses)) == []


def test_HEX220_fires_for_two_vendors_dispatch_libraries():
    case = with_file(apk(), foreign(f"{LIB}/libLiteRtDispatch_MediaTek.so"))
    case = with_file(case, foreign(f"{LIB}/libLiteRtDispatch_Qualcomm.so"))

    found = finding(case, "HEX220")

    assert (found.file, found.found) == (
        f"{LIB}/libLiteRtDispatch_MediaTek.so",
        "beside libLiteRtDispatch_Qualcomm.so",
    )
    assert rules(case) == ["HEX220"]


def test_HEX220_is_silent_for_one_alone_and_for_separate_modules():
    case = with_file(apk(), foreign(f"{LIB}/libLiteRtDispatch_Qualcomm.so"))
    case = with_file(case, foreign("mtk/lib/arm64-v8a/libLiteRtDispatch_MediaTek.so"))

    assert rules(case) == []


def without_qnn():
    case = with_file(apk(), foreign(f"{LIB}/libapp.so"))
    for path in (BACKEND, STUB, SKEL, f"{LIB}/libQnnSystem.so"):
        case = without(case, path)
    return case


def test_HEX221_fires_for_a_context_in_an_app_without_qnn():
    found = finding(without_qnn(), "HEX221")

    assert (found.file, found.found) == (
        CONTEXT,
        "1 native libraries in the app, none of which is a QNN backend",
    )


def test_HEX221_is_silent_where_libraries_are_in_another_part_and_in_our_own_packages():
    case = without_qnn()

    assert "HEX221" not in rules(without(case, f"{LIB}/libapp.so"))
    assert "HEX221" not in rules(with_facts(case, MANIFEST, split="assetpack"))
    assert "HEX221" not in rules(with_facts(case, MANIFEST, AAR))
    assert "HEX221" not in rules(case.model_copy(update={"inferred": False}))


def test_HEX221_is_silent_for_a_backend_under_another_name():
    entries = {"qnn_entries": ("QnnInterface_getProviders",)}

    assert "HEX221" not in rules(with_file(without_qnn(), foreign(f"{LIB}/libbackend.so", **entries)))


def with_gpu(case):
    folder = next(e.file.path for e in case.files if e.file.name == "libQnnHtp.so").rpartition("/")[0]
    return with_file(case, staged(f"{folder}/libQnnGpu.so", "gpu-backend", host("libQnnGpu.so")))


def test_HEX223_fires_for_a_gpu_backend_whose_opencl_the_app_does_not_name():
    case = with_gpu(apk())

    found = finding(case, "HEX223")

    assert found.file == MANIFEST
    assert found.found == "no <uses-native-library> for libOpenCL.so, which libQnnGpu.so opens"
    assert found.wanted == "one, as the app targets API 35"
    assert '<uses-native-library android:name="libOpenCL.so" android:required="false"/>' in found.fix
    assert rules(case) == ["HEX223"]


def test_HEX223_fires_for_an_aar_too():
    found = finding(with_gpu(aar()), "HEX223")

    assert (found.wanted, found.refuses) == ("one, for apps that target API 31 or later", False)


def test_HEX223_is_silent_where_the_line_is_there_or_not_asked_for():
    opencl = AndroidLibraryUse(name="libOpenCL.so", required=False)

    assert rules(with_facts(with_gpu(apk()), MANIFEST, native_libraries=(CDSPRPC, opencl))) == []
    assert rules(with_facts(with_gpu(apk()), MANIFEST, target_sdk=30)) == []
    assert rules(with_gpu(adb())) == []


def test_a_library_that_is_linked_and_one_that_is_opened_are_two_faults():
    case = with_facts(with_gpu(apk()), MANIFEST, native_libraries=())

    assert rules(case) == ["HEX214", "HEX223"]


@pytest.mark.parametrize(
    ("path", "role", "facts"),
    [
        (f"{LIB}/hexrun", "runner", host("hexrun", build=None)),
        (f"{LIB}/libc++.so.1", "dsp-library", skel_facts(75, build=None, release=None)),
    ],
)
def test_HEX222_fires_for_names_that_the_installer_passes_over(path, role, facts):
    case = with_file(apk(), staged(path, role, facts))

    found = finding(case, "HEX222")

    assert (found.file, found.wanted) == (path, "lib*.so")


def test_HEX222_fires_for_a_model_among_the_libraries():
    case = moved(apk(), CONTEXT, f"{LIB}/sm8650.bin")

    assert rules(case) == ["HEX222"]


def test_HEX222_is_silent_in_debuggable_apps_and_where_nothing_is_extracted():
    case = moved(apk(), CONTEXT, f"{LIB}/sm8650.bin")

    assert rules(with_facts(case, MANIFEST, debuggable=True)) == []
    assert rules(with_facts(case, MANIFEST, extract_native_libs=False)) == []
    assert rules(moved(aar(), CONTEXT, "jni/arm64-v8a/sm8650.bin")) == []


def test_an_apk_is_judged_from_its_bytes(tmp_path):
    def library(name, **fields):
        return elf(machine="AARCH64", soname=name, note="Android", strings=(BUILD,), **fields)

    with zipfile.ZipFile(tmp_path / "app.apk", "w") as archive:
        archive.writestr(MANIFEST, compiled(manifest((("libcdsprpc.so", True),), extract=False)))
        archive.writestr(BACKEND, library("libQnnHtp.so", alignment=0x1000))
        archive.writestr(STUB, library("libQnnHtpV75Stub.so", alignment=0x4000, needed=("libcdsprpc.so",)))
        archive.writestr(f"{LIB}/libQnnHtpV75Skel.so", hexagon_skel(75))
        archive.writestr("assets/NOTICE.txt", "terms")

    (found,) = audit(tmp_path / "app.apk").sets

    assert found.abi == "android-arm64"
    assert [(one.rule, one.file) for one in found.findings] == [
        ("HEX211", BACKEND),
        ("HEX212", f"{LIB}/libQnnHtpV75Skel.so"),
        ("HEX213", MANIFEST),
        ("HEX219", MANIFEST),
    ]
