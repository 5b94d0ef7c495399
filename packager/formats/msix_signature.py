"""Signs an MSIX package: `AppxSignature.p7x`, PKCS #7 around digests of the package without it.

The digests are of everything before the zip's directory, of the directory, of the list of types and of the
block map, each with its name before it. osslsigncode judges the result in the tests; it was not taken for
signing, because it wants keys as files and Windows has no package of it.
"""

from __future__ import annotations

import hashlib
import struct
import zipfile
from typing import Any, BinaryIO

from packager.files import blocks
from packager.signing_key import SigningKey

BLOCK_MAP, TYPES, SIGNATURE = "AppxBlockMap.xml", "[Content_Types].xml", "AppxSignature.p7x"
_TYPE = f'  <Override PartName="/{SIGNATURE}" ContentType="application/vnd.ms-appx.signature" />\n'
_MAGIC = b"PKCX"
_SIP_INFO = "1.3.6.1.4.1.311.2.1.30"
_PROGRAM_INFO = "1.3.6.1.4.1.311.2.1.12"
# Which of Windows' modules verifies the digests: the one for app packages.
_SIP = bytes.fromhex("4BDFC50A07CEE24DB76E23C839A09FD1")
_SIP_VERSION = 0x01010000
_SHA256 = "2.16.840.1.101.3.4.2.1"
_KINDS = {"rsa": "1.2.840.113549.1.1.1", "ec": "1.2.840.10045.4.3.2"}
# Attribute types by the letters that Windows writes for them, beside those of RFC 4514.
_LETTERS = {
    "2.5.4.8": "S",
    "1.2.840.113549.1.9.1": "E",
    "2.5.4.12": "T",
    "2.5.4.4": "SN",
    "2.5.4.42": "G",
    "2.5.4.43": "I",
    "2.5.4.5": "SERIALNUMBER",
}
_SPECIAL = set(',+="\n<>#;')


def subject_of(certificate: bytes) -> str:
    """The subject of a certificate (DER), as Windows writes it: the common name first."""
    from cryptography.x509 import load_der_x509_certificate

    subject = load_der_x509_certificate(certificate).subject
    return ", ".join(" + ".join(_attribute_text(one) for one in rdn) for rdn in reversed(subject.rdns))


def _attribute_text(attribute: Any) -> str:  # noqa: ANN401
    letters = _LETTERS.get(attribute.oid.dotted_string, attribute.rfc4514_attribute_name)
    if letters == attribute.oid.dotted_string:
        letters = f"OID.{letters}"
    value = str(attribute.value)
    return (
        f'{letters}="{value.replace(chr(34), chr(34) * 2)}"'
        if set(value) & _SPECIAL
        else f"{letters}={value}"
    )


def attach_signature(package: BinaryIO, key: SigningKey) -> None:
    """Sign a package whose last member is the list of types; the stream is readable, writable, seekable."""
    _declare(package)
    with zipfile.ZipFile(package) as archive:
        begins = archive.start_dir
        when = archive.infolist()[-1].date_time
        parts = {
            name: hashlib.sha256(archive.read(path)).digest()
            for name, path in ((b"AXCT", TYPES), (b"AXBM", BLOCK_MAP))
        }
    whole = _digest(package, 0, begins)
    directory = _digest(package, begins, package.seek(0, 2))
    named = b"APPX" + b"AXPC" + whole + b"AXCD" + directory + b"".join(k + v for k, v in parts.items())
    signature = _MAGIC + _signed_data(named, key)
    with zipfile.ZipFile(package, "a") as archive:
        archive.writestr(_info(SIGNATURE, when), signature)


def _declare(package: BinaryIO) -> None:
    """Put the signature's type into the list of types, which is the last member."""
    with zipfile.ZipFile(package, "a") as archive:
        info = archive.getinfo(TYPES)
        text = archive.read(info).decode()
        archive.filelist.remove(info)
        del archive.NameToInfo[TYPES]
        archive.start_dir = info.header_offset
        archive.writestr(_info(TYPES, info.date_time), text.replace("</Types>", f"{_TYPE}</Types>"))


def _info(name: str, when: tuple[int, int, int, int, int, int]) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, when)
    info.create_system, info.external_attr = 3, 0o100644 << 16
    return info


def _digest(stream: BinaryIO, start: int, end: int) -> bytes:
    sha256, left = hashlib.sha256(), end - start
    stream.seek(start)
    for block in blocks(stream):
        sha256.update(block[:left])
        left -= len(block[:left])
        if not left:
            break
    return sha256.digest()


def _signed_data(named: bytes, key: SigningKey) -> bytes:
    """The DER of PKCS #7 signedData over the digests."""
    from cryptography.hazmat.asn1 import TLV, Null, SetOf, decode_der, encode_der
    from cryptography.x509 import ObjectIdentifier as Oid
    from cryptography.x509 import load_der_x509_certificate

    from packager.facts import catalogue_asn1 as asn1

    def attribute(kind: str, der: bytes) -> asn1.Attribute:
        return asn1.Attribute(kind=Oid(kind), values=SetOf([decode_der(TLV, der)]))

    sha256 = asn1.Algorithm(kind=Oid(_SHA256), parameters=Null())
    content = encode_der(
        asn1.IndirectData(
            data=asn1.DigestKind(kind=Oid(_SIP_INFO), value=decode_der(TLV, _sip_info())),
            digest=asn1.DigestInfo(algorithm=sha256, digest=named),
        )
    )
    # The digest is of the value alone: without its tag and length.
    digest = hashlib.sha256(decode_der(TLV, content).data).digest()
    attributes = SetOf(
        [
            attribute(asn1.CONTENT_TYPE, encode_der(Oid(asn1.INDIRECT_DATA))),
            attribute(asn1.MESSAGE_DIGEST, encode_der(digest)),
            attribute(_PROGRAM_INFO, b"\x30\x00"),
        ]
    )
    chain = [load_der_x509_certificate(one) for one in key.certificates]
    signer = asn1.Signer(
        version=1,
        certificate=asn1.IssuerAndSerial(
            issuer=decode_der(TLV, chain[0].issuer.public_bytes()), serial=chain[0].serial_number
        ),
        digest_algorithm=sha256,
        signed=attributes,
        signature_algorithm=asn1.Algorithm(
            kind=Oid(_KINDS[key.kind]), parameters=Null() if key.kind == "rsa" else None
        ),
        signature=key.sign(encode_der(attributes)),
        unsigned=None,
    )
    data = asn1.SignedData(
        version=1,
        digest_algorithms=SetOf([sha256]),
        content=asn1.Content(kind=Oid(asn1.INDIRECT_DATA), content=decode_der(TLV, content)),
        certificates=SetOf(chain),
        revocations=None,
        signers=SetOf([signer]),
    )
    return encode_der(asn1.Envelope(kind=Oid(asn1.SIGNED_DATA), content=data))


def _sip_info() -> bytes:
    """SpcSipInfo: a version, the module's GUID, five numbers that are 0."""
    version = b"\x02\x04" + struct.pack(">I", _SIP_VERSION)
    body = version + b"\x04\x10" + _SIP + b"\x02\x01\x00" * 5
    return bytes([0x30, len(body)]) + body
