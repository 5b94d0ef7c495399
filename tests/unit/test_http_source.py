"""Files from the web: whole, resumed, repeated, refused. The server is on this machine and lies on demand."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from packager.errors import InputUnavailable
from packager.files import blocks
from packager.sources.http import ATTEMPTS, fetch_url, is_allowed, shown
from packager.store import Store
from packager.store_keeping import survey

CONTENT = bytes(range(256)) * 8000  # 2 MB: more than a block
DIGEST = hashlib.sha256(CONTENT).hexdigest()
ETAG = '"v1"'

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers the n-th request as the n-th entry of the server's script says; the last one stays."""

    def do_GET(self) -> None:
        script: list[Answer] = self.server.script  # type: ignore[attr-defined]
        self.server.seen.append(dict(self.headers))  # type: ignore[attr-defined]
        (script.pop(0) if len(script) > 1 else script[0])(self)

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, status: int, body: bytes = b"", announced: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        self.wfile.write(body)


def whole(request: Handler) -> None:
    request.reply(200, CONTENT, ETag=ETAG)


def ranged(request: Handler) -> None:
    """A server that goes on where it is asked to, if the version is still the same."""
    asked = request.headers.get("Range")
    if asked is None or request.headers.get("If-Range") != ETAG:
        whole(request)
        return
    start = int(asked.removeprefix("bytes=").rstrip("-"))
    rest = CONTENT[start:]
    request.reply(206, rest, ETag=ETAG, Content_Range=f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")


def cut_after(size: int, **headers: str) -> Answer:
    def answer(request: Handler) -> None:
        request.reply(200, CONTENT[:size], announced=len(CONTENT), **headers)
        request.close_connection = True

    return answer


def status(code: int, **headers: str) -> Answer:
    return lambda request: request.reply(code, b"no", **headers)


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    one = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.script, one.seen = [whole], []  # type: ignore[attr-defined]
    thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield one
    one.shutdown()
    one.server_close()
    thread.join(timeout=10)


@pytest.fixture
def fetch(server, tmp_path):
    """Fetch from the server, which answers as `script` says; waits are collected and not waited."""
    store = Store(tmp_path / "store")

    def run(
        *script: Answer, sha256: str = DIGEST, path: str = "/models/m.onnx?key=secret", **options: object
    ):
        server.script[:] = script or [whole]
        url = f"http://127.0.0.1:{server.server_port}{path}"
        return fetch_url(
            url, sha256=sha256, store=store, wait=run.waits.append, tell=run.told.append, **options
        )

    run.waits, run.told, run.store, run.seen = [], [], store, server.seen
    return run


def test_a_file_arrives_whole_and_is_named_without_its_query(fetch):
    found = fetch()

    assert found.path.read_bytes() == CONTENT
    assert found.name == "m.onnx"
    assert found.origin.endswith("/models/m.onnx")
    assert "secret" not in found.origin + "".join(fetch.told)


def test_the_second_time_costs_no_request_and_works_offline(fetch):
    fetch()

    again = fetch(status(500), offline=True)

    assert again.blob.sha256 == DIGEST
    assert len(fetch.seen) == 1


def test_a_connection_that_breaks_is_taken_up_where_it_broke(fetch):
    found = fetch(cut_after(1_500_000, ETag=ETAG), ranged)

    assert found.path.read_bytes() == CONTENT
    assert fetch.seen[1]["Range"] == "bytes=1500000-"
    assert fetch.seen[1]["If-Range"] == ETAG


def test_what_a_killed_run_left_is_taken_up_by_the_next_one(fetch):
    with pytest.raises(InputUnavailable) as caught:
        fetch(cut_after(1_000_000, ETag=ETAG), status(503))

    assert "1000000 bytes are kept" in caught.value.render()
    assert fetch(ranged).path.read_bytes() == CONTENT
    assert fetch.seen[-1]["Range"] == "bytes=1000000-"


@pytest.mark.parametrize("validator", [{}, {"ETag": 'W/"weak"'}])
def test_a_version_that_cannot_be_told_again_is_fetched_from_the_start(fetch, validator):
    found = fetch(cut_after(1_000_000, **validator), whole)

    assert found.path.read_bytes() == CONTENT
    assert "Range" not in fetch.seen[1]


def test_a_server_that_starts_over_in_answer_to_a_range_is_understood(fetch):
    assert fetch(cut_after(1_000_000, ETag=ETAG), whole).path.read_bytes() == CONTENT


def test_a_server_that_lies_about_the_range_is_asked_for_all(fetch):
    def lie(request: Handler) -> None:
        request.reply(206, CONTENT[:9], ETag=ETAG, Content_Range=f"bytes 0-8/{len(CONTENT)}")

    assert fetch(cut_after(1_000_000, ETag=ETAG), lie, whole).path.read_bytes() == CONTENT


def test_a_range_beyond_the_end_begins_anew(fetch):
    assert fetch(cut_after(1_000_000, ETag=ETAG), status(416), whole).path.read_bytes() == CONTENT


def test_passing_trouble_is_waited_for_longer_each_time(fetch):
    fetch(status(503), status(500), status(502), whole)

    assert fetch.waits == [0.5, 1.0, 2.0]


def test_a_server_may_say_how_long_but_not_for_ever(fetch):
    fetch(status(429, Retry_After="7"), status(503, Retry_After="86400"), whole)

    assert fetch.waits == [7.0, 30.0]


def test_trouble_that_stays_ends_after_a_few_attempts(fetch):
    with pytest.raises(InputUnavailable) as caught:
        fetch(status(503))

    assert len(fetch.seen) == ATTEMPTS
    assert "the server answered 503" in caught.value.render()
    assert "secret" not in caught.value.render()


def test_a_server_that_always_breaks_before_the_end_is_given_up(fetch):
    with pytest.raises(InputUnavailable):
        fetch(cut_after(1_000_000))

    assert len(fetch.seen) == ATTEMPTS


@pytest.mark.parametrize("code", [401, 403, 404, 410])
def test_a_refusal_is_not_repeated(fetch, code):
    with pytest.raises(InputUnavailable, match="cannot be had"):
        fetch(status(code))

    assert len(fetch.seen) == 1


def test_another_file_than_the_pinned_one_is_refused_and_nothing_of_it_is_kept(fetch):
    with pytest.raises(InputUnavailable) as caught:
        fetch(sha256="0" * 64)

    assert DIGEST in caught.value.render()
    assert list((fetch.store.root / "partial").iterdir()) == []
    assert fetch.store.find(DIGEST) is None


@pytest.mark.parametrize(
    "answer", [whole, lambda request: request.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + CONTENT)]
)
def test_a_file_beyond_the_limit_is_not_read_to_its_end(fetch, answer):
    with pytest.raises(InputUnavailable, match="larger than a model"):
        fetch(answer, max_size=1_200_000)


