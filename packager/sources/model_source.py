"""The model file of a manifest, whatever kind of source it names: fetched into the store, with its origin."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol

from packager.manifest_sources import (
    HuggingFaceSource,
    OciSource,
    PathSource,
    Source,
    UrlSource,
    WheelSource,
)
from packager.sources import Fetched, Tell
from packager.sources.http import fetch_url
from packager.sources.hugging_face import fetch_hub_file
from packager.sources.hugging_face import origin as hub_origin
from packager.sources.local import fetch_path
from packager.sources.oci import fetch_oci
from packager.sources.pip_download import WheelRequest
from packager.sources.wheel import fetch_wheel
from packager.sources.zipped import member
from packager.store import Store


class PinFor(Protocol):
    """Gives the sha256 that the lock has for an origin, or None."""

    def __call__(self, origin: str) -> str | None:
        """The pin of an origin."""


class Surroundings(NamedTuple):
    """What every source works with: the manifest's folder, the store, the lock's pins, and the network."""

    base: Path
    store: Store
    pin_for: PinFor
    offline: bool
    tell: Tell


def fetch_model(source: Source, around: Surroundings) -> Fetched:
    """The model file, with the origin that the lock records. Raises InputUnavailable."""
    match source:
        case PathSource():
            return fetch_path(Path(source.path), store=around.store, base=around.base, pinned=source.sha256)
        case UrlSource():
            return fetch_url(
                source.url,
                sha256=source.sha256,
                store=around.store,
                offline=around.offline,
                tell=around.tell,
            )
        case WheelSource():
            return _in_wheel(source, around)
        case HuggingFaceSource():
            named = hub_origin(source.huggingface, source.revision, source.file)
            return fetch_hub_file(
                source.huggingface,
                source.revision,
                source.file,
                pinned=source.sha256 or around.pin_for(named),
                store=around.store,
                offline=around.offline,
                tell=around.tell,
            )
        case OciSource():
            return fetch_oci(
                source.oci, source.file, store=around.store, offline=around.offline, tell=around.tell
            )


def _in_wheel(source: WheelSource, around: Surroundings) -> Fetched:
    origin = WheelRequest(requirement=source.wheel, platform=source.platform).origin
    wheel = fetch_wheel(
        source.wheel,
        platform=source.platform,
        pinned=source.sha256 or around.pin_for(origin),
        store=around.store,
        offline=around.offline,
        tell=around.tell,
    )
    return member(wheel, source.file, around.store)
