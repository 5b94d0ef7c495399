"""From the manifest to the plan: every word looked up, every file name decided, nothing fetched yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from packager import catalog
from packager.compilers import QUANTIZED
from packager.errors import ManifestError, nearest
from packager.manifest_model import LibrarySource, Manifest, Qairt, Settings, Target
from packager.naming import Inexpressible, file_name, inner_name, package_stem, version_word
from packager.plan_formats import refuse_unknown_machines, refuse_without_settings
from packager.plan_linux import refuse_linux
from packager.plan_model import PackagePlan, Plan, RuntimePlan, TargetPlan, WantedFile

if TYPE_CHECKING:
    from packager.manifest import Document


class _Problems:
    """Collects every problem with its position, so that one run shows them all."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.blocks: list[str] = []

    def add(self, location: tuple[str | int, ...], message: str, hint: str = "") -> None:
        self.blocks.append(self._document.problem(location, message, hint))

    def unknown(self, location: tuple[str | int, ...], what: str, word: str, known: list[str]) -> None:
        close = nearest(word, known)
        hint = f'did you mean "{close}"?' if close else f"known: {', '.join(known)}"
        self.add(location, f'unknown {what} "{word}"', hint)


def make_plan(document: Document) -> Plan:
    """Resolve a manifest. Raises ManifestError with every unknown word, missing library and name clash."""
    manifest = document.manifest
    problems = _Problems(document)
    targets = [
        plan
        for index, target in enumerate(manifest.targets)
        if (plan := _target(manifest, target, index, problems)) is not None
    ]
    _refuse_clashes(targets, problems)
    refuse_unknown_machines(manifest, problems.add)
    labels = [_label(target) for target in manifest.targets]
    known_rules = [row["id"] for row in catalog.rule_rows()]
    for index, entry in enumerate(manifest.allow):
        if entry.target is not None and entry.target not in labels:
            problems.unknown(("allow", index, "target"), "target", entry.target, labels)
        if entry.rule not in known_rules:
            problems.unknown(("allow", index, "rule"), "rule", entry.rule, known_rules)
    if problems.blocks:
        raise document.error(problems.blocks)
    return Plan(package=manifest.package, targets=tuple(targets), allow=manifest.allow)


def _target(manifest: Manifest, target: Target, index: int, problems: _Problems) -> TargetPlan | None:
    before = len(problems.blocks)
    at: tuple[str | int, ...] = ("targets", index)
    socs = _socs(target, at, problems)
    system = catalog.systems().get(target.os)
    if system is None:
        problems.unknown((*at, "os"), "operating system", target.os, list(catalog.systems()))
        return None
    abi = catalog.abi(target.abi)
    here = [row.id for row in catalog.abis().values() if row.system == system.id]
    if abi is None or abi.system != system.id:
        problems.unknown((*at, "abi"), f"ABI of {system.name}", target.abi, here)
        return None
    _refuse_later(manifest, target, at, problems)
    if target.precision in QUANTIZED and manifest.model.calibration is None:
        problems.add(
            (*at, "precision"),
            f'precision "{target.precision}" needs calibration data, and [model] names none',
            'add calibration = { path = "calibration/*.npy" } to [model], some dozen real inputs',
        )
    refuse_linux(target, at, problems.add)
    _refuse_half_a_host(manifest, target, at, problems)
    packages = _packages(manifest, target, socs, abi, at, problems)
    archs = sorted({soc.hexagon for soc in socs if soc.hexagon})
    runtime_set = _runtime_set(manifest, target, abi, archs, at, problems)
    if target.dsp_runtime and abi.simulator:
        problems.add((*at, "dsp_runtime"), f"{abi.id} has no DSP that could load these", "leave it out")
    if len(problems.blocks) > before or runtime_set is None:
        return None
    runtime_set = runtime_set.model_copy(update={"dsp_runtime": target.dsp_runtime})
    settings = target.model_dump(include=set(Settings.model_fields))
    return TargetPlan(
        label=_label(target),
        name=target.name,
        package=manifest.package,
        system=system.id,
        abi=abi,
        socs=socs,
        precision=target.precision,
        model=manifest.model,
        runtime_set=runtime_set,
        packages=packages,
        linux=target.linux,
        formats=manifest.formats,
        **settings,
    )


