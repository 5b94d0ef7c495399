"""Files from the web: pinned by their digest, fetched in one pass, and resumed where a connection broke.

What has arrived stays beside the store's blobs until it is whole, so that a run that was killed goes on where
it stopped. A server is believed in nothing: the digest decides.
"""

from __future__ import annotations

import contextlib
import netrc
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import unquote, urljoin, urlsplit

from packager import __version__
from packager.errors import InputUnavailable
from packager.files import Blob
from packager.sources import Fetched, Tell, not_as_pinned, silent
from packager.sources.partial import Part
from packager.store import Store, key_of

if TYPE_CHECKING:
    import httpx

MAX_SIZE = 32 << 30  # bytes; the largest models in one file have 10 to 20 GB
ATTEMPTS = 5  # in a row that bring nothing
_MOST_ATTEMPTS = 100
WAITS = (0.5, 1.0, 2.0, 4.0)  # seconds before the second, third … attempt
_LONGEST_WAIT = 30.0  # that a server may ask for
_SILENCE = 60.0  # seconds in which nothing comes
_REDIRECTS = 5
_REPEATED = {408, 425, 429, 500, 502, 503, 504}
_LOOPBACK = re.compile(r"localhost|127(?:\.\d{1,3}){3}|\[?::1\]?")
_STEP = "url"
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")

Wait = Callable[[float], None]


class _Broken(Exception):
    """An attempt failed in a way that another may not; `after` are the seconds that the server asks for."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


def is_allowed(url: str) -> bool:
    """Whether hexpack fetches from this address: https, and http from this very machine."""
    parts = urlsplit(url)
    if parts.username or parts.password or not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and bool(_LOOPBACK.fullmatch(parts.hostname)))


def shown(url: str) -> str:
    """An address for messages and locks: without its query, which may hold a key."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"


def fetch_url(
    url: str,
    *,
    sha256: str,
    store: Store,
    offline: bool = False,
    tell: Tell = silent,
    max_size: int = MAX_SIZE,
    wait: Wait = time.sleep,
    authorization: str | None = None,
) -> Fetched:
    """The file at an address, in the store. One whose digest is in the store already costs no network.

    `authorization` is a header for the address's own host and no other.

    Raises InputUnavailable when it cannot be had, is larger than `max_size` bytes, or is not the file that
    `sha256` pins; InputUnavailable too for an address that `is_allowed` refuses.
    """
    _refuse_unless_allowed(url)
    here = _in_store(url, sha256, store)
    if here:
        return here
    if offline:
        raise InputUnavailable(
            f"{shown(url)} is not in the store, and offline nothing is fetched",
            evidence=(f"wanted  sha256 {sha256}", f"store   {store.root}"),
            fix="run once without --offline",
        )
    with store.lock(sha256):
        here = _in_store(url, sha256, store)  # another process may have fetched it meanwhile
        if here is None:
            tell(f"fetching {shown(url)}")
            with store.work():  # says in words when the disk is full
                blob = _fetched(url, sha256, store, max_size, wait, tell, authorization)
            here = Fetched(path=store.path(sha256), blob=blob, origin=_origin(url), name=_name(url))
    return here


def download_url(
    url: str,
    *,
    into: Path,
    sha256: str | None,
    store: Store,
    authorization: str | None = None,
    tell: Tell = silent,
    max_size: int = MAX_SIZE,
    wait: Wait = time.sleep,
) -> Blob:
    """The file at an address as `into`, a path in the store's scratch folder; resumed as `fetch_url` does.

    For files that nothing pins yet: the caller compares what came. `authorization` is a header for the
    address's own host and no other. Raises as `fetch_url` does.
    """
    _refuse_unless_allowed(url)
    part = Part(store, sha256 or key_of({"url": url}))
    _complete(url, part, max_size, wait, tell, authorization, sha256)
    blob = part.blob
    part.path.replace(into)
    part.discard()
    return blob


def _in_store(url: str, sha256: str, store: Store) -> Fetched | None:
    path = store.find(sha256)
    if path is None:
        return None
    store.recall(_STEP, sha256)  # which makes it young again
    blob = Blob(sha256=sha256, size=path.stat().st_size)
    return Fetched(path=path, blob=blob, origin=_origin(url), name=_name(url)) if store.proved(blob) else None


def _origin(url: str) -> str:
    return f"url {shown(url)}"


def _name(url: str) -> str:
    return unquote(urlsplit(url).path).rpartition("/")[2] or "download"


def _refuse_unless_allowed(url: str) -> None:
    if not is_allowed(url):
        raise InputUnavailable(
            f"{shown(url)} is not fetched",
            evidence=("only https is, and http from this machine; no address may hold a password",),
            fix="write an https address; passwords belong into ~/.netrc",
        )


def _fetched(
    url: str,
    sha256: str,
    store: Store,
    max_size: int,
    wait: Wait,
    tell: Tell,
    authorization: str | None,
) -> Blob:
    """The file in the store, if it is the one that is pinned."""
    part = Part(store, sha256)
    _complete(url, part, max_size, wait, tell, authorization, sha256)
    blob = part.blob
    if blob.sha256 != sha256:
        part.discard()
        raise not_as_pinned(
            shown(url),
            blob.sha256,
            sha256,
            evidence=(f"size    {blob.size} bytes",),
            fix="find out why the file changed before you pin the new digest",
        )
    store.adopt(part.path, blob)
    part.discard()
    store.record(_STEP, sha256, blob.model_dump())  # a blob that a step names is not cleared as a stray one
    return blob


