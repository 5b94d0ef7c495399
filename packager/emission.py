"""Writing packages so that the output folder holds all of them or none of the new ones."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packager.bundle import Bundle
from packager.errors import HexpackError, InputUnavailable, VerificationFailed
from packager.facts.archive import read_archive
from packager.facts.listing import Listing
from packager.facts.reading import opened
from packager.facts.tar import tar_entries
from packager.facts.types import ArchiveMember
from packager.files import Blob, digest, written_whole
from packager.formats import Owned, Rearranged, Sealed, Signed, Wrapped, by_id
from packager.model import Frozen
from packager.plan_model import PackagePlan, TargetPlan
from packager.signing_key import SigningKey, debug_key

_STAGING = ".hexpack-"
_ABANDONED_AFTER = 24 * 3600  # seconds


class Written(Frozen):
    """A finished package. `changed` is False when the file was there already, byte for byte.

    `note` is what is left to do with it before it can be used.
    """

    file_name: str
    format: str
    blob: Blob
    changed: bool = True
    note: str = ""


class Emission:
    """Packages written beside their final place; `publish` moves them there, leaving drops them."""

    def __init__(self, out: Path, folder: Path) -> None:
        self._out, self._folder = out, folder
        self._written: list[Written] = []

    def write(
        self,
        plan: TargetPlan,
        package: PackagePlan,
        bundle: Bundle,
        epoch: int,
        key: SigningKey | None = None,
    ) -> Written:
        """Write one package, sign it if its form has signatures, and read it back.

        Without a key, forms that must have a signature are signed with one for trying things out. Raises
        VerificationFailed if a file is missing in it.
        """
        path = self._folder / package.file_name
        form = by_id(package.format)
        with written_whole(path) as out:
            form.write(plan, bundle, out, epoch=epoch)
            if isinstance(form, Signed):
                form.sign(out, key or debug_key(plan.package.name))
            elif key and isinstance(form, Sealed):
                form.seal(out, key)
        members = _wrapped_members(path, form) if isinstance(form, Wrapped) else _members(path)
        if isinstance(form, Rearranged):
            _verify_places(path, bundle, form.places(plan, bundle), members)
        else:
            _verify_closure(path, bundle, members)
        note = form.unsigned(plan) if isinstance(form, Owned) and not key else ""
        done = Written(file_name=package.file_name, format=package.format, blob=digest(path), note=note)
        self._written.append(done)
        return done

    def publish(self) -> None:
        """Give every package its final name; when that fails, the older packages are back in place."""
        kept: list[tuple[Path, Path]] = []
        try:
            for done in self._written:
                final, older = self._out / done.file_name, self._folder / f"older-{done.file_name}"
                if final.exists():
                    final.replace(older)
                    kept.append((older, final))
                (self._folder / done.file_name).replace(final)
        except BaseException:
            for older, final in kept:
                older.replace(final)
            raise


def require_writable(out: Path) -> None:
    """Raise InputUnavailable when packages cannot be written to a folder that need not be there yet.

    Whoever waits minutes for a compiler wants to know it before. Nothing is made for the question.
    """
    place = out.absolute()
    try:
        while not os.path.lexists(place):
            place = place.parent
        if not stat.S_ISDIR(place.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
    except OSError as problem:
        raise _unwritable(out, problem) from problem


@contextlib.contextmanager
def emission(out: Path) -> Iterator[Emission]:
    """A place to write packages for `out`; what is not published is gone afterwards.

    Raises InputUnavailable when the folder cannot be written or the disk is full.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        _sweep(out)
        folder = Path(tempfile.mkdtemp(prefix=f"{_STAGING}{os.getpid()}-", dir=out))
    except OSError as problem:
        raise _unwritable(out, problem) from problem
    try:
        yield Emission(out, folder)
    except OSError as problem:
        raise _unwritable(out, problem) from problem
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unwritable(out: Path, problem: OSError) -> HexpackError:
    about = f": {problem.filename}" if problem.filename else ""
    full = problem.errno == errno.ENOSPC
    return InputUnavailable(
        f"packages cannot be written to {out}",
        evidence=(f"{problem.strerror or problem}{about}",),
        fix="free some space, or name another folder with --out"
        if full
        else "name another folder with --out",
    )


def _sweep(out: Path) -> None:
    """Remove what a killed run of a process that no longer lives has left."""
    for left in out.glob(f"{_STAGING}*"):
        owner = left.name.removeprefix(_STAGING).partition("-")[0]
        if owner.isdigit() and not _alive(int(owner), left):
            shutil.rmtree(left, ignore_errors=True)


def _alive(process: int, folder: Path) -> bool:
    """Whether the owner of a staging folder may still be at work."""
    if os.name == "nt":  # there, asking a process with signal 0 ends it
        return time.time() - folder.stat().st_mtime < _ABANDONED_AFTER
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _verify_closure(path: Path, bundle: Bundle, members: Mapping[str, ArchiveMember]) -> None:
    """Every file of the bundle is in the finished archive, with its size and under one prefix."""
    anchor = bundle.files[0].path
    prefixes = [
        name.removesuffix(anchor) for name in members if name == anchor or name.endswith(f"/{anchor}")
    ]
    for prefix in prefixes:
        if all(
            (found := members.get(prefix + file.path)) is not None and found.size == file.blob.size
            for file in bundle.files
        ):
            return
    prefix = prefixes[0] if prefixes else ""
    _verify_places(path, bundle, {file.path: prefix + file.path for file in bundle.files}, members)


def _verify_places(
    path: Path, bundle: Bundle, places: Mapping[str, str], members: Mapping[str, ArchiveMember]
) -> None:
    """Every file with a place stands there in the finished archive, with its size."""
    sizes = {inside: getattr(members.get(place), "size", None) for inside, place in places.items()}
    wrong = [
        f"{file.path}: found {sizes[file.path]} bytes, wanted {file.blob.size}"
        for file in (*bundle.files, *bundle.parts)
        if file.path in sizes and sizes[file.path] != file.blob.size
    ]
    if wrong:
        raise VerificationFailed(
            f"{path.name} does not hold what was staged for it",
            evidence=wrong[:8],
            fix="report this: the package was not published",
        )


def _members(path: Path) -> dict[str, ArchiveMember]:
    return {member.name.removeprefix("./"): member for member in read_archive(path).members}


def _wrapped_members(path: Path, form: Wrapped) -> dict[str, ArchiveMember]:
    """The members of the archive inside a package."""
    with opened(path) as (package, size), form.wrapped(package) as stream:
        entries = tar_entries(stream, Listing(path, size))
        return {entry.member.name.removeprefix("./"): entry.member for entry in entries}


def unchanged(out: Path, packages: Sequence[Written]) -> bool:
    """Whether all these packages are in the folder already, byte for byte."""
    return all(
        (path := out / package.file_name).is_file()
        and path.stat().st_size == package.blob.size
        and digest(path) == package.blob
        for package in packages
    )
