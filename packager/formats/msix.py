"""`msix`: a package that Windows installs and removes whole, the program as a command of its name.

A zip by the Open Packaging Conventions with a block map: SHA-256 of every 64 KiB of every file. Windows
installs signed packages only, and the publisher in the manifest has to be the subject of the certificate.
(Source: Microsoft, "Package manifest schema reference" and "App package block map" of the Windows SDK.)
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from html import escape
from typing import BinaryIO

from packager import catalog
from packager.bundle import Bundle, BundleFile
from packager.errors import ManifestError
from packager.formats.members import Member, in_order, planned_name
from packager.formats.msix_signature import BLOCK_MAP, TYPES, attach_signature, subject_of
from packager.formats.opc import content_types, part_name
from packager.formats.picture import plain_png
from packager.formats.zip import needs_zip64, write_zip
from packager.plan_model import TargetPlan
from packager.signing_key import SigningKey
from packager.templating import fill

MANIFEST = "AppxManifest.xml"
_FILE = 0o644
_KNOWN = {"xml": "application/xml", "png": "image/png", "txt": "text/plain", "json": "application/json"}
_OVERRIDES = {
    MANIFEST: "application/vnd.ms-appx.manifest+xml",
    BLOCK_MAP: "application/vnd.ms-appx.blockmap+xml",
}
_LOGOS = {"StoreLogo": 50, "Square44x44Logo": 44, "Square150x150Logo": 150}
_NAMESPACE = "http://schemas.microsoft.com/appx/2010/blockmap"
_METHOD = "http://www.w3.org/2001/04/xmlenc#sha256"
_BLOCK = 65536
_HEAD, _WIDE = 30, 20  # bytes of a zip member's header without its name; of its field for large sizes


class Msix:
    """A package for `Add-AppxPackage`, App Installer and device management."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "msix")

    def places(self, plan: TargetPlan, bundle: Bundle) -> Mapping[str, str]:  # noqa: ARG002
        """Every file of the tree stands where it stands there, under its name as a part."""
        return {file.path: part_name(file.path) for file in bundle.files}

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the package, unsigned. Raises InputUnavailable when a file changed since it was staged.

        Raises ManifestError for an ABI that MSIX has no word for. Reads every file twice: the block map
        is inside the package, and is made of all of it.
        """
        files = [Member(file.path, _FILE, content=file) for file in bundle.files]
        files += [Member(f"Assets/{name}.png", _FILE, plain_png(size)) for name, size in _LOGOS.items()]
        files.append(Member(MANIFEST, _FILE, _manifest(plan).encode()))
        types = content_types([member.path for member in files], _KNOWN, _OVERRIDES)
        members = [
            *(member._replace(path=part_name(member.path)) for member in files),
            Member(BLOCK_MAP, _FILE, _block_map(files).encode()),
            Member(TYPES, _FILE, types.encode()),
        ]
        write_zip(out, members, epoch=epoch, last=(BLOCK_MAP, TYPES))  # signing changes the last one

    def agree(self, plan: TargetPlan, key: SigningKey) -> None:
        """Raises ManifestError unless the package's publisher is the subject of the key's certificate."""
        said, subject = publisher(plan), subject_of(key.certificates[0])
        if said != subject:
            raise ManifestError(
                f"{plan.label}: the msix package's publisher is not the certificate's subject, and Windows "
                "installs no such package",
                evidence=(f"found   {said}", f"wanted  {subject}, the subject of the certificate"),
                fix=f"write publisher = '{subject}' below [formats.msix]",
            )

    def unsigned(self, plan: TargetPlan) -> str:
        """What to do with a package that was written without a key."""
        file = self.file_name(plan)
        return (
            f"{file} is not signed, and Windows installs signed packages only. Write signing = "
            "{ keystore = …, password = … } into the manifest, or sign it with a certificate of the "
            f"subject {publisher(plan)}:\n  signtool sign /fd SHA256 /f release.pfx /p PASSWORD {file}"
        )

    def seal(self, package: BinaryIO, key: SigningKey) -> None:
        """Sign what `write` wrote."""
        attach_signature(package, key)


def publisher(plan: TargetPlan) -> str:
    """Who publishes, written as Windows writes the subject of a certificate."""
    return plan.formats.msix.publisher or f"CN={_quoted(plan.package.vendor)}"


def _quoted(value: str) -> str:
    return f'"{value.replace(chr(34), chr(34) * 2)}"' if set(value) & set(',+="\n<>#;') else value


def _manifest(plan: TargetPlan) -> str:
    package = plan.package_of("msix")
    if plan.abi.msix is None:
        raise ManifestError(
            f"{plan.label}: MSIX has no word for the processor of ABI {plan.abi.id}",
            fix='remove "msix" from the formats of this target',
        )
    return fill(
        "msix",
        "AppxManifest.xml.jinja",
        package=plan.package,
        name=package.name,
        version=package.version,
        architecture=plan.abi.msix,
        publisher=publisher(plan),
        platform=catalog.table("windows")["msix"],
    )


def _block_map(members: Iterable[Member]) -> str:
    """The digests of all members, in the order in which they stand in the package."""
    ordered = in_order(members, folders=False)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        entries = pool.map(_entry, ordered)
        lines = [line for entry in entries for line in entry]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8" standalone="no"?>',
            f'<BlockMap xmlns="{_NAMESPACE}" HashMethod="{_METHOD}">',
            *lines,
            "</BlockMap>\n",
        ]
    )


def _entry(member: Member) -> list[str]:
    head = _HEAD + len(part_name(member.path)) + (_WIDE if needs_zip64(member.size) else 0)
    name = escape(member.path.replace("/", "\\"))
    hashes = [f'    <Block Hash="{base64.b64encode(one).decode()}"/>' for one in _digests(member)]
    return [f'  <File Name="{name}" Size="{member.size}" LfhSize="{head}">', *hashes, "  </File>"]


def _digests(member: Member) -> Iterator[bytes]:
    """Of each 64 KiB. What is read is proved when it is packed: that takes longer than this."""
    if isinstance(member.content, BundleFile):
        with member.content.local.open("rb") as stream:
            while block := stream.read(_BLOCK):
                yield hashlib.sha256(block).digest()
    else:
        content = member.content or b""
        for start in range(0, len(content), _BLOCK):
            yield hashlib.sha256(content[start : start + _BLOCK]).digest()
