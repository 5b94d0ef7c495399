"""The Android archive out of a repository on this machine, by Maven itself and by plain HTTP."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from packager.errors import InputUnavailable
from packager.files import digest
from packager.sources.maven import Artifact, fetch_artifact
from packager.store import Store
from tests.make.sdk import make_aar

LABEL = "org.example.hexpack:runtime:2.51.0:aar"
PROFILE = """<settings><profiles><profile><id>p</id><repositories><repository><id>here</id><url>{url}</url>
<releases><checksumPolicy>warn</checksumPolicy></releases></repository></repositories></profile></profiles>
<activeProfiles><activeProfile>p</activeProfile></activeProfiles>
<servers><server><id>here</id><username>reader</username><password>s3cret</password></server></servers></settings>
"""


class Asking(SimpleHTTPRequestHandler):
    """A repository that wants the login, as private mirrors do."""

    def do_GET(self):
        if self.headers.get("Authorization") == "Basic cmVhZGVyOnMzY3JldA==":
            return super().do_GET()
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="repository"')
        self.send_header("Content-Length", "0")
        return self.end_headers()

    def log_message(self, *arguments):
        """Say nothing."""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one archive on loopback, named in the settings of a home folder."""
    root = tmp_path / "repository"
    make_aar(root / Artifact.parse(LABEL).path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Asking, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    home = tmp_path / "home"
    (home / ".m2").mkdir(parents=True)
    url = f"http://127.0.0.1:{server.server_port}"
    (home / ".m2" / "settings.xml").write_text(PROFILE.format(url=url))
    monkeypatch.setenv("HOME", str(home))
    yield root
    server.shutdown()
    server.server_close()
    thread.join()


def test_without_maven_the_archive_comes_over_http_from_the_repository_of_its_settings(
    repository, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    store, said = Store(tmp_path / "store"), []

    fetched = fetch_artifact(LABEL, pinned=None, store=store, tell=said.append)

    assert fetched.blob == digest(repository / Artifact.parse(LABEL).path)
    assert store.intact(fetched.blob)
    assert "s3cret" not in " ".join(said)
    assert not list((store.root / "partial").iterdir())


def test_an_archive_that_the_repository_lacks_is_told_with_its_answer(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(InputUnavailable) as raised:
        fetch_artifact(LABEL.replace("2.51", "2.52"), pinned=None, store=Store(tmp_path / "store"))

    assert "404" in raised.value.evidence[0]
    assert "s3cret" not in raised.value.render()


@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven is not installed")
def test_maven_itself_is_asked_where_it_is_installed_and_its_refusal_told(repository, tmp_path, monkeypatch):
    # Maven's home is that of the system's user entry, whatever HOME says.
    monkeypatch.setenv("MAVEN_OPTS", f"-Duser.home={tmp_path / 'home'}")
    store = Store(tmp_path / "store")

    fetched = fetch_artifact(LABEL, pinned=None, store=store)
    with pytest.raises(InputUnavailable) as raised:
        fetch_artifact(LABEL.replace("2.51", "2.52"), pinned=None, store=store)

    assert fetched.blob == digest(repository / Artifact.parse(LABEL).path)
    assert "runtime" in raised.value.evidence[0]
    assert raised.value.fix.startswith("run once where Maven reaches the repository")
