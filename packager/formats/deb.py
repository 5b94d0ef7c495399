"""`deb`: a Debian binary package 2.0 (deb(5)), for Debian, Ubuntu and Qualcomm Linux with dpkg.

An `ar` archive of `debian-binary`, `control.tar.zst` and `data.tar.zst`. dpkg reads zstd since 1.21.18
(Debian 12, Ubuntu 18.04 by its own patch).
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import textwrap
from collections.abc import Sequence
from typing import BinaryIO

from packager.bundle import Bundle, BundleFile
from packager.errors import ManifestError
from packager.files import blocks
from packager.formats.deb_documents import documents
from packager.formats.members import Member, in_order, members_below, planned_name
from packager.formats.tar_stream import write_tar, zstd_frame
from packager.naming import debian_name, debian_version
from packager.plan_model import TargetPlan

_AR_MAGIC = b"!<arch>\n"
_MOST_IN_AR = 10**10 - 1
_COLUMNS = 79


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
        root = f"./usr/lib/{debian_name(plan.package.name, plan.name)}"
        members = [
            *members_below(root, bundle),
            *_command(plan.package.name, root, bundle),
            *documents(plan, bundle, root, epoch=epoch),
        ]
        data = in_order(members, folders=True)
        control = [
            Member("./control", 0o644, _control(plan, bundle, installed_kib(data)).encode()),
            Member("./md5sums", 0o644, _md5sums(data).encode()),
        ]
        out.write(_AR_MAGIC + _ar_header("debian-binary", 4, epoch) + b"2.0\n")
        _write_archive(out, "control.tar.zst", in_order(control, folders=True), epoch)
        _write_archive(out, "data.tar.zst", data, epoch)


def _command(name: str, root: str, bundle: Bundle) -> list[Member]:
    """The link that puts the runner on the PATH under the application's name."""
    return [
        Member(f"./usr/bin/{name}", 0o777, target=f"..{root.removeprefix('./usr')}/{file.path}")
        for file in bundle.files
        if file.role == "runner"
    ]


def _write_archive(out: BinaryIO, name: str, members: Sequence[Member], epoch: int) -> None:
    """One `ar` member; its size is known only afterwards, so its header is written twice."""
    header = out.tell()
    out.write(_ar_header(name, 0, epoch))
    start = out.tell()
    with zstd_frame(out) as stream:
        write_tar(stream, members, epoch=epoch, dialect="gnu")
    end = out.tell()
    out.seek(header)
    out.write(_ar_header(name, end - start, epoch))
    out.seek(end)
    out.write(b"\n" * ((end - start) % 2))


def _ar_header(name: str, size: int, epoch: int) -> bytes:
    if size > _MOST_IN_AR:
        raise ManifestError(
            f"{name} of {size} bytes is more than a Debian package can hold",
            evidence=(f"ar(5) has ten digits for a size: at most {_MOST_IN_AR} bytes",),
            fix='ask for "tar.zst" instead of "deb", or split the model',
        )
    return f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{size:<10}`\n".encode("ascii")


def installed_kib(data: Sequence[Member]) -> int:
    """Installed-Size as dpkg-gencontrol counts it: each file or link in whole KiB, each folder one."""
    return sum(1 if member.is_folder else -(-member.size // 1024) for member in data)


def _md5sums(data: Sequence[Member]) -> str:
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


def _control(plan: TargetPlan, bundle: Bundle, size_kib: int) -> str:
    package = plan.package
    if plan.abi.debian is None:
        raise ManifestError(
            f"{plan.label}: Debian has no architecture for ABI {plan.abi.id}",
            fix='remove "deb" from the formats of this target',
        )
    name = debian_name(package.name, plan.name)
    # Packages of other targets bring the same command; only one of them can be installed.
    same = package.name if name != package.name else ""
    fields = {
        "Package": name,
        "Version": debian_version(package.version),
        "Architecture": plan.abi.debian,
        "Maintainer": package.maintainer,
        "Installed-Size": str(size_kib),
        "Depends": ", ".join(bundle.depends),
        "Provides": same,
        "Conflicts": same,
        "Replaces": same,
        "Section": "misc",
        "Priority": "optional",
        "Homepage": package.homepage or "",
    }
    lines = [f"{name}: {_one_line(value)}" for name, value in fields.items() if value]
    return "\n".join([*lines, *_description(plan)]) + "\n"


def _description(plan: TargetPlan) -> list[str]:
    """Synopsis and extended description (Debian policy 5.6.13)."""
    words = _one_line(plan.package.description)
    synopsis = textwrap.shorten(words, _COLUMNS - 1, placeholder=" ...")
    silicon = ", ".join(f"{soc.title} ({soc.id}, Hexagon {soc.arch})" for soc in plan.socs)
    made_for = f"Made for {silicon}, with the libraries of QAIRT {plan.runtime_set.release.version}."
    place = f"Everything is below /usr/lib/{debian_name(plan.package.name, plan.name)}."
    lines = [*textwrap.wrap(words, _COLUMNS - 1), "."] if synopsis != words else []
    lines += textwrap.wrap(f"{made_for} {place}", _COLUMNS - 1, break_on_hyphens=False)
    return [f"Description: {synopsis}", *(f" {line}" for line in lines)]


def _one_line(value: str) -> str:
    """A value that cannot start another field."""
    return " ".join(value.split())
