"""An OCI image layout as a tar: blobs by their digests, and an index that names manifests.

Source: OCI image specification 1.1, image-layout and descriptor.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tarfile
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from packager.bundle import BaseLayer
from packager.files import Blob, HashingWriter, blocks

IMAGE_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
IMAGE_INDEX = "application/vnd.oci.image.index.v1+json"


class Layout:
    """An OCI image layout that grows in a tar; `out` is seekable, as a blob is named after its bytes."""

    def __init__(self, out: BinaryIO, epoch: int) -> None:
        self._out, self._epoch = out, epoch
        self._held: set[str] = set()
        self.add_file("oci-layout", canonical({"imageLayoutVersion": "1.0.0"}))

    def add_file(self, name: str, content: bytes) -> None:
        """A file beside the blobs."""
        self._out.write(self._header(name, len(content)))
        self._out.write(content + bytes(-len(content) % tarfile.BLOCKSIZE))

    def add_document(self, media_type: str, document: dict[str, Any]) -> dict[str, Any]:
        """A JSON document as a blob; its descriptor."""
        return self.add_bytes(media_type, canonical(document))

    def add_bytes(self, media_type: str, content: bytes) -> dict[str, Any]:
        """Small bytes as a blob; its descriptor."""
        blob = Blob(sha256=hashlib.sha256(content).hexdigest(), size=len(content))
        if blob.sha256 not in self._held:
            self._held.add(blob.sha256)
            self.add_file(blob_name(blob), content)
        return descriptor_of(media_type, blob)

    def add_layer(self, layer: BaseLayer) -> dict[str, Any]:
        """A layer that is at hand, as a blob; its descriptor. Raises InputUnavailable if it has changed."""
        if layer.blob.sha256 not in self._held:
            self._held.add(layer.blob.sha256)
            self._out.write(self._header(blob_name(layer.blob), layer.blob.size))
            with layer.open() as stream:
                for block in blocks(stream):
                    self._out.write(block)
            self._out.write(bytes(-layer.blob.size % tarfile.BLOCKSIZE))
        return descriptor_of(layer.media_type, layer.blob)

    @contextlib.contextmanager
    def new_blob(self) -> Iterator[HashingWriter]:
        """What is written to the stream becomes a blob, whose header is written when its name is known."""
        at = self._out.tell()
        self._out.write(bytes(tarfile.BLOCKSIZE))
        stream = HashingWriter(self._out)
        yield stream
        blob = stream.blob
        if blob.sha256 in self._held:  # a layer of the same bytes is there already
            self._out.seek(at)
            self._out.truncate()
            return
        self._held.add(blob.sha256)
        self._out.write(bytes(-blob.size % tarfile.BLOCKSIZE))
        end = self._out.tell()
        self._out.seek(at)
        self._out.write(self._header(blob_name(blob), blob.size))
        self._out.seek(end)

    def finish(self, manifests: Sequence[dict[str, Any]]) -> None:
        """The index, which names the manifests, and the end of the tar."""
        index = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": list(manifests)}
        self.add_file("index.json", canonical(index))
        self._out.write(bytes(2 * tarfile.BLOCKSIZE))

    def _header(self, name: str, size: int) -> bytes:
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = size, 0o644, self._epoch
        # GNU's way to say more than 8 GiB takes no header of its own, so the room for it is always the same.
        return info.tobuf(tarfile.GNU_FORMAT, "ascii")


def blob_name(blob: Blob) -> str:
    """Where a layout keeps a blob."""
    return f"blobs/sha256/{blob.sha256}"


def descriptor_of(media_type: str, blob: Blob) -> dict[str, Any]:
    """How a document refers to a blob."""
    return {"mediaType": media_type, "digest": f"sha256:{blob.sha256}", "size": blob.size}


def canonical(document: dict[str, Any]) -> bytes:
    """JSON in one form: keys in order, no spaces."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
