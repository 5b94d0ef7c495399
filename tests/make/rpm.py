"""Tiny genuine rpm packages: lead, an empty signature, a header of the files' names and digests, a cpio."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping

Tree = Mapping[str, bytes | str]  # path in the package → a file's content or a link's target


def cpio_of(tree: Tree, magic: bytes = b"070701") -> bytes:
    """A cpio archive of the `newc` kind; folders are not in it."""
    out = b""
    for number, (path, content) in enumerate([*tree.items(), ("TRAILER!!!", b"")]):
        link = isinstance(content, str)
        data = content.encode() if isinstance(content, str) else content
        name = path.encode() + b"\0"
        fields = [number, 0o120777 if link else 0o100644, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0]
        out += _four(magic + b"".join(b"%08x" % field for field in fields) + name)
        out += _four(data)
    return out


def rpm_of(
    tree: Tree, compress: Callable[[bytes], bytes] = bytes, digests: Mapping[str, str] | None = None
) -> bytes:
    """A package of these files. `digests` replaces what the header says of them."""
    found = {path: hashlib.sha256(data).hexdigest() for path, data in tree.items() if isinstance(data, bytes)}
    found |= digests or {}
    folders = sorted({path.rpartition("/")[0] for path in tree})
    header = _header(
        {
            1035: (8, [found.get(path, "") for path in tree]),
            1116: (4, [folders.index(path.rpartition("/")[0]) for path in tree]),
            1117: (8, [path.rpartition("/")[2] for path in tree]),
            1118: (8, [f"/{folder}/" if folder else "/" for folder in folders]),
        }
    )
    signature = _header({})
    lead = b"\xed\xab\xee\xdb\x03\x00".ljust(96, b"\0")
    return (
        lead
        + signature
        + bytes(-len(signature) % 8)
        + header
        + compress(cpio_of({f"./{p}": d for p, d in tree.items()}))
    )


def _header(tags: Mapping[int, tuple[int, list[str] | list[int]]]) -> bytes:
    index, store = b"", b""
    for tag, (kind, values) in tags.items():
        store += bytes(-len(store) % 4)
        index += struct.pack(">IIII", tag, kind, len(store), len(values))
        for value in values:
            store += struct.pack(">I", value) if isinstance(value, int) else value.encode() + b"\0"
    return b"\x8e\xad\xe8\x01\0\0\0\0" + struct.pack(">II", len(tags), len(store)) + index + store


def _four(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
