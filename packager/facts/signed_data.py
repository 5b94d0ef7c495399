"""Whether a PKCS #7 signature holds: that of a Windows catalogue, and that of a DLL.

Not with lief, whose verification a forged signature can crash together with the whole program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from cryptography import x509

    from packager.facts import catalogue_asn1

T = TypeVar("T")

_LONGEST_CHAIN = 16


class Signature(NamedTuple):
    """Common names from the signer to the topmost certificate inside; `problem` is None when it holds."""

    signer: str | None
    chain: tuple[str, ...]
    problem: str | None


def values_of(attributes: Iterable[catalogue_asn1.Attribute], kind: str, shape: type[T]) -> Iterator[T]:
    """The values of all attributes of one kind, each parsed as `shape`; ValueError where it is not that."""
    for attribute in attributes:
        if attribute.kind.dotted_string == kind:
            for value in attribute.values.as_list():
                yield value.parse(shape)


def check_signature(signed: catalogue_asn1.SignedData, what: str) -> Signature:
    """The first signature that does not hold, or the first of all; a structure without one has a problem.

    A signature holds when it verifies with the signer's key over the digest of the content, and each
    certificate up to the topmost one was signed by the next. `what` says what was signed, for the problem.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.x509 import InvalidVersion

    signers = signed.signers.as_list()
    if not signers or signed.certificates is None:
        return Signature(None, (), "it is not signed")
    try:
        certificates = signed.certificates.as_list()
        signatures = [_checked(signer, signed.content, certificates, what) for signer in signers]
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidVersion) as error:
        return Signature(None, (), f"its signature cannot be read: {error}")
    return next((signature for signature in signatures if signature.problem), signatures[0])


def _checked(
    signer: catalogue_asn1.Signer,
    content: catalogue_asn1.Content,
    certificates: list[x509.Certificate],
    what: str,
) -> Signature:
    serial = signer.certificate.serial
    leaf = next((known for known in certificates if known.serial_number == serial), None)
    if leaf is None:
        return Signature(None, (), f"the signer's certificate (serial {serial:x}) is not in the file")
    chain, chain_problem = _chain(leaf, certificates)
    problem = _content_problem(signer, content, what) or _key_problem(signer, content, leaf) or chain_problem
    return Signature(_name(leaf), tuple(_name(certificate) for certificate in chain), problem)


def _content_problem(signer: catalogue_asn1.Signer, content: catalogue_asn1.Content, what: str) -> str | None:
    """What is wrong between what was signed and the signed attributes that stand for it."""
    from cryptography.x509 import ObjectIdentifier

    from packager.facts import catalogue_asn1 as asn1

    algorithm = asn1.DIGESTS.get(signer.digest_algorithm.kind.dotted_string)
    if algorithm is None:
        return f"digest algorithm {signer.digest_algorithm.kind.dotted_string} is not known"
    if signer.signed is None:
        return None  # then the signature is over the content itself
    attributes = signer.signed.as_list()
    if list(values_of(attributes, asn1.CONTENT_TYPE, ObjectIdentifier)) != [content.kind]:
        return f"the signed attributes are not those of a {what}"
    digest = hashlib.new(algorithm, content.content.data).digest()
    if list(values_of(attributes, asn1.MESSAGE_DIGEST, bytes)) != [digest]:
        return f"the {algorithm} digest of the {what} is not the one that was signed"
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
