"""The catalogues that Windows demands beside its skels, as they are shipped."""

import hashlib

import pytest
from cryptography.hazmat.asn1 import decode_der

from packager.facts.catalogue import read_catalogue
from packager.facts.catalogue_asn1 import Envelope


@pytest.mark.parametrize("arch", [73, 81])
def test_a_shipped_catalogue_names_both_digests_of_its_skel(runtime_windows, arch):
    skel = runtime_windows[f"libQnnHtpV{arch}Skel.so"].read_bytes()

    facts = read_catalogue(runtime_windows[f"libqnnhtpv{arch}.cat"])

    (member,) = [one for one in facts.members if one.name == f"libqnnhtpv{arch}skel.so"]
    assert member.sha1 == hashlib.sha1(skel).hexdigest()
    assert member.sha256 == hashlib.sha256(skel).hexdigest()
    assert facts.systems == "2:10.0"


@pytest.mark.parametrize("arch", [73, 81])
def test_a_shipped_catalogue_is_signed_by_the_hardware_compatibility_publisher(runtime_windows, arch):
    facts = read_catalogue(runtime_windows[f"libqnnhtpv{arch}.cat"])

    assert facts.signature_valid, facts.problem
    assert facts.signer == "Microsoft Windows Hardware Compatibility Publisher"
    assert facts.chain == (facts.signer, "Microsoft Windows Third Party Component CA 2014")


@pytest.mark.parametrize("place", ["trust list", "signature"])
def test_one_flipped_bit_of_a_shipped_catalogue_breaks_its_signature(runtime_windows, tmp_path, place):
    genuine = runtime_windows["libqnnhtpv73.cat"]
    content = bytearray(genuine.read_bytes())
    (signer,) = decode_der(Envelope, bytes(content)).content.signers.as_list()
    (skel,) = [one for one in read_catalogue(genuine).members if one.name == "libqnnhtpv73skel.so"]
    content[content.index(bytes.fromhex(skel.sha256) if place == "trust list" else signer.signature)] ^= 1
    path = tmp_path / "changed.cat"
    path.write_bytes(content)

    facts = read_catalogue(path)

    assert not facts.signature_valid
    assert facts.problem
