"""Signs a tiny DLL as Authenticode does, with a self-signed certificate made on the spot."""

from __future__ import annotations

import datetime
import hashlib
import struct

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

_OID = {
    "signedData": "2a864886f70d010702",
    "contentType": "2a864886f70d010903",
    "messageDigest": "2a864886f70d010904",
    "rsaEncryption": "2a864886f70d010101",
    "sha256": "608648016503040201",
    "spcIndirectData": "2b060104018237020104",
    "spcPeImageData": "2b06010401823702010f",
}
_CHECKSUM_AT, _CERTIFICATES_AT = 64 + 24 + 64, 64 + 24 + 112 + 8 * 4


def signed(image: bytes, common_name: str = "Example Devices") -> bytes:
    """The image of `tests.make.pe.dll` with a signature by `common_name` behind it.

    The digest leaves out what signing itself changes: the checksum and the certificate table's entry.
    """
    start = len(image)
    covered = (
        image[:_CHECKSUM_AT] + image[_CHECKSUM_AT + 4 : _CERTIFICATES_AT] + image[_CERTIFICATES_AT + 8 :]
    )
    pkcs7 = _signed_data(hashlib.sha256(covered).digest(), common_name)
    size = 8 + len(pkcs7)
    table = struct.pack("<IHH", size, 0x200, 2) + pkcs7
    table += bytes(-len(table) % 8)
    entry = struct.pack("<II", start, len(table))
    return image[:_CERTIFICATES_AT] + entry + image[_CERTIFICATES_AT + 8 :] + table


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def _oid(name: str) -> bytes:
    return _der(0x06, bytes.fromhex(_OID[name]))


def _algorithm(name: str) -> bytes:
    return _der(0x30, _oid(name), b"\x05\x00")


def _attribute(name: str, value: bytes) -> bytes:
    return _der(0x30, _oid(name), _der(0x31, value))


def _signed_data(image_digest: bytes, common_name: str) -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(0x1234)
        .not_valid_before(datetime.datetime(2020, 1, 1))
        .not_valid_after(datetime.datetime(2021, 1, 1))
        .sign(key, hashes.SHA256())
    )
    pe_image = _der(0x30, _oid("spcPeImageData"), _der(0x30, b"\x03\x01\x00", b"\xa0\x04\xa2\x02\x80\x00"))
    content = pe_image + _der(0x30, _algorithm("sha256"), _der(0x04, image_digest))
    # The attributes are signed as a SET but stored under the implicit tag [0].
    attributes = _attribute("contentType", _oid("spcIndirectData"))
    attributes += _attribute("messageDigest", _der(0x04, hashlib.sha256(content).digest()))
    signature = key.sign(_der(0x31, attributes), padding.PKCS1v15(), hashes.SHA256())
    signer = _der(
        0x30,
        b"\x02\x01\x01",
        _der(0x30, name.public_bytes(), b"\x02\x02\x12\x34"),
        _algorithm("sha256"),
        _der(0xA0, attributes),
        _algorithm("rsaEncryption"),
        _der(0x04, signature),
    )
    signed_data = _der(
        0x30,
        b"\x02\x01\x01",
        _der(0x31, _algorithm("sha256")),
        _der(0x30, _oid("spcIndirectData"), _der(0xA0, _der(0x30, content))),
        _der(0xA0, certificate.public_bytes(serialization.Encoding.DER)),
        _der(0x31, signer),
    )
    return _der(0x30, _oid("signedData"), _der(0xA0, signed_data))
