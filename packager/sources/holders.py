"""What holds device libraries: an archive, or a folder that is an SDK or just a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from packager import catalog
from packager.errors import InputUnavailable, nearest
from packager.sources import Fetched
from packager.sources.local import fetch_path
from packager.sources.zipped import file_names, member
from packager.store import Store


class Holder(Protocol):
    """Something in which files are found by a pattern and taken out."""

    title: str

    def matches(self, pattern: str) -> list[str]:
        """The files of this name; `*` stands for any folder."""

    def take(self, name: str) -> Fetched:
        """One of them."""

    def names(self) -> Iterable[str]:
        """The paths of everything that is there."""


class ArchiveHolder:
    """A wheel or an Android archive."""

    def __init__(self, archive: Fetched, store: Store) -> None:
        self._archive, self._store = archive, store
        self._names = frozenset(file_names(archive, store))
        self.title = archive.origin

    def matches(self, pattern: str) -> list[str]:
        """Members by name; a `*` stays within one folder, as on a disk."""
        if "*" not in pattern:
            return [pattern] if pattern in self._names else []
        depth = pattern.count("/")
        return sorted(name for name in self._names if name.count("/") == depth and fnmatchcase(name, pattern))

    def take(self, name: str) -> Fetched:
        """The file, in the store."""
        return member(self._archive, name, self._store)

    def names(self) -> Iterable[str]:
        """All members."""
        return self._names


class FolderHolder:
    """A folder of the user's; its files are used where they are.

    `label` replaces the folder in origins, for one that lies elsewhere on every machine.
    """

    def __init__(self, root: Path, store: Store, *, base: Path, label: str | None = None) -> None:
        self._root, self._base, self._store, self._label = root, base, store, label
        self.title = label or f"folder {root.relative_to(base) if root.is_relative_to(base) else root}"

    def matches(self, pattern: str) -> list[str]:
        """Files below the folder, sorted."""
        found = (path for path in self._root.glob(pattern) if path.is_file())
        return sorted(path.relative_to(self._root).as_posix() for path in found)

    def take(self, name: str) -> Fetched:
        """The file where it is."""
        fetched = fetch_path(self._root / name, base=self._base, store=self._store)
        return fetched.model_copy(update={"origin": f"{self._label}: {name}"}) if self._label else fetched

    def names(self) -> Iterable[str]:
        """All files below the folder."""
        return (path.relative_to(self._root).as_posix() for path in self._root.rglob("*") if path.is_file())


def folder_holder(path: str, base: Path, store: Store) -> FolderHolder:
    """A folder that the manifest names. Raises InputUnavailable when it is none."""
    root = base / path
    if not root.is_dir():
        raise _no_folder(root, path)
    return FolderHolder(root, store, base=base)


def sdk_holder(release: str, path: str | None, base: Path, store: Store) -> FolderHolder:
    """The SDK of a release: a folder of the manifest's, or of QAIRT_SDK_ROOT or QNN_SDK_ROOT.

    The folder may be the SDK itself, one in which it was unpacked (`qairt/2.51.0.260929/`), or a plain
    folder of its files. Raises InputUnavailable when it is not there, or holds several of that release.
    """
    variables = catalog.table("sdk")["environment"]["variables"]
    variable = next((name for name in variables if os.environ.get(name)), None)
    if path is None and variable is None:
        raise InputUnavailable(
            "no QAIRT SDK is named",
            evidence=[f"{name} is not set" for name in variables],
            fix=f'unpack the SDK and set {variables[0]}, or write path = "…" in [qairt]',
        )
    root = base / (path if path is not None else os.environ[str(variable)])
    if not root.is_dir():
        raise _no_folder(root, path or f"{variable} = {root}")
    return FolderHolder(_unpacked(root, release), store, base=base, label=f"sdk {release}")


def _unpacked(root: Path, release: str) -> Path:
    """The SDK below a folder into which it was unpacked, or the folder itself."""
    if (root / "lib").is_dir():
        return root
    folders = [
        one for pattern in catalog.table("sdk")["environment"]["folders"] for one in root.glob(pattern)
    ]
    found = sorted(one for one in folders if (one / "lib").is_dir())
    fitting = [one for one in found if _is_of(one.name, release)]
    if len(fitting) > 1:
        raise InputUnavailable(
            f"{root} has {len(fitting)} SDKs of release {release}",
            evidence=[one.relative_to(root).as_posix() for one in fitting],
            fix="name the folder of one of them",
        )
    if found and not fitting:
        raise InputUnavailable(
            f"{root} has no SDK of release {release}",
            evidence=[f"there: {one.relative_to(root).as_posix()}" for one in found[:5]],
            fix="unpack that release there too, or write the `version` in [qairt] that is there",
        )
    return fitting[0] if fitting else root


def _is_of(name: str, release: str) -> bool:
    """Whether `2.51.0.260929` or `v2.51.0` is that release."""
    numbers = name.removeprefix("v").split(".")
    return numbers[: release.count(".") + 1] == release.split(".")


def _near(name: str, beside: list[str]) -> tuple[str, ...]:
    close = nearest(name, beside)
    return (f'nearest: "{close}"',) if close else ()


def _no_folder(root: Path, written: str) -> InputUnavailable:
    beside = [one.name for one in root.parent.iterdir() if one.is_dir()] if root.parent.is_dir() else []
    return InputUnavailable(
        f"there is no folder {root}",
        evidence=(f"{written} is a file",) if root.is_file() else _near(root.name, beside),
        fix="name the folder of an unpacked QAIRT SDK, or one that holds the libraries",
    )
