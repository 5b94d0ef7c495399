"""The device libraries of one release and ABI, out of a wheel or out of a folder of the user's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from packager import catalog
from packager.errors import InputUnavailable
from packager.plan_model import RuntimePlan, WantedFile
from packager.sources import Fetched, Tell, nearest_lines, silent
from packager.sources.local import fetch_path
from packager.sources.wheel import fetch_wheel, file_names, member
from packager.store import Store


class _Holder(Protocol):
    """What holds the files: a wheel or a folder."""

    title: str

    def matches(self, pattern: str) -> list[str]:
        """The files of this name; `*` stands for any folder."""

    def take(self, name: str) -> Fetched:
        """One of them."""

    def names(self) -> Iterable[str]:
        """The base names of everything that is there."""


def fetch_runtime(
    plan: RuntimePlan,
    *,
    base: Path,
    store: Store,
    toolchains: Sequence[str] = (),
    offline: bool = False,
    tell: Tell = silent,
) -> dict[str, Fetched]:
    """Every vendor file of the plan, its extra files and its licences, by file name.

    Extra files and licences have the keys that `keys_of` gives them. `base` is the manifest's folder, for
    a runtime set of the user's (`plan.path`): an SDK, an unpacked wheel, or a plain folder. `toolchains`
    are the names that the SDK may have for the target's ABI; without them the SDK must hold only one.

    Raises InputUnavailable that names every file that is missing.
    """
    holder: _Holder
    if plan.path is not None:
        holder = _Folder(Path(plan.path), base, store)
    else:
        holder = _Wheel(_wheel_of(plan, store, offline, tell), store)
    roots = [plan.root] if plan.root else sorted({row.root for row in catalog.runtime_sets()})
    wanted = {file.name: list(_patterns(file, roots, toolchains)) for file in plan.files}
    wanted |= {key: [path, key] for path, key in keys_of(plan).items()}
    chosen = {key: _choose(holder, patterns) for key, patterns in wanted.items()}
    missing = [key for key, name in chosen.items() if name is None]
    if missing:
        raise _missing(missing, holder)
    return {key: holder.take(name) for key, name in chosen.items() if name is not None}


def keys_of(plan: RuntimePlan) -> dict[str, str]:
    """The keys of extra files and licences, by their paths: the file name, or the path where two share it."""
    names = {path: path.rpartition("/")[2] for path in (*plan.extra, *plan.licences)}
    used = Counter([*names.values(), *(file.name for file in plan.files)])
    return {path: name if used[name] == 1 else path.replace("/", "-") for path, name in names.items()}


def _wheel_of(plan: RuntimePlan, store: Store, offline: bool, tell: Tell) -> Fetched:
    if plan.wheel is None:
        raise ValueError("a runtime plan names a wheel or a path")
    return fetch_wheel(
        plan.wheel,
        platform=plan.platform,
        python=plan.python,
        pinned=plan.sha256,
        store=store,
        offline=offline,
        tell=tell,
    )


def _patterns(file: WantedFile, roots: Sequence[str], toolchains: Sequence[str]) -> Iterator[str]:
    """Where the file may lie, best place first, from the table of places."""
    for place in catalog.places():
        if "{arch}" in place.folder and file.arch is None:
            continue
        for root in roots if "{root}" in place.folder else ("",):
            for toolchain in (toolchains or ("*",)) if "{toolchain}" in place.folder else ("",):
                folder = place.folder.format(root=root, toolchain=toolchain, arch=file.arch)
                yield f"{folder}/{file.name}" if folder else file.name


def _choose(holder: _Holder, patterns: Iterable[str]) -> str | None:
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


def _missing(names: Sequence[str], holder: _Holder) -> InputUnavailable:
    there = sorted(set(holder.names()))
    what = "a file" if len(names) == 1 else f"{len(names)} files"
    return InputUnavailable(
        f"{holder.title} lacks {what} that the target needs",
        evidence=[f"{name}  {' '.join(nearest_lines(name, there))}" for name in names],
        fix="take the runtime set of a release and ABI that has them, or SoCs that do not need them",
    )


class _Wheel:
    def __init__(self, wheel: Fetched, store: Store) -> None:
        self._wheel, self._store = wheel, store
        self._names = frozenset(file_names(wheel, store))
        self.title = wheel.origin

    def matches(self, pattern: str) -> list[str]:
        return [pattern] if pattern in self._names else []

    def take(self, name: str) -> Fetched:
        return member(self._wheel, name, self._store)

    def names(self) -> Iterable[str]:
        return (name.rpartition("/")[2] for name in self._names)


class _Folder:
    def __init__(self, path: Path, base: Path, store: Store) -> None:
        self._root, self._base, self._store = base / path, base, store
        self.title = f"folder {path.as_posix()}"
        if not self._root.is_dir():
            raise InputUnavailable(
                f"there is no folder {self._root}",
                evidence=(f"{path.as_posix()} is a file",) if self._root.is_file() else (),
                fix="name the folder of an unpacked QAIRT SDK, or one that holds the libraries",
            )

    def matches(self, pattern: str) -> list[str]:
        found = (path for path in self._root.glob(pattern) if path.is_file())
        return sorted(path.relative_to(self._root).as_posix() for path in found)

    def take(self, name: str) -> Fetched:
        return fetch_path(self._root / name, base=self._base, store=self._store)

    def names(self) -> Iterable[str]:
        return (path.name for path in self._root.rglob("*") if path.is_file())
