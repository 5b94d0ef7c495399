"""`zip` for Windows: one folder `<name>-<version>/`, unpacked by Explorer, `Expand-Archive` or `tar`."""

from __future__ import annotations

import stat
import struct
import time
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import BinaryIO

from packager.bundle import Bundle
from packager.formats.members import Member, in_order, members_below, planned_name
from packager.plan_model import TargetPlan

_UNIX = 3
_LOCAL_HEAD = 30  # bytes before a member's name
_ALIGNED = 0xD935  # id of the extra field with which Android's tools align
_PADDING = struct.Struct("<HHH")  # id, size of what follows, alignment
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


def write_zip(
    out: BinaryIO,
    members: Iterable[Member],
    *,
    epoch: int,
    alignment: Callable[[Member], int] = lambda _: 1,
    last: Sequence[str] = (),
) -> None:
    """Write members in byte order of their paths; see `Zip` for how, and for what it raises.

    The bytes of a member begin at a multiple of what `alignment` says. The members `last` come behind all
    others.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        ordered = in_order(members, folders=False)
        for member in sorted(ordered, key=lambda one: last.index(one.path) if one.path in last else -1):
            info = _info(member, epoch)
            info.extra = _padding(out.tell() + _LOCAL_HEAD + len(info.filename.encode()), alignment(member))
            with archive.open(info, "w", force_zip64=needs_zip64(member.size)) as stream:
                if member.target is not None:
                    stream.write(member.target.encode())
                for block in member.blocks():
                    stream.write(block)


def _padding(place: int, alignment: int) -> bytes:
    """The extra field that moves what would begin at `place` to the next multiple, as zipalign writes it."""
    missing = -place % alignment
    if missing == 0:
        return b""
    if missing < _PADDING.size:
        missing += alignment * -(-(_PADDING.size - missing) // alignment)
    return _PADDING.pack(_ALIGNED, missing - 4, alignment) + bytes(missing - _PADDING.size)


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
