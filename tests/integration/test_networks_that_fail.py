"""Networks that fail at every stage of a download, and servers that lie: nothing is lost or kept wrongly."""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from packager.errors import InputUnavailable
from packager.sources import Fetched
from packager.sources.http import fetch_url
from packager.sources.hugging_face import fetch_hub_file
from packager.sources.maven import Artifact, fetch_artifact
from packager.sources.oci import fetch_oci
from packager.store import Store
from tests.integration import registry
from tests.make.cutting_proxy import AFTER_THE_REQUEST, AT_ONCE, Proxy, before

CONTENT = bytes(range(256)) * 3000  # 768 kB, in blocks that no two are alike
DIGEST = hashlib.sha256(CONTENT).hexdigest()
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LABEL = "org.example.hexpack:runtime:2.51.0:aar"
HUB_PATH = f"example/cls/resolve/{COMMIT}/cls.onnx"
IN_THE_HEAD, IN_THE_BODY = 40, 200_000
CUTS = (AT_ONCE, AFTER_THE_REQUEST, IN_THE_HEAD, IN_THE_BODY)
Fetch = Callable[[Store, Proxy], Fetched]


class Files(SimpleHTTPRequestHandler):
    """A web server for files, with the headers that the Hugging Face hub has."""

    def end_headers(self) -> None:
        if self.path.startswith("/example/"):
            self.send_header("ETag", f'"{DIGEST}"')
            self.send_header("X-Repo-Commit", COMMIT)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def web(tmp_path_factory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("web")
    for path in ("model.onnx", Artifact.parse(LABEL).path, HUB_PATH):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(CONTENT)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(root)))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory) -> Iterator[tuple[str, str]]:
    """Host and port of a registry, and the digest of an artifact in it with one layer."""
    process, running = registry.started(tmp_path_factory.mktemp("registry"))
    yield running.host, running.manifest(running.titled("model.onnx", CONTENT))
    process.terminate()
    process.wait()


def over_http(store: Store, proxy: Proxy) -> Fetched:
    return fetch_url(f"http://{proxy.host}/model.onnx", sha256=DIGEST, store=store)


def from_the_hub(store: Store, proxy: Proxy) -> Fetched:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", f"http://{proxy.host}")
        return fetch_hub_file("example/cls", COMMIT, "cls.onnx", pinned=DIGEST, store=store)


def from_maven(store: Store, proxy: Proxy) -> Fetched:
    home = store.root.parent / "home"
    (home / ".m2").mkdir(parents=True, exist_ok=True)
    mirror = f"<mirror><id>m</id><mirrorOf>*</mirrorOf><url>http://{proxy.host}</url></mirror>"
    (home / ".m2" / "settings.xml").write_text(f"<settings><mirrors>{mirror}</mirrors></settings>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("PATH", "")  # no mvn: it has an endurance of its own
        return fetch_artifact(LABEL, pinned=DIGEST, store=store)


@pytest.fixture(params=["http", "hugging face", "maven", pytest.param("oci", marks=registry.needs_registry)])
def source(request, monkeypatch) -> Iterator[tuple[Fetch, Proxy]]:
    """A way to fetch, and the proxy that its server is behind. Nobody waits between attempts."""
    monkeypatch.setattr("packager.sources.http.WAITS", (0.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr("packager.sources.http._SILENCE", 1.0)
    if request.param == "hugging face":
        pytest.importorskip("huggingface_hub")
        monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DOWNLOAD_TIMEOUT", 1)
    if request.param == "oci":
        host, digest = request.getfixturevalue("artifacts")
    else:
        host, digest = request.getfixturevalue("web"), ""
    with before(host) as proxy:
        ways: dict[str, Fetch] = {
            "http": over_http,
            "hugging face": from_the_hub,
            "maven": from_maven,
            "oci": lambda store, one: fetch_oci(
                f"{one.host}/models/cls@sha256:{digest}", "model.onnx", store=store
            ),
        }
        yield ways[request.param], proxy


def refusal(fetch: Fetch, store: Store, proxy: Proxy) -> InputUnavailable | None:
    """What a fetch raises, if it does."""
    try:
        fetch(store, proxy)
    except InputUnavailable as raised:
        return raised
    return None


def left_behind(store: Store) -> list[str]:
    """What lies in the places of unfinished things."""
    return [path.name for path in (store.root / "tmp").rglob("*") if path.is_file()]


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_a_connection_that_is_cut_at_any_stage_is_taken_up_again(source, tmp_path, cut):
    fetch, proxy = source
    fetch(Store(tmp_path / "whole"), proxy)
    stages = proxy.connections

    for stage in range(stages):
        store = Store(tmp_path / f"store-{stage}")
        proxy.connections, proxy.script = 0, [*[None] * stage, cut, None]
        found = fetch(store, proxy)

        assert found.path.read_bytes() == CONTENT
        assert store.intact(found.blob)
        assert left_behind(store) == []
        assert proxy.script == [None]
        # An answer that ends before it is cut is whole; all others are asked for once more.
        assert proxy.connections > stages or cut == IN_THE_BODY


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_a_network_that_stays_away_is_told_with_what_to_do_and_the_next_run_succeeds(source, tmp_path, cut):
    fetch, proxy = source
    store = Store(tmp_path / "store")
    proxy.script = [cut]

    failed = refusal(fetch, store, proxy)
    at_most = proxy.connections
    proxy.script = [None]
    found = fetch(store, proxy)

    # A server that goes on where it is asked to brings the file in pieces, however often it is cut.
    said = failed.render() if failed else ""
    assert failed or cut == IN_THE_BODY
    assert not failed or any(
        word in said for word in ("the connection", "a registry client", "where Maven reaches")
    )
    assert at_most <= 60
    assert found.path.read_bytes() == CONTENT
    assert left_behind(store) == []


def other_bytes(block: bytes) -> bytes:
    """The last byte of the content is another. Heads stay as they are."""
    return block[:-1] + b"\xfe" if block.endswith(b"\xff") else block


def a_smaller_length(block: bytes) -> bytes:
    return block.replace(b"ength: 768000", b"ength: 767999")


def a_larger_length(block: bytes) -> bytes:
    return block.replace(b"ength: 768000", b"ength: 768009")


@pytest.mark.parametrize("lie", [other_bytes, a_smaller_length, a_larger_length])
def test_of_a_server_that_lies_about_bytes_or_length_nothing_wrong_is_kept(source, tmp_path, lie):
    fetch, proxy = source
    store = Store(tmp_path / "store")
    proxy.script = [lie]

    # A length that is a lie is of no account where the bytes have the digest that was pinned.
    refused = refusal(fetch, store, proxy)
    proxy.script = [None]
    found = fetch(store, proxy)

    assert lie is a_larger_length or (refused and refused.fix)
    assert found.path.read_bytes() == CONTENT
    blobs = [path for path in (store.root / "blobs").rglob("*") if path.is_file()]
    assert DIGEST in [path.name for path in blobs]
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.name for path in blobs)
    assert left_behind(store) == []
