"""What osslsigncode and our own readers make of app packages for Windows. Debian: osslsigncode unzip."""

from __future__ import annotations

import base64
import datetime
import hashlib
import io
import struct
import xml.etree.ElementTree as ElementTree
import zipfile

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from packager.errors import ManifestError
from packager.facts.archive import read_archive
from packager.formats import by_id
from packager.formats.msix import publisher
from packager.formats.msix_signature import subject_of
from packager.manifest_signing import Signing
from packager.signing_key import load_key
from tests.make.windows import windows_bundle, windows_plan

NAMES = [
    (NameOID.COUNTRY_NAME, "GB"),
    (NameOID.STATE_OR_PROVINCE_NAME, "Kent"),
    (NameOID.ORGANIZATION_NAME, "Example, Ltd"),
    (NameOID.COMMON_NAME, "Example Devices"),
]
SUBJECT = 'CN=Example Devices, O="Example, Ltd", S=Kent, C=GB'
MAP = "{http://schemas.microsoft.com/appx/2010/blockmap}"
MANIFEST = "{http://schemas.microsoft.com/appx/manifest/foundation/windows10}"
NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def keystore(folder, kind="rsa", names=NAMES):
    """A keystore with a self-signed certificate for signing code, and the certificate as PEM beside it."""
    key = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(*one) for one in names])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(7)
        .not_valid_before(datetime.datetime(2024, 1, 1)).not_valid_after(datetime.datetime(2090, 1, 1))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (folder / "signer.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "release.p12").write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"x", key, certificate, None, serialization.BestAvailableEncryption(b"secret")
        )
    )
    return Signing.model_validate({"keystore": "release.p12", "password": {"env": "MSIX_PASSWORD"}})


@pytest.fixture
def plan():
    return windows_plan("msix", own={"msix": {"publisher": SUBJECT}})


@pytest.fixture
def package(plan, write, tmp_path):
    return write("msix", plan, windows_bundle(plan, tmp_path))


def signed(package, key):
    with package.open("r+b") as stream:
        by_id("msix").seal(stream, key)
    return package


def test_the_block_map_has_the_digest_of_every_64_kib_of_every_file(package, tool):
    assert "No errors detected" in tool("unzip")("-t", package)
    with zipfile.ZipFile(package) as archive:
        block_map = ElementTree.fromstring(archive.read("AppxBlockMap.xml"))
        names = [file.attrib["Name"].replace("\\", "/") for file in block_map.iter(f"{MAP}File")]
        assert names == [
            name for name in archive.namelist() if name not in ("AppxBlockMap.xml", "[Content_Types].xml")
        ]
        for file in block_map.iter(f"{MAP}File"):
            info = archive.getinfo(file.attrib["Name"].replace("\\", "/"))
            content = archive.read(info)
            blocks = [content[at : at + 65536] for at in range(0, len(content), 65536)]
            name, extra = struct.unpack_from("<HH", package.read_bytes(), info.header_offset + 26)
            assert (int(file.attrib["Size"]), int(file.attrib["LfhSize"])) == (
                len(content),
                30 + name + extra,
            )
            assert [one.attrib["Hash"] for one in file] == [
                base64.b64encode(hashlib.sha256(block).digest()).decode() for block in blocks
            ]


def test_the_manifest_names_architecture_version_and_publisher_and_only_files_that_are_there(package):
    with zipfile.ZipFile(package) as archive:
        root = ElementTree.fromstring(archive.read("AppxManifest.xml"))
        names = set(archive.namelist())
        pictures = [archive.read(name) for name in sorted(names) if name.endswith(".png")]

    identity = root.find(f"{MANIFEST}Identity").attrib
    assert identity == {
        "Name": "text-direction", "Publisher": SUBJECT, "Version": "1.2.0.0", "ProcessorArchitecture": "arm64",
    }  # fmt: skip
    assert root.find(f"{MANIFEST}Applications/{MANIFEST}Application").attrib["Executable"] in names
    named = {
        text.replace("\\", "/")
        for node in root.iter()
        for text in (node.text or "", *node.attrib.values())
        if text.endswith(".png")
    }
    assert named
    assert named <= names
    from PIL import Image

    assert [Image.open(io.BytesIO(one)).size for one in pictures] == [(150, 150), (44, 44), (50, 50)]


