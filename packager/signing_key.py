"""Keys that packages are signed with: the user's, out of a PKCS #12 file, or one for trying things out."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from packager.errors import InputUnavailable
from packager.manifest_signing import Signing

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_FIRST, _LAST = datetime.datetime(2020, 1, 1), datetime.datetime(2050, 1, 1)
# Google Play refuses what is signed in this name, as it does with the keys that Android Studio makes.
_DEBUG_NAME = "Android Debug"


class SigningKey(NamedTuple):
    """A private key with its certificates, the signer's first, all in DER.

    `public` is the SubjectPublicKeyInfo; `sign` signs bytes with SHA-256, equal bytes with equal signatures.
    """

    kind: Literal["rsa", "ec"]
    sign: Callable[[bytes], bytes]
    public: bytes
    certificates: tuple[bytes, ...]

    @property
    def fingerprints(self) -> tuple[bytes, ...]:
        """SHA-256 of each certificate, as keytool and apksigner show them."""
        return tuple(hashlib.sha256(certificate).digest() for certificate in self.certificates)


def load_key(signing: Signing, base: Path, now: datetime.datetime) -> SigningKey:
    """The key in a PKCS #12 file whose password is in the environment.

    Raises InputUnavailable when the file, the variable, the key or a valid certificate is missing, and for a
    wrong password.
    """
    from cryptography.hazmat.primitives.serialization import pkcs12

    path = base / signing.keystore
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise _unusable(
            signing, problem.strerror or str(problem), "name a file that can be read"
        ) from problem
    try:
        key, certificate, others = pkcs12.load_key_and_certificates(content, _password(signing))
    except ValueError as problem:
        if content.startswith(b"\xfe\xed\xfe\xed"):
            raise _unusable(
                signing,
                "it is a Java keystore of the old kind (JKS)",
                f"keytool -importkeystore -srckeystore {signing.keystore} -destkeystore release.p12 "
                "-deststoretype pkcs12",
            ) from problem
        raise _unusable(
            signing,
            "the password is wrong, or the file is no PKCS #12 keystore",
            f"put its password into the environment variable {signing.password.env}",
        ) from problem
    if key is None or certificate is None:
        raise _unusable(
            signing, "there is no private key with a certificate in it", "export both into one file"
        )
    _refuse_outside(signing, certificate, now)
    return _key(signing, key, (certificate, *others))


def debug_key(name: str) -> SigningKey:
    """A key for trying things out, the same for a name on every machine: it is no secret, and proves nothing.

    So a package signed with it has the same bytes everywhere, and installs over one from another machine.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    # 255 bits are below the order of P-256.
    secret = int.from_bytes(hashlib.sha256(f"debug key of {name}".encode()).digest()) >> 1
    key = ec.derive_private_key(secret, ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _DEBUG_NAME)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(_FIRST)
        .not_valid_after(_LAST)
        .sign(key, hashes.SHA256(), ecdsa_deterministic=True)
    )
    return _of_curve(key, (certificate,))


def _password(signing: Signing) -> bytes:
    word = os.environ.get(signing.password.env)
    if word is None:
        raise _unusable(
            signing,
            f"the environment variable {signing.password.env} is not set",
            "put the keystore's password into it",
        )
    return word.encode()


def _refuse_outside(signing: Signing, certificate: x509.Certificate, now: datetime.datetime) -> None:
    first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not first <= now <= last:
        raise _unusable(
            signing,
            f"its certificate is valid from {first:%Y-%m-%d} to {last:%Y-%m-%d}, and today is {now:%Y-%m-%d}",
            "sign with a certificate that is valid",
        )


def _key(signing: Signing, key: Any, certificates: tuple[Any, ...]) -> SigningKey:  # noqa: ANN401
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

    chain = tuple(getattr(one, "certificate", one) for one in certificates)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return _of_curve(key, chain)
    if isinstance(key, rsa.RSAPrivateKey):
        return SigningKey(
            kind="rsa",
            sign=lambda data: key.sign(data, padding.PKCS1v15(), hashes.SHA256()),
            public=_public(chain[0]),
            certificates=_der(chain),
        )
    raise _unusable(
        signing, f"its key is a {type(key).__name__}", "sign with an RSA or an elliptic curve key"
    )


def _of_curve(key: EllipticCurvePrivateKey, chain: tuple[x509.Certificate, ...]) -> SigningKey:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    return SigningKey(
        kind="ec",
        sign=lambda data: key.sign(data, ec.ECDSA(hashes.SHA256(), deterministic_signing=True)),
        public=_public(chain[0]),
        certificates=_der(chain),
    )


def _public(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _der(chain: tuple[x509.Certificate, ...]) -> tuple[bytes, ...]:
    from cryptography.hazmat.primitives.serialization import Encoding

    return tuple(certificate.public_bytes(Encoding.DER) for certificate in chain)


def _unusable(signing: Signing, why: str, fix: str) -> InputUnavailable:
    return InputUnavailable(f"{signing.keystore} cannot be used for signing", evidence=(why,), fix=fix)
