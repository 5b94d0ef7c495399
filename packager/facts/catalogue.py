"""Windows catalogues: the list of files that a signature vouches for.

Windows loads a Hexagon skel only when a catalogue in the same folder names its digest. A catalogue is
PKCS#7 signedData around a trust list of SHA-1 and SHA-256 digests.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from packager.errors import UnreadableFile
from packager.facts.signed_data import check_signature, values_of
from packager.facts.types import CatalogueFacts, CatalogueMember

if TYPE_CHECKING:
    from packager.facts import catalogue_asn1

_LARGEST = 16 << 20  # those of the QAIRT releases have 12 KB, the largest of Windows itself a few MB
_ALGORITHM_OF_LENGTH = {20: "sha1", 32: "sha256"}


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
    signature = check_signature(signed, "trust list")
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


def _entry(entry: catalogue_asn1.Entry) -> _Entry:
    """Raises ValueError for attributes that are not what their identifiers say."""
    from packager.facts import catalogue_asn1 as asn1

    attributes = entry.attributes.as_list()
    words = {
        bytes(pair.label.data).decode("utf-16-be"): pair.value.decode("utf-16-le").rstrip("\0")
        for pair in values_of(attributes, asn1.NAME_VALUE, asn1.NameValue)
    }
    digest, flat = entry.identifier, True
    # The oldest catalogues identify an entry by text; the digest is then only in the indirect data.
    for indirect in values_of(attributes, asn1.INDIRECT_DATA, asn1.IndirectData):
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
