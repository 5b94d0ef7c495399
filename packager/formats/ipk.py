"""`ipk`: opkg's package, for Yocto images and OpenWrt.

An `ar` archive as opkg-utils writes it by default, with gzip inside: the compressor that every opkg
has, whatever it was built with. An ipk may also be a tar of the same parts, but the size of a part must
then be known before it is written.
"""

from __future__ import annotations

from typing import BinaryIO

from packager.bundle import Bundle
from packager.errors import ManifestError
from packager.formats import ar
from packager.formats.gzip_stream import gzip_stream
from packager.formats.installed import control_fields, control_text, installed, script_members
from packager.formats.members import Member, in_order, planned_name
from packager.formats.tar_stream import write_tar
from packager.plan_model import TargetPlan


class Ipk:
    """The tree in /usr/lib/<package> and a command in /usr/bin."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "ipk")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the package. Raises InputUnavailable when a file changed since it was staged.

        Raises ManifestError for an ABI without an opkg architecture, and for more than 9.3 GiB of
        compressed data, which an `ar` archive cannot hold.
        """
        if plan.abi.opkg is None:
            raise ManifestError(
                f"{plan.label}: opkg has no architecture for ABI {plan.abi.id}",
                fix='remove "ipk" from the formats of this target',
            )
        package = plan.package_of("ipk")
        members = installed(plan, package, bundle)
        data = in_order((member._replace(path=f"./{member.path}") for member in members), folders=True)
        fields = control_fields(plan, package, bundle, sum(member.size for member in data))
        fields["Architecture"] = plan.abi.opkg
        fields["License"] = plan.package.license
        fields["Depends"] = ", ".join(bundle.opkg_depends)
        control = [
            Member("./control", 0o644, control_text(plan, package, fields).encode()),
            *script_members(plan, package, bundle, "opkg"),
        ]
        out.write(ar.MAGIC + ar.ar_header("debian-binary", 4, epoch) + b"2.0\n")
        for name, part in (("control", in_order(control, folders=True)), ("data", data)):
            with ar.ar_member(out, f"{name}.tar.gz", epoch), gzip_stream(out) as stream:
                write_tar(stream, part, epoch=epoch, dialect="gnu")
