"""A layer of an artifact or image in an OCI registry, or a file in an image's layers, all by digest.

Source: the OCI distribution and image specifications. Every answer is compared with the digest that names it,
so a registry is believed in nothing.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import urlencode, urlsplit

from packager.errors import InputUnavailable
from packager.files import Blob
from packager.sources import Fetched, Tell, nearest_lines, silent
from packager.sources.http import fetch_url, is_allowed, shown
from packager.store import Store, key_of

_LARGEST = 4 << 20  # bytes of a manifest or token, the limit that registries have
_MEDIA_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_NO_MANIFEST = (400, 404, 500)  # what registries answer to the digest of a blob that is no manifest
_TITLE = "org.opencontainers.image.title"
_REFERENCE = re.compile(r"(?P<host>[^/]+)/(?P<name>.+)@sha256:(?P<sha256>[0-9a-f]{64})")
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_FIX = "check the reference with a registry client, and log in there if the registry wants it"


class _Layer(NamedTuple):
    sha256: str
    title: str | None
    is_tar: bool


class _Registry:
    """One repository of one registry, with the header that it asks for."""

    def __init__(self, host: str, name: str) -> None:
        local = is_allowed(f"http://{host}/")
        self.root = f"{'http' if local else 'https'}://{host}/v2/{name}"
        self.host, self.name = host, name
        self.authorization: str | None = None

    def manifest(self, sha256: str) -> bytes | None:
        """The manifest of a digest, or None where the registry has none. Raises InputUnavailable."""
        url = f"{self.root}/manifests/sha256:{sha256}"
        status, headers, content = _get(url, self.authorization, ", ".join(_MEDIA_TYPES))
        if status == 401 and self.authorization is None:
            self.authorization = self._answer_to(headers.get("www-authenticate", ""))
            status, headers, content = _get(url, self.authorization, ", ".join(_MEDIA_TYPES))
        if status in _NO_MANIFEST:
            return None
        if status != 200:
            raise _refused(url, f"the registry answered {status}")
        if hashlib.sha256(content).hexdigest() != sha256:
            raise _refused(url, "the registry sent a manifest of another digest")
        return content

    def _answer_to(self, challenge: str) -> str | None:
        """The header for later requests: a token, anonymous or for the login in Docker's configuration."""
        login = _login(self.host)
        kind, _, rest = challenge.partition(" ")
        words = dict(_CHALLENGE.findall(rest))
        if kind.lower() == "basic":
            return f"Basic {login}" if login else None
        if kind.lower() != "bearer" or not is_allowed(words.get("realm", "")):
            return None
        query = {"scope": words.get("scope", f"repository:{self.name}:pull")}
        query |= {"service": words["service"]} if "service" in words else {}
        url = f"{words['realm']}?{urlencode(query)}"
        status, _, content = _get(url, f"Basic {login}" if login else None, "application/json")
        with contextlib.suppress(ValueError, AttributeError):
            said = json.loads(content)
            token = said.get("token") or said.get("access_token")
            if status == 200 and isinstance(token, str):
                return f"Bearer {token}"
        raise _refused(url, f"the registry's token service answered {status} and no token")


def fetch_oci(
    reference: str, file: str | None, *, store: Store, offline: bool = False, tell: Tell = silent
) -> Fetched:
    """The file that `host/name@sha256:digest` names, in the store. What is there already costs no network.

    The digest is an artifact's or image's manifest, or a blob. Of a manifest, `file` is the title of a layer
    or a path in the layers; without it there must be one layer. Raises InputUnavailable.
    """
    parts = _REFERENCE.fullmatch(reference)
    if parts is None:
        raise ValueError("the manifest's pattern lets only such references through")
    label = f"oci {reference}" + (f": {file}" if file else "")
    key = key_of({"oci": label})
    known = store.recall_as(Blob, "oci", key)
    if known and store.proved(known):
        return _fetched(label, parts["name"], file, known, store)
    if offline:
        raise InputUnavailable(
            f"{label} is not in the store, and offline nothing is fetched",
            evidence=(f"store   {store.root}",),
            fix="run once without --offline",
        )
    registry = _Registry(parts["host"], parts["name"])
    content = registry.manifest(parts["sha256"])
    if content is None:
        blob = _blob(registry, parts["sha256"], store, tell)
    else:
        blob = _of_layers(registry, _layers(content, label), file, label, store, tell)
    store.record("oci", key, blob.model_dump())
    return _fetched(label, parts["name"], file, blob, store)


def _fetched(label: str, name: str, file: str | None, blob: Blob, store: Store) -> Fetched:
    last = (file or name).rpartition("/")[2]
    return Fetched(path=store.path(blob.sha256), blob=blob, origin=label, name=last)


def _blob(registry: _Registry, sha256: str, store: Store, tell: Tell) -> Blob:
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
    registry: _Registry, layers: Sequence[_Layer], file: str | None, label: str, store: Store, tell: Tell
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
            f"{label} cannot be read", evidence=(f"layer sha256:{layer.sha256}: {problem}",), fix=_FIX
        ) from problem
    return None


def _get(url: str, authorization: str | None, accept: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (lower-case names) and a small body. Raises InputUnavailable when the network fails."""
    import httpx

    headers = {"Accept": accept} | ({"Authorization": authorization} if authorization else {})
    try:
        with httpx.stream("GET", url, headers=headers, timeout=30) as response:
            content = bytearray()
            for block in response.iter_bytes():
                content += block
                if len(content) > _LARGEST:
                    raise _refused(url, f"the answer is larger than {_LARGEST} bytes")
            return response.status_code, dict(response.headers), bytes(content)
    except httpx.HTTPError as problem:
        raise _refused(url, str(problem) or type(problem).__name__) from problem


def _refused(url: str, why: str) -> InputUnavailable:
    return InputUnavailable(f"{shown(url)} cannot be had", evidence=(why,), fix=_FIX)


def _login(host: str) -> str | None:
    """What Docker's configuration of the user has for a registry: base64 of name and password."""
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    try:
        auths = json.loads((folder / "config.json").read_text(encoding="utf-8"))["auths"]
        login = auths[next(name for name in auths if (urlsplit(name).netloc or name) == host)]["auth"]
        return base64.b64encode(base64.b64decode(login, validate=True)).decode()
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return None
