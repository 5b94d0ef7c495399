"""A manifest whose model is on a server: fetched once, locked, and then needed no more."""

from __future__ import annotations

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.integration.program import run

MANIFEST = """\
schema = 1

[package]
name = "served"
version = "1.0.0"
vendor = "Example Devices"
license = "Apache-2.0"
description = "A model from a server"
maintainer = "Release Team <release@example.com>"

[model]
source = {{ url = "{url}", sha256 = "{sha256}" }}
inputs = {{ x = {{ shape = [1, 3, 48, 48], dtype = "float32" }} }}

[[targets]]
soc = ["qcs9075"]
os = "linux"
formats = ["tar.zst"]
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served(classifier_onnx: Path, tmp_path):
    """A manifest for the classifier on a server of this machine, and the server."""
    folder = tmp_path / "www"
    folder.mkdir()
    (folder / "cls.onnx").write_bytes(classifier_onnx.read_bytes())
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    sha256 = hashlib.sha256(classifier_onnx.read_bytes()).hexdigest()
    manifest = tmp_path / "app.toml"
    manifest.write_text(
        MANIFEST.format(url=f"http://127.0.0.1:{server.server_port}/cls.onnx?token=secret", sha256=sha256)
    )
    yield manifest, server
    server.shutdown()
    server.server_close()


def test_a_model_from_a_server_is_judged_locked_and_then_needed_no_more(served, store):
    manifest, server = served

    first = run("check", "--manifest", str(manifest), HEXPACK_STORE=str(store.root))
    server.shutdown()
    again = run("check", "--manifest", str(manifest), "--locked", "--offline", HEXPACK_STORE=str(store.root))

    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    lock = manifest.with_suffix(".lock").read_text()
    assert f"url http://127.0.0.1:{server.server_port}/cls.onnx" in lock
    assert "secret" not in lock + first.stdout + first.stderr


def test_another_file_under_the_address_is_refused_with_both_digests(served, store):
    manifest, _ = served
    wanted = "0" * 64
    text = manifest.read_text()
    manifest.write_text(
        text[: text.index('sha256 = "')] + f'sha256 = "{wanted}" }}\n' + text[text.index("inputs") :]
    )

    done = run("check", "--manifest", str(manifest), HEXPACK_STORE=str(store.root))

    assert done.returncode == 3
    assert wanted in done.stderr
    assert "is not the file that was pinned" in done.stderr
