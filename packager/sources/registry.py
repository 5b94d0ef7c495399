"""A repository of an OCI registry: how it is asked, and who hexpack says it is.

Source: the OCI distribution specification, and Docker's for tokens. Logins come from Docker's configuration.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from packager.errors import InputUnavailable
from packager.sources import http
from packager.sources.http import is_allowed, shown

LARGEST = 4 << 20  # bytes of a manifest or token, the limit that registries have
MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
FIX = "check the reference with a registry client, and log in there if the registry wants it"
_BUSY = (408, 425, 429, 502, 503, 504)
_NO_MANIFEST = (400, 404, 500)  # what registries answer to the digest of a blob that is no manifest
_REFERENCE = re.compile(r"(?P<host>[^/]+)/(?P<name>.+)@sha256:(?P<sha256>[0-9a-f]{64})")
# Docker Hub has one name for people, another for its registry, and a third for logins.
_SERVERS = {"docker.io": "registry-1.docker.io"}
_LOGINS = {"docker.io": ("index.docker.io", "https://index.docker.io/v1/")}
_HELPER_SECONDS = 30
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class Reference(NamedTuple):
    """`host/name@sha256:digest` in its parts."""

    host: str
    name: str
    sha256: str

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Raises ValueError for what the manifest's pattern does not let through."""
        parts = _REFERENCE.fullmatch(text)
        if parts is None:
            raise ValueError(f"no reference with a digest: {text}")
        return cls(parts["host"], parts["name"], parts["sha256"])


class Registry:
    """One repository of one registry, with the header that it asks for.

    `authorization` is None until the registry has asked for a login.
    """

    def __init__(self, host: str, name: str) -> None:
        local = is_allowed(f"http://{host}/")
        self.root = f"{'http' if local else 'https'}://{_SERVERS.get(host, host)}/v2/{name}"
        self.host, self.name = host, name
        self.authorization: str | None = None

    def manifest(self, sha256: str, media_types: Sequence[str] = MANIFEST_TYPES) -> bytes | None:
        """The manifest of a digest, or None where the registry has none. Raises InputUnavailable."""
        url = f"{self.root}/manifests/sha256:{sha256}"
        accept = ", ".join(media_types)
        status, headers, content = _get(url, self.authorization, accept)
        if status == 401 and self.authorization is None:
            self.authorization = self.answer_to(headers.get("www-authenticate", ""))
            status, headers, content = _get(url, self.authorization, accept)
        if status in _NO_MANIFEST:
            return None
        if status != 200:
            raise refused(url, f"the registry answered {status}")
        if hashlib.sha256(content).hexdigest() != sha256:
            raise refused(url, "the registry sent a manifest of another digest")
        return content

    def blob_url(self, sha256: str) -> str:
        """Where a blob is."""
        return f"{self.root}/blobs/sha256:{sha256}"

    def answer_to(self, challenge: str, actions: str = "pull") -> str | None:
        """The header for later requests: a token, anonymous or for the login in Docker's configuration.

        None for a challenge that cannot be met. Raises InputUnavailable when the token service refuses.
        """
        login = login_for(self.host)
        kind, _, rest = challenge.partition(" ")
        words = dict(_CHALLENGE.findall(rest))
        if kind.lower() == "basic":
            return f"Basic {login}" if login else None
        if kind.lower() != "bearer" or not is_allowed(words.get("realm", "")):
            return None
        query = {"scope": words.get("scope", f"repository:{self.name}:{actions}")}
        query |= {"service": words["service"]} if "service" in words else {}
        url = f"{words['realm']}?{urlencode(query)}"
        status, _, content = _get(url, f"Basic {login}" if login else None, "application/json")
        with contextlib.suppress(ValueError, AttributeError):
            said = json.loads(content)
            token = said.get("token") or said.get("access_token")
            if status == 200 and isinstance(token, str):
                return f"Bearer {token}"
        raise refused(url, f"the registry's token service answered {status} and no token")


def refused(url: str, why: str) -> InputUnavailable:
    """The error for what a registry does not give."""
    return InputUnavailable(f"{shown(url)} cannot be had", evidence=(why,), fix=FIX)


def login_for(host: str) -> str | None:
    """What Docker's configuration of the user has for a registry: base64 of name and password.

    A credential helper that the configuration names for the registry is asked first, as Docker does.
    """
    folder = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    try:
        said = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        names = (host, *_LOGINS.get(host, ()))
        helper = (said.get("credHelpers") or {}).get(host) or said.get("credsStore")
        if helper and (found := next(filter(None, (_helped(helper, name) for name in names)), None)):
            return found
        auths = said["auths"]
        login = auths[next(name for name in auths if (urlsplit(name).netloc or name) in names)]["auth"]
        return base64.b64encode(base64.b64decode(login, validate=True)).decode()
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration):
        return None


def _helped(helper: str, server: str) -> str | None:
    """What `docker-credential-<helper> get` answers for a server, or None."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", helper):
        return None
    program = shutil.which(f"docker-credential-{helper}")
    if program is None:
        return None
    try:
        said = json.loads(
            subprocess.run(
                [program, "get"], input=server, capture_output=True, text=True,
                timeout=_HELPER_SECONDS, check=True,
            ).stdout
        )  # fmt: skip
    except subprocess.SubprocessError:  # it has none, or asks a person
        return None
    return base64.b64encode(f"{said['Username']}:{said['Secret']}".encode()).decode()


def _get(url: str, authorization: str | None, accept: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers (lower-case names) and a small body, asked for again where the network fails.

    Raises InputUnavailable when it goes on failing.
    """
    import httpx

    headers = {"Accept": accept} | ({"Authorization": authorization} if authorization else {})
    for pause in (*http.WAITS, None):
        try:
            answer = _asked(url, headers)
        except httpx.HTTPError as problem:
            if pause is None or not isinstance(problem, httpx.TransportError):
                raise refused(url, str(problem) or type(problem).__name__) from problem
        else:
            if pause is None or answer[0] not in _BUSY:
                return answer
        time.sleep(pause)
    raise AssertionError("the last attempt returns or raises")


def _asked(url: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    import httpx

    with httpx.stream("GET", url, headers=headers, timeout=30) as response:
        content = bytearray()
        for block in response.iter_bytes():
            content += block
            if len(content) > LARGEST:
                raise refused(url, f"the answer is larger than {LARGEST} bytes")
        return response.status_code, dict(response.headers), bytes(content)
