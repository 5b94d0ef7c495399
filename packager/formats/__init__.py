"""Package formats. Each turns a bundle into the bytes of one installable file; none of them judges."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Mapping
from typing import BinaryIO, Protocol, cast, runtime_checkable

from packager.bundle import Bundle
from packager.errors import ManifestError, nearest
from packager.facts.reading import Readable
from packager.plan_model import TargetPlan
from packager.signing_key import SigningKey


class Format(Protocol):
    """One installable file form. `write` gives the same bytes for the same plan, bundle and epoch."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no package of this form."""

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the whole package to `out`, a seekable stream opened for writing.

        `epoch` is the time of everything inside, in seconds since 1970 UTC. Raises InputUnavailable
        when a file is not what the bundle says it is.
        """


@runtime_checkable
class Rearranged(Protocol):
    """A format whose files stand elsewhere than in the tree, or that leaves some of them out."""

    def places(self, plan: TargetPlan, bundle: Bundle) -> Mapping[str, str]:
        """Path in the package of every file of the bundle that it carries, by its path in the tree."""


@runtime_checkable
class Tooled(Protocol):
    """A format that a program outside hexpack writes."""

    def require_tools(self) -> None:
        """Raises InputUnavailable when the program is not there, before anybody has waited for it."""


@runtime_checkable
class Wrapped(Protocol):
    """A format whose files are in an archive inside the package, which is read back in its place."""

    def wrapped(self, package: BinaryIO) -> contextlib.AbstractContextManager[Readable]:
        """The tar inside a finished package, perhaps compressed."""


@runtime_checkable
class Signed(Protocol):
    """A format whose packages carry their signature inside."""

    def sign(self, package: BinaryIO, key: SigningKey) -> None:
        """Sign what was written; the stream is readable, writable and seekable."""


@runtime_checkable
class Sealed(Protocol):
    """A format that has room for a signature, and is whole without one."""

    def seal(self, package: BinaryIO, key: SigningKey) -> None:
        """Sign what was written with the user's key; the stream is readable, writable and seekable."""


@runtime_checkable
class Owned(Protocol):
    """A format whose packages name their publisher, and are of little use until the publisher signs them."""

    def agree(self, plan: TargetPlan, key: SigningKey) -> None:
        """Raises ManifestError when the key is not the publisher's."""

    def unsigned(self, plan: TargetPlan) -> str:
        """What to do with a package that was written without a key."""


# Where the writer of each format of `targets/formats.toml` is; a module is imported when it is used.
_WRITERS = {
    "tar.gz": "tar_gz:TarGz",
    "tar.zst": "tar_zst:TarZst",
    "deb": "deb:Deb",
    "ipk": "ipk:Ipk",
    "rpm": "rpm:Rpm",
    "zip": "zip:Zip",
    "nupkg": "nupkg:Nupkg",
    "msix": "msix:Msix",
    "adb": "adb:Adb",
    "aar": "aar:Aar",
    "apk": "apk:Apk",
    "aipack": "aipack:AiPack",
    "oci": "oci:Oci",
    "compose": "compose:Compose",
    "yocto": "yocto:Yocto",
    "swu": "swu:Swu",
    "mender": "mender:Mender",
    "rauc": "rauc:Rauc",
}


def require_tools(plan: TargetPlan) -> None:
    """Raises InputUnavailable when a program that the target's formats need is not installed."""
    for package in plan.packages:
        writer = by_id(package.format)
        if isinstance(writer, Tooled):
            writer.require_tools()


def by_id(id: str) -> Format:  # noqa: A002
    """The writer of a format of `targets/formats.toml`. Raises ManifestError when there is none."""
    if id not in _WRITERS:
        close = nearest(id, _WRITERS)
        raise ManifestError(
            f'no writer for package format "{id}"',
            evidence=(f'did you mean "{close}"?',) if close else (),
            fix=f"formats that this version writes: {', '.join(_WRITERS)}",
        )
    module, name = _WRITERS[id].split(":")
    return cast("Format", getattr(importlib.import_module(f"packager.formats.{module}"), name)())
