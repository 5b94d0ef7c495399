"""What a wheel says of its licence, in its metadata."""

from __future__ import annotations

import zipfile

from packager.model import Frozen
from packager.sources import Fetched
from packager.store import Store

_LONGEST = 80
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    StopIteration,
    EOFError,
    zipfile.BadZipFile,
    NotImplementedError,
)
_FIELDS = ("License-Expression", "License")


class _Licence(Frozen):
    words: str | None


def licence_of(fetched: Fetched, store: Store) -> str | None:
    """The licence of a wheel in its own words, or None where it says none, and for any other file.

    Source: the core metadata of Python packages, fields License-Expression (2.4) and License. Some publishers
    put the whole text into the latter; its first line is what is taken.
    """
    if not fetched.name.endswith(".whl"):
        return None
    known = store.recall_as(_Licence, "wheel-licence", fetched.blob.sha256)
    if known is None:
        known = _Licence(words=_read(fetched))
        store.record("wheel-licence", fetched.blob.sha256, known.model_dump())
    return known.words


def _read(wheel: Fetched) -> str | None:
    from email.parser import BytesHeaderParser

    try:
        with zipfile.ZipFile(wheel.path) as archive:
            name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
            head = BytesHeaderParser().parsebytes(archive.read(name))
    except _UNREADABLE:
        return None
    for field in _FIELDS:
        lines = str(head.get(field, "")).strip().splitlines()
        if lines and lines[0] != "UNKNOWN":
            return lines[0][:_LONGEST]
    return None
