"""`mender`: an artifact that replaces one folder of a device, with Mender's update module `directory`.

Source: Mender, artifact format version 3: a tar of `version`, `manifest`, `header.tar.gz` and
`data/0000.tar.gz` in this order; the module's own documentation for the files `dest_dir` and `update.tar`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from packager.bundle import Bundle
from packager.errors import ManifestError, UnreadableFile
from packager.facts.reading import Readable
from packager.files import HashingWriter, insert
from packager.formats.gzip_stream import gzip_stream
from packager.formats.members import Member, in_order, members_below, planned_name
from packager.formats.tar_stream import DigestingSink, Sink, tar_size, write_tar
from packager.plan_model import PackagePlan, TargetPlan
from packager.signing_key import SigningKey

_P256 = 32  # bytes of each number of a signature on the only curve that Mender knows
_MODULE = "directory"
_VERSION = b'{"format":"mender","version":3}'
_HEADER, _DATA, _TREE, _FOLDER = "header.tar.gz", "data/0000.tar.gz", "update.tar", "dest_dir"


class Mender:
    """The tree as `update.tar`, for the folder in `dest_dir`."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "mender")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the artifact. Raises InputUnavailable when a file changed since it was staged."""
        package = plan.package_of("mender")
        folder = (plan.formats.mender.folder or f"/data/{package.name}").encode()
        header = _header(plan, package, epoch)
        digests = {
            f"data/0000/{_FOLDER}": hashlib.sha256(folder).hexdigest(),
            f"data/0000/{_TREE}": "0" * 64,
            _HEADER: hashlib.sha256(header).hexdigest(),
            "version": hashlib.sha256(_VERSION).hexdigest(),
        }
        _add(out, "version", _VERSION, epoch)
        manifest_at = out.tell()
        _add(out, "manifest", _manifest(digests), epoch)
        _add(out, _HEADER, header, epoch)
        digests[f"data/0000/{_TREE}"] = _add_data(out, folder, bundle, epoch)
        out.write(bytes(2 * tarfile.BLOCKSIZE))
        end = out.tell()
        out.seek(manifest_at)
        _add(out, "manifest", _manifest(digests), epoch)  # as long as before
        out.seek(end)

    def seal(self, package: BinaryIO, key: SigningKey) -> None:
        """Put the signature of `manifest` behind it, in base64. Raises ManifestError for a strange curve."""
        package.seek(0)
        with tarfile.open(fileobj=package, mode="r:") as archive:
            info = archive.getmember("manifest")
            manifest = archive.extractfile(info)
            content = manifest.read() if manifest else b""
        package.seek(info.offset_data + info.size + -info.size % tarfile.BLOCKSIZE)
        signature = io.BytesIO()
        _add(signature, "manifest.sig", base64.b64encode(_signature(content, key)), int(info.mtime))
        insert(package, package.tell(), signature.getvalue())

    @contextlib.contextmanager
    def wrapped(self, package: BinaryIO) -> Iterator[Readable]:
        """The tree inside a finished artifact."""
        package.seek(0)
        with tarfile.open(fileobj=package, mode="r:") as outer:
            data = outer.extractfile(_DATA)
            with tarfile.open(fileobj=data, mode="r:gz") as inner:
                tree = inner.extractfile(_TREE)
                if tree is None:
                    raise UnreadableFile(package.name, 0, f"{_TREE} is no file")
                yield cast("Readable", tree)


def _signature(content: bytes, key: SigningKey) -> bytes:
    if key.kind == "rsa":
        return key.sign(content)
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    numbers = decode_dss_signature(key.sign(content))
    if max(numbers).bit_length() > 8 * _P256:
        raise ManifestError(
            "Mender does not know the curve of the signing key",
            fix="sign with RSA, or with an elliptic curve key on P-256",
        )
    return b"".join(number.to_bytes(_P256) for number in numbers)


def _header(plan: TargetPlan, package: PackagePlan, epoch: int) -> bytes:
    """Which devices the artifact is for, and what they have after it."""
    provided = f"data-partition.{package.name}"
    info = {
        "payloads": [{"type": _MODULE}],
        "artifact_provides": {"artifact_name": f"{package.name}-{package.version}"},
        "artifact_depends": {
            "device_type": [name for soc in plan.socs for name in plan.formats.machines[soc.id]]
        },
    }
    kind = {
        "type": _MODULE,
        "artifact_provides": {f"{provided}.version": package.version},
        "clears_artifact_provides": [f"{provided}.*"],
    }
    packed = io.BytesIO()
    members = [
        Member("header-info", 0o600, _json(info)),
        Member("headers/0000/type-info", 0o600, _json(kind)),
    ]
    with gzip_stream(packed) as stream:
        write_tar(stream, members, epoch=epoch, dialect="gnu")
    return packed.getvalue()


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _manifest(digests: dict[str, str]) -> bytes:
    """A line for each file of the artifact, as `sha256sum` writes them."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items())).encode()


def _add(out: BinaryIO, name: str, content: bytes, epoch: int) -> None:
    out.write(_tar_header(name, len(content), epoch))
    out.write(content + bytes(-len(content) % tarfile.BLOCKSIZE))


def _add_data(out: BinaryIO, folder: bytes, bundle: Bundle, epoch: int) -> str:
    """The payload, compressed; the digest of the tree in it. Its header is written when its size is known."""
    at = out.tell()
    out.write(bytes(tarfile.BLOCKSIZE))
    sized = HashingWriter(out)
    with gzip_stream(cast("BinaryIO", sized)) as stream:
        digest = _write_payload(stream, folder, bundle, epoch)
    out.write(bytes(-sized.blob.size % tarfile.BLOCKSIZE))
    end = out.tell()
    out.seek(at)
    out.write(_tar_header(_DATA, sized.blob.size, epoch))
    out.seek(end)
    return digest


def _write_payload(out: Sink, folder: bytes, bundle: Bundle, epoch: int) -> str:
    members = in_order(members_below("", bundle), folders=True)
    size = tar_size(members, epoch=epoch, dialect="gnu")
    out.write(_tar_header(_FOLDER, len(folder), epoch))
    out.write(folder + bytes(-len(folder) % tarfile.BLOCKSIZE))
    out.write(_tar_header(_TREE, size, epoch))
    inside = DigestingSink(out)
    write_tar(inside, members, epoch=epoch, dialect="gnu")
    out.write(bytes(-size % tarfile.BLOCKSIZE + 2 * tarfile.BLOCKSIZE))
    return inside.sha256


def _tar_header(name: str, size: int, epoch: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, epoch
    return info.tobuf(tarfile.GNU_FORMAT, "ascii")
