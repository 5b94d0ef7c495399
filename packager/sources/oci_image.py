"""A container image in an OCI registry with all its layers, for a package to stand on.

Source: the OCI image specification. The digest in the reference is that of one platform's manifest or of an
index of several; either pins every byte, as each document names the next by its digest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from packager.bundle import BaseImage, BaseLayer
from packager.errors import InputUnavailable
from packager.files import Blob
from packager.model import Frozen
from packager.sources import Fetched, Tell, silent
from packager.sources.http import fetch_url
from packager.sources.registry import FIX, INDEX_TYPES, LARGEST, MANIFEST_TYPES, Reference, Registry
from packager.store import Store, key_of

_LAYER = "application/vnd.oci.image.layer.v1.tar"
# Docker's own names for the same bytes, and what OCI calls them.
_LAYER_TYPES = {
    "application/vnd.docker.image.rootfs.diff.tar.gzip": f"{_LAYER}+gzip",
    "application/vnd.docker.image.rootfs.diff.tar.zstd": f"{_LAYER}+zstd",
    "application/vnd.docker.image.rootfs.diff.tar": _LAYER,
}
_KNOWN_LAYERS = {_LAYER, f"{_LAYER}+gzip", f"{_LAYER}+zstd"}
_USUAL_VARIANTS = {"arm64": ("", "v8")}
_MOST_LAYERS = 127  # with ours, what overlayfs of Docker mounts at most is 128


class FetchedImage(NamedTuple):
    """An image that is in the store, and the document that its reference names, for the lock."""

    image: BaseImage
    document: Fetched


class _Known(Frozen):
    """What the store remembers of a fetched image."""

    document: Blob
    config: Blob
    layers: tuple[tuple[str, Blob], ...]


class _Platform(BaseModel):
    os: str = ""
    architecture: str = ""
    variant: str = ""


class _Descriptor(BaseModel):
    media_type: str = Field("", alias="mediaType")
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    size: int = Field(ge=0)
    platform: _Platform | None = None

    @property
    def sha256(self) -> str:
        return self.digest.removeprefix("sha256:")


class _Document(BaseModel):
    """An index has `manifests`, a manifest `config` and `layers`."""

    manifests: list[_Descriptor] | None = None
    config: _Descriptor | None = None
    layers: list[_Descriptor] = Field(default_factory=list, max_length=_MOST_LAYERS)


def fetch_image(
    reference: str, architecture: str, *, store: Store, offline: bool = False, tell: Tell = silent
) -> FetchedImage:
    """The image for Linux on an architecture (`arm64`, `amd64`) that `host/name@sha256:digest` names.

    What is in the store already costs no network. Raises InputUnavailable when a part cannot be had, or
    there is no image for the architecture.
    """
    parts = Reference.parse(reference)
    label = f"oci {reference}"
    key = key_of({"oci-image": reference, "architecture": architecture})
    known = store.recall_as(_Known, "oci-image", key)
    if known is None or not all(store.proved(blob) for blob in _blobs(known)):
        if offline:
            raise InputUnavailable(
                f"{label} for {architecture} is not in the store, and offline nothing is fetched",
                evidence=(f"store   {store.root}",),
                fix="run once without --offline",
            )
        known = _fetch(parts, label, architecture, store, tell)
        store.record("oci-image", key, known.model_dump(mode="json"))
    return FetchedImage(
        image=BaseImage(
            reference=reference,
            config=_config(known, label, architecture, store),
            layers=tuple(
                BaseLayer(media_type=media_type, blob=blob, local=store.path(blob.sha256))
                for media_type, blob in known.layers
            ),
        ),
        document=Fetched(
            path=store.path(known.document.sha256), blob=known.document, origin=label, name=parts.name
        ),
    )


def _blobs(known: _Known) -> list[Blob]:
    return [known.document, known.config, *(blob for _, blob in known.layers)]


def _fetch(parts: Reference, label: str, architecture: str, store: Store, tell: Tell) -> _Known:
    registry = Registry(parts.host, parts.name)
    content = _manifest(registry, parts.sha256, label)
    document = store.add_blocks([content])
    read = _read(content, label)
    if read.manifests is not None:
        chosen = _for_platform(read.manifests, architecture, label)
        read = _read(_manifest(registry, chosen.sha256, label), label)
    if read.config is None or not read.layers:
        raise _refused(label, "the digest names no image with layers")
    layers = [(_layer_type(layer, label), layer) for layer in read.layers]
    return _Known(
        document=document,
        config=_blob(registry, read.config, store, tell),
        layers=tuple((media_type, _blob(registry, layer, store, tell)) for media_type, layer in layers),
    )


def _manifest(registry: Registry, sha256: str, label: str) -> bytes:
    content = registry.manifest(sha256, (*MANIFEST_TYPES, *INDEX_TYPES))
    if content is None:
        raise _refused(label, f"the registry has no manifest sha256:{sha256}")
    return content


def _read(content: bytes, label: str) -> _Document:
    try:
        return _Document.model_validate_json(content)
    except ValidationError as problem:
        raise _refused(label, f"a manifest that makes no sense: {problem.errors()[0]['msg']}") from None


def _for_platform(manifests: Sequence[_Descriptor], architecture: str, label: str) -> _Descriptor:
    platforms = [(m.platform or _Platform(), m) for m in manifests]
    for variant in _USUAL_VARIANTS.get(architecture, ("",)):
        for platform, descriptor in platforms:
            if (platform.os, platform.architecture, platform.variant) == ("linux", architecture, variant):
                return descriptor
    there = sorted({f"{one.os}/{one.architecture}" for one, _ in platforms if one.os not in ("", "unknown")})
    raise _refused(
        label, f"wanted  linux/{architecture}", f"found   {', '.join(there[:8]) or 'no platform by name'}"
    )


def _layer_type(layer: _Descriptor, label: str) -> str:
    media_type = _LAYER_TYPES.get(layer.media_type, layer.media_type)
    if media_type not in _KNOWN_LAYERS:
        raise _refused(
            label, f"a layer of the type {media_type[:80]!r}, which may not be passed on or not be read"
        )
    return media_type


def _blob(registry: Registry, descriptor: _Descriptor, store: Store, tell: Tell) -> Blob:
    url = registry.blob_url(descriptor.sha256)
    authorization = registry.authorization
    return fetch_url(url, sha256=descriptor.sha256, store=store, tell=tell, authorization=authorization).blob


def _config(known: _Known, label: str, architecture: str, store: Store) -> dict[str, Any]:
    """The image's configuration, of the wanted architecture and with as many layers as the manifest has."""
    try:
        if known.config.size > LARGEST:
            raise ValueError(f"{known.config.size} bytes")
        config = json.loads(store.path(known.config.sha256).read_bytes())
        found, layers = str(config["architecture"]), config["rootfs"]["diff_ids"]
        whole = len(layers) == len(known.layers) and all(
            re.fullmatch(r"sha256:[0-9a-f]{64}", layer) for layer in layers
        )
        shaped = all(isinstance(config.get(k) or kind(), kind) for k, kind in _SHAPES.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise _refused(
            label, f"a configuration that makes no sense: {type(problem).__name__}: {problem}"
        ) from None
    if found != architecture or str(config.get("os")) != "linux":
        raise _refused(label, f"wanted  linux/{architecture}", f"found   {config.get('os')}/{found}")
    if not (whole and shaped):
        raise _refused(label, "its configuration does not fit its manifest")
    return dict(config)


_SHAPES: dict[str, type] = {"config": dict, "history": list}


def _refused(label: str, *evidence: str) -> InputUnavailable:
    return InputUnavailable(f"{label} is no image to build on", evidence=evidence, fix=FIX)
