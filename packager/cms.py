"""Signatures in the form that updaters check: CMS SignedData with one signer (RFC 5652), in DER.

Without a signing time, so that equal content gives equal bytes.
"""

from __future__ import annotations

import hashlib

from packager.signing_key import SigningKey

# Object identifiers of RFC 5652, RFC 5754 and RFC 8017, encoded.
_DATA = bytes.fromhex("06092a864886f70d010701")
_SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")
_CONTENT_TYPE = bytes.fromhex("06092a864886f70d010903")
_MESSAGE_DIGEST = bytes.fromhex("06092a864886f70d010904")
_SHA256 = bytes.fromhex("0609608648016503040201")
_RSA = bytes.fromhex("06092a864886f70d010101")
_ECDSA_SHA256 = bytes.fromhex("06082a8648ce3d040302")

_INTEGER, _OCTETS, _NULL, _SEQUENCE, _SET, _FIRST = 0x02, 0x04, b"\x05\x00", 0x30, 0x31, 0xA0
_VERSION = bytes((_INTEGER, 1, 1))


def signed_data(content: bytes, key: SigningKey, *, enclosed: bool) -> bytes:
    """The signature of `content` with the key's certificates; the content is in it if `enclosed`."""
    sha256 = _tlv(_SEQUENCE, _SHA256)
    inside = _tlv(_FIRST, _tlv(_OCTETS, content)) if enclosed else b""
    document = _tlv(
        _SEQUENCE,
        _VERSION
        + _tlv(_SET, sha256)
        + _tlv(_SEQUENCE, _DATA + inside)
        + _tlv(_FIRST, b"".join(sorted(key.certificates)))
        + _tlv(_SET, _signer(content, key, sha256)),
    )
    return _tlv(_SEQUENCE, _SIGNED_DATA + _tlv(_FIRST, document))


def _signer(content: bytes, key: SigningKey, sha256: bytes) -> bytes:
    """Who signed, what, and the signature over the attributes."""
    from cryptography import x509

    certificate = x509.load_der_x509_certificate(key.certificates[0])
    digest = hashlib.sha256(content).digest()
    attributes = b"".join(
        sorted(
            _tlv(_SEQUENCE, kind + _tlv(_SET, value))
            for kind, value in ((_CONTENT_TYPE, _DATA), (_MESSAGE_DIGEST, _tlv(_OCTETS, digest)))
        )
    )
    algorithm = _tlv(_SEQUENCE, _RSA + _NULL if key.kind == "rsa" else _ECDSA_SHA256)
    return _tlv(
        _SEQUENCE,
        _VERSION
        + _tlv(_SEQUENCE, certificate.issuer.public_bytes() + _integer(certificate.serial_number))
        + sha256
        + _tlv(_FIRST, attributes)
        + algorithm
        + _tlv(_OCTETS, key.sign(_tlv(_SET, attributes))),
    )


def _integer(number: int) -> bytes:
    return _tlv(_INTEGER, number.to_bytes(number.bit_length() // 8 + 1))


def _tlv(tag: int, content: bytes) -> bytes:
    """Tag, length and content; lengths from 128 on take several bytes (X.690, 8.1.3)."""
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(length))) + length + content
