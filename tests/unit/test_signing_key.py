"""Keys for signing: what is wrong with one is said before anything is built."""

from __future__ import annotations

import datetime

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from packager.errors import InputUnavailable
from packager.signing_key import debug_key, load_key
from tests.make.keystore import NOW, keystore


@pytest.fixture
def key():
    return rsa.generate_private_key(65537, 2048)


def refused(signing, folder, now=NOW):
    with pytest.raises(InputUnavailable) as error:
        load_key(signing, folder, now)
    return error.value


def test_a_wrong_password_is_called_one_and_the_variable_is_named(key, tmp_path, monkeypatch):
    signing = keystore(tmp_path, monkeypatch, key)
    monkeypatch.setenv("KEYSTORE_PASSWORD", "guess")

    error = refused(signing, tmp_path)

    assert error.evidence == ("the password is wrong, or the file is no PKCS #12 keystore",)
    assert "KEYSTORE_PASSWORD" in error.fix
    assert "guess" not in error.render()


def test_a_variable_that_is_not_set_is_named(key, tmp_path, monkeypatch):
    signing = keystore(tmp_path, monkeypatch, key)
    monkeypatch.delenv("KEYSTORE_PASSWORD")

    assert "KEYSTORE_PASSWORD is not set" in refused(signing, tmp_path).evidence[0]


def test_an_expired_certificate_is_refused_with_its_dates(key, tmp_path, monkeypatch):
    signing = keystore(tmp_path, monkeypatch, key, days=20)

    assert refused(signing, tmp_path).evidence == (
        "its certificate is valid from 2026-05-02 to 2026-05-22, and today is 2026-06-01",
    )
    assert load_key(signing, tmp_path, NOW - datetime.timedelta(days=20)).kind == "rsa"


@pytest.mark.parametrize(
    ("content", "why"), [(None, "No such file"), (b"\xfe\xed\xfe\xed\0", "Java keystore of the old kind")]
)
def test_another_file_is_told_from_a_keystore(content, why, key, tmp_path, monkeypatch):
    signing = keystore(tmp_path, monkeypatch, key)
    (tmp_path / "release.p12").unlink()
    if content:
        (tmp_path / "release.p12").write_bytes(content)

    assert why in refused(signing, tmp_path).evidence[0]


def test_a_kind_of_key_that_android_cannot_verify_is_refused(tmp_path, monkeypatch):
    signing = keystore(tmp_path, monkeypatch, ed25519.Ed25519PrivateKey.generate(), digest=None)

    assert "Ed25519" in refused(signing, tmp_path).evidence[0]


def test_the_key_for_trying_things_out_is_one_for_each_name_and_signs_equal_bytes_equally():
    one, again, other = debug_key("a-b"), debug_key("a-b"), debug_key("a-c")

    assert one.certificates == again.certificates
    assert one.sign(b"x") == again.sign(b"x")
    assert one.public != other.public
