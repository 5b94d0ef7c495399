"""Signs an APK by the schemes v2 and v3, which cover the whole file.

Between the last member and the zip's directory stands the signing block: pairs of an id and a value, one for
each scheme. What is signed is the digest of digests of 1 MiB chunks of everything before the block, of the
directory, and of the end record as if the directory began at the block. (Source: Android Open Source Project,
APK Signature Scheme v2 and v3. apksigner judges the result in the tests.)
"""

from __future__ import annotations

import hashlib
import itertools
import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from packager.errors import ManifestError
from packager.signing_key import SigningKey

_CHUNK = 1 << 20
_V2, _V3 = 0x7109871A, 0xF05368C0
_STRIPPED = 0xBEEFF00D  # in v2: tells that v3 was there too, so that nobody can take it away
_MAGIC = b"APK Sig Block 42"
_LAST_SDK = 0x7FFFFFFF
_ALGORITHMS = {"rsa": 0x0103, "ec": 0x0201}  # PKCS #1 1.5 and ECDSA, both with SHA-256
_END = b"PK\5\6"
_END_SIZE = 22
_MOST = 0xFFFFFFFF


def sign(apk: BinaryIO, key: SigningKey, min_sdk: int) -> None:
    """Put the signing block into a zip without a comment; `apk` is readable, writable and seekable.

    Reads the file once, in blocks. Raises ManifestError for 4 GiB and more, which Android cannot verify.
    """
    size = apk.seek(0, 2)
    apk.seek(size - _END_SIZE)
    end = apk.read(_END_SIZE)
    directory_size, begins = struct.unpack_from("<II", end, 12)
    if not end.startswith(_END) or begins + directory_size + _END_SIZE != size or size >= _MOST:
        raise ManifestError(
            f"an APK of {size} bytes cannot be signed",
            evidence=("its members and their directory have to fit into 4 GiB",),
            fix='deliver the models apart from the app: formats = ["aipack"]',
        )
    apk.seek(begins)
    directory = apk.read(directory_size)
    apk.seek(0)
    digest = _digest(itertools.chain(_chunks_of(apk, begins), _pieces(directory), [end]))
    block = _block([(_V2, _v2(digest, key)), (_V3, _v3(digest, key, min_sdk))])
    apk.seek(begins)
    apk.write(block + directory + end[:16] + struct.pack("<I", begins + len(block)) + end[20:])


def _chunks_of(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """The next `size` bytes in chunks."""
    left = size
    while left:
        piece = stream.read(min(_CHUNK, left))
        left -= len(piece)
        yield piece


def _pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK))


def _digest(chunks: Iterable[bytes]) -> bytes:
    digests = [hashlib.sha256(b"\xa5" + struct.pack("<I", len(chunk)) + chunk).digest() for chunk in chunks]
    return hashlib.sha256(b"\x5a" + struct.pack("<I", len(digests)) + b"".join(digests)).digest()


def _sized(*parts: bytes) -> bytes:
    """The parts behind one another, with their length before."""
    whole = b"".join(parts)
    return struct.pack("<I", len(whole)) + whole


def _v2(digest: bytes, key: SigningKey) -> bytes:
    stripped = _sized(struct.pack("<II", _STRIPPED, 3))
    data = _digests(digest, key) + _certificates(key) + _sized(stripped)
    return _sized(_sized(_sized(data), _signatures(data, key), _sized(key.public)))


def _v3(digest: bytes, key: SigningKey, min_sdk: int) -> bytes:
    since = struct.pack("<II", min_sdk, _LAST_SDK)
    data = _digests(digest, key) + _certificates(key) + since + _sized()
    return _sized(_sized(_sized(data), since, _signatures(data, key), _sized(key.public)))


def _digests(digest: bytes, key: SigningKey) -> bytes:
    return _sized(_sized(struct.pack("<I", _ALGORITHMS[key.kind]), _sized(digest)))


def _certificates(key: SigningKey) -> bytes:
    return _sized(*(_sized(certificate) for certificate in key.certificates))


def _signatures(data: bytes, key: SigningKey) -> bytes:
    return _sized(_sized(struct.pack("<I", _ALGORITHMS[key.kind]), _sized(key.sign(data))))


def _block(pairs: Iterable[tuple[int, bytes]]) -> bytes:
    body = b"".join(struct.pack("<QI", 4 + len(value), id_) + value for id_, value in pairs)
    size = struct.pack("<Q", len(body) + 8 + len(_MAGIC))
    return size + body + size + _MAGIC
