"""Container images in an OCI layout: a folder or a tar with `index.json`, manifests, and layers.

The members of an image are the files that a container would see: layers are read from the top, and what
an upper layer replaces or deletes is left out of those below. Blobs that are no layers (models and other
artifacts in a registry) are members by their title.
"""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn, Protocol

from pydantic import BaseModel, ValidationError

from packager.errors import UnreadableFile
from packager.facts.listing import Entry, Listing
from packager.facts.reading import Readable, Slice, opened
from packager.facts.tar import tar_entries, unpacked
from packager.files import BLOCK

FORMAT = "oci"
_MARK, _INDEX = "oci-layout", "index.json"
_DIGEST = re.compile(r"(sha256):([0-9a-f]{64})|(sha512):([0-9a-f]{128})")
_INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)

_MAX_DOCUMENT = 4 << 20  # what registries accept as a manifest
_MAX_IMAGES = 64  # platforms of one name; the most popular images have a dozen
_MAX_LAYERS = 512  # overlayfs mounts 500
_MAX_INDEX_DEPTH = 3  # an index may hold indexes

_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"


class Blobs(Protocol):
    """The files of a layout."""

    def open(self, name: str) -> contextlib.AbstractContextManager[Readable]:
        """A file by its name below the layout. Raises KeyError."""

    @property
    def packed(self) -> int:
        """Bytes of the layout as it is stored."""


class _FolderBlobs:
    def __init__(self, root: Path) -> None:
        self._root = root
        self.packed = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[Readable]:
        path = self._root / name
        # A link could lead anywhere, and no tool writes one here.
        if path.is_symlink() or not path.is_file():
            raise KeyError(name)
        with opened(path) as (stream, _):
            yield stream


class _TarBlobs:
    def __init__(self, path: Path, places: dict[str, tuple[int, int]], packed: int) -> None:
        self._path, self._places, self.packed = path, places, packed

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[Readable]:
        offset, size = self._places[name]
        with opened(self._path) as (stream, _):
            yield unpacked(stream, Listing(self._path, self.packed), offset, size)


def folder_blobs(root: Path) -> Blobs | None:
    """The blobs of a folder that is an OCI layout, None for any other."""
    if (root / _MARK).is_file() and (root / _INDEX).is_file():
        return _FolderBlobs(root)
    return None


def may_begin_layout(name: str) -> bool:
    """Whether a tar whose first file has this name may hold a layout: tools write them in various orders."""
    return name in (_MARK, _INDEX, "manifest.json", "repositories") or name.startswith("blobs/")


def tar_blobs(path: Path, stream: BinaryIO, size: int) -> Blobs | None:
    """The blobs of a tar that holds an OCI layout, None for any other."""
    places = tar_places(path, stream, size)
    return _TarBlobs(path, places, size) if {_MARK, _INDEX} <= places.keys() else None


def tar_places(path: Path, stream: BinaryIO, size: int) -> dict[str, tuple[int, int]]:
    """Offset and size in bytes of each file in an uncompressed tar, by its name. Raises UnreadableFile."""
    entries = tar_entries(stream, Listing(path, size))
    return {entry.member.name: (entry.at, entry.member.size) for entry in entries if entry.open}


class _Platform(BaseModel):
    os: str = "unknown"
    architecture: str = "unknown"
    variant: str = ""


class _Descriptor(BaseModel):
    mediaType: str = ""  # noqa: N815 - the specification's name
    digest: str
    size: int
    platform: _Platform | None = None
    annotations: dict[str, str] = {}


class _Index(BaseModel):
    manifests: list[_Descriptor]


class _Manifest(BaseModel):
    layers: list[_Descriptor] = []


class _Image(NamedTuple):
    prefix: str
    layers: list[_Descriptor]


def entries(path: Path, blobs: Blobs) -> Iterator[Entry]:
    """The files of every image; where there are several, each below `<os>/<architecture>/`.

    Raises UnreadableFile when a document is missing or makes no sense, or a blob has not the digest that
    names it.
    """
    layout = _Layout(path, blobs)
    images = layout.images()
    listing = Listing(path, blobs.packed, root_is_system=True)
    for image in images:
        listing.prefix = f"{image.prefix}/" if len(images) > 1 else ""
        yield from layout.image_entries(image, listing)


