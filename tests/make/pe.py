"""Tiny genuine Windows DLLs: PE32+ images with imports, a version resource, and what marks a hybrid one."""

from __future__ import annotations

import struct
from collections.abc import Sequence

MACHINES = {"ARM64": 0xAA64, "AMD64": 0x8664, "ARM64EC": 0x8664, "ARM64X": 0xAA64}

_BASE = 0x180000000
_PAGE, _SECTOR = 0x1000, 0x200
_EXPORT, _IMPORT, _RESOURCE, _DEBUG, _LOAD_CONFIG, _DELAY_IMPORT = 0, 1, 2, 6, 10, 13
_RDATA_OFFSET = 3 * _SECTOR  # of .rdata in the file, behind the headers and one sector of .text
_LOAD_CONFIG_SIZE, _CHPE_POINTER = 0x140, 0xC8
_RT_VERSION, _US_ENGLISH = 16, 0x409


def dll(
    machine: str = "ARM64",
    product_version: str | None = "2.51.0.260929181845",
    build: str | None = "v2.51.0.260929181845",
    imports: Sequence[str] = (),
    file_version: str = "2.51.0.0",
    delayed: Sequence[str] = (),
    pdb: str | None = None,
    exports: Sequence[str] = (),
) -> bytes:
    """A DLL that holds the build id as a string and has a VERSIONINFO unless `product_version` is None.

    It loads `delayed` at their first use, its debug information is at the path `pdb`, and all `exports` are
    its one function.
    ARM64EC and ARM64X differ from AMD64 and ARM64 by hybrid metadata in the load configuration.
    """
    text = b"\xc0\x03\x5f\xd6"
    sections = [(".text", text, 0x60000020), (".rdata", b"", 0x40000040)]
    data_at = 2 * _PAGE
    data = f"\0{build}\0".encode() if build else b"\0"
    directories = {}
    if imports:
        table, size = _imports(imports, data_at + len(_padded(data)))
        directories[_IMPORT] = (data_at + len(_padded(data)), size)
        data = _padded(data) + table
    if delayed:
        at = data_at + len(_padded(data))
        table = _delay_imports(delayed, at)
        directories[_DELAY_IMPORT] = (at, len(table))
        data = _padded(data) + table
    if exports:
        at = data_at + len(_padded(data))
        table = _exports(exports, at)
        directories[_EXPORT] = (at, len(table))
        data = _padded(data) + table
    if pdb is not None:
        data = _padded(data)
        entry = b"RSDS" + bytes(16) + struct.pack("<I", 1) + pdb.encode() + b"\0"
        row = (0, 0, 0, 0, 2, len(entry), data_at + len(data) + 28, _RDATA_OFFSET + len(data) + 28)
        directories[_DEBUG] = (data_at + len(data), 28)
        data += struct.pack("<IIHHIIII", *row) + entry
    if machine in ("ARM64EC", "ARM64X"):
        directories[_LOAD_CONFIG] = (data_at + len(_padded(data)), _LOAD_CONFIG_SIZE)
        data = _padded(data) + _load_config(data_at + len(_padded(data)))
    sections[1] = (".rdata", data, 0x40000040)
    if product_version is not None:
        at = data_at + _up(len(data), _PAGE)
        resource = _version_resource(at, file_version, product_version)
        directories[_RESOURCE] = (at, len(resource))
        sections.append((".rsrc", resource, 0x40000040))
    return _image(MACHINES[machine], sections, directories)


