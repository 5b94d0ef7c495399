"""Windows catalogues made in code and signed by an authority that exists only while the tests run."""

from __future__ import annotations

import datetime
import functools
import hashlib
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.asn1 import TLV, Null, SetOf, UTCTime, decode_der, encode_der
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509 import ObjectIdentifier as Oid
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from packager.facts import catalogue_asn1 as asn1

CATALOGUE_LIST, CATALOGUE_MEMBER = "1.3.6.1.4.1.311.12.1.1", "1.3.6.1.4.1.311.12.1.3"
FLAT_FILE = "1.3.6.1.4.1.311.2.1.25"
SHA256 = "2.16.840.1.101.3.4.2.1"
RSA_SHA256, ECDSA_SHA256 = "1.2.840.113549.1.1.11", "1.2.840.10045.4.3.2"
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
END = datetime.datetime(2090, 1, 1, tzinfo=datetime.UTC)


class Identity(NamedTuple):
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


@functools.cache
def authority(common_name: str = "Example Test Root") -> Identity:
    """A self-signed certificate authority; the same one for the same name."""
    return _issued(common_name, None, rsa.generate_private_key(65537, 2048))


@functools.cache
def publisher(common_name: str, issuer: Identity, curve: bool = False) -> Identity:
    """Somebody whom `issuer` lets sign code, with an RSA key or one on the curve P-256."""
    key = ec.generate_private_key(ec.SECP256R1()) if curve else rsa.generate_private_key(65537, 2048)
    return _issued(common_name, issuer, key)


def _issued(common_name: str, issuer: Identity | None, key: Any) -> Identity:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    builder = x509.CertificateBuilder(
        issuer_name=issuer.certificate.subject if issuer else subject,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number() | 1 << 158,  # all of one length, for tests that swap them
        not_valid_before=START,
        not_valid_after=END,
    ).add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    if issuer:
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])
        builder = builder.add_extension(usage, critical=False)
    return Identity(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


def catalogue(
    members: dict[str, bytes],
    *,
    signer_cn: str = "Example Publisher",
    ca: Identity | None = None,
    digests: tuple[str, ...] = ("sha1", "sha256"),
    data_kind: str = FLAT_FILE,
    systems: str = "2:10.0",
    curve: bool = False,
    with_ca: bool = True,
    signed: bool = True,
) -> bytes:
    """The DER of a catalogue that vouches for `members` (name → content of the file)."""
    ca = ca or authority()
    signer = publisher(signer_cn, ca, curve)
    entries = [
        _entry(name, hashlib.new(kind, content).digest(), systems, data_kind if kind == "sha256" else None)
        for name, content in members.items()
        for kind in digests
    ]
    trust_list = asn1.TrustList(
        usage=[Oid(CATALOGUE_LIST)],
        list_identifier=hashlib.md5(repr(sorted(members)).encode()).digest(),
        effective=UTCTime(START),
        algorithm=asn1.Algorithm(kind=Oid(CATALOGUE_MEMBER), parameters=Null()),
        entries=sorted(entries, key=lambda entry: entry.identifier),
        extensions=None,
    )
    certificates = [signer.certificate, *([ca.certificate] if with_ca else [])]
    data = asn1.SignedData(
        version=1,
        digest_algorithms=SetOf([_sha256()] if signed else []),
        content=asn1.Content(kind=Oid(asn1.TRUST_LIST), content=_any(trust_list)),
        certificates=SetOf(certificates) if signed else None,
        revocations=None,
        signers=SetOf([_signature(signer, encode_der(trust_list))] if signed else []),
    )
    return encode_der(asn1.Envelope(kind=Oid(asn1.SIGNED_DATA), content=data))


def _signature(signer: Identity, content: bytes) -> asn1.Signer:
    # The digest is of the value alone: without its tag and length.
    digest = hashlib.sha256(decode_der(TLV, content).data).digest()
    attributes = SetOf(
        [
            _attribute(asn1.CONTENT_TYPE, Oid(asn1.TRUST_LIST)),
            _attribute(asn1.MESSAGE_DIGEST, digest),
        ]
    )
    message = encode_der(attributes)
    if isinstance(signer.key, rsa.RSAPrivateKey):
        kind, signature = RSA_SHA256, signer.key.sign(message, padding.PKCS1v15(), hashes.SHA256())
    else:
        kind, signature = ECDSA_SHA256, signer.key.sign(message, ec.ECDSA(hashes.SHA256()))
    certificate = signer.certificate
    return asn1.Signer(
        version=1,
        certificate=asn1.IssuerAndSerial(
            issuer=decode_der(TLV, certificate.issuer.public_bytes()), serial=certificate.serial_number
        ),
        digest_algorithm=_sha256(),
        signed=attributes,
        signature_algorithm=asn1.Algorithm(kind=Oid(kind), parameters=Null() if kind == RSA_SHA256 else None),
        signature=signature,
        unsigned=None,
    )


def _entry(name: str, digest: bytes, systems: str, data_kind: str | None) -> asn1.Entry:
    attributes = [
        _attribute(asn1.NAME_VALUE, _name_value("OSAttr", systems)),
        _attribute(asn1.NAME_VALUE, _name_value("File", name)),
    ]
    if data_kind:
        indirect = asn1.IndirectData(
            data=asn1.DigestKind(kind=Oid(data_kind), value=decode_der(TLV, b"\xa2\x02\x80\x00")),
            digest=asn1.DigestInfo(algorithm=_sha256(), digest=digest),
        )
        attributes.append(_attribute(asn1.INDIRECT_DATA, indirect))
    return asn1.Entry(identifier=digest, attributes=SetOf(attributes))


def _name_value(label: str, value: str) -> asn1.NameValue:
    wide = label.encode("utf-16-be")
    return asn1.NameValue(
        label=decode_der(TLV, bytes([0x1E, len(wide)]) + wide),
        flags=0x10010001,
        value=f"{value}\0".encode("utf-16-le"),
    )


def _attribute(kind: str, value: Any) -> asn1.Attribute:
    return asn1.Attribute(kind=Oid(kind), values=SetOf([_any(value)]))


def _any(value: Any) -> TLV:
    return decode_der(TLV, encode_der(value))


def _sha256() -> asn1.Algorithm:
    return asn1.Algorithm(kind=Oid(SHA256), parameters=Null())
