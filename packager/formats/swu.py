"""`swu`: an update for SWUpdate, which unpacks the files into a running system or another one.

Source: SWUpdate manual: a cpio archive with `sw-description` first; the handler `archive`; a board's section
is named as /etc/hwrevision names the board.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import BinaryIO, cast

from packager.bundle import Bundle
from packager.cms import signed_data
from packager.facts.reading import Readable, Slice
from packager.files import insert
from packager.formats.cpio import CpioWriter
from packager.formats.gzip_stream import gzip_stream
from packager.formats.installed import installed, one_line
from packager.formats.members import in_order, planned_name
from packager.formats.tar_stream import DigestingSink, write_tar
from packager.plan_model import PackagePlan, TargetPlan
from packager.signing_key import SigningKey
from packager.templating import fill

_DESCRIPTION = "sw-description"
_GZIP = b"\x1f\x8b\x08"
_SIGNATURE_NUMBER = 100  # no other member has it
_HEADER = 110  # bytes of a cpio header without the name


class Swu:
    """`sw-description` and one archive, with what a deb installs."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "swu")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the update. Raises InputUnavailable when a file changed since it was staged.

        Raises ManifestError for more than 4 GiB of compressed files, which a cpio archive cannot hold.
        """
        package = plan.package_of("swu")
        archive, began = CpioWriter(out, epoch), out.tell()
        archive.add(_DESCRIPTION, _description(plan, package, "0" * 64))
        with archive.member(_archive(package)) as member:
            digesting = DigestingSink(member)
            with gzip_stream(cast("BinaryIO", digesting)) as stream:
                members = in_order(installed(plan, package, bundle), folders=True)
                write_tar(stream, members, epoch=epoch, dialect="pax")
        archive.finish()
        end = out.tell()
        out.seek(began)
        # As long as before, now with the digest of what follows.
        CpioWriter(out, epoch).add(_DESCRIPTION, _description(plan, package, digesting.sha256))
        out.seek(end)

    def seal(self, package: BinaryIO, key: SigningKey) -> None:
        """Put a CMS signature of `sw-description` behind it, where SWUpdate looks for it."""
        package.seek(0)
        size, start = _member(package)
        package.seek(start)
        description = package.read(size)
        signature = io.BytesIO()
        CpioWriter(signature, 0, number=_SIGNATURE_NUMBER).add(
            f"{_DESCRIPTION}.sig", signed_data(description, key, enclosed=False)
        )
        insert(package, start + size + -size % 4, signature.getvalue())

    @contextlib.contextmanager
    def wrapped(self, package: BinaryIO) -> Iterator[Readable]:
        """The archive inside a finished update."""
        package.seek(0)
        while True:
            size, start = _member(package)
            if package.read(len(_GZIP)) == _GZIP:
                package.seek(start)
                yield Slice(package, size)
                return
            package.seek(start + size + -size % 4)


def _member(package: BinaryIO) -> tuple[int, int]:
    """Size of the member whose header comes next, and where its content begins, which comes next then."""
    header = package.read(_HEADER)
    size, named = int(header[54:62], 16), int(header[94:102], 16)
    package.seek(named + -(_HEADER + named) % 4, io.SEEK_CUR)
    return size, package.tell()


def _archive(package: PackagePlan) -> str:
    return f"{package.name}.tar.gz"


def _description(plan: TargetPlan, package: PackagePlan, sha256: str) -> bytes:
    """`sw-description` in libconfig's grammar; as long for each digest."""
    return fill(
        "swu",
        "sw-description.jinja",
        package=package,
        description=_quoted(one_line(plan.package.description)),
        boards=[name for soc in plan.socs for name in plan.formats.machines[soc.id]],
        archive=_archive(package),
        root=plan.formats.swu.root,
        sha256=sha256,
    ).encode()


def _quoted(words: str) -> str:
    return words.replace("\\", "\\\\").replace('"', '\\"')
