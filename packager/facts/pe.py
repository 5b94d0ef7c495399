"""Reads Windows DLLs and executables."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from packager.facts.pe_image import PeImage
from packager.facts.qnn_exports import is_entry, model_prefix
from packager.facts.reading import opened
from packager.facts.signed_data import check_signature
from packager.facts.strings import marks, release_of
from packager.facts.types import PeFacts

_MACHINES = {
    0x14C: "I386", 0x1C4: "ARMNT", 0x8664: "AMD64", 0xAA64: "ARM64", 0xA641: "ARM64EC", 0xA64E: "ARM64X",
}  # fmt: skip
# What hybrid metadata makes of the number in the header.
_HYBRIDS = {"AMD64": "ARM64EC", "ARM64": "ARM64X"}
_BUILD_VERSION = re.compile(r"\d+\.\d+\.\d+\.\d{10,14}(_\d+)?", re.ASCII)
_VERSION_DEPTH = 4  # VS_VERSIONINFO / StringFileInfo / language / string


def read_pe(path: Path) -> PeFacts:
    """Facts of a PE32 or PE32+ image.

    `machine` is ARM64EC or ARM64X only where the load configuration carries hybrid metadata; without it
    the number in the header speaks alone. `signature_valid` means that the signature covers these very
    bytes and that its certificates chain to each other: neither today's date nor a root store has a say.
    Raises UnreadableFile with the offset at which the file stops making sense, InputUnavailable when it
    cannot be opened.
    """
    with opened(path) as (stream, size):
        image = PeImage(path, stream, size)
        machine = _MACHINES.get(image.machine, f"0x{image.machine:x}")
        if image.is_hybrid():
            machine = _HYBRIDS.get(machine, machine)
        words = _version_words(image.version_resources())
        imports, debug_path = tuple(image.imports()), image.debug_path()
        exported = [name for name in image.exported() if is_entry(name)]
        signer, valid = _signature(image)
    found = marks(path)
    build, product_version = found.build, words.get("ProductVersion")
    if build is None and product_version and _BUILD_VERSION.fullmatch(product_version):
        build = f"v{product_version}"
    return PeFacts(
        machine=machine,
        file_version=words.get("FileVersion"),
        product_version=product_version,
        imports=imports,
        qnn_entries=tuple(sorted(exported)),
        model_prefix=model_prefix(exported),
        signer=signer,
        signature_valid=valid,
        qairt_build=build,
        qairt_release=release_of(build) if build else found.release,
        debug_path=debug_path,
        build_paths=found.build_paths,
    )


def _version_words(resources: Iterable[bytes]) -> dict[str, str]:
    """The strings of the first string table that has them, by key."""
    words: dict[str, str] = {}
    for resource in resources:
        for key, value in _version_strings(resource, 0, len(resource), _VERSION_DEPTH):
            words.setdefault(key, value)
    return words


def _version_strings(data: bytes, at: int, end: int, depth: int) -> Iterator[tuple[str, str]]:
    """Keys and values of all text nodes. A node has a length, a value's length, a type, a key, children."""
    while at + 6 <= end and depth:
        length, value_length, kind = struct.unpack_from("<HHH", data, at)
        key_end = _wide_end(data, at + 6, end)
        if length < 6 or key_end is None:
            return
        node_end = min(at + length, end)
        value_at = _aligned(key_end + 2)
        key = _wide(data, at + 6, key_end)
        if kind == 1 and value_length:
            value_end = min(value_at + 2 * value_length, node_end)
            yield key, _wide(data, value_at, value_end).split("\0")[0]
        else:
            yield from _version_strings(data, _aligned(value_at + value_length), node_end, depth - 1)
        at = _aligned(at + length)


def _wide_end(data: bytes, at: int, end: int) -> int | None:
    return next((i for i in range(at, end - 1, 2) if data[i : i + 2] == b"\0\0"), None)


def _wide(data: bytes, at: int, end: int) -> str:
    return data[at:end].decode("utf-16-le", "backslashreplace")


def _aligned(offset: int) -> int:
    return -(-offset // 4) * 4


def _signature(image: PeImage) -> tuple[str | None, bool | None]:
    """The signer of the first signature, and whether all signatures hold; None twice for an unsigned file."""
    checked = [_checked(image, raw) for raw in image.signatures()]
    if not checked:
        return None, None
    return checked[0][0], all(valid for _, valid in checked)


def _checked(image: PeImage, raw: bytes) -> tuple[str | None, bool]:
    """Signer and validity of one signature."""
    from cryptography.hazmat.asn1 import decode_der
    from cryptography.x509 import InvalidVersion

    from packager.facts import catalogue_asn1 as asn1

    try:
        envelope = decode_der(asn1.Envelope, _der(raw))
        signed = envelope.content
        if signed.content.kind.dotted_string != asn1.INDIRECT_DATA:
            return None, False
        covered = signed.content.content.parse(asn1.IndirectData).digest
    except (ValueError, InvalidVersion):
        return None, False
    signature = check_signature(signed, "image digest")
    algorithm = asn1.DIGESTS.get(covered.algorithm.kind.dotted_string)
    whole = algorithm is not None and image.signed_digest(algorithm) == covered.digest
    return signature.signer, whole and signature.problem is None


def _der(raw: bytes) -> bytes:
    """The outermost DER element, without what fills the table's row behind it."""
    if len(raw) < 2 or raw[1] < 0x80:
        return raw
    head = 2 + (raw[1] & 0x7F)
    return raw[: head + int.from_bytes(raw[2:head], "big")]
