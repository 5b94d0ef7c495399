"""The device libraries of one release, system and ABI: files by role, whatever holds them.

A wheel, an SDK, an Android archive and a plain folder differ in where a file lies, and that is a table
(`[[place]]` in `targets/qairt.toml`); everything else is the same for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packager import catalog
from packager.errors import InputUnavailable
from packager.plan_model import RuntimePlan, WantedFile
from packager.sources import Fetched, Tell, nearest_lines, silent
from packager.sources.holders import ArchiveHolder, Holder, folder_holder, sdk_holder
from packager.sources.local import fetch_path
from packager.sources.maven import fetch_artifact
from packager.sources.wheel import fetch_wheel
from packager.store import Store


def fetch_runtime(
    plan: RuntimePlan,
    *,
    base: Path,
    store: Store,
    pinned: str | None = None,
    offline: bool = False,
    tell: Tell = silent,
) -> dict[str, Fetched]:
    """Every vendor file of the plan, its extra files and the licences, by file name.

    Extra files and licences have the keys that `keys_of` gives them; what holds the files may bring more
    licences, whose names are in the table. The DSP's C++ runtime comes along when
    the plan has a folder for it. `base` is the manifest's folder, for a plan with a path.
    `pinned` is what the lock knows of an archive that the plan does not pin.

    Raises InputUnavailable that names every file that is missing.
    """
    holder = _holder(plan, base, store, pinned, offline, tell)
    roots = [plan.root] if plan.root else sorted({row.root for row in catalog.runtime_sets()})
    wanted = {file.name: list(_patterns(file, roots, plan.toolchains)) for file in plan.files}
    wanted |= {key: [path, key] for path, key in keys_of(plan).items()}
    chosen = {key: _choose(holder, patterns) for key, patterns in wanted.items()}
    missing = [key for key, name in chosen.items() if name is None]
    if missing:
        raise _missing(missing, holder, plan.toolchains)
    chosen |= {} if plan.licences else _licences(holder, chosen)
    taken = {key: holder.take(name) for key, name in chosen.items() if name is not None}
    return taken | _dsp_runtime(plan, base, store)


def keys_of(plan: RuntimePlan) -> dict[str, str]:
    """The keys of extra files and licences, by their paths: the file name, or the path where two share it."""
    names = {path: path.rpartition("/")[2] for path in (*plan.extra, *plan.licences)}
    used = Counter([*names.values(), *(file.name for file in plan.files)])
    return {path: name if used[name] == 1 else path.replace("/", "-") for path, name in names.items()}


def licence_keys(plan: RuntimePlan, fetched: Iterable[str]) -> tuple[str, ...]:
    """Which of the keys of `fetch_runtime` are licences, sorted."""
    keys = keys_of(plan)
    others = {*(file.name for file in plan.files), *(keys[path] for path in plan.extra)}
    others |= set(dsp_runtime_names(plan))
    return tuple(sorted(key for key in fetched if key not in others))


def dsp_runtime_names(plan: RuntimePlan) -> tuple[str, ...]:
    """The files of the DSP's C++ runtime that the plan takes from a folder of the user's, if it does."""
    return tuple(row["file"] for row in catalog.table("sdk")["dsp_runtime"]) if plan.dsp_runtime else ()


def _dsp_runtime(plan: RuntimePlan, base: Path, store: Store) -> dict[str, Fetched]:
    folder = Path(plan.dsp_runtime or "")
    return {name: fetch_path(folder / name, store=store, base=base) for name in dsp_runtime_names(plan)}


def _holder(
    plan: RuntimePlan, base: Path, store: Store, pinned: str | None, offline: bool, tell: Tell
) -> Holder:
    if plan.kind == "sdk":
        return sdk_holder(plan.release.version, plan.path, base, store)
    if plan.kind == "path" and plan.path is not None:
        return folder_holder(plan.path, base, store)
    pinned = plan.sha256 or pinned
    if plan.kind == "aar" and plan.path is not None:
        return ArchiveHolder(fetch_path(Path(plan.path), store=store, base=base, pinned=pinned), store)
    if plan.kind == "aar" and plan.artifact is not None:
        return ArchiveHolder(
            fetch_artifact(plan.artifact, pinned=pinned, store=store, offline=offline, tell=tell), store
        )
    if plan.wheel is None:
        raise ValueError("a runtime plan names what holds its files")
    wheel = fetch_wheel(
        plan.wheel,
        platform=plan.platform,
        python=plan.python,
        pinned=pinned,
        store=store,
        offline=offline,
        tell=tell,
    )
    return ArchiveHolder(wheel, store)


def _patterns(file: WantedFile, roots: Sequence[str], toolchains: Sequence[str]) -> Iterator[str]:
    """Where the file may lie, best place first, from the table of places."""
    for place in catalog.places():
        if "{arch}" in place.folder and file.arch is None:
            continue
        for root in roots if "{root}" in place.folder else ("",):
            for toolchain in (toolchains or ("*",)) if "{toolchain}" in place.folder else ("",):
                folder = place.folder.format(root=root, toolchain=toolchain, arch=file.arch)
                yield f"{folder}/{file.name}" if folder else file.name


def _choose(holder: Holder, patterns: Iterable[str]) -> str | None:
    """The first that is there. Raises InputUnavailable when one place has two of them."""
    for pattern in patterns:
        found = holder.matches(pattern)
        if len(found) > 1:
            raise InputUnavailable(
                f"{holder.title} has {len(found)} files for {pattern}",
                evidence=found,
                fix="name the folder of one toolchain instead",
            )
        if found:
            return found[0]
    return None


def _licences(holder: Holder, chosen: dict[str, str | None]) -> dict[str, str]:
    """The licence texts that lie at the top of an SDK or archive, by the table of their names."""
    found = {}
    for row in catalog.table("sdk")["licence"]:
        for path in holder.matches(row["file"]):
            key = path.rpartition("/")[2]
            found[path.replace("/", "-") if key in chosen else key] = path
    return found


def _missing(names: Sequence[str], holder: Holder, toolchains: Sequence[str]) -> InputUnavailable:
    there = sorted(set(holder.names()))
    what = "a file" if len(names) == 1 else f"{len(names)} files"
    return InputUnavailable(
        f"{holder.title} lacks {what} that the target needs",
        evidence=[f"{name}  {_instead(name, there, toolchains)}" for name in names],
        fix="take the runtime set of a release and ABI that has them, or SoCs that do not need them",
    )


def _instead(name: str, there: Sequence[str], toolchains: Sequence[str]) -> str:
    """What is there in place of a file: the same name in another toolchain's folder, or the nearest name."""
    same = [path for path in there if path.rpartition("/")[2] == name]
    if same:
        return (
            f"only in {', '.join(path.rpartition('/')[0] for path in same)}, not for {toolchains[0]}"
            if (toolchains)
            else f"only as {same[0]}"
        )
    return " ".join(nearest_lines(name, (path.rpartition("/")[2] for path in there)))
