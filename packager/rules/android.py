"""What Android asks of a package: real files, page sizes, and words in the app's manifest.

Libraries are judged where Android or Gradle takes them from, `lib/<abi>/`, `jni/<abi>/` and `jniLibs/<abi>/`;
a package for `adb` has no such folders and no manifest.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from packager import catalog
from packager.bundle import FOREIGN, BundleFile
from packager.facts.config_types import AndroidManifestFacts
from packager.facts.types import ContextFacts, DlcFacts, ElfFacts
from packager.model import Frozen
from packager.rules.core import Case, Examined, Said, Severity, rule
from packager.rules.reading import HEXAGON, elves, folder_of, misfit, of_the_board
from packager.rules.table import number, word

_SYSTEM = "android"
_FOLDERS = ("lib", "jni", "jniLibs")  # of an APK, of an AAR, of a module that Gradle builds
_ASSETS = "assets"  # for the app alone, whatever the folders in it are called


class AndroidAbi(Frozen):
    """A folder of native libraries, and the processor whose libraries it holds."""

    folder: str
    machine: str
    bits: Literal[32, 64]
    source: str


class OnDisk(Frozen):
    """Libraries that `reader` looks for as files of their own."""

    names: tuple[str, ...]
    reader: str
    source: str


class Dispatch(Frozen):
    """Libraries of which `reader` opens the first that it finds in a folder."""

    names: tuple[str, ...]
    snapdragon: str
    reader: str
    source: str


class Opened(Frozen):
    """Libraries that open one of the device's by its name, so that it is not among what they link to."""

    names: tuple[str, ...]
    library: str
    source: str


class App(NamedTuple):
    """A manifest of an app or library, and what is packed with it, in its splits too."""

    file: BundleFile
    manifest: AndroidManifestFacts
    packed: tuple[Examined, ...]


@functools.cache
def _abis() -> dict[str, AndroidAbi]:
    rows = (AndroidAbi.model_validate(row) for row in catalog.table("android")["abi"])
    return {row.folder: row for row in rows}


@functools.cache
def _on_disk() -> tuple[OnDisk, ...]:
    return tuple(OnDisk.model_validate(row) for row in catalog.table("android")["on_disk"])


@functools.cache
def _dispatches() -> tuple[Dispatch, ...]:
    return tuple(Dispatch.model_validate(row) for row in catalog.table("android")["dispatch"])


@functools.cache
def _opened() -> tuple[Opened, ...]:
    return tuple(Opened.model_validate(row) for row in catalog.table("android")["opened"])


