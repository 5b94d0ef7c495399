"""Packages taken apart with Python's own readers, so that tests can say what is inside."""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import NamedTuple

from packager.bundle import Bundle
from packager.formats import by_id
from packager.plan_model import TargetPlan


class ArMember(NamedTuple):
    """One member of an `ar` archive, every header field as it is written there."""

    name: str
    mtime: str
    uid: str
    gid: str
    mode: str
    content: bytes


def package_bytes(format_id: str, plan: TargetPlan, bundle: Bundle, epoch: int = 1_700_000_000) -> bytes:
    """The whole package."""
    out = io.BytesIO()
    by_id(format_id).write(plan, bundle, out, epoch=epoch)
    return out.getvalue()


def ar_members(data: bytes) -> list[ArMember]:
    """The members of an `ar` archive in its order (ar(5): 60-byte headers, even offsets)."""
    assert data.startswith(b"!<arch>\n")
    members, at = [], 8
    while at < len(data):
        header = data[at : at + 60].decode("ascii")
        assert header.endswith("`\n")
        size = int(header[48:58])
        name, mtime, uid, gid, mode = (
            header[a:b].rstrip() for a, b in ((0, 16), (16, 28), (28, 34), (34, 40), (40, 48))
        )
        members.append(ArMember(name, mtime, uid, gid, mode, data[at + 60 : at + 60 + size]))
        at += 60 + size + size % 2
    assert at == len(data)
    return members


def unzstd(frame: bytes) -> bytes:
    """What a zstd frame holds."""
    import zstandard

    return zstandard.ZstdDecompressor().stream_reader(frame).read()


def tar_infos(data: bytes) -> list[tarfile.TarInfo]:
    """The members of an uncompressed tar in its order."""
    with tarfile.open(fileobj=io.BytesIO(data), encoding="utf-8") as archive:
        return archive.getmembers()


def tar_tree(data: bytes) -> dict[str, bytes | str]:
    """Path → content of each file or target of each link of an uncompressed tar; folders left out."""
    tree: dict[str, bytes | str] = {}
    with tarfile.open(fileobj=io.BytesIO(data), encoding="utf-8") as archive:
        for info in archive:
            if info.issym():
                tree[info.name] = info.linkname
            elif stream := archive.extractfile(info):
                tree[info.name] = stream.read()
    return tree


def deb_part(package: bytes, part: str) -> dict[str, bytes | str]:
    """The tree of `control` or `data` of a deb, paths without `./`."""
    (member,) = (m for m in ar_members(package) if m.name == f"{part}.tar.zst")
    return {path.removeprefix("./"): content for path, content in tar_tree(unzstd(member.content)).items()}


def deb_control(package: bytes) -> dict[str, str]:
    """The fields of a deb's control file; continuation lines keep their leading space."""
    content = deb_part(package, "control")["control"]
    assert isinstance(content, bytes)
    fields: dict[str, str] = {}
    name = ""
    for line in content.decode().splitlines():
        if line.startswith(" "):
            fields[name] += "\n" + line
        else:
            name, _, value = line.partition(": ")
            fields[name] = value
    return fields


def zip_infos(package: bytes) -> list[zipfile.ZipInfo]:
    """The central directory of a zip in its order."""
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        return archive.infolist()