def _complete(
    url: str,
    part: Part,
    max_size: int,
    wait: Wait,
    tell: Tell,
    authorization: str | None = None,
    sha256: str | None = None,
) -> None:
    """Attempts until the file is whole; each that brings new bytes begins the count again.

    One whose bytes have the digest that is wanted is whole, whatever length the server announced.
    """
    import httpx

    failures = attempts = 0
    with httpx.Client(
        timeout=httpx.Timeout(_SILENCE, connect=20),
        headers={"User-Agent": f"hexpack/{__version__}"},
        auth=_for_host(urlsplit(url).netloc, authorization) if authorization else _netrc(),
    ) as client:
        while True:
            before, attempts = part.size, attempts + 1
            try:
                _attempt(client, url, part, max_size)
                return
            except (httpx.TransportError, _Broken) as problem:
                if sha256 and part.size and part.blob.sha256 == sha256:
                    return
                resumes = part.size > before and part.validator(url) is not None
                failures = 1 if resumes else failures + 1
                if failures >= ATTEMPTS or attempts >= _MOST_ATTEMPTS:
                    raise _unavailable(url, part, problem) from problem
                after = getattr(problem, "after", None)
                tell(f"{shown(url)}: {_why(problem)}; {part.size / 1e6:.1f} MB are here, trying again")
                wait(min(after or WAITS[failures - 1], _LONGEST_WAIT))


def _for_host(host: str, authorization: str) -> Callable[[httpx.Request], httpx.Request]:
    """Adds the header to requests for this host; a redirect to another gets none."""

    def sign(request: httpx.Request) -> httpx.Request:
        if request.url.netloc.decode("ascii") == host:
            request.headers["Authorization"] = authorization
        return request

    return sign


def _netrc() -> httpx.Auth | None:
    """The user's logins by host, which go to no other host on a redirect."""
    import httpx

    with contextlib.suppress(OSError, netrc.NetrcParseError):
        return httpx.NetRCAuth()
    return None


def _attempt(client: httpx.Client, url: str, part: Part, max_size: int) -> None:
    """One request that brings the rest of the file, or all of it where the server will not go on."""
    validator = part.validator(url)
    have = part.size if validator else 0
    headers = {"Accept-Encoding": "identity"}
    if have and validator:
        headers |= {"Range": f"bytes={have}-", "If-Range": validator}
    with _answered(client, url, headers) as response:
        goes_on = response.status_code == 206
        if response.status_code == 416 or (goes_on and not (have and _continues(response, have))):
            part.discard()
            raise _Broken("the server has another version of the file now")
        whole = _announced(response, have if goes_on else 0)
        if whole is not None and whole > max_size:
            _too_large(url, whole, max_size)
        if not goes_on:
            part.begin(url, _validator(response))
        size = have if goes_on else 0
        with part.adding() as write:
            for block in response.iter_raw():  # as it arrives: what is held back is lost when it breaks
                size += len(block)
                if size > max_size:
                    _too_large(url, size, max_size)
                write(block)
        if whole is not None and size != whole:
            raise _Broken(f"{whole} bytes were announced, {size} came")


@contextlib.contextmanager
def _answered(client: httpx.Client, url: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
    """The answer behind all redirects, of which none may lead to an address that is not allowed."""
    for _ in range(_REDIRECTS + 1):
        with client.stream("GET", url, headers=headers) as response:
            status = response.status_code
            if response.has_redirect_location:
                target = urljoin(url, response.headers["Location"])
                if not is_allowed(target):
                    raise InputUnavailable(
                        f"{shown(url)} sends to {shown(target)}, which is not fetched",
                        fix="name the final address, with https",
                    )
                url = target
                continue
            if status in _REPEATED:
                raise _Broken(f"the server answered {status}", _retry_after(response))
            if status not in (200, 206, 416):
                raise InputUnavailable(
                    f"{shown(url)} cannot be had",
                    evidence=(f"the server answered {status} {response.reason_phrase}".rstrip(),),
                    fix="check the address in a browser, and whether it wants a login (~/.netrc)",
                )
            yield response
            return
    raise InputUnavailable(
        f"{shown(url)} leads in a circle",
        evidence=(f"more than {_REDIRECTS} redirects",),
        fix="check the address",
    )


def _continues(response: httpx.Response, have: int) -> bool:
    found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    return found is not None and int(found[1]) == have


def _announced(response: httpx.Response, have: int) -> int | None:
    """How many bytes the whole file has, if the server says it."""
    length = response.headers.get("Content-Length", "")
    return have + int(length) if length.isascii() and length.isdigit() else None


def _validator(response: httpx.Response) -> str | None:
    """What identifies this version; a weak ETag does not, and then nothing is resumed."""
    etag, date = response.headers.get("ETag", ""), response.headers.get("Last-Modified")
    return etag if etag.startswith('"') else date if not etag else None


def _retry_after(response: httpx.Response) -> float | None:
    after = response.headers.get("Retry-After", "")
    return float(after) if after.isascii() and after.isdigit() else None


def _too_large(url: str, size: int, max_size: int) -> NoReturn:
    raise InputUnavailable(
        f"{shown(url)} is larger than a model",
        evidence=(f"found   {size} bytes or more", f"wanted  at most {max_size}"),
        fix="check the address",
    )


def _why(problem: Exception) -> str:
    return str(problem) or type(problem).__name__


def _unavailable(url: str, part: Part, problem: Exception) -> InputUnavailable:
    kept = f"{part.size} bytes are kept, and the next run goes on there"
    return InputUnavailable(
        f"{shown(url)} cannot be fetched",
        evidence=(
            _why(problem),
            f"{ATTEMPTS} attempts in a row brought nothing",
            *([kept] if part.size else []),
        ),
        fix="check the connection, a proxy (HTTPS_PROXY) and the address, then run again",
    )