def _named(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def abi_of(file: BundleFile) -> AndroidAbi | None:
    """The ABI in whose folder a file lies, where it is one that Android or Gradle reads."""
    *above, kind, folder = ["", *folder_of(file).split("/")]
    return _abis().get(folder) if kind in _FOLDERS and _ASSETS not in above else None


def _placed(case: Case) -> Iterator[tuple[BundleFile, ElfFacts, AndroidAbi]]:
    """ELF files in the folders of ABIs, other people's too, that no rule about processors has spoken of."""
    if case.plan.system != _SYSTEM:
        return
    for examined in case.files:
        abi = abi_of(examined.file) or _abi_to_be(case, examined)
        if abi is not None and isinstance(examined.facts, ElfFacts) and misfit(case, examined) is None:
            yield examined.file, examined.facts, abi


def _abi_to_be(case: Case, examined: Examined) -> AndroidAbi | None:
    """The ABI in whose folder a library for the CPU will lie in the app's packages of this target."""
    formats = catalog.formats()
    if case.inferred or not any(formats[package.format].app for package in case.plan.packages):
        return None
    machine = getattr(examined.facts, "machine", None)
    rows = [row for row in _abis().values() if row.machine == machine == case.plan.abi.machine]
    return rows[0] if rows else None


def _apps(case: Case) -> Iterator[App]:
    """Every manifest that is not a split's, with the files that lie nearest to it or to one of its splits."""
    manifests = sorted(case.of_kind(AndroidManifestFacts), key=lambda pair: -len(folder_of(pair[0])))
    packed: dict[str, list[Examined]] = defaultdict(list)
    for examined in case.files:
        for file, _ in manifests:
            folder = folder_of(file)
            if not folder or examined.file.path.startswith(f"{folder}/"):
                packed[file.path].append(examined)
                break
    for file, facts in manifests:
        if facts.split is None:
            parts = [file.path] + [
                f.path for f, split in manifests if split.split is not None and split.package == facts.package
            ]
            yield App(file, facts, tuple(examined for part in parts for examined in packed[part]))


@rule("HEX211", severity=Severity.ERROR)
def large_pages(case: Case) -> Iterable[Said]:
    """A 64-bit library for the CPU has to load where memory pages have 16 KiB, whoever made it."""
    wanted = number("HEX211", "page_size")
    for file, facts, abi in _placed(case):
        if abi.bits == 64 and facts.machine == abi.machine and 0 < facts.page_alignment < wanted:
            yield Said(
                file=file.path,
                found=f"LOAD segments aligned to 0x{facts.page_alignment:x}",
                wanted=f"0x{wanted:x}",
                fix=f"link {file.name} again with -Wl,-z,max-page-size={wanted}",
            )


@rule("HEX212", severity=Severity.WARNING)
def skels_outside_the_abi_folder(case: Case) -> Iterable[Said]:
    """The store measures every ELF file there, and what is for the DSP has pages of 4 KiB."""
    wanted = number("HEX211", "page_size")
    for file, facts, abi in _placed(case):
        if facts.machine == HEXAGON and 0 < facts.page_alignment < wanted:
            yield Said(
                file=file.path,
                found=f"a Hexagon library with LOAD segments aligned to 0x{facts.page_alignment:x}",
                wanted=f"0x{wanted:x}, or another place than {abi.folder}/",
                fix=_as_asset(file),
            )


def _as_asset(file: BundleFile) -> str:
    return f"put {file.name} into assets/ unchanged, and copy it to the app's storage at the first run"


@rule("HEX213", severity=Severity.WARNING)
def libraries_are_files(case: Case) -> Iterable[Said]:
    """The DSP's loader, and runtimes that list a folder, find no library that stays inside the APK."""
    for app in _apps(case):
        if not app.manifest.compiled or app.manifest.extract_native_libs is not False:
            continue
        names = [e.file.name for e in app.packed if abi_of(e.file) and _must_be_file(e)]
        if names:
            yield Said(
                file=app.file.path,
                found=f'extractNativeLibs="false", with {", ".join(sorted(set(names)))} among its libraries',
                wanted="libraries that are installed as files of their own",
                fix="set jniLibs.useLegacyPackaging = true, or have the app copy them out of the APK",
            )


def _must_be_file(examined: Examined) -> bool:
    facts = examined.facts
    of_dsp = isinstance(facts, ElfFacts) and facts.machine == HEXAGON
    return of_dsp or any(_named(examined.file.name, row.names) for row in _on_disk())


@rule("HEX214", severity=Severity.ERROR)
def app_declares_libraries_of_the_device(case: Case) -> Iterable[Said]:
    """From Android 12 on, an app sees a vendor's library only when its manifest names it."""
    for app in _apps(case):
        if app.manifest.compiled:
            yield from _undeclared(app, _linked(case, app))


@rule("HEX218", severity=Severity.WARNING)
def library_declares_libraries_of_the_device(case: Case) -> Iterable[Said]:
    """What the manifest of an AAR declares, every app gets; what it does not, each has to add."""
    for app in _apps(case):
        if not app.manifest.compiled:
            yield from _undeclared(app, _linked(case, app))


@rule("HEX223", severity=Severity.WARNING)
def libraries_that_are_opened_are_declared(case: Case) -> Iterable[Said]:
    """A library that is opened by its name needs the same line, and no list of links tells of it."""
    for app in _apps(case):
        names = [file.name for file, _ in _for_the_cpu(app)]
        yield from _undeclared(
            app,
            {
                row.library: f"which {name} opens"
                for row in _opened()
                for name in names
                if _named(name, row.names)
            },
        )


def _for_the_cpu(app: App) -> Iterator[tuple[BundleFile, ElfFacts]]:
    for examined in app.packed:
        if isinstance(examined.facts, ElfFacts) and examined.facts.machine != HEXAGON:
            yield examined.file, examined.facts


def _linked(case: Case, app: App) -> dict[str, str]:
    """The libraries of the device that packed ones link to, each with a clause that names one of these."""
    judged = {file.path for file, _ in elves(case)}
    found: dict[str, str] = {}
    for file, facts in _for_the_cpu(app):
        for name in facts.needed:
            if file.path in judged and of_the_board(name, _SYSTEM):
                found.setdefault(name, f"to which {file.name} links")
    return found


def _undeclared(app: App, asked: Mapping[str, str]) -> Iterator[Said]:
    """What to say of the libraries that are asked for, where the manifest has to name them and does not."""
    why = _must_declare(app.manifest)
    known = {use.name for use in app.manifest.native_libraries} | {e.file.name for e in app.packed}
    for name, by in asked.items():
        if why and name not in known:
            line = f'<uses-native-library android:name="{name}" android:required="false"/>'
            yield Said(
                file=app.file.path,
                found=f"no <uses-native-library> for {name}, {by}",
                wanted=f"one, {why}",
                fix=f"add {line} to <application>",
            )


def _must_declare(manifest: AndroidManifestFacts) -> str | None:
    """Why the device's libraries have to be named; None where they are seen without."""
    since = number("HEX214", "target_sdk")
    if manifest.compiled:
        target = manifest.target_sdk or manifest.min_sdk or 1  # as the platform does
        return f"as the app targets API {target}" if target >= since else None
    if manifest.target_sdk is None or manifest.target_sdk >= since:
        return f"for apps that target API {since} or later"
    return None


@rule("HEX219", severity=Severity.WARNING)
def device_libraries_are_optional(case: Case) -> Iterable[Said]:
    """A required library keeps the app off every device that does not have it."""
    for app in _apps(case):
        for use in app.manifest.native_libraries:
            if use.required and of_the_board(use.name, _SYSTEM):
                yield Said(
                    file=app.file.path,
                    found=f"{use.name} is required",
                    wanted='android:required="false"',
                    fix="write it out: without the attribute, a library is required",
                )


@rule("HEX215", severity=Severity.WARNING)
def one_cxx_runtime(case: Case) -> Iterable[Said]:
    """Of two C++ runtimes with one name only one gets into an app, and nobody knows which."""
    name = word("HEX215", "library")
    app_of = {e.file.path: app.file.path for app in _apps(case) if app.manifest.compiled for e in app.packed}
    copies: dict[tuple[str | None, str], list[tuple[BundleFile, ElfFacts]]] = defaultdict(list)
    for file, facts, abi in _placed(case):
        if file.name == name and facts.machine == abi.machine:
            copies[app_of.get(file.path), abi.folder].append((file, facts))
    for (_, folder), found in copies.items():
        builds: dict[str, tuple[BundleFile, ElfFacts]] = {}
        for file, facts in found:
            builds.setdefault(file.blob.sha256, (file, facts))
        if len(builds) > 1 and any(file.role != FOREIGN for file, _ in found):
            origins = [f"{file.path} (NDK {facts.ndk or 'unknown'})" for file, facts in builds.values()]
            yield Said(
                file=[*builds.values()][1][0].path,
                found=f"{len(builds)} builds: {', '.join(origins)}",
                wanted=f"one for {folder}",
                fix="build all libraries with one NDK, and pack its runtime once",
            )


@rule("HEX216", severity=Severity.ERROR)
def right_abi_folder(case: Case) -> Iterable[Said]:
    """A process looks only into the folder of its own ABI."""
    for file, facts, abi in _placed(case):
        if file.role != FOREIGN and facts.machine not in (abi.machine, HEXAGON):
            right = next((row.folder for row in _abis().values() if row.machine == facts.machine), None)
            yield Said(
                file=file.path,
                found=f"{facts.machine}, {facts.bits} bit",
                wanted=f"{abi.machine}, {abi.bits} bit, in {abi.folder}/",
                fix=f"move {file.name} to {right}/" if right else f"leave {file.name} out",
            )


@rule("HEX217", severity=Severity.WARNING)
def old_enough_for_the_app(case: Case) -> Iterable[Said]:
    """A library built for a newer Android than the oldest that the app installs on may not load there."""
    oldest = {
        examined.file.path: app
        for app in _apps(case)
        if app.manifest.min_sdk is not None
        for examined in app.packed
    }
    for file, facts in elves(case):
        app = oldest.get(file.path)
        if app is not None and (facts.android_api or 0) > (app.manifest.min_sdk or 0):
            yield Said(
                file=file.path,
                found=f"built for API {facts.android_api}",
                wanted=f"API {app.manifest.min_sdk} or older, the minSdkVersion of {app.file.path}",
                fix=f"raise minSdkVersion to {facts.android_api}, or build {file.name} for an older API",
            )


@rule("HEX220", severity=Severity.WARNING)
def one_dispatch_library(case: Case) -> Iterable[Said]:
    """Of the dispatch libraries of several vendors in one folder, the runtime opens whichever comes first."""
    if case.plan.system != _SYSTEM:
        return
    for row in _dispatches():
        folders: dict[str, list[BundleFile]] = defaultdict(list)
        for file, _ in case.of_kind(ElfFacts):
            if _named(file.name, row.names):
                folders[folder_of(file)].append(file)
        for files in folders.values():
            others = [file for file in files if file.name != row.snapdragon]
            if others and len(others) < len(files):
                yield Said(
                    file=others[0].path,
                    found=f"beside {row.snapdragon}",
                    wanted=f"one such library in a folder: {row.reader} takes the first that it finds",
                    fix=f"leave {others[0].name} out, or deliver each vendor's in a module of its own",
                )


@rule("HEX221", severity=Severity.WARNING)
def something_to_run_it_with(case: Case) -> Iterable[Said]:
    """An app with native libraries, a context binary, and no QNN among them; of our own, HEX106 says more."""
    if not case.inferred:
        return
    for app in _apps(case):
        contexts = [e.file for e in app.packed if isinstance(e.facts, ContextFacts)]
        libraries = [e for e in app.packed if isinstance(e.facts, ElfFacts) and abi_of(e.file)]
        qnn = any(isinstance(e.facts, ElfFacts) and e.facts.qnn_entries for e in app.packed)
        if app.manifest.compiled and contexts and libraries and not qnn and case.one("backend") is None:
            yield Said(
                file=contexts[0].path,
                found=f"{len(libraries)} native libraries in the app, none of which is a QNN backend",
                wanted="the backend, stub and skel that run it",
                fix="add the runtime to the app, and look at the finished APK again",
                absent=True,
            )


@rule("HEX222", severity=Severity.WARNING)
def names_that_are_installed(case: Case) -> Iterable[Said]:
    """From the folder of an ABI, a release build's installer takes lib*.so and nothing else."""
    pattern = word("HEX222", "installed")
    for app in _apps(case):
        manifest = app.manifest
        if not manifest.compiled or manifest.debuggable or manifest.extract_native_libs is False:
            continue
        for examined in app.packed:
            file = examined.file
            ours = isinstance(examined.facts, ElfFacts | ContextFacts | DlcFacts) and file.role != FOREIGN
            if ours and abi_of(file) and not _named(file.name, [pattern]):
                yield Said(
                    file=file.path,
                    found=file.name,
                    wanted=pattern,
                    fix=_as_asset(file),
                )
