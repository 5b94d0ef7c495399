"""osslsigncode, an independent implementation, judges the catalogues on which the reader is tested."""

import pytest

from packager.facts.catalogue import read_catalogue
from tests.make.catalogue import authority, catalogue


@pytest.fixture
def verify(tool, tmp_path):
    certificate = tmp_path / "authority.pem"
    certificate.write_bytes(authority().pem)
    osslsigncode = tool("osslsigncode")
    return lambda path: osslsigncode("verify", "-CAfile", certificate, "-in", path)


@pytest.mark.parametrize("curve", [False, True], ids=["rsa", "ecdsa"])
def test_a_catalogue_that_the_reader_accepts_is_accepted(tmp_path, verify, curve):
    path = tmp_path / "example.cat"
    path.write_bytes(catalogue({"skel.so": b"skel", "driver.inf": b"inf"}, curve=curve))

    verdict = verify(path)

    assert "Number of verified signatures: 1" in verdict
    assert read_catalogue(path).signature_valid


@pytest.mark.parametrize("place", ["trust list", "signature"])
def test_a_catalogue_that_the_reader_doubts_is_refused(tmp_path, verify, place):
    content = bytearray(catalogue({"skel.so": b"skel"}))
    content[content.index("skel.so".encode("utf-16-le")) if place == "trust list" else -20] ^= 1
    path = tmp_path / "example.cat"
    path.write_bytes(content)

    with pytest.raises(AssertionError, match="exit 1"):
        verify(path)

    assert not read_catalogue(path).signature_valid
