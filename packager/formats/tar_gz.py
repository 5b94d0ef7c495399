"""`tar.gz`: one folder `<name>-<version>/` for systems without zstd, unpacked with `tar -xzf`."""

from __future__ import annotations

from typing import BinaryIO

from packager.bundle import Bundle
from packager.formats.gzip_stream import gzip_stream
from packager.formats.members import in_order, members_below, planned_name
from packager.formats.tar_stream import write_tar
from packager.plan_model import TargetPlan


class TarGz:
    """POSIX tar in byte order of the paths, compressed with gzip."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "tar.gz")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the archive. Raises InputUnavailable when a file changed since it was staged."""
        root = f"{plan.package.name}-{plan.package.version}"
        with gzip_stream(out) as stream:
            write_tar(stream, in_order(members_below(root, bundle), folders=True), epoch=epoch, dialect="pax")
