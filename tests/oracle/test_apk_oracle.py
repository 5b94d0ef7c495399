"""apksigner, zipalign and aapt judge the app."""

from __future__ import annotations

import struct
import zipfile

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from packager.audit import audit
from packager.errors import ManifestError
from packager.formats import by_id
from packager.signing_key import debug_key, load_key
from tests.make.android import android_bundle, android_plan
from tests.make.keystore import NOW, keystore

KEYS = {
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "ec": lambda: ec.generate_private_key(ec.SECP384R1()),
}


@pytest.fixture
def plan():
    return android_plan("apk")


def signed(path, key):
    with path.open("r+b") as apk:
        by_id("apk").sign(apk, key)
    return path


@pytest.fixture
def app(plan, write, tmp_path):
    """The app, signed with the key for trying things out."""
    return signed(write("apk", plan, android_bundle(plan, tmp_path)), debug_key(plan.package.name))


def test_the_schemes_v2_and_v3_verify_for_every_android_that_it_installs_on(app, tool):
    said = tool("apksigner")("verify", "--verbose", "--print-certs", app)
    older = ("--min-sdk-version", "24", "--max-sdk-version", "27")  # they know of v2 alone

    assert "(APK Signature Scheme v2): true" in tool("apksigner")("verify", "--verbose", *older, app)
    assert "Verified using v3 scheme (APK Signature Scheme v3): true" in said
    assert "CN=Android Debug" in said
    assert debug_key("text-direction").fingerprints[0].hex() in said
    assert "WARNING" not in said


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_of_the_user_s_signs_as_well(kind, plan, write, tool, tmp_path, monkeypatch):
    signing = keystore(tmp_path, monkeypatch, KEYS[kind]())
    path = write("apk", plan, android_bundle(plan, tmp_path))

    said = tool("apksigner")(
        "verify", "--verbose", "--print-certs", signed(path, load_key(signing, tmp_path, NOW))
    )

    assert "Verified using v3 scheme (APK Signature Scheme v3): true" in said
    assert "CN=Release" in said


def test_one_changed_byte_of_a_model_breaks_the_signature(app, tool):
    content = bytearray(app.read_bytes())
    content[content.index(b"context of sm8650")] ^= 1
    app.write_bytes(content)

    with pytest.raises(AssertionError, match="DOES NOT VERIFY"):
        tool("apksigner")("verify", app)


def test_without_the_signature_of_v3_that_of_v2_does_not_count_either(app, tool):
    content = app.read_bytes()
    v3 = struct.pack("<I", 0xF05368C0)
    app.write_bytes(content.replace(v3, struct.pack("<I", 0x12345678)))

    with pytest.raises(AssertionError, match="DOES NOT VERIFY"):
        tool("apksigner")("verify", app)


def test_zipalign_finds_everything_aligned_and_libraries_to_pages_of_16_kib(app, tool):
    tool("zipalign")("-c", "-p", "4", app)
    with zipfile.ZipFile(app) as apk, app.open("rb") as stream:
        begins = {}
        for info in apk.infolist():
            stream.seek(info.header_offset + 26)
            begins[info.filename] = info.header_offset + 30 + sum(struct.unpack("<HH", stream.read(4)))

    libraries = [begin for name, begin in begins.items() if name.startswith("lib/")]
    assert len(libraries) == 8
    assert {begin % 0x4000 for begin in libraries} == {0}


def test_aapt_reads_the_app_s_words(app, tool):
    said = tool("aapt")("dump", "badging", app)

    for line in (
        "package: name='hexpack.text_direction' versionCode='10200099' versionName='1.2.0'",
        "sdkVersion:'28'",
        "targetSdkVersion:'35'",
        "launchable-activity: name='android.app.NativeActivity'",
        "native-code: 'arm64-v8a'",
        "application-debuggable",
    ):
        assert line in said


def test_aapt_reads_back_the_whole_manifest(app, tool):
    said = tool("aapt")("dump", "xmltree", app, "AndroidManifest.xml")

    assert "E: uses-native-library" in said
    assert 'A: android:value(0x01010024)="hexrun_app"' in said
    assert "A: android:hasCode(0x0101000c)=(type 0x12)0x0" in said
    assert "A: android:extractNativeLibs(0x010104ea)=(type 0x12)0xffffffff" in said


def test_an_audit_minds_only_that_skels_are_where_the_store_measures(app):
    report = audit(app)

    assert {finding.rule for one in report.sets for finding in one.findings} == {"HEX212"}


def test_equal_inputs_give_equal_bytes(plan, write, tmp_path):
    bundle = android_bundle(plan, tmp_path)
    once, twice = (
        signed(write("apk", plan, bundle), debug_key("text-direction")).read_bytes() for _ in range(2)
    )

    assert once == twice


def test_a_zip_with_64_bit_fields_is_no_app(tmp_path):
    path = tmp_path / "big.apk"
    path.write_bytes(b"PK\5\6" + bytes(8) + struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF) + b"\0\0")

    with pytest.raises(ManifestError, match="cannot be signed"):
        signed(path, debug_key("x"))
