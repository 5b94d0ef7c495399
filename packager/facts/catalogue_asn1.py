"""The ASN.1 of a Windows catalogue: PKCS#7 signedData (RFC 2315, RFC 5652) around a trust list.

Imported only by the functions that read or make a catalogue, because the decorators need cryptography.
What is not looked at stays TLV, which is ASN.1's ANY; it keeps the bytes as they are in the file.
"""

from __future__ import annotations

from typing import Annotated

from cryptography.hazmat import asn1
from cryptography.x509 import Certificate, ObjectIdentifier

SIGNED_DATA = "1.2.840.113549.1.7.2"
CONTENT_TYPE = "1.2.840.113549.1.9.3"
MESSAGE_DIGEST = "1.2.840.113549.1.9.4"
TRUST_LIST = "1.3.6.1.4.1.311.10.1"
NAME_VALUE = "1.3.6.1.4.1.311.12.2.1"
INDIRECT_DATA = "1.3.6.1.4.1.311.2.1.4"
PE_IMAGE = "1.3.6.1.4.1.311.2.1.15"
DIGESTS = {
    "1.3.14.3.2.26": "sha1",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
}


@asn1.sequence
class Algorithm:
    """AlgorithmIdentifier; those of catalogues carry NULL or nothing."""

    kind: ObjectIdentifier
    parameters: asn1.Null | None


@asn1.sequence
class Attribute:
    """A type and the set of its values."""

    kind: ObjectIdentifier
    values: asn1.SetOf[asn1.TLV]


@asn1.sequence
class NameValue:
    """CatalogNameValue: a label (BMPString, UTF-16BE) and its value (UTF-16LE with a final NUL)."""

    label: asn1.TLV
    flags: int
    value: bytes


@asn1.sequence
class DigestKind:
    """What the digest of an IndirectData is taken of, for example a PE image without its signature."""

    kind: ObjectIdentifier
    value: asn1.TLV


@asn1.sequence
class DigestInfo:
    """An algorithm and the digest."""

    algorithm: Algorithm
    digest: bytes


@asn1.sequence
class IndirectData:
    """SpcIndirectDataContent."""

    data: DigestKind
    digest: DigestInfo


@asn1.sequence
class Entry:
    """A trusted subject: its digest, and attributes that name it."""

    identifier: bytes
    attributes: asn1.SetOf[Attribute]


@asn1.sequence
class TrustList:
    """Certificate trust list (CTL)."""

    usage: list[ObjectIdentifier]
    list_identifier: bytes
    effective: asn1.UTCTime | asn1.GeneralizedTime
    algorithm: Algorithm
    entries: list[Entry]
    extensions: Annotated[list[asn1.TLV] | None, asn1.Explicit(0)]


@asn1.sequence
class IssuerAndSerial:
    """Which certificate a signer means."""

    issuer: asn1.TLV
    serial: int


@asn1.sequence
class Signer:
    """SignerInfo."""

    version: int
    certificate: IssuerAndSerial
    digest_algorithm: Algorithm
    signed: Annotated[asn1.SetOf[Attribute] | None, asn1.Implicit(0)]
    signature_algorithm: Algorithm
    signature: bytes
    unsigned: Annotated[asn1.SetOf[Attribute] | None, asn1.Implicit(1)]


@asn1.sequence
class Content:
    """EncapsulatedContentInfo; the signature covers the value of `content` without its tag and length."""

    kind: ObjectIdentifier
    content: Annotated[asn1.TLV, asn1.Explicit(0)]


@asn1.sequence
class SignedData:
    """SignedData of PKCS#7."""

    version: int
    digest_algorithms: asn1.SetOf[Algorithm]
    content: Content
    certificates: Annotated[asn1.SetOf[Certificate] | None, asn1.Implicit(0)]
    revocations: Annotated[asn1.SetOf[asn1.TLV] | None, asn1.Implicit(1)]
    signers: asn1.SetOf[Signer]


@asn1.sequence
class Envelope:
    """ContentInfo, the outermost layer of the file."""

    kind: ObjectIdentifier
    content: Annotated[SignedData, asn1.Explicit(0)]