def _label(target: Target) -> str:
    """How reports call a target: its name, or its SoCs as the manifest writes them."""
    return target.name or "-".join(target.soc)


def _refuse_later(manifest: Manifest, target: Target, at: tuple[str | int, ...], problems: _Problems) -> None:
    """Words that the manifest knows and this version cannot carry out must not pass silently."""
    asked: list[tuple[str, str, tuple[str | int, ...]]] = [("runtime", target.runtime, (*at, "runtime"))]
    asked += [("compute", unit, (*at, "compute", n)) for n, unit in enumerate(target.compute)]
    for kind, word, location in asked:
        rows = catalog.table("systems")[kind]
        ready = [row["id"] for row in rows if not row.get("later")]
        if word not in ready:
            problems.add(
                location, f'{kind} "{word}" is not built by this version yet', f"it builds {', '.join(ready)}"
            )
    _refuse_settings_that_clash(manifest, target, at, problems)


def _refuse_settings_that_clash(
    manifest: Manifest, target: Target, at: tuple[str | int, ...], problems: _Problems
) -> None:
    """What one compiler can do and another cannot, as far as the manifest tells which it is."""
    composed = manifest.model.compiler in ("qnn", "qairt")
    if target.io == "quantized" and (composed or target.precision == "float"):
        by = f'compiler = "{manifest.model.compiler}"' if composed else f'precision = "{target.precision}"'
        problems.add(
            (*at, "io"),
            f'io = "quantized" does not go with {by}',
            "whoever quantizes the model decides it; a DLC keeps the inputs and outputs that it has"
            if composed
            else "a float model has no integers at its borders: choose a precision that quantizes, or as-is",
        )
    if target.compute == ("npu",):
        return
    if target.runtime != "context-binary":
        return
    by = f"hvx_threads = {target.hvx_threads}" if target.hvx_threads else ""
    by = f'compiler = "{manifest.model.compiler}"' if composed else by
    if target.compute != ("npu", "cpu"):
        problems.add(
            (*at, "compute"),
            f"compute = {list(target.compute)} does not go with context binaries".replace("'", '"'),
            'they are for the NPU: ["npu"], or ["npu", "cpu"] to let onnxruntime run parts on both',
        )
    elif by:
        problems.add(
            (*at, "compute"),
            f'compute = ["npu", "cpu"] does not go with {by}',
            "only onnxruntime's QNN provider splits a model; hexrun composes whole graphs",
        )


def _refuse_half_a_host(
    manifest: Manifest, target: Target, at: tuple[str | int, ...], problems: _Problems
) -> None:
    """Libraries of the device need a place there, and a place needs libraries that are looked for there."""
    if target.vendor_libraries == "require" and target.host is None:
        own = (*at, "vendor_libraries")
        problems.add(
            own if target.vendor_libraries != manifest.defaults.vendor_libraries else ("defaults", own[-1]),
            f"{_label(target)} does not say where the device has the vendor's libraries",
            'add host = { libraries = "/usr/lib", dsp = "/usr/lib/dsp/cdsp" }',
        )
    elif target.vendor_libraries == "bundle" and target.host not in (None, manifest.defaults.host):
        problems.add(
            (*at, "host"),
            f"{_label(target)} brings the vendor's libraries itself",
            'take `host` out, or write vendor_libraries = "require"',
        )