def test_more_bytes_than_announced_do_not_count(fetch):
    found = fetch(lambda request: request.reply(200, CONTENT + b"more", announced=len(CONTENT)))

    assert found.blob.sha256 == DIGEST


def test_a_redirect_on_this_machine_is_followed_and_one_to_plain_http_elsewhere_is_not(fetch):
    assert fetch(status(302, Location="/other"), whole).blob.sha256 == DIGEST

    with pytest.raises(InputUnavailable) as caught:
        fetch(status(302, Location="http://example.com/m"), sha256="1" * 64)
    assert "sends to http://example.com/m, which is not fetched" in caught.value.render()


def test_redirects_that_go_round_are_left(fetch):
    with pytest.raises(InputUnavailable, match="circle"):
        fetch(status(302, Location="/again"))


def test_offline_says_what_is_missing(fetch):
    with pytest.raises(InputUnavailable, match="offline nothing is fetched"):
        fetch(offline=True)

    assert fetch.seen == []


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://example.com/m.onnx", True),
        ("http://127.0.0.1:8000/m", True),
        ("http://localhost/m", True),
        ("http://[::1]:80/m", True),
        ("http://example.com/m", False),
        ("http://127.0.0.1.example.com/m", False),
        ("https://user:secret@example.com/m", False),
        ("ftp://example.com/m", False),
        ("file:///etc/passwd", False),
        ("https:///m", False),
    ],
)
def test_only_safe_addresses_are_fetched(url, allowed, tmp_path):
    assert is_allowed(url) is allowed
    assert "secret" not in shown(url)
    if not allowed:
        with pytest.raises(InputUnavailable, match="is not fetched"):
            fetch_url(url, sha256="0" * 64, store=Store(tmp_path))


def test_two_fetches_at_once_ask_the_server_once(fetch):
    found = []
    threads = [threading.Thread(target=lambda: found.append(fetch())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert [one.blob.sha256 for one in found] == [DIGEST] * 3
    assert len(fetch.seen) == 1


def test_bytes_are_hashed_as_they_arrive_and_read_again_only_where_a_run_was_killed(fetch, monkeypatch):
    read: list[int] = []

    def counted(stream, size=None):
        for block in blocks(stream, size):
            read.append(len(block))
            yield block

    monkeypatch.setattr("packager.sources.partial.blocks", counted)

    fetch(cut_after(1_500_000, ETag=ETAG), ranged)
    in_one_run = sum(read)
    fetch.store.discard(DIGEST)
    with pytest.raises(InputUnavailable):
        fetch(cut_after(1_200_000, ETag=ETAG), *(status(503) for _ in range(ATTEMPTS)))
    fetch(ranged)

    assert in_one_run == 0
    assert sum(read) == 1_200_000


def test_what_was_fetched_is_named_by_a_step_so_that_clearing_up_does_not_take_it_for_a_stray(fetch):
    fetch()

    kinds = {part.kind for part in survey(fetch.store).parts}

    assert "url" in kinds
    assert "unnamed" not in kinds
