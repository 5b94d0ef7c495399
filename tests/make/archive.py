"""Tiny genuine archives: tar, zip, ar, deb, and images in an OCI layout."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path


def member(
    name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644
) -> tarfile.TarInfo:
    """The header of a tar member."""
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname, info.mode = size, kind, link, mode
    return info


def tar_of(*infos: tarfile.TarInfo) -> bytes:
    """A tar of members that hold zeros."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info in infos:
            archive.addfile(info, io.BytesIO(bytes(info.size)))
    return out.getvalue()


def tar_with(files: Mapping[str, bytes], *links: tarfile.TarInfo) -> bytes:
    """A tar of these files, in this order, and links behind them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            archive.addfile(member(name, len(content)), io.BytesIO(content))
        for link in links:
            archive.addfile(link)
    return out.getvalue()


def zip_with(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def zip_of(*names: str, content: bytes = b"content", link: tuple[str, str] | None = None) -> bytes:
    """A zip of files of one content, and a symbolic link."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
        if link:
            info = zipfile.ZipInfo(link[0])
            info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, link[1])
    return out.getvalue()


def zip_of_windows(files: Mapping[str, bytes]) -> bytes:
    """A zip as old programs on Windows make it: their own separator in names, and folders as members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in dict.fromkeys(f"{name.rpartition('/')[0]}/" for name in files if "/" in name):
            _put_as_windows(archive, name, b"")
        for name, content in files.items():
            _put_as_windows(archive, name, content)
    return out.getvalue()


def _put_as_windows(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo()
    info.create_system, info.external_attr = 0, 0x10 if name.endswith("/") else 0x20
    info.filename = name.replace("/", "\\")
    archive.writestr(info, content)


def encrypted(archive: bytes) -> bytes:
    """The zip with each member marked as encrypted."""
    marked = bytearray(archive)
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = marked.find(magic)
        while at >= 0:
            marked[at + flags] |= 1
            at = marked.find(magic, at + 4)
    return bytes(marked)


def ar_of(**parts: bytes) -> bytes:
    """An ar archive; an underscore in `debian_binary` stands for the hyphen."""
    out = b"!<arch>\n"
    for name, content in parts.items():
        name = name.replace("_", "-", 1) if name.startswith("debian") else name
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


def deb_of(
    data: bytes, control: bytes | None = None, compress: Callable[[bytes], bytes] = bytes, suffix: str = ""
) -> bytes:
    """A deb whose data part is this tar."""
    control = tar_of(member("./control", 40)) if control is None else control
    parts = {"debian_binary": b"2.0\n", f"control.tar{suffix}": compress(control)}
    return ar_of(**parts, **{f"data.tar{suffix}": compress(data)})


class Layout:
    """An OCI layout in the making: `files` are its files by name, in the order in which they were added."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
        self.manifests: list[dict[str, object]] = []

    def blob(self, content: bytes, media_type: str, **more: object) -> dict[str, object]:
        """Add a blob and return its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content), **more}

    def image(
        self,
        *layers: bytes,
        platform: tuple[str, str] | None = None,
        layer_type: str = "application/vnd.oci.image.layer.v1.tar+gzip",
        **more: object,
    ) -> None:
        """Add an image of these layers, the lowest first; `more` goes into each layer's descriptor."""
        rows = [self.blob(layer, layer_type, **more) for layer in layers]
        manifest = {"schemaVersion": 2, "layers": rows}
        about = {"platform": dict(zip(("os", "architecture"), platform, strict=True))} if platform else {}
        self.manifests.append(
            self.blob(json.dumps(manifest).encode(), "application/vnd.oci.image.manifest.v1+json", **about)
        )

    def finished(self) -> dict[str, bytes]:
        """All files; the index comes last, as some tools write it."""
        index = {"schemaVersion": 2, "manifests": self.manifests}
        return {**self.files, "index.json": json.dumps(index).encode()}


def put(root: Path, files: Mapping[str, bytes]) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root
