import hashlib
from pathlib import Path

import pytest

from packager.errors import UnreadableFile
from packager.facts.catalogue import read_catalogue
from tests.make.catalogue import authority, catalogue

SKEL = b"the content of a skel"
PE_IMAGE = "1.3.6.1.4.1.311.2.1.15"


@pytest.fixture
def saved(tmp_path):
    def save(content: bytes) -> Path:
        path = tmp_path / "example.cat"
        path.write_bytes(content)
        return path

    return save


def test_a_member_is_named_with_both_digests_of_the_whole_file(saved):
    path = saved(catalogue({"libqnnhtpv73skel.so": SKEL, "libqnnhtpv73.inf": b"inf"}))

    facts = read_catalogue(path)

    inf, skel = facts.members
    assert (inf.name, skel.name) == ("libqnnhtpv73.inf", "libqnnhtpv73skel.so")
    assert skel.sha1 == hashlib.sha1(SKEL).hexdigest()
    assert skel.sha256 == hashlib.sha256(SKEL).hexdigest()
    assert facts.systems == "2:10.0"


@pytest.mark.parametrize("digest", ["sha1", "sha256"])
def test_a_catalogue_of_one_digest_says_nothing_about_the_other(saved, digest):
    path = saved(catalogue({"skel.so": SKEL}, digests=(digest,)))

    (member,) = read_catalogue(path).members

    known = {"sha1": member.sha1, "sha256": member.sha256}
    assert known.pop(digest) == hashlib.new(digest, SKEL).hexdigest()
    assert set(known.values()) == {None}


def test_a_pe_image_is_named_without_digests_because_its_digest_is_not_of_the_file(saved):
    path = saved(catalogue({"driver.dll": b"MZ"}, digests=("sha256",), data_kind=PE_IMAGE))

    (member,) = read_catalogue(path).members

    assert (member.name, member.sha1, member.sha256) == ("driver.dll", None, None)


@pytest.mark.parametrize("curve", [False, True], ids=["rsa", "ecdsa"])
def test_the_signature_of_a_known_chain_holds(saved, curve):
    path = saved(catalogue({"skel.so": SKEL}, signer_cn="Example Publisher", curve=curve))

    facts = read_catalogue(path)

    assert facts.signature_valid, facts.problem
    assert facts.problem is None
    assert facts.signer == "Example Publisher"
    assert facts.chain == ("Example Publisher", "Example Test Root")


def test_a_byte_of_the_trust_list_cannot_change_unnoticed(saved):
    genuine = catalogue({"skel.so": SKEL})
    digest = hashlib.sha256(SKEL).digest()
    path = saved(genuine.replace(digest, hashlib.sha256(b"another skel").digest()))

    facts = read_catalogue(path)

    assert not facts.signature_valid
    assert "digest of the trust list is not the one that was signed" in facts.problem
    assert facts.members[0].sha256 == hashlib.sha256(b"another skel").hexdigest()


def test_a_changed_signature_is_found_and_the_signer_still_named(saved):
    genuine = bytearray(catalogue({"skel.so": SKEL}))
    genuine[-20] ^= 1
    path = saved(bytes(genuine))

    facts = read_catalogue(path)

    assert not facts.signature_valid
    assert facts.problem == "the signature was not made with the key of Example Publisher"
    assert facts.signer == "Example Publisher"


def test_an_issuer_of_the_right_name_with_another_key_is_found(saved):
    genuine, impostor = authority(), authority.__wrapped__()
    content = catalogue({"skel.so": SKEL}, signer_cn="Impostor's customer", ca=impostor)
    theirs, ours = (one.certificate.public_bytes(_der()) for one in (impostor, genuine))
    assert len(theirs) == len(ours)
    path = saved(content.replace(theirs, ours))

    facts = read_catalogue(path)

    assert not facts.signature_valid
    assert facts.problem == "the certificate of Impostor's customer was not signed by Example Test Root"


def test_a_signer_without_its_issuer_is_not_a_chain(saved):
    path = saved(catalogue({"skel.so": SKEL}, with_ca=False))

    facts = read_catalogue(path)

    assert not facts.signature_valid
    assert facts.problem == "the certificate that issued Example Publisher is not in the file"


def test_an_unsigned_catalogue_has_members_but_no_signer(saved):
    path = saved(catalogue({"skel.so": SKEL}, signed=False))

    facts = read_catalogue(path)

    assert (facts.signature_valid, facts.problem, facts.signer) == (False, "it is not signed", None)
    assert [member.name for member in facts.members] == ["skel.so"]


def test_two_files_of_one_name_are_not_made_into_one(saved):
    first, second = (catalogue({"skel.so": content}) for content in (b"one", b"two"))
    members = [read_catalogue(saved(content)).members[0] for content in (first, second)]
    both = catalogue({"skel.so": b"one", "tool.so": b"two"}).replace(
        "tool.so".encode("utf-16-le"), "skel.so".encode("utf-16-le")
    )

    facts = read_catalogue(saved(both))

    digests = {digest for one in members for digest in (one.sha1, one.sha256)}
    assert {member.sha1 or member.sha256 for member in facts.members} == digests
    assert all((member.sha1 is None) != (member.sha256 is None) for member in facts.members)


def test_a_truncated_catalogue_is_refused_where_the_file_ends(saved):
    path = saved(catalogue({"skel.so": SKEL})[:500])

    with pytest.raises(UnreadableFile) as refusal:
        read_catalogue(path)

    assert refusal.value.offset == 500


@pytest.mark.parametrize("content", [b"", b"MZ" * 40, b"0\x03\x02\x01\x01"], ids=["empty", "pe", "other der"])
def test_what_is_no_catalogue_is_refused(saved, content):
    path = saved(content)

    with pytest.raises(UnreadableFile, match="damaged or not what its content claims"):
        read_catalogue(path)


def test_a_catalogue_of_absurd_size_is_refused_before_it_is_parsed(tmp_path):
    path = tmp_path / "huge.cat"
    with path.open("wb") as stream:
        stream.truncate(1 << 30)

    with pytest.raises(UnreadableFile) as refusal:
        read_catalogue(path)

    assert "at most" in refusal.value.reason


def _der():
    from cryptography.hazmat.primitives.serialization import Encoding

    return Encoding.DER
