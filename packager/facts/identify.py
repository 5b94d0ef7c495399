"""Tells what a file is from its content alone, and has the right reader read it."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal, cast

from packager.errors import InputUnavailable, UnreadableFile
from packager.facts.android_manifest import is_android_manifest
from packager.facts.archive import AR_MAGIC, DEB_MARK
from packager.facts.build_file import is_build_file
from packager.facts.context_head import is_context
from packager.facts.dlc_records import is_dlc
from packager.facts.environment import is_environment
from packager.facts.inflate import compression, inflate_errors, inflated
from packager.facts.json_text import json_kind
from packager.facts.onnx_sniff import is_onnx
from packager.facts.reading import is_folder, opened
from packager.facts.rpm import RPM_MAGIC
from packager.facts.runner_config import is_runner_config
from packager.facts.stand_in import stand_in
from packager.facts.tar import BLOCK, begins_like_tar
from packager.facts.types import DamagedFacts, Facts, OtherFacts
from packager.facts.yaml_text import yaml_kind

Kind = Literal[
    "elf", "pe", "catalogue", "context-binary", "onnx", "dlc", "archive", "htp-config", "genie-config",
    "runner-config", "environment", "build-file", "android-manifest", "ai-hub-metadata", "ai-hub-release",
    "hub-apps", "model-package", "other",
]  # fmt: skip

_HEAD = 512

# DER object identifiers: PKCS #7 signedData, and the certificate trust list inside a catalogue.
_SIGNED_DATA = bytes.fromhex("06092a864886f70d010702")
_TRUST_LIST = bytes.fromhex("06092b0601040182370a01")

# The reader of each kind is imported when a file of that kind turns up: some bring heavy libraries.
_READERS = {
    "elf": ("packager.facts.elf", "read_elf"),
    "pe": ("packager.facts.pe", "read_pe"),
    "archive": ("packager.facts.archive", "read_archive"),
    "catalogue": ("packager.facts.catalogue", "read_catalogue"),
    "context-binary": ("packager.facts.context_binary", "read_context"),
    "onnx": ("packager.facts.onnx", "read_onnx"),
    "dlc": ("packager.facts.dlc", "read_dlc"),
    "htp-config": ("packager.facts.htp_config", "read_htp_config"),
    "genie-config": ("packager.facts.genie_config", "read_genie_config"),
    "runner-config": ("packager.facts.runner_config", "read_runner_config"),
    "environment": ("packager.facts.environment", "read_environment"),
    "build-file": ("packager.facts.build_file", "read_build_file"),
    "ai-hub-metadata": ("packager.facts.ai_hub", "read_ai_hub"),
    "ai-hub-release": ("packager.facts.ai_hub", "read_ai_hub_release"),
    "hub-apps": ("packager.facts.ai_hub", "read_hub_apps"),
    "model-package": ("packager.facts.model_package", "read_model_package"),
    "android-manifest": ("packager.facts.android_manifest", "read_android_manifest"),
}


def identify(path: Path) -> Kind:
    """What a file is. A damaged file is of the kind that its beginning promises.

    Raises InputUnavailable when it cannot be opened.
    """
    with opened(path) as (stream, size):
        head = stream.read(_HEAD)
        found = next((kind for kind, is_kind in _TESTS if is_kind(stream, head, size)), None)
        if found is None:  # then its keys tell what it is
            found = cast("Kind | None", json_kind(stream, head, size) or yaml_kind(stream, head, size))
        return found or "other"


def read(path: Path) -> Facts:
    """The facts of a file of any kind.

    Raises UnreadableFile when it is damaged, InputUnavailable when it cannot be opened.
    """
    kind = identify(path)
    if kind not in _READERS:
        with opened(path) as (stream, size):
            return OtherFacts(stand_in=stand_in(stream, size))
    module, name = _READERS[kind]
    reader = getattr(importlib.import_module(module), name)
    return cast("Callable[[Path], Facts]", reader)(path)


def examine(path: Path) -> Facts:
    """As `read`, but a damaged file has facts too: where and why it stops making sense."""
    try:
        return read(path)
    except UnreadableFile as error:
        return DamagedFacts.of(error)


def examine_found(path: Path) -> Facts:
    """As `examine`, of a file that was found and not named: that nobody may read it is a fact as well."""
    try:
        return examine(path)
    except InputUnavailable as error:
        reason = next(iter(error.evidence), error.what)
        return DamagedFacts(offset=0, reason=reason, fault="closed" if is_folder(path) else "unreadable")


def _is_elf(_stream: BinaryIO, head: bytes, _size: int) -> bool:
    return head.startswith(b"\x7fELF")


def _is_pe(stream: BinaryIO, head: bytes, size: int) -> bool:
    if not head.startswith(b"MZ") or len(head) < 64:
        return False
    (start,) = struct.unpack_from("<I", head, 60)
    if not 64 <= start <= 0x10000:  # further away is the text of a file that happens to begin with MZ
        return False
    stream.seek(start)
    return stream.read(4) == b"PE\0\0" or start + 4 > size


def _is_catalogue(_stream: BinaryIO, head: bytes, _size: int) -> bool:
    return head[:1] == b"\x30" and 0 < head.find(_SIGNED_DATA) < 16 and 0 < head.find(_TRUST_LIST) < 128


def _is_context(_stream: BinaryIO, head: bytes, _size: int) -> bool:
    return is_context(head)


def _is_dlc(stream: BinaryIO, head: bytes, size: int) -> bool:
    return is_dlc(stream, head, size)


def _is_archive(stream: BinaryIO, head: bytes, _size: int) -> bool:
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", AR_MAGIC + DEB_MARK.encode(), RPM_MAGIC)):
        return True
    return begins_like_tar(head) or (compression(head) is not None and _holds_tar(stream))


def _holds_tar(stream: BinaryIO) -> bool:
    """Whether a compressed stream begins with a tar header, as far as it can be told."""
    stream.seek(0)
    plain = b""
    try:
        for block in inflated(stream):
            plain += block
            if len(plain) >= BLOCK:
                return begins_like_tar(plain[:BLOCK])
    except inflate_errors():
        return True
    return False


def _is_runner_config(_stream: BinaryIO, head: bytes, _size: int) -> bool:
    return is_runner_config(head)


def _is_android_manifest(stream: BinaryIO, head: bytes, _size: int) -> bool:
    return is_android_manifest(stream, head)


def _is_environment(stream: BinaryIO, head: bytes, size: int) -> bool:
    return is_environment(stream, head, size)


def _is_build_file(stream: BinaryIO, head: bytes, size: int) -> bool:
    return is_build_file(stream, head, size)


def _is_onnx(stream: BinaryIO, _head: bytes, size: int) -> bool:
    return is_onnx(stream, size)


# Magic bytes first, guesses from structure last.
_TESTS: tuple[tuple[Kind, Callable[[BinaryIO, bytes, int], bool]], ...] = (
    ("elf", _is_elf),
    ("pe", _is_pe),
    ("catalogue", _is_catalogue),
    ("dlc", _is_dlc),
    ("archive", _is_archive),
    ("context-binary", _is_context),
    ("android-manifest", _is_android_manifest),
    ("onnx", _is_onnx),
    ("runner-config", _is_runner_config),
    ("environment", _is_environment),
    ("build-file", _is_build_file),
)
