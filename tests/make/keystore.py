"""PKCS #12 files with a key and its certificate."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.x509.oid import NameOID

from packager.manifest_signing import Secret, Signing

SHA256 = hashes.SHA256()
NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)


def keystore(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: Any,
    *,
    days: int = 400,
    digest: hashes.HashAlgorithm | None = SHA256,
) -> Signing:
    """`release.p12` as keytool makes it, its password in the environment, and how a manifest names both."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Release")])
    first = NOW - datetime.timedelta(days=30)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(first)
        .not_valid_after(first + datetime.timedelta(days=days))
        .sign(key, digest)  # type: ignore[arg-type]
    )
    content = pkcs12.serialize_key_and_certificates(
        b"release", key, certificate, None, BestAvailableEncryption(b"secret")
    )
    (folder / "release.p12").write_bytes(content)
    monkeypatch.setenv("KEYSTORE_PASSWORD", "secret")
    return Signing(keystore="release.p12", password=Secret(env="KEYSTORE_PASSWORD"))