def _socs(target: Target, at: tuple[str | int, ...], problems: _Problems) -> tuple[catalog.Soc, ...]:
    found: dict[str, catalog.Soc] = {}
    for position, word in enumerate(target.soc):
        try:
            soc = catalog.soc(word)
        except ManifestError as unknown:
            problems.add((*at, "soc", position), unknown.what, " ".join(unknown.evidence) or unknown.fix)
            continue
        if soc.id in found:
            problems.add((*at, "soc", position), f'"{word}" is {soc.title}, which is listed already')
        found[soc.id] = soc
    return tuple(found.values())


def _packages(
    manifest: Manifest,
    target: Target,
    socs: tuple[catalog.Soc, ...],
    abi: catalog.Abi,
    at: tuple[str | int, ...],
    problems: _Problems,
) -> tuple[PackagePlan, ...]:
    rows = catalog.formats()
    here = [row.id for row in rows.values() if abi.system in row.systems]
    stem = package_stem(manifest.package.name, manifest.package.version, abi.system, abi.arch, target.name)
    packages: list[PackagePlan] = []
    for position, word in enumerate(target.formats):
        row = rows.get(word)
        if word in target.formats[:position]:
            problems.add((*at, "formats", position), f'"{word}" is listed already')
        elif row is None or abi.system not in row.systems + row.later:
            problems.unknown((*at, "formats", position), f"package format for {abi.system}", word, here)
        elif abi.system in row.later:
            ready = f"this version writes {', '.join(here)}" if here else "this version writes none yet"
            problems.add(
                (*at, "formats", position), f'"{word}" packages for {abi.system} are not written yet', ready
            )
        elif row.app and target.vendor_libraries == "require":
            problems.add(
                (*at, "formats", position),
                f"\"{word}\" packages bring the vendor's libraries: an app sees none of the device's",
                'write vendor_libraries = "bundle"',
            )
        else:
            refuse_without_settings(manifest, target, socs, row, (*at, "formats", position), problems.add)
            packages += _package(manifest, target, stem, row, problems)
    return tuple(packages)


def _package(
    manifest: Manifest, target: Target, stem: str, row: catalog.FormatRow, problems: _Problems
) -> Iterator[PackagePlan]:
    """One package with its names; a name or version that its format cannot say is a problem."""
    package = manifest.package
    field = "name"
    try:
        name = inner_name(package.name, target.name, row)
        field = "version"
        version = version_word(package.version, row.version, package.epoch)
        field = "name"
        called = file_name(stem, row, name, version)
    except Inexpressible as problem:
        problems.add(("package", field), f"{row.id}: {problem.what}", problem.fix)
    else:
        yield PackagePlan(format=row.id, file_name=called, name=name, version=version)


def _runtime_set(
    manifest: Manifest,
    target: Target,
    abi: catalog.Abi,
    archs: list[int],
    at: tuple[str | int, ...],
    problems: _Problems,
) -> RuntimePlan | None:
    wanted = manifest.qairt
    release = catalog.releases().get(wanted.version)
    if release is None:
        problems.unknown(("qairt", "version"), "QAIRT release", wanted.version, list(catalog.releases()))
        return None
    known = catalog.runtime_set(release.version, abi.id)
    holder = target.libraries or wanted
    if holder.source != "wheel":
        return _held(wanted, holder, release, target, abi, _wanted(target, abi, archs, known), at, problems)
    if known is None:
        here = [
            f"{row.release} for {', '.join(row.abis)}"
            for row in catalog.runtime_sets()
            if row.release == release.version
        ]
        problems.add(
            (*at, "abi"),
            f"no wheel is known that carries QAIRT {release.version} for {abi.id}",
            f"known: {'; '.join(here) or 'none of this release'}; elsewhere: {_elsewhere(abi)}",
        )
        return None
    for arch in [] if abi.simulator else archs:
        if arch not in known.archs:
            have = ", ".join(f"v{a}" for a in known.archs)
            problems.add(
                (*at, "soc"),
                f"{known.wheel} for {known.platform} carries no stub and skel for Hexagon v{arch}",
                f"it has {have}",
            )
    return RuntimePlan(
        release=release,
        wheel=known.wheel,
        platform=known.platform,
        python=known.python,
        sha256=known.sha256,
        root=known.root,
        files=_wanted(target, abi, archs, known),
        extra=known.extra,
        licences=known.licences,
    )


