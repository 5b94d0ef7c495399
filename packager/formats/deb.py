"""`deb`: a Debian binary package 2.0 (deb(5)), for Debian, Ubuntu and Qualcomm Linux with dpkg.

An `ar` archive of `debian-binary`, `control.tar.zst` and `data.tar.zst`. dpkg reads zstd since 1.21.18
(Debian 12, Ubuntu 18.04 by its own patch).
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
from collections.abc import Sequence
from typing import BinaryIO

from packager.bundle import Bundle, BundleFile
from packager.errors import ManifestError
from packager.files import blocks
from packager.formats import ar
from packager.formats.deb_documents import documents
from packager.formats.installed import control_fields, control_text, installed, script_members
from packager.formats.members import Member, in_order, planned_name
from packager.formats.tar_stream import write_tar, zstd_frame
from packager.plan_model import PackagePlan, TargetPlan


class Deb:
    """The tree in /usr/lib/<package>, a command in /usr/bin, and what Debian policy asks for beside."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "deb")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the package. Raises InputUnavailable when a file changed since it was staged.

        Raises ManifestError for an ABI without a Debian architecture, and for more than 9.3 GiB of
        compressed data, which an `ar` archive cannot hold.
        """
        package = plan.package_of("deb")
        members = [*installed(plan, package, bundle), *documents(plan, package, bundle, epoch=epoch)]
        data = in_order((member._replace(path=f"./{member.path}") for member in members), folders=True)
        control = [
            Member("./control", 0o644, _control(plan, package, bundle, installed_kib(data)).encode()),
            Member("./md5sums", 0o644, md5sums(data).encode()),
            *script_members(plan, package, bundle, "deb"),
        ]
        out.write(ar.MAGIC + ar.ar_header("debian-binary", 4, epoch) + b"2.0\n")
        for name, part in (("control", in_order(control, folders=True)), ("data", data)):
            with ar.ar_member(out, f"{name}.tar.zst", epoch), zstd_frame(out) as stream:
                write_tar(stream, part, epoch=epoch, dialect="gnu")


def installed_kib(data: Sequence[Member]) -> int:
    """Installed-Size as dpkg-gencontrol counts it: each file or link in whole KiB, each folder one."""
    return sum(1 if member.is_folder else -(-member.size // 1024) for member in data)


def md5sums(data: Sequence[Member]) -> str:
    """The list that `dpkg --verify` and `debsums` read, in the order of the archive."""
    files = [member for member in data if member.content is not None]
    with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        sums = pool.map(_md5, files)
        return "".join(
            f"{md5}  {member.path.removeprefix('./')}\n" for member, md5 in zip(files, sums, strict=True)
        )


def _md5(member: Member) -> str:
    # Not `member.blocks()`: the bytes are proven when they are packed, and that takes longer than MD5.
    md5 = hashlib.md5(usedforsecurity=False)
    if isinstance(member.content, BundleFile):
        with member.content.local.open("rb") as stream:
            for block in blocks(stream):
                md5.update(block)
    else:
        md5.update(member.content or b"")
    return md5.hexdigest()


def _control(plan: TargetPlan, package: PackagePlan, bundle: Bundle, size_kib: int) -> str:
    if plan.abi.debian is None:
        raise ManifestError(
            f"{plan.label}: Debian has no architecture for ABI {plan.abi.id}",
            fix='remove "deb" from the formats of this target',
        )
    return control_text(plan, package, control_fields(plan, package, bundle, size_kib))
