"""Puts blobs and manifests into a repository of an OCI registry. Source: the OCI distribution specification.

What is there already is not sent again. An upload that breaks off goes on where the registry says it is, if
it still knows: Docker's gives up one whose chunk arrived in part.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urljoin

from packager import __version__
from packager.errors import InputUnavailable
from packager.files import BLOCK, Blob
from packager.sources import Tell, silent
from packager.sources.http import is_allowed, shown
from packager.sources.registry import INDEX_TYPES, MANIFEST_TYPES, Registry

if TYPE_CHECKING:
    import httpx

_CHUNK = 16 << 20  # bytes of one request: what is lost at most when a connection breaks
_ATTEMPTS = 5  # in a row that bring nothing
_WAITS = (0.5, 1.0, 2.0, 4.0)  # seconds before the second, third … attempt
_PASSING = {408, 429, 500, 502, 503, 504}
_RANGE = re.compile(r"(?:bytes=)?0-(\d+)")

Wait = Callable[[float], None]


class _Broken(Exception):
    """A request failed in a way that another may not."""


class Upload:
    """One repository, and who we are to its registry. To be closed."""

    def __init__(self, host: str, name: str, *, tell: Tell = silent, wait: Wait = time.sleep) -> None:
        import httpx

        self._registry = Registry(host, name)
        self._tell, self._wait = tell, wait
        self._client = httpx.Client(
            timeout=httpx.Timeout(60, connect=20), headers={"User-Agent": f"hexpack/{__version__}"}
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def repository(self) -> str:
        """How people write it: `host/name`."""
        return f"{self._registry.host}/{self._registry.name}"

    def manifest_of(self, tag: str) -> str | None:
        """The digest (`sha256:…`) of the manifest that a tag names, or None. Raises InputUnavailable."""
        url = f"{self._registry.root}/manifests/{tag}"
        response = self._again(
            lambda: self._asked("GET", url, headers={"Accept": ", ".join((*MANIFEST_TYPES, *INDEX_TYPES))})
        )
        if response.status_code == 404:
            return None
        if response.status_code != 200:
            raise self._refused(url, response)
        return f"sha256:{hashlib.sha256(response.content).hexdigest()}"

    def put_manifest(self, reference: str, media_type: str, content: bytes) -> None:
        """A manifest under a tag; the blobs that it names are there. Raises InputUnavailable."""
        url = f"{self._registry.root}/manifests/{reference}"
        headers = {"Content-Type": media_type}
        response = self._again(lambda: self._asked("PUT", url, headers=headers, content=content))
        if response.status_code != 201:
            raise self._refused(url, response)

    def put_blob(self, blob: Blob, stream: BinaryIO, start: int, lender: str | None = None) -> bool:
        """A blob, whose bytes begin at `start` of a seekable stream; whether it had to be sent.

        `lender` is another repository of the registry that may have it. Raises InputUnavailable.
        """
        url = self._registry.blob_url(blob.sha256)
        there = self._again(lambda: self._asked("HEAD", url))
        if there.status_code == 200:
            return False
        if there.status_code != 404:
            raise self._refused(url, there)
        if lender and self._lent(blob, lender):
            return False
        self._send(self._begun, blob, stream, start)
        return True

    def _lent(self, blob: Blob, lender: str) -> bool:
        """Whether the registry took the blob from another repository."""
        url = f"{self._registry.root}/blobs/uploads/?mount=sha256:{blob.sha256}&from={lender}"
        return self._again(lambda: self._asked("POST", url)).status_code == 201

    def _begun(self) -> str:
        """Where a blob is to be sent."""
        url = f"{self._registry.root}/blobs/uploads/"
        response = self._again(lambda: self._asked("POST", url))
        if response.status_code != 202:
            raise self._refused(url, response)
        return self._location(url, response)

    def _send(self, begin: Callable[[], str], blob: Blob, stream: BinaryIO, start: int) -> None:
        """Chunk after chunk; after a break on from where the registry is, or anew where it gave up."""
        url, sent, failures, furthest = begin(), 0, 0, 0
        while sent < blob.size:
            size = min(_CHUNK, blob.size - sent)
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Range": f"{sent}-{sent + size - 1}",
                "Content-Length": str(size),
            }
            try:
                response = self._asked(
                    "PATCH", url, headers=headers, body=functools.partial(_piece, stream, start + sent, size)
                )
                if response.status_code not in (202, 204):
                    raise self._refused(url, response)
                url, sent = self._location(url, response), sent + size
            except _Broken as problem:
                failures = 1 if sent > furthest else failures + 1
                furthest = max(furthest, sent)
                if failures >= _ATTEMPTS:
                    raise self._unreachable(url, problem) from problem
                self._wait(_WAITS[failures - 1])
                url, sent = self._where(url) or (begin(), 0)
                self._tell(f"{self._registry.host}: {problem}; {sent / 1e6:.1f} MB are there, trying again")
        closing = f"{url}{'&' if '?' in url else '?'}digest=sha256:{blob.sha256}"
        response = self._again(lambda: self._asked("PUT", closing, headers={"Content-Length": "0"}))
        if response.status_code != 201:
            raise self._refused(url, response)

    def _where(self, url: str) -> tuple[str, int] | None:
        """Where an upload goes on, and how many bytes have arrived; None when the registry gave it up."""
        response = self._again(lambda: self._asked("GET", url))
        if response.status_code != 204:
            return None
        found = _RANGE.fullmatch(response.headers.get("Range", ""))
        arrived = int(found[1]) + 1 if found and int(found[1]) else 0
        return self._location(url, response), arrived

    def _location(self, url: str, response: httpx.Response) -> str:
        place = urljoin(url, str(response.headers.get("Location", url)))
        if not is_allowed(place):
            raise InputUnavailable(
                f"{shown(url)} sends to {shown(place)}, where nothing is sent",
                fix="find out who answers under the registry's name",
            )
        return place

    def _again(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        """The answer, after as many attempts as it takes up to a limit."""
        for wait in (*_WAITS, None):
            try:
                return ask()
            except _Broken as problem:
                if wait is None:
                    raise self._unreachable(self._registry.root, problem) from problem
                self._tell(f"{self._registry.host}: {problem}; trying again")
                self._wait(wait)
        raise AssertionError("the last attempt returns or raises")

    def _asked(
        self,
        method: str,
        url: str,
        *,
        headers: dict[str, str] | None = None,
        content: bytes | None = None,
        body: Callable[[], Iterator[bytes]] | None = None,
    ) -> httpx.Response:
        """One request, made again with a login where the registry asks for one. Raises _Broken."""
        import httpx

        for attempt in range(2):
            known = self._registry.authorization
            login = {"Authorization": known} if known else {}
            try:
                response = self._client.request(
                    method, url, headers=(headers or {}) | login, content=body() if body else content
                )
            except httpx.TransportError as problem:
                raise _Broken(str(problem) or type(problem).__name__) from problem
            if response.status_code == 401 and attempt == 0:  # no login yet, or a token that has run out
                challenge = response.headers.get("WWW-Authenticate", "")
                answer = self._registry.answer_to(challenge, "pull,push")
                if answer is not None and answer != known:
                    self._registry.authorization = answer
                    continue
            break
        if response.status_code in _PASSING:
            raise _Broken(f"the registry answered {response.status_code}")
        return response

    def _refused(self, url: str, response: httpx.Response) -> InputUnavailable:
        status = response.status_code
        fix = {
            401: f"log in: docker login {self._registry.host}",
            403: f"ask for the right to push to {self.repository}, or log in as somebody who has it",
            404: "check the name of the repository; some registries want it to be made first",
            413: "ask whoever runs the registry for a higher limit",
        }
        return InputUnavailable(
            f"{self.repository} does not take the package",
            evidence=(f"{shown(url)}", f"the registry answered {status}{_said(response)}"),
            fix=fix.get(status, "look into the registry's log"),
        )

    def _unreachable(self, url: str, problem: _Broken) -> InputUnavailable:
        return InputUnavailable(
            f"{self.repository} cannot be reached",
            evidence=(shown(url), str(problem)),
            fix="run the command again when the registry answers: what has arrived is not sent again",
        )


def _piece(stream: BinaryIO, start: int, size: int) -> Iterator[bytes]:
    stream.seek(start)
    while size > 0 and (block := stream.read(min(BLOCK, size))):
        size -= len(block)
        yield block


def _said(response: httpx.Response) -> str:
    """The registry's own words, if it has some."""
    try:
        (first, *_) = json.loads(response.content)["errors"]
        return f": {str(first.get('message') or first['code'])[:200]}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
