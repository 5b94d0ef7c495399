"""`rauc`: a bundle for RAUC, in the form `verity`, which can be installed while it is fetched.

Source: RAUC's reference: a squashfs, its hash tree, a CMS signature with the manifest in it, and its size
in eight bytes, big end first. The image of the slot is a tar, which RAUC unpacks into a new file system.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from collections.abc import Iterator
from typing import BinaryIO, cast

from packager.bundle import Bundle
from packager.cms import signed_data
from packager.facts.reading import Readable, Slice
from packager.files import Blob
from packager.formats.gzip_stream import gzip_stream
from packager.formats.installed import one_line
from packager.formats.members import in_order, members_below, planned_name
from packager.formats.squashfs import file_place, squashfs
from packager.formats.tar_stream import write_tar
from packager.formats.verity import BLOCK, write_tree
from packager.plan_model import PackagePlan, TargetPlan
from packager.signing_key import SigningKey
from packager.templating import fill

_SIZE = struct.Struct(">Q")


class Rauc:
    """A bundle whose one image fills the slot for the application."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "rauc")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the bundle with its bare manifest where the signature will be.

        Raises InputUnavailable when a file changed since it was staged.
        """
        package = plan.package_of("rauc")
        image = f"{package.name}.tar.gz"
        with squashfs(out, image, epoch) as stream, gzip_stream(cast("BinaryIO", stream)) as packed:
            members = in_order(members_below("", bundle), folders=True)
            write_tar(packed, members, epoch=epoch, dialect="pax")
        out.write(bytes(-out.tell() % BLOCK))
        out.write(bytes(max(2 * BLOCK - out.tell(), 0)))
        salt = hashlib.sha256(stream.blob.sha256.encode()).digest()
        root, size = write_tree(out, out.tell(), salt)
        verity = {"hash": root, "salt": salt.hex(), "size": size}
        _finish(out, _manifest(plan, package, image, stream.blob, verity))

    def sign(self, package: BinaryIO, key: SigningKey) -> None:
        """Put the signature with the manifest in it in the place of the bare manifest."""
        end = package.seek(-_SIZE.size, os.SEEK_END)
        (size,) = _SIZE.unpack(package.read(_SIZE.size))
        package.seek(end - size)
        manifest = package.read(size)
        package.seek(end - size)
        package.truncate()
        _finish(package, signed_data(manifest, key, enclosed=True))

    @contextlib.contextmanager
    def wrapped(self, package: BinaryIO) -> Iterator[Readable]:
        """The image inside a finished bundle."""
        start, size = file_place(package)
        package.seek(start)
        yield Slice(package, size)


def _finish(out: BinaryIO, content: bytes) -> None:
    out.write(content + _SIZE.pack(len(content)))


def _manifest(
    plan: TargetPlan, package: PackagePlan, image: str, blob: Blob, verity: dict[str, object]
) -> bytes:
    """The manifest in GLib's grammar of keys. One board: RAUC compares one word."""
    (compatible,) = {name for soc in plan.socs for name in plan.formats.machines[soc.id]}
    return fill(
        "rauc",
        "manifest.raucm.jinja",
        compatible=compatible,
        version=package.version,
        description=one_line(plan.package.description).replace("\\", "\\\\"),
        slot=plan.formats.rauc.slot,
        image=image,
        blob=blob,
        verity=verity,
    ).encode()
