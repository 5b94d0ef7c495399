"""`tar.zst`: one folder `<name>-<version>/` for any Linux, unpacked with `tar --zstd -xf`."""

from __future__ import annotations

from typing import BinaryIO

from packager.bundle import Bundle
from packager.formats.members import in_order, members_below, planned_name
from packager.formats.tar_stream import write_tar, zstd_frame
from packager.plan_model import TargetPlan


class TarZst:
    """POSIX tar in byte order of the paths, compressed with zstd level 3."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "tar.zst")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the archive. Raises InputUnavailable when a file changed since it was staged."""
        root = f"{plan.package.name}-{plan.package.version}"
        with zstd_frame(out) as stream:
            write_tar(stream, in_order(members_below(root, bundle), folders=True), epoch=epoch, dialect="pax")
