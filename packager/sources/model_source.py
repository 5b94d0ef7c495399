"""The model of a manifest as a source: one frozen value for each kind that the manifest can name."""

from __future__ import annotations

from pathlib import Path

from packager.manifest_sources import (
    AiHubJobSource,
    AiHubModelSource,
    AiHubPublishedSource,
    HuggingFaceSource,
    OciSource,
    PathSource,
    UrlSource,
    WheelSource,
)
from packager.manifest_sources import Source as Written
from packager.model import Frozen
from packager.sources import Fetched, Source, Surroundings
from packager.sources.aihub import fetch_asset, fetch_published, published_address
from packager.sources.http import fetch_url, shown
from packager.sources.hugging_face import fetch_hub_file
from packager.sources.hugging_face import origin as hub_origin
from packager.sources.local import fetch_path, model_in_folder
from packager.sources.oci import fetch_oci
from packager.sources.pip_download import WheelRequest
from packager.sources.wheel import fetch_wheel
from packager.sources.zipped import member


class _Path(Frozen):
    """A file of the user's, or a folder with one model in it."""

    written: PathSource

    def describe(self) -> str:
        return f"path {self.written.path}"

    def fetch(self, around: Surroundings) -> Fetched:
        path = model_in_folder(Path(self.written.path), around.base)
        return fetch_path(path, store=around.store, base=around.base, pinned=self.written.sha256)


class _Web(Frozen):
    """A file at an address."""

    written: UrlSource

    def describe(self) -> str:
        return f"url {shown(self.written.url)}"

    def fetch(self, around: Surroundings) -> Fetched:
        url, sha256 = self.written.url, self.written.sha256
        return fetch_url(url, sha256=sha256, store=around.store, offline=around.offline, tell=around.tell)


class _InWheel(Frozen):
    """A file inside a wheel; the wheel is what is pinned."""

    written: WheelSource

    def describe(self) -> str:
        return WheelRequest(requirement=self.written.wheel, platform=self.written.platform).origin

    def fetch(self, around: Surroundings) -> Fetched:
        wheel = fetch_wheel(
            self.written.wheel,
            platform=self.written.platform,
            pinned=self.written.sha256 or around.pin_for(self.describe()),
            store=around.store,
            offline=around.offline,
            tell=around.tell,
        )
        return member(wheel, self.written.file, around.store)


class _HuggingFace(Frozen):
    """A file of a repository at a commit."""

    written: HuggingFaceSource

    def describe(self) -> str:
        return hub_origin(self.written.huggingface, self.written.revision, self.written.file)

    def fetch(self, around: Surroundings) -> Fetched:
        return fetch_hub_file(
            self.written.huggingface,
            self.written.revision,
            self.written.file,
            pinned=self.written.sha256 or around.pin_for(self.describe()),
            store=around.store,
            offline=around.offline,
            tell=around.tell,
        )


class _Oci(Frozen):
    """A layer, or a file in one, by digest."""

    written: OciSource

    def describe(self) -> str:
        return f"oci {self.written.oci}" + (f": {self.written.file}" if self.written.file else "")

    def fetch(self, around: Surroundings) -> Fetched:
        written = self.written
        return fetch_oci(
            written.oci, written.file, store=around.store, offline=around.offline, tell=around.tell
        )


class _AiHub(Frozen):
    """What a job made, or a model by its id."""

    kind: str
    identity: str
    sha256: str | None

    def describe(self) -> str:
        return f"aihub {self.kind} {self.identity}"

    def fetch(self, around: Surroundings) -> Fetched:
        pinned = self.sha256 or around.pin_for(self.describe())
        return fetch_asset(self.kind, self.identity, pinned=pinned, around=around)


class _Published(Frozen):
    """A model that Qualcomm publishes."""

    written: AiHubPublishedSource

    def describe(self) -> str:
        one = self.written
        chipset = f" {one.chipset}" if one.chipset else ""
        return f"aihub {one.aihub} {one.release} {one.runtime} {one.precision}{chipset}"

    def fetch(self, around: Surroundings) -> Fetched:
        one = self.written
        address = published_address(one.aihub, one.release, one.runtime, one.precision, one.chipset)
        label = self.describe()
        pinned = one.sha256 or around.pin_for(label)
        return fetch_published(address, label, one.file, pinned=pinned, around=around)


def source_of(written: Written) -> Source:
    """The source that a manifest names."""
    match written:
        case PathSource():
            return _Path(written=written)
        case UrlSource():
            return _Web(written=written)
        case WheelSource():
            return _InWheel(written=written)
        case HuggingFaceSource():
            return _HuggingFace(written=written)
        case OciSource():
            return _Oci(written=written)
        case AiHubJobSource():
            return _AiHub(kind="job", identity=written.aihub_job, sha256=written.sha256)
        case AiHubModelSource():
            return _AiHub(kind="model", identity=written.aihub_model, sha256=written.sha256)
        case AiHubPublishedSource():
            return _Published(written=written)
