"""The user's own files: hashed, and used where they are. A model of 3 GB is not copied to be packed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from packager.errors import InputUnavailable, ManifestError
from packager.files import Blob, digest
from packager.model import Frozen
from packager.sources import Fetched, nearest_lines, not_as_pinned
from packager.store import Store, key_of

_WORTH_REMEMBERING = 64 << 20  # bytes; smaller files are hashed sooner than looked up
_CLOCK_GRAIN = (
    2_000_000_000  # ns; file systems keep times that coarsely (FAT), so a fresh file may change unseen
)


class _State(Frozen):
    """What changes when a file changes: bytes, times in ns, and which file it is."""

    size: int
    modified: int
    changed: int
    inode: int
    device: int


class _Hashed(Frozen):
    state: _State
    blob: Blob


def fetch_path(path: Path, *, store: Store, base: Path | None = None, pinned: str | None = None) -> Fetched:
    """A file of the user's. With `base`, the manifest's folder, the path may be relative to it.

    The origin is the path below `base` (without one, the file's name) and where a link leads. The digest
    of a large file is remembered in the store for as long as the file's size, times and inode stay.

    Raises InputUnavailable when the file is not there (with the nearest name in its folder), cannot be
    read, is being written, or has another sha256 than `pinned`.
    """
    here = base / path if base else path
    if not here.is_file():
        raise _missing(here)
    try:
        blob = _digest(here, store)
    except OSError as problem:
        raise InputUnavailable(
            f"{here} cannot be read",
            evidence=(problem.strerror or str(problem),),
            fix="make the file readable for the user who packs",
        ) from problem
    if pinned not in (None, blob.sha256):
        raise not_as_pinned(
            str(here),
            blob.sha256,
            str(pinned),
            fix="take the file that was pinned, or pin this one if it is meant to be new",
        )
    return Fetched(path=here, blob=blob, origin=f"path {_origin(here, base)}", name=here.name)


def check_unchanged(fetched: Fetched) -> None:
    """Read the file again. Raises InputUnavailable when it is no longer what was hashed at first.

    For files that a tool has read by name; emitters check the bytes that they write themselves.
    """
    now = digest(fetched.path) if fetched.path.is_file() else None
    if now != fetched.blob:
        raise InputUnavailable(
            f"{fetched.path} changed while it was in use",
            evidence=(
                f"before  sha256 {fetched.blob.sha256}, {fetched.blob.size} bytes",
                f"now     sha256 {now.sha256}, {now.size} bytes" if now else "now     the file is gone",
            ),
            fix="let whatever writes the file finish, then run again",
        )


def model_in_folder(path: Path, base: Path) -> Path:
    """The model of a folder that the manifest names, by what its files are; a path of a file stays as it is.

    Raises InputUnavailable when the folder has no model or several.
    """
    folder = base / path
    if not folder.is_dir():
        return path
    found = [one for one in sorted(folder.iterdir()) if one.is_file() and _is_model(one)]
    if len(found) != 1:
        there = [one.name for one in found] or list(_there(folder, "model.onnx"))
        raise InputUnavailable(
            f"{path} holds {len(found)} models" if found else f"{path} holds no model",
            evidence=there[:8],
            fix="name the file" if found else "name a folder with an ONNX model, a DLC or a model library",
        )
    return path / found[0].name


def _is_model(path: Path) -> bool:
    from packager.facts.elf import read_elf
    from packager.facts.identify import identify

    kind = identify(path)
    return kind in ("onnx", "dlc") or (kind == "elf" and read_elf(path).model_prefix is not None)


def glob_paths(pattern: str, base: Path) -> tuple[Path, ...]:
    """The files that a pattern (`samples/*.npy`, `**` too) names below `base`, in byte order of their names.

    Raises InputUnavailable when there is none.
    """
    whole = base / pattern
    root = Path(whole.anchor) if Path(pattern).is_absolute() else base
    try:
        found = [path for path in root.glob(str(whole.relative_to(root))) if path.is_file()]
    except (ValueError, IndexError, NotImplementedError) as problem:
        raise ManifestError(
            f'"{pattern}" is no pattern of files',
            evidence=(str(problem),),
            fix="write samples/*.npy or the like",
        ) from problem
    if not found:
        raise InputUnavailable(
            f"no file matches {pattern}",
            evidence=(f"below {base}", *_there(whole.parent, whole.name)),
            fix="put the files there, or correct the pattern",
        )
    return tuple(sorted(found, key=lambda path: path.as_posix().encode()))


def _digest(path: Path, store: Store) -> Blob:
    before = _state(path)
    key = key_of({"path": str(path.resolve())})
    large = before.size >= _WORTH_REMEMBERING
    known = store.recall_as(_Hashed, "path", key) if large else None
    if known and known.state == before:
        return known.blob
    blob = digest(path)
    if _state(path) != before:
        raise InputUnavailable(
            f"{path} changed while it was read", fix="let whatever writes the file finish, then run again"
        )
    if large and time.time_ns() - before.modified > _CLOCK_GRAIN:
        store.record("path", key, _Hashed(state=before, blob=blob).model_dump())
    return blob


def _state(path: Path) -> _State:
    now = path.stat()
    return _State(
        size=now.st_size,
        modified=now.st_mtime_ns,
        changed=now.st_ctime_ns,
        inode=now.st_ino,
        device=now.st_dev,
    )


def _missing(path: Path) -> InputUnavailable:
    if path.is_dir():
        return InputUnavailable(f"{path} is a folder, and a file is wanted", fix="name a file in it")
    if path.is_symlink():
        return InputUnavailable(
            f"{path} is a link that leads to no file",
            evidence=(f"to  {path.readlink()}",),
            fix="let the link lead to the file, or put the file there",
        )
    return InputUnavailable(
        f"there is no file {path}",
        evidence=_there(path.parent, path.name),
        fix="correct the path, or put the file there",
    )


def _there(folder: Path, name: str) -> Iterable[str]:
    """Evidence: what lies where something is missing."""
    if not folder.is_dir():
        return () if "*" in str(folder) else (f"there is no folder {folder}",)
    try:
        return nearest_lines(name, [path.name for path in folder.iterdir()])
    except OSError as problem:
        return (f"{folder}: {problem.strerror}",)


def _origin(here: Path, base: Path | None) -> str:
    """The same words on every machine: nothing above the manifest's folder is in them."""
    if base is None:
        return here.name
    named = here.relative_to(base).as_posix() if here.is_relative_to(base) else here.as_posix()
    root, real = base.resolve(), here.resolve()
    if real == Path(os.path.normpath(root / named)):
        return named
    target = real.relative_to(root).as_posix() if real.is_relative_to(root) else real.name
    return f"{named} (a link to {target})"