@pytest.mark.parametrize("kind", ["rsa", "ec"])
def test_osslsigncode_verifies_the_signature(package, tool, tmp_path, monkeypatch, kind):
    monkeypatch.setenv("MSIX_PASSWORD", "secret")
    key = load_key(keystore(tmp_path, kind), tmp_path, NOW)

    said = tool("osslsigncode")("verify", "-CAfile", tmp_path / "signer.pem", "-in", signed(package, key))

    assert "Signature verification: ok" in said
    assert "MISMATCH" not in said
    assert read_archive(package).format == "msix"


def test_a_file_that_changes_after_signing_is_noticed(package, tool, tmp_path, monkeypatch):
    monkeypatch.setenv("MSIX_PASSWORD", "secret")
    signed(package, load_key(keystore(tmp_path), tmp_path, NOW))
    content = package.read_bytes()
    package.write_bytes(content.replace(b"contextcontext", b"contextcontexT", 1))

    with pytest.raises(AssertionError, match="MISMATCH"):
        tool("osslsigncode")("verify", "-CAfile", tmp_path / "signer.pem", "-in", package)


def test_osslsigncode_signs_what_was_left_unsigned(package, tool, tmp_path):
    keystore(tmp_path)

    tool("osslsigncode")(
        "sign",
        "-pkcs12",
        tmp_path / "release.p12",
        "-pass",
        "secret",
        "-in",
        package,
        "-out",
        tmp_path / "signed.msix",
    )
    said = tool("osslsigncode")("verify", "-CAfile", tmp_path / "signer.pem", "-in", tmp_path / "signed.msix")

    assert "Signature verification: ok" in said


def test_equal_inputs_and_keys_give_equal_bytes(plan, write, tmp_path, monkeypatch):
    monkeypatch.setenv("MSIX_PASSWORD", "secret")
    key = load_key(keystore(tmp_path), tmp_path, NOW)

    one, two = (
        signed(write("msix", plan, windows_bundle(plan, tmp_path)), key).read_bytes() for _ in range(2)
    )

    assert one == two


def test_a_certificate_of_another_subject_is_refused_with_the_line_that_helps(tmp_path, monkeypatch):
    monkeypatch.setenv("MSIX_PASSWORD", "secret")
    key = load_key(keystore(tmp_path), tmp_path, NOW)

    with pytest.raises(ManifestError) as refused:
        by_id("msix").agree(windows_plan("msix"), key)

    assert subject_of(key.certificates[0]) == SUBJECT
    assert f"publisher = '{SUBJECT}'" in refused.value.fix
    by_id("msix").agree(windows_plan("msix", own={"msix": {"publisher": SUBJECT}}), key)


def test_an_unsigned_package_says_how_it_is_signed(plan):
    said = by_id("msix").unsigned(plan)

    assert "signtool sign /fd SHA256" in said
    assert SUBJECT in said
    assert publisher(windows_plan("msix")) == "CN=Example Devices"


def test_names_beyond_ascii_are_written_as_parts_and_mapped_as_files(plan, write, tmp_path):
    from tests.make.bundle import bundle_of

    bundle = bundle_of({"models/Größe 1.bin": b"weights", "hexrun.exe": b"MZ"}, tmp_path)

    with zipfile.ZipFile(write("msix", plan, bundle)) as archive:
        block_map = ElementTree.fromstring(archive.read("AppxBlockMap.xml"))
        assert "models/Gr%C3%B6%C3%9Fe%201.bin" in archive.namelist()

    assert "models\\Größe 1.bin" in {file.attrib["Name"] for file in block_map.iter(f"{MAP}File")}