def _held(
    wanted: Qairt,
    holder: LibrarySource,
    release: catalog.Release,
    target: Target,
    abi: catalog.Abi,
    files: tuple[WantedFile, ...],
    at: tuple[str | int, ...],
    problems: _Problems,
) -> RuntimePlan | None:
    """The runtime set in an SDK, an archive or a folder, none of which a table can pin."""
    place = (*at, "libraries", "from") if target.libraries else ("qairt", "from")
    toolchains = catalog.toolchains(abi.id, wanted.flavour)
    if holder.source == "sdk" and not toolchains:
        problems.add(
            (*at, "abi"),
            f"the {wanted.flavour} edition of the SDK has no libraries for {abi.id}",
            'write flavour = "auto" in [qairt], and name an SDK of that edition',
        )
        return None
    archive = catalog.archive_for(abi.id)
    if holder.source == "aar" and archive is None:
        problems.add(
            place, f"the Android archive has no libraries for {abi.id}", f"elsewhere: {_elsewhere(abi)}"
        )
        return None
    return RuntimePlan(
        kind=holder.source,
        release=release,
        flavour=wanted.flavour,
        toolchains=toolchains or catalog.toolchains(abi.id, "auto"),
        path=holder.path,
        artifact=f"{archive}:{release.version}:aar" if holder.source == "aar" and not holder.path else None,
        sha256=holder.sha256,
        files=files,
    )


def _elsewhere(abi: catalog.Abi) -> str:
    """What may hold libraries of an ABI for which no wheel is known."""
    kinds = [*(["aar"] if catalog.archive_for(abi.id) else []), "sdk", "path"]
    return " or ".join(f'from = "{kind}"' for kind in kinds)


def _wanted(
    target: Target, abi: catalog.Abi, archs: list[int], known: catalog.RuntimeSet | None
) -> tuple[WantedFile, ...]:
    """The vendor files this target needs, by the role table."""
    with_catalogue = known.catalogues if known else ()
    # The CPU's share of a split model is onnxruntime's.
    units = ("npu",) if target.runtime == "context-binary" else target.compute
    files = []
    for role in catalog.roles():
        name = role.files.get(abi.system)
        if name is None or not _needed(role, target, abi, units) or role.unit not in (None, *units):
            continue
        for arch in archs if role.per_arch else [None]:
            if role.needed == "catalogue" and arch not in with_catalogue:
                continue
            files.append(
                WantedFile(
                    role=role.id,
                    name=name.format(arch=arch),
                    folder=role.folder,
                    machine=role.machine,
                    arch=arch,
                )
            )
    return tuple(files)


def _needed(role: catalog.Role, target: Target, abi: catalog.Abi, units: tuple[str, ...]) -> bool:
    return {
        "always": True,
        "device": not abi.simulator,
        "compose": target.runtime != "context-binary" and not abi.simulator,
        "catalogue": not abi.simulator,
        "unit": role.unit in units,
        "never": False,
    }[role.needed]


def _refuse_clashes(targets: list[TargetPlan], problems: _Problems) -> None:
    """Two packages of one name would overwrite each other silently."""
    # Windows and macOS hold no two files whose names differ in capitals only.
    names = Counter(package.file_name.casefold() for target in targets for package in target.packages)
    for name, count in names.items():
        if count > 1:
            problems.add(
                ("targets",),
                f"{count} packages would be called {name}",
                'give each target its own `name = "…"`, which becomes part of the file name',
            )
    labels = Counter(target.label for target in targets)
    for label, count in labels.items():
        if count > 1:
            problems.add(("targets",), f'{count} targets are called "{label}"', "give each its own name")
