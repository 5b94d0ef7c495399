"""Puts the images and apps of finished packages into registries.

A package is an OCI image layout, so nothing is built here: blobs go up as they lie in it, then the manifests.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from packager import catalog
from packager.errors import InputUnavailable, ManifestError, UnreadableFile, VerificationFailed
from packager.facts.oci import tar_places
from packager.facts.reading import opened
from packager.files import Blob
from packager.model import Frozen
from packager.plan_model import PackagePlan, Plan, TargetPlan
from packager.registry_upload import Upload
from packager.sources import Tell, silent

_TAG = "org.opencontainers.image.ref.name"
_APP = "artifactType"


class Published(Frozen):
    """A manifest in a registry. `kind` is `image` or `app`; `changed` is False when it was there already."""

    package: str
    kind: str
    reference: str
    tag: str
    changed: bool


class _Package:
    """A layout in a tar, and where its files begin."""

    def __init__(self, path: Path, stream: BinaryIO, size: int) -> None:
        self._path, self.stream = path, stream
        self._places = tar_places(path, stream, size)

    def place(self, name: str) -> tuple[int, int]:
        """Offset and size of a file. Raises UnreadableFile when it is not there."""
        try:
            return self._places[name]
        except KeyError:
            raise UnreadableFile(self._path, 0, f"{name} is named but not there") from None

    def document(self, descriptor: dict[str, Any]) -> bytes:
        """A manifest, which is what its digest says."""
        content = self.read(self._blob_name(descriptor))
        if f"sha256:{hashlib.sha256(content).hexdigest()}" != descriptor["digest"]:
            raise UnreadableFile(self._path, 0, f"{descriptor['digest']} is not what its name says")
        return content

    def blob(self, descriptor: dict[str, Any]) -> tuple[Blob, int]:
        """A blob that is to be sent, and where it begins; it has the size that the manifest says."""
        start, size = self.place(self._blob_name(descriptor))
        if size != descriptor["size"]:
            raise UnreadableFile(self._path, start, f"{descriptor['digest']} has {size} bytes")
        return Blob(sha256=descriptor["digest"].removeprefix("sha256:"), size=size), start

    def read(self, name: str) -> bytes:
        """A small file."""
        start, size = self.place(name)
        self.stream.seek(start)
        return self.stream.read(size)

    def _blob_name(self, descriptor: dict[str, Any]) -> str:
        return f"blobs/{descriptor['digest'].replace(':', '/')}"


def publish(plan: Plan, out: Path, *, replace: bool = False, tell: Tell = silent) -> tuple[Published, ...]:
    """Publish the packages of a plan that hold images, from the folder in which they were written.

    A tag that names something else already is left alone unless `replace`. Raises ManifestError when there
    is nothing to publish or nobody said where, InputUnavailable when a package is missing or a registry does
    not take it, VerificationFailed for a tag that is taken.
    """
    chosen = [(target, package) for target in plan.targets for package in _with_images(target)]
    if not chosen:
        raise ManifestError(
            "no target has a package that is published to a registry",
            evidence=[
                f"{target.label}: {', '.join(p.format for p in target.packages)}" for target in plan.targets
            ],
            fix='add "oci" or "compose" to the formats of a target',
        )
    for target, package in chosen:
        _ready(target, out / package.file_name)
    return tuple(
        done
        for target, package in chosen
        for done in _publish(target, out / package.file_name, replace, tell)
    )


def _with_images(target: TargetPlan) -> Sequence[PackagePlan]:
    return [package for package in target.packages if catalog.formats()[package.format].image]


def _ready(target: TargetPlan, path: Path) -> None:
    if target.formats.oci.repository is None:
        raise ManifestError(
            f"{target.label}: the manifest does not say where its image is published",
            fix='add repository = "registry.example.com/…" to [formats.oci]',
        )
    if not path.is_file():
        raise InputUnavailable(f"{path} is not there", fix="run `hexpack package` first, with the same --out")


def _publish(target: TargetPlan, path: Path, replace: bool, tell: Tell) -> list[Published]:
    done = []
    with opened(path) as (stream, size):
        package = _Package(path, stream, size)
        for descriptor in json.loads(package.read("index.json"))["manifests"]:
            app = _APP in descriptor
            repository = target.formats.compose.repository if app else target.formats.oci.repository
            if repository is None:
                continue
            host, _, name = repository.partition("/")
            with contextlib.closing(Upload(host, name, tell=tell)) as upload:
                tag = descriptor["annotations"][_TAG]
                changed = _put(upload, package, descriptor, tag, _lender(target, host), replace, tell)
            done.append(
                Published(
                    package=path.name,
                    kind="app" if app else "image",
                    reference=f"{repository}@{descriptor['digest']}",
                    tag=tag,
                    changed=changed,
                )
            )
    return done


def _put(
    upload: Upload,
    package: _Package,
    descriptor: dict[str, Any],
    tag: str,
    lender: str | None,
    replace: bool,
    tell: Tell,
) -> bool:
    """One manifest with its blobs; whether the tag names it only now."""
    there = upload.manifest_of(tag)
    if there == descriptor["digest"]:
        return False
    if there is not None and not replace:
        raise VerificationFailed(
            f"{upload.repository}:{tag} is published already, and is something else",
            evidence=(f"found   {there}", f"wanted  {descriptor['digest']}"),
            fix="raise the version, or give --replace to move the tag",
        )
    content = package.document(descriptor)
    manifest = json.loads(content)
    for one in (manifest["config"], *manifest["layers"]):
        blob, start = package.blob(one)
        tell(f"{upload.repository}: {one['digest'][:19]}, {blob.size / 1e6:.1f} MB")
        upload.put_blob(blob, package.stream, start, lender)
    upload.put_manifest(tag, descriptor["mediaType"], content)
    return True


def _lender(target: TargetPlan, host: str) -> str | None:
    """The repository of the base image, if the same registry has it: its layers need not travel."""
    base = (target.formats.oci.base or "").partition("@")[0]
    of, _, name = base.partition("/")
    return name if of == host else None
