"""`zip` for Windows: one folder `<name>-<version>/`, unpacked by Explorer, `Expand-Archive` or `tar`."""

from __future__ import annotations

import stat
import time
import zipfile
from collections.abc import Iterable
from typing import BinaryIO

from packager.bundle import Bundle
from packager.formats.members import Member, in_order, members_below, planned_name
from packager.plan_model import TargetPlan

_UNIX = 3
_FIRST_TIME, _LAST_TIME = (1980, 1, 1, 0, 0, 0), (2107, 12, 31, 23, 59, 58)


class Zip:
    """Stored members in byte order of their paths, without folder entries, extra fields or descriptors.

    Nothing is compressed: deflated bytes differ between builds of zlib (CPython for Windows has used
    zlib-ng since 3.14), so that the same inputs would give other packages on another machine. It also
    saves the slowest step there is: 8.7 s against 0.24 s for 181 MB. Weights hardly shrink anyway.
    """

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "zip")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the archive. Raises InputUnavailable when a file changed since it was staged.

        Times are UTC in steps of two seconds, from 1980 to 2107: the format can say no other.
        """
        root = f"{plan.package.name}-{plan.package.version}"
        write_zip(out, members_below(root, bundle), epoch=epoch)


def write_zip(out: BinaryIO, members: Iterable[Member], *, epoch: int) -> None:
    """Write members in byte order of their paths; see `Zip` for how, and for what it raises."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for member in in_order(members, folders=False):
            with archive.open(_info(member, epoch), "w", force_zip64=needs_zip64(member.size)) as stream:
                if member.target is not None:
                    stream.write(member.target.encode())
                for block in member.blocks():
                    stream.write(block)


def needs_zip64(size: int) -> bool:
    """Whether a member of this many bytes needs the 64-bit fields; old readers stop at 2 GiB, not 4."""
    return size > zipfile.ZIP64_LIMIT


def _info(member: Member, epoch: int) -> zipfile.ZipInfo:
    moment = min(max(time.gmtime(epoch)[:6], _FIRST_TIME), _LAST_TIME)
    info = zipfile.ZipInfo(member.path, moment)
    kind = stat.S_IFREG if member.target is None else stat.S_IFLNK
    info.create_system = _UNIX
    info.external_attr = (kind | member.mode) << 16
    return info
