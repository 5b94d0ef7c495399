"""Windows catalogues: the list of files that a signature vouches for.

Windows loads a Hexagon skel only when a catalogue in the same folder names its digest. A catalogue is
PKCS#7 signedData around a trust list of SHA-1 and SHA-256 digests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from packager.errors import UnreadableFile
from packager.facts.types import CatalogueFacts, CatalogueMember

if TYPE_CHECKING:
    from cryptography import x509

    from packager.facts import catalogue_asn1

T = TypeVar("T")

_LARGEST = 16 << 20  # those of the QAIRT releases have 12 KB, the largest of Windows itself a few MB
_LONGEST_CHAIN = 16
_ALGORITHM_OF_LENGTH = {20: "sha1", 32: "sha256"}


class _Signature(NamedTuple):
    """Common names from the signer to the topmost certificate inside; `problem` is None when it holds."""

    signer: str | None
    chain: tuple[str, ...]
    problem: str | None


class _Entry(NamedTuple):
    name: str | None
    system: str | None
    algorithm: str | None
    digest: bytes


def read_catalogue(path: Path) -> CatalogueFacts:
    """Members, operating systems and signature of a catalogue.

    `signature_valid` means: the trust list has the digest that was signed, the signature verifies with
    the signer's key, and each certificate up to the topmost one in the file was signed by the next.
    Nothing is said about trust: there is no store of roots here, and dates, revocation, purposes and
    timestamps are not looked at. Who the signer is, the caller must judge from `signer` and `chain`.

    Digests are of whole files. A PE image is listed by name alone, because its digest leaves out parts of
    the file. Raises UnreadableFile when the file is not the DER of a catalogue; the offset is the end of
    the file when it was cut short, otherwise 0, since the decoder does not tell.
    """
    from packager.facts import catalogue_asn1 as asn1

    data = _content(path)
    envelope = _decoded(path, data)
    signed = envelope.content
    kind = signed.content.kind.dotted_string
    if kind != asn1.TRUST_LIST:
        raise UnreadableFile(path, 0, f"signed data of type {kind}, not a catalogue")
    try:
        entries = [_entry(entry) for entry in signed.content.content.parse(asn1.TrustList).entries]
    except ValueError as error:
        raise UnreadableFile(path, 0, f"not the trust list of a catalogue: {error}") from error
    signature = _signature(signed)
    return CatalogueFacts(
        members=_members(entries),
        signer=signature.signer,
        chain=signature.chain,
        systems=",".join(sorted({entry.system for entry in entries if entry.system})) or None,
        signature_valid=signature.problem is None,
        problem=signature.problem,
    )


def _content(path: Path) -> bytes:
    with path.open("rb") as stream:
        data = stream.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise UnreadableFile(path, _LARGEST, f"a catalogue has at most {_LARGEST} bytes")
    return data


def _decoded(path: Path, data: bytes) -> catalogue_asn1.Envelope:
    from cryptography.hazmat.asn1 import decode_der
    from cryptography.x509 import InvalidVersion

    from packager.facts import catalogue_asn1 as asn1

    try:
        envelope = decode_der(asn1.Envelope, data)
    except (ValueError, InvalidVersion) as error:
        offset = len(data) if "ShortData" in str(error) else 0
        raise UnreadableFile(path, offset, f"not the DER of a catalogue: {error}") from error
    if envelope.kind.dotted_string != asn1.SIGNED_DATA:
        raise UnreadableFile(path, 0, f"PKCS#7 of type {envelope.kind.dotted_string}, not signed data")
    return envelope


def _values(attributes: Iterable[catalogue_asn1.Attribute], kind: str, shape: type[T]) -> Iterator[T]:
    """The values of all attributes of one kind, each parsed as `shape`; ValueError where it is not that."""
    for attribute in attributes:
        if attribute.kind.dotted_string == kind:
            for value in attribute.values.as_list():
                yield value.parse(shape)


def _entry(entry: catalogue_asn1.Entry) -> _Entry:
    """Raises ValueError for attributes that are not what their identifiers say."""
    from packager.facts import catalogue_asn1 as asn1

    attributes = entry.attributes.as_list()
    words = {
        bytes(pair.label.data).decode("utf-16-be"): pair.value.decode("utf-16-le").rstrip("\0")
        for pair in _values(attributes, asn1.NAME_VALUE, asn1.NameValue)
    }
    digest, flat = entry.identifier, True
    # The oldest catalogues identify an entry by text; the digest is then only in the indirect data.
    for indirect in _values(attributes, asn1.INDIRECT_DATA, asn1.IndirectData):
        digest, flat = indirect.digest.digest, indirect.data.kind.dotted_string != asn1.PE_IMAGE
    algorithm = _ALGORITHM_OF_LENGTH.get(len(digest)) if flat else None
    return _Entry(words.get("File"), words.get("OSAttr"), algorithm, digest)


def _members(entries: Iterable[_Entry]) -> tuple[CatalogueMember, ...]:
    """One member for each file: a catalogue has an entry for each digest of it."""
    digests: dict[str | None, dict[str, list[str]]] = {}
    for entry in entries:
        of_name = digests.setdefault(entry.name, {})
        if entry.algorithm:
            of_name.setdefault(entry.algorithm, []).append(entry.digest.hex())
    members: list[CatalogueMember] = []
    for name, found in digests.items():
        if name is not None and all(len(several) == 1 for several in found.values()):
            members.append(CatalogueMember(name=name, **{kind: one for kind, (one,) in found.items()}))
        else:
            # Several files of one name, or of none: nothing says which SHA-1 belongs to which SHA-256.
            members += [CatalogueMember(name=name, **{kind: one}) for kind in found for one in found[kind]]
    return tuple(sorted(members, key=_order))


def _order(member: CatalogueMember) -> tuple[str, str, str]:
    return member.name or "", member.sha256 or "", member.sha1 or ""


def _signature(signed: catalogue_asn1.SignedData) -> _Signature:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.x509 import InvalidVersion

    signers = signed.signers.as_list()
    if not signers or signed.certificates is None:
        return _Signature(None, (), "it is not signed")
    try:
        certificates = signed.certificates.as_list()
        signatures = [_checked(signer, signed.content, certificates) for signer in signers]
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidVersion) as error:
        return _Signature(None, (), f"its signature cannot be read: {error}")
    return next((signature for signature in signatures if signature.problem), signatures[0])


def _checked(
    signer: catalogue_asn1.Signer, content: catalogue_asn1.Content, certificates: list[x509.Certificate]
) -> _Signature:
    serial = signer.certificate.serial
    leaf = next((known for known in certificates if known.serial_number == serial), None)
    if leaf is None:
        return _Signature(None, (), f"the signer's certificate (serial {serial:x}) is not in the file")
    chain, chain_problem = _chain(leaf, certificates)
    problem = _content_problem(signer, content) or _key_problem(signer, content, leaf) or chain_problem
    return _Signature(_name(leaf), tuple(_name(certificate) for certificate in chain), problem)


def _content_problem(signer: catalogue_asn1.Signer, content: catalogue_asn1.Content) -> str | None:
    """What is wrong between the trust list and the signed attributes that stand for it."""
    from cryptography.x509 import ObjectIdentifier

    from packager.facts import catalogue_asn1 as asn1

    algorithm = asn1.DIGESTS.get(signer.digest_algorithm.kind.dotted_string)
    if algorithm is None:
        return f"digest algorithm {signer.digest_algorithm.kind.dotted_string} is not known"
    if signer.signed is None:
        return None  # then the signature is over the trust list itself
    attributes = signer.signed.as_list()
    if list(_values(attributes, asn1.CONTENT_TYPE, ObjectIdentifier)) != [content.kind]:
        return "the signed attributes are not those of a catalogue"
    digest = hashlib.new(algorithm, content.content.data).digest()
    if list(_values(attributes, asn1.MESSAGE_DIGEST, bytes)) != [digest]:
        return f"the {algorithm} digest of the trust list is not the one that was signed"
    return None


def _key_problem(
    signer: catalogue_asn1.Signer, content: catalogue_asn1.Content, leaf: x509.Certificate
) -> str | None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.asn1 import encode_der
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

    from packager.facts import catalogue_asn1 as asn1

    # What is signed is the DER of a SET, not the tagged field that the file has in its place (RFC 5652, 5.4).
    message = bytes(content.content.data) if signer.signed is None else encode_der(signer.signed)
    algorithm = getattr(hashes, asn1.DIGESTS[signer.digest_algorithm.kind.dotted_string].upper())()
    key = leaf.public_key()
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signer.signature, message, padding.PKCS1v15(), algorithm)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signer.signature, message, ec.ECDSA(algorithm))
        else:
            return f"the key of {_name(leaf)} is neither RSA nor ECDSA"
    except InvalidSignature:
        return f"the signature was not made with the key of {_name(leaf)}"
    return None


def _chain(
    leaf: x509.Certificate, certificates: list[x509.Certificate]
) -> tuple[list[x509.Certificate], str | None]:
    """The leaf, its issuer, and so on to the topmost certificate at hand; and why the chain breaks."""
    from cryptography.exceptions import InvalidSignature

    chain = [leaf]
    while len(chain) < _LONGEST_CHAIN:
        last = chain[-1]
        issuers = [known for known in certificates if known.subject == last.issuer]
        if not issuers:
            alone = len(chain) == 1
            return chain, f"the certificate that issued {_name(leaf)} is not in the file" if alone else None
        for issuer in issuers:
            try:
                last.verify_directly_issued_by(issuer)
            except (InvalidSignature, TypeError, ValueError):
                continue
            break
        else:
            return chain, f"the certificate of {_name(last)} was not signed by {_name(issuers[0])}"
        if issuer == last:
            return chain, None
        chain.append(issuer)
    return chain, f"more than {_LONGEST_CHAIN} certificates in a row"


def _name(certificate: x509.Certificate) -> str:
    from cryptography.x509.oid import NameOID

    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else certificate.subject.rfc4514_string()