class _Layout:
    def __init__(self, path: Path, blobs: Blobs) -> None:
        self._path, self._blobs = path, blobs

    def images(self) -> list[_Image]:
        """All images that the index names, directly or through another index."""
        with self._opened(_INDEX) as stream:
            manifests = self._index(self._document(stream)).manifests
        pending = [(descriptor, 1) for descriptor in manifests]
        images: list[_Image] = []
        while pending:
            descriptor, depth = pending.pop(0)
            content = self._json_blob(descriptor)
            if descriptor.mediaType in _INDEX_TYPES:
                if depth >= _MAX_INDEX_DEPTH:
                    self._refuse(f"indexes more than {_MAX_INDEX_DEPTH} deep")
                pending += [(below, depth + 1) for below in self._index(content).manifests]
            else:
                images.append(_Image(self._prefix(descriptor, images), self._layers(content)))
            if len(images) + len(pending) > _MAX_IMAGES:
                self._refuse(f"more than {_MAX_IMAGES} images")
        return images

    def image_entries(self, image: _Image, listing: Listing) -> Iterator[Entry]:
        """Files of one image, the top layer first."""
        seen: set[str] = set()
        for layer in reversed(image.layers):
            with self._blob(layer) as stream:
                if "tar" not in layer.mediaType:
                    yield self._artifact(layer, stream, listing)
                    stream.exhaust()
                else:
                    yield from _layer_entries(tar_entries(stream, listing), listing.prefix, seen)
                self._must_be_whole(stream, layer)

    def _artifact(self, layer: _Descriptor, stream: _Hashing, listing: Listing) -> Entry:
        title = layer.annotations.get("org.opencontainers.image.title")
        member = listing.checked(title or self._blob_name(layer), layer.size, at=0)
        if member is None:
            self._refuse(f"a title without a name: {title!r}")
        return Entry(member, lambda: Slice(stream, layer.size))

    def _prefix(self, descriptor: _Descriptor, images: list[_Image]) -> str:
        """`linux/arm64`; what has no platform, or the same as another, is told by its digest."""
        if descriptor.platform:
            parts = (descriptor.platform.os, descriptor.platform.architecture, descriptor.platform.variant)
            prefix = "/".join(part for part in parts if part)
            if prefix not in {image.prefix for image in images}:
                return prefix
        return descriptor.digest.replace(":", "-")[:19]

    def _layers(self, content: bytes) -> list[_Descriptor]:
        try:
            layers = _Manifest.model_validate_json(content).layers
        except ValidationError as error:
            self._refuse(f"an image manifest that makes no sense: {error.errors()[0]['msg']}")
        if len(layers) > _MAX_LAYERS:
            self._refuse(f"an image of {len(layers)} layers")
        return layers

    def _index(self, content: bytes) -> _Index:
        try:
            return _Index.model_validate_json(content)
        except ValidationError as error:
            self._refuse(f"an index that makes no sense: {error.errors()[0]['msg']}")

    def _json_blob(self, descriptor: _Descriptor) -> bytes:
        with self._blob(descriptor) as stream:
            content = self._document(stream)
            self._must_be_whole(stream, descriptor)
        return content

    @contextlib.contextmanager
    def _blob(self, descriptor: _Descriptor) -> Iterator[_Hashing]:
        with self._opened(self._blob_name(descriptor)) as stream:
            yield _Hashing(stream, descriptor.digest)

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[Readable]:
        with contextlib.ExitStack() as stack:
            try:
                stream = stack.enter_context(self._blobs.open(name))
            except KeyError:
                self._refuse(f"{name} is named but not there")
            yield stream

    def _document(self, stream: Readable) -> bytes:
        content = b""
        while len(content) <= _MAX_DOCUMENT and (block := stream.read(BLOCK)):
            content += block
        if len(content) > _MAX_DOCUMENT:
            self._refuse(f"a document of more than {_MAX_DOCUMENT} bytes")
        return content

    def _blob_name(self, descriptor: _Descriptor) -> str:
        if not _DIGEST.fullmatch(descriptor.digest):
            self._refuse(f"a digest that is none: {descriptor.digest[:80]!r}")
        return f"blobs/{descriptor.digest.replace(':', '/')}"

    def _must_be_whole(self, stream: _Hashing, descriptor: _Descriptor) -> None:
        if stream.found() != (descriptor.size, descriptor.digest.partition(":")[2]):
            self._refuse(f"the content of {descriptor.digest} is not what its name and size say")

    def _refuse(self, reason: str) -> NoReturn:
        raise UnreadableFile(self._path, 0, f"OCI layout: {reason}")


class _Hashing:
    """Passes a blob on and knows its size and digest afterwards."""

    def __init__(self, stream: Readable, digest: str) -> None:
        self._stream, self._hash, self._size = stream, hashlib.new(digest.partition(":")[0]), 0

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(min(size, BLOCK))
        self._hash.update(data)
        self._size += len(data)
        return data

    def exhaust(self) -> None:
        """Read what nobody has read."""
        while self.read(BLOCK):
            pass

    def found(self) -> tuple[int, str]:
        """Size in bytes and digest in hex of what has been read."""
        return self._size, self._hash.hexdigest()


def _layer_entries(members: Iterable[Entry], prefix: str, gone: set[str]) -> Iterator[Entry]:
    """What a layer shows below the layers read so far, which own or deleted what is in `gone`."""
    own = set()
    for entry in members:
        name = entry.member.name.removeprefix(prefix)
        folder, base = posixpath.split(name)
        if base == _OPAQUE:
            own.add(folder)
        elif base.startswith(_WHITEOUT):
            own.add(posixpath.join(folder, base.removeprefix(_WHITEOUT)))
        else:
            own.add(name)
            if not any(above in gone for above in _self_and_above(name)):
                yield entry
    gone |= own


def _self_and_above(name: str) -> Iterator[str]:
    while name:
        yield name
        name = posixpath.dirname(name)
    yield ""
