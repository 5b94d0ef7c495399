"""Package formats. Each turns a bundle into the bytes of one installable file; none of them judges."""

from __future__ import annotations

from typing import BinaryIO, Protocol

from packager.bundle import Bundle
from packager.errors import ManifestError, nearest
from packager.plan_model import TargetPlan


class Format(Protocol):
    """One installable file form. `write` gives the same bytes for the same plan, bundle and epoch."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no package of this form."""

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the whole package to `out`, a seekable stream opened for writing.

        `epoch` is the time of everything inside, in seconds since 1970 UTC. Raises InputUnavailable
        when a file is not what the bundle says it is.
        """


def by_id(id: str) -> Format:  # noqa: A002
    """The writer of a format of `targets/systems.toml`. Raises ManifestError when there is none."""
    from packager.formats.deb import Deb
    from packager.formats.tar_zst import TarZst
    from packager.formats.zip import Zip

    writers: dict[str, Format] = {"tar.zst": TarZst(), "deb": Deb(), "zip": Zip()}
    if id not in writers:
        close = nearest(id, writers)
        raise ManifestError(
            f'no writer for package format "{id}"',
            evidence=(f'did you mean "{close}"?',) if close else (),
            fix=f"formats that this version writes: {', '.join(writers)}",
        )
    return writers[id]
