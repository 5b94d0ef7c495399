"""A layer of an artifact or image in an OCI registry, or a file in an image's layers, all by digest.

Source: the OCI distribution and image specifications. Every answer is compared with the digest that names it,
so a registry is believed in nothing.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple, cast

from packager.errors import InputUnavailable
from packager.files import Blob
from packager.sources import Fetched, Tell, nearest_lines, silent
from packager.sources.http import fetch_url
from packager.sources.registry import FIX, Reference, Registry
from packager.store import Store, key_of

_TITLE = "org.opencontainers.image.title"


class _Layer(NamedTuple):
    sha256: str
    title: str | None
    is_tar: bool


def fetch_oci(
    reference: str, file: str | None, *, store: Store, offline: bool = False, tell: Tell = silent
) -> Fetched:
    """The file that `host/name@sha256:digest` names, in the store. What is there already costs no network.

    The digest is an artifact's or image's manifest, or a blob. Of a manifest, `file` is the title of a layer
    or a path in the layers; without it there must be one layer. Raises InputUnavailable.
    """
    parts = Reference.parse(reference)
    label = f"oci {reference}" + (f": {file}" if file else "")
    key = key_of({"oci": label})
    known = store.recall_as(Blob, "oci", key)
    if known and store.proved(known):
        return _fetched(label, parts.name, file, known, store)
    if offline:
        raise InputUnavailable(
            f"{label} is not in the store, and offline nothing is fetched",
            evidence=(f"store   {store.root}",),
            fix="run once without --offline",
        )
    registry = Registry(parts.host, parts.name)
    content = registry.manifest(parts.sha256)
    if content is None:
        blob = _blob(registry, parts.sha256, store, tell)
    else:
        blob = _of_layers(registry, _layers(content, label), file, label, store, tell)
    store.record("oci", key, blob.model_dump())
    return _fetched(label, parts.name, file, blob, store)


def _fetched(label: str, name: str, file: str | None, blob: Blob, store: Store) -> Fetched:
    last = (file or name).rpartition("/")[2]
    return Fetched(path=store.path(blob.sha256), blob=blob, origin=label, name=last)


def _blob(registry: Registry, sha256: str, store: Store, tell: Tell) -> Blob:
    url = f"{registry.root}/blobs/sha256:{sha256}"
    return fetch_url(url, sha256=sha256, store=store, tell=tell, authorization=registry.authorization).blob


def _layers(content: bytes, label: str) -> list[_Layer]:
    try:
        rows = json.loads(content)["layers"]
        return [
            _Layer(
                _sha256(row),
                (row.get("annotations") or {}).get(_TITLE),
                "tar" in str(row["mediaType"]),
            )
            for row in rows
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InputUnavailable(
            f"{label} is no manifest with layers",
            evidence=(f"{type(problem).__name__}: {problem}",),
            fix="name the digest of one platform's manifest, not that of an index",
        ) from problem


def _sha256(row: dict[str, Any]) -> str:
    found = re.fullmatch(r"sha256:([0-9a-f]{64})", str(row["digest"]))
    if found is None:
        raise ValueError(f"digest {row['digest']!r}")
    return found[1]


def _of_layers(
    registry: Registry, layers: Sequence[_Layer], file: str | None, label: str, store: Store, tell: Tell
) -> Blob:
    titled = [layer for layer in layers if file is None or layer.title == file]
    if len(titled) == 1:
        return _blob(registry, titled[0].sha256, store, tell)
    there = [layer.title or f"a layer of {layer.sha256[:12]}" for layer in layers]
    if file is None:
        raise InputUnavailable(
            f"{label} has {len(layers)} layers", evidence=there[:8], fix='say which with file = "…"'
        )
    for layer in reversed(layers):  # a later layer hides what earlier ones have
        if layer.is_tar:
            found = _in_tar(_blob(registry, layer.sha256, store, tell), file, label, store)
            if found:
                return found
    raise InputUnavailable(
        f"{label} is in no layer", evidence=nearest_lines(file, there), fix="name a file that is there"
    )


def _in_tar(layer: Blob, file: str, label: str, store: Store) -> Blob | None:
    wanted = file.strip("/")
    try:
        with tarfile.open(store.path(layer.sha256), "r|*") as archive:
            for member in archive:
                if member.isfile() and member.name.removeprefix("./").strip("/") == wanted:
                    stream = archive.extractfile(member)
                    return store.add_stream(cast("BinaryIO", stream))
    except (tarfile.TarError, EOFError, OSError) as problem:
        raise InputUnavailable(
            f"{label} cannot be read", evidence=(f"layer sha256:{layer.sha256}: {problem}",), fix=FIX
        ) from problem
    return None
