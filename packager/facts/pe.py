"""Reads Windows DLLs and executables.

As for ELF, the frame is checked here against the file's size and the content is lief's to read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from packager.errors import UnreadableFile
from packager.facts.reading import attribute_text, must_end_within, opened, piece
from packager.facts.strings import qairt_mark, release_of
from packager.facts.types import PeFacts

if TYPE_CHECKING:
    import lief

_COFF = struct.Struct("<HHIIIHH")
_SECTION = struct.Struct("<8sIIIIIIHHI")
_CERTIFICATES = 4  # index of the certificate table among the data directories
_MAX_OPTIONAL_HEADER = 4096  # 240 with all sixteen directories
_BUILD_VERSION = re.compile(r"\d+\.\d+\.\d+\.\d{10,14}(_\d+)?", re.ASCII)


def read_pe(path: Path) -> PeFacts:
    """Facts of a PE32 or PE32+ image.

    `machine` is ARM64EC or ARM64X only where the load configuration carries hybrid metadata; without it
    the number in the header speaks alone. `signature_valid` means that the signature covers these very
    bytes and that its certificates chain to each other: neither today's date nor a root store has a say.
    Raises UnreadableFile with the offset at which the file stops making sense, InputUnavailable when it
    cannot be opened.
    """
    with opened(path) as (stream, size):
        machine = _checked_frame(path, stream, size)
    binary = _parsed(path)
    file_version, product_version = _versions(binary)
    mark = qairt_mark(path)
    build = mark.build
    if build is None and product_version and _BUILD_VERSION.fullmatch(product_version):
        build = f"v{product_version}"
    return PeFacts(
        machine=_machine_name(binary, machine),
        file_version=file_version,
        product_version=product_version,
        imports=tuple(attribute_text(entry, "name") for entry in (*binary.imports, *binary.delay_imports)),
        signer=_signer(binary),
        signature_valid=_signature_valid(binary),
        qairt_build=build,
        qairt_release=release_of(build) if build else mark.release,
    )


def _checked_frame(path: Path, stream: BinaryIO, size: int) -> int:
    """The machine number, after every extent of the headers has been found inside the file."""
    dos = piece(path, stream, 0, 64, "DOS header")
    if dos[:2] != b"MZ":
        raise UnreadableFile(path, 0, "no MZ magic")
    (start,) = struct.unpack_from("<I", dos, 60)
    must_end_within(path, size, start + 4 + _COFF.size, "the PE header")
    if piece(path, stream, start, 4, "PE signature") != b"PE\0\0":
        raise UnreadableFile(path, start, "no PE signature where the DOS header points")
    header_at = start + 4
    coff = _COFF.unpack(piece(path, stream, header_at, _COFF.size, "COFF header"))
    machine, sections, _, _, _, optional_size, _ = coff
    optional_at = header_at + _COFF.size
    if optional_size > _MAX_OPTIONAL_HEADER:
        raise UnreadableFile(path, header_at + 16, f"an optional header of {optional_size} bytes")
    optional = piece(path, stream, optional_at, optional_size, "optional header")
    _check_certificates(path, optional, optional_at, size)
    table = piece(path, stream, optional_at + optional_size, sections * _SECTION.size, "section table")
    for name, _, _, raw_size, raw_at, *_ in _SECTION.iter_unpack(table):
        if raw_at:
            label = name.rstrip(b"\0").decode("ascii", "backslashreplace")
            must_end_within(path, size, raw_at + raw_size, f"section {label}")
    return int(machine)


def _check_certificates(path: Path, optional: bytes, optional_at: int, size: int) -> None:
    magic = int.from_bytes(optional[:2], "little")
    directories = {0x10B: 96, 0x20B: 112}.get(magic)
    if directories is None or len(optional) < directories:
        raise UnreadableFile(path, optional_at, f"optional header magic 0x{magic:x} of {len(optional)} bytes")
    (count,) = struct.unpack_from("<I", optional, directories - 4)
    entry = directories + 8 * _CERTIFICATES
    if count > _CERTIFICATES and len(optional) >= entry + 8:
        # The only directory whose address is a file offset: the certificates are not part of the image.
        offset, length = struct.unpack_from("<II", optional, entry)
        if length:
            must_end_within(path, size, offset + length, "the certificate table")


def _parsed(path: Path) -> lief.PE.Binary:
    import lief

    lief.logging.disable()
    config = lief.PE.ParserConfig()
    config.parse_reloc = False
    config.parse_exports = False
    config.parse_exceptions = False
    config.parse_arm64x_binary = False
    try:
        binary = lief.PE.parse(str(path), config)
    except Exception as error:
        raise UnreadableFile(path, 0, f"the PE parser gave up: {error}") from error
    if binary is None:
        raise UnreadableFile(path, 0, "the PE parser cannot make sense of it")
    return binary


def _machine_name(binary: lief.PE.Binary, machine: int) -> str:
    import lief

    if binary.is_arm64x:
        return "ARM64X"
    if binary.is_arm64ec:
        return "ARM64EC"
    names = {member.value: str(member.name) for member in lief.PE.Header.MACHINE_TYPES}
    return names.get(machine, f"0x{machine:x}")


def _versions(binary: lief.PE.Binary) -> tuple[str | None, str | None]:
    """FileVersion and ProductVersion of the first string table that has them."""
    words: dict[str, str] = {}
    for key, value in _version_strings(binary):
        words.setdefault(key, value)
    return words.get("FileVersion"), words.get("ProductVersion")


def _version_strings(binary: lief.PE.Binary) -> Iterator[tuple[str, str]]:
    import lief

    if not binary.has_resources:
        return
    manager = binary.resources_manager
    if isinstance(manager, lief.lief_errors) or not manager.has_version:
        return
    for version in manager.version:
        info = version.string_file_info
        for strings in info.children if info else ():
            for entry in strings.entries:
                yield attribute_text(entry, "key"), attribute_text(entry, "value").rstrip("\0")


def _signer(binary: lief.PE.Binary) -> str | None:
    """Common name in the certificate that signed, of the first signature."""
    from cryptography import x509

    certificates = [signer.cert for signature in binary.signatures for signer in signature.signers]
    if not certificates or certificates[0] is None:
        return None
    try:
        subject = x509.load_der_x509_certificate(bytes(certificates[0].raw)).subject
        names = subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    except ValueError:
        return None
    return str(names[0].value) if names else None


def _signature_valid(binary: lief.PE.Binary) -> bool | None:
    import lief

    if not binary.has_signatures:
        return None
    checks = lief.PE.Signature.VERIFICATION_CHECKS
    # A certificate that has run out since says nothing about the bytes, and facts must not age.
    verdict = binary.verify_signature(checks.SKIP_CERT_TIME)
    return bool(verdict == lief.PE.Signature.VERIFICATION_FLAGS.OK)