def _up(value: int, align: int) -> int:
    return -(-value // align) * align


def _padded(data: bytes, align: int = 8) -> bytes:
    return data.ljust(_up(len(data), align), b"\0")


def _imports(libraries: Sequence[str], at: int) -> tuple[bytes, int]:
    """Descriptors of one function by ordinal from each library, for address `at`; and their size."""
    size = 20 * (len(libraries) + 1)
    descriptors, rest = b"", b""
    rest_at = at + _up(size, 8)
    for library in libraries:
        # lookup table, address table (each: ordinal 1, end), name
        tables = struct.pack("<4Q", 1 << 63 | 1, 0, 1 << 63 | 1, 0)
        here = rest_at + len(rest)
        descriptors += struct.pack("<5I", here, 0, 0, here + 32, here + 16)
        rest += tables + _padded(library.encode() + b"\0")
    return (descriptors + bytes(20)).ljust(_up(size, 8), b"\0") + rest, size


def _delay_imports(libraries: Sequence[str], at: int) -> bytes:
    """Descriptors without functions, for address `at`, and the names behind them."""
    names_at = at + 32 * (len(libraries) + 1)
    descriptors, names = b"", b""
    for library in libraries:
        descriptors += struct.pack("<8I", 1, names_at + len(names), 0, 0, 0, 0, 0, 0)
        names += library.encode() + b"\0"
    return descriptors + bytes(32) + names


def _exports(names: Sequence[str], at: int) -> bytes:
    """An export table for address `at`: addresses, addresses of the sorted names, ordinals, and the names."""
    count, names = len(names), sorted(names)
    addresses_at = at + 40
    names_at, ordinals_at = addresses_at + 4 * count, addresses_at + 8 * count
    texts, places = b"library.dll\0", []
    texts_at = ordinals_at + 2 * count
    for name in names:
        places.append(texts_at + len(texts))
        texts += name.encode() + b"\0"
    head = struct.pack("<IIHH7I", 0, 0, 0, 0, texts_at, 1, count, count, addresses_at, names_at, ordinals_at)
    tables = struct.pack(f"<{2 * count}I", *[_PAGE] * count, *places) + struct.pack(
        f"<{count}H", *range(count)
    )
    return head + tables + texts


def _load_config(at: int) -> bytes:
    """A load configuration and, behind it, version 1 of the metadata that its CHPE pointer names."""
    config = bytearray(_LOAD_CONFIG_SIZE)
    struct.pack_into("<I", config, 0, _LOAD_CONFIG_SIZE)
    struct.pack_into("<Q", config, _CHPE_POINTER, _BASE + at + _LOAD_CONFIG_SIZE)
    return bytes(config) + struct.pack("<20I", 1, *[0] * 19)


def _version_resource(at: int, file_version: str, product_version: str) -> bytes:
    """A resource tree of one leaf: type VERSION, name 1, language US English."""
    leaf = _version_info(file_version, product_version)
    levels = [(_RT_VERSION, 0x80000018), (1, 0x80000030), (_US_ENGLISH, 0x48)]
    tree = b"".join(struct.pack("<IIHHHHII", 0, 0, 0, 0, 0, 1, key, below) for key, below in levels)
    return tree + struct.pack("<4I", at + 0x58, len(leaf), 0, 0) + leaf


def _version_info(file_version: str, product_version: str) -> bytes:
    numbers = [int(part) & 0xFFFF for part in file_version.split(".")]
    major, minor, patch, build = (numbers + [0] * 4)[:4]
    high, low = major << 16 | minor, patch << 16 | build
    fixed = struct.pack("<13I", 0xFEEF04BD, 0x10000, high, low, high, low, 0x3F, 0, 0x40004, 2, 0, 0, 0)
    strings = [
        _node(key, (value + "\0").encode("utf-16-le"), length=len(value) + 1, text=True)
        for key, value in (("FileVersion", file_version), ("ProductVersion", product_version))
    ]
    table = _node(
        "StringFileInfo", b"", children=[_node("040904b0", b"", children=strings, text=True)], text=True
    )
    return _node("VS_VERSION_INFO", fixed, length=len(fixed), children=[table])


def _node(
    key: str, value: bytes, *, length: int = 0, children: Sequence[bytes] = (), text: bool = False
) -> bytes:
    head = _padded(bytes(6) + (key + "\0").encode("utf-16-le"), 4) + value
    for child in children:
        head = _padded(head, 4) + child
    return struct.pack("<HHH", len(head), length, text) + head[6:]


def _image(
    machine: int, sections: Sequence[tuple[str, bytes, int]], directories: dict[int, tuple[int, int]]
) -> bytes:
    headers = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0"
    headers += struct.pack("<HHIIIHH", machine, len(sections), 0, 0, 0, 240, 0x2022)
    rows, raw, address = b"", b"", _PAGE
    for name, content, access in sections:
        stored = content.ljust(_up(len(content), _SECTOR), b"\0")
        rows += struct.pack(
            "<8sIIIIIIHHI",
            name.encode(), len(content), address, len(stored), _SECTOR * 2 + len(raw), 0, 0, 0, 0, access,
        )  # fmt: skip
        raw += stored
        address += _up(len(content), _PAGE)
    headers += struct.pack(
        "<HBBIIIIIQIIHHHHHHIIIIHHQQQQII",
        0x20B, 14, 0, _SECTOR, len(raw) - _SECTOR, 0, 0, _PAGE,
        _BASE, _PAGE, _SECTOR,
        10, 0, 0, 0, 10, 0,
        0, address, _SECTOR * 2, 0, 2, 0x160,
        0x100000, 0x1000, 0x100000, 0x1000, 0, 16,
    )  # fmt: skip
    for index in range(16):
        headers += struct.pack("<II", *directories.get(index, (0, 0)))
    return (headers + rows).ljust(_SECTOR * 2, b"\0") + raw
