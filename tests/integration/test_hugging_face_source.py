"""Files of a hub on this machine, which speaks as much of the hub's API as its own client asks for."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from packager.errors import InputUnavailable
from packager.sources.hugging_face import fetch_hub_file
from packager.store import Store

pytest.importorskip("huggingface_hub")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONTENT = b"model of the hub" * 1000


class Hub(BaseHTTPRequestHandler):
    """`/example/cls/resolve/<commit>/onnx/cls.onnx` and nothing else."""

    def do_HEAD(self):
        self.reply(b"")

    def do_GET(self):
        self.reply(CONTENT)

    def reply(self, body):
        self.server.asked.append(self.path)
        here = self.path == f"/example/cls/resolve/{COMMIT}/onnx/cls.onnx"
        self.send_response(200 if here else 404)
        if here:
            self.send_header("ETag", f'"{hashlib.sha256(CONTENT).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
        else:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Length", str(len(CONTENT)) if here else "0")
        self.end_headers()
        self.wfile.write(body if here else b"")

    def log_message(self, *arguments):
        """Say nothing."""


@pytest.fixture
def hub(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    yield server
    server.shutdown()
    server.server_close()


def test_a_file_at_a_commit_is_fetched_once_and_then_needs_no_hub(hub, tmp_path):
    store = Store(tmp_path / "store")

    fetched = fetch_hub_file("example/cls", COMMIT, "onnx/cls.onnx", pinned=None, store=store)
    asked = len(hub.asked)
    again = fetch_hub_file("example/cls", COMMIT, "onnx/cls.onnx", pinned=None, store=store, offline=True)

    assert fetched.path.read_bytes() == CONTENT
    assert fetched.origin == f"huggingface example/cls@{COMMIT}: onnx/cls.onnx"
    assert (again, len(hub.asked)) == (fetched, asked)
    assert not list((store.root / "tmp").iterdir())


def test_another_file_than_the_pinned_one_and_one_that_is_not_there_are_refused(hub, tmp_path):
    store = Store(tmp_path / "store")

    with pytest.raises(InputUnavailable) as pinned:
        fetch_hub_file("example/cls", COMMIT, "onnx/cls.onnx", pinned="0" * 64, store=store)
    with pytest.raises(InputUnavailable) as absent:
        fetch_hub_file("example/cls", COMMIT, "onnx/other.onnx", pinned=None, store=store)

    assert pinned.value.evidence[1] == f"wanted  sha256 {'0' * 64}"
    assert "404" in " ".join(absent.value.evidence)
    assert not (store.root / "blobs").exists()
