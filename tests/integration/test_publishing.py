"""Packages on their way into Debian's docker-registry on this machine, over connections good and bad."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import shutil
import socket
import subprocess
import threading

import httpx
import pytest

from packager import registry_upload
from packager.errors import InputUnavailable, ManifestError, VerificationFailed
from packager.formats import by_id
from packager.plan_model import Plan
from packager.publication import publish
from tests.integration.registry import AUTH, HTPASSWD, needs_registry, started
from tests.make.bundle import PACKAGE, TREE, bundle_of, target_plan

pytestmark = needs_registry
BIG = {**TREE, "share/models/big.bin": random.Random(1).randbytes(3 << 20)}


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    process, running = started(tmp_path_factory.mktemp("registry"))
    yield running
    process.terminate()
    process.wait()


def packaged(host, out, name, content=TREE, formats=("oci",)):
    """A plan whose one target is published as `name`, and its packages in `out`."""
    own = {"oci": {"repository": f"{host}/{name}"}, "compose": {"repository": f"{host}/apps/{name}"}}
    target = target_plan(formats=formats, own=own)
    out.mkdir(exist_ok=True)
    for package in target.packages:
        with (out / package.file_name).open("w+b") as stream:
            by_id(package.format).write(target, bundle_of(content, out), stream, epoch=1_700_000_000)
    return Plan(package=PACKAGE, targets=(target,), allow=())


@pytest.mark.skipif(shutil.which("skopeo") is None, reason="skopeo is missing")
def test_skopeo_finds_the_published_image_under_its_tag_and_its_digest(registry, tmp_path):
    plan = packaged(registry.host, tmp_path / "dist", "skopeo")

    (done,) = publish(plan, tmp_path / "dist")

    said = json.loads(
        subprocess.run(
            ["skopeo", "inspect", "--tls-verify=false", f"docker://{registry.host}/skopeo:1.2.0"],
            check=True, capture_output=True,
        ).stdout
    )  # fmt: skip
    assert done.reference == f"{registry.host}/skopeo@{said['Digest']}"
    assert said["Labels"]["org.opencontainers.image.title"] == "text-direction"
    subprocess.run(
        ["skopeo", "copy", "--src-tls-verify=false", f"docker://{done.reference}", f"dir:{tmp_path / 'copy'}"],
        check=True, capture_output=True,
    )  # fmt: skip


def test_what_is_published_already_is_not_sent_again(registry, tmp_path):
    plan = packaged(registry.host, tmp_path / "dist", "twice")
    (first,) = publish(plan, tmp_path / "dist")
    said = []

    (second,) = publish(plan, tmp_path / "dist", tell=said.append)

    assert (first.changed, second.changed) == (True, False)
    assert first.reference == second.reference
    assert said == []


def test_of_an_app_the_image_and_the_artifact_are_published(registry, tmp_path):
    plan = packaged(registry.host, tmp_path / "dist", "app", formats=("compose",))

    image, app = publish(plan, tmp_path / "dist")

    assert (image.kind, image.tag, app.kind, app.tag) == ("image", "1.2.0", "app", "app-1.2.0")
    digest = app.reference.partition("@")[2]
    manifest = httpx.get(
        f"http://{registry.host}/v2/apps/app/manifests/{digest}",
        headers={"Accept": "application/vnd.oci.image.manifest.v1+json"},
    ).json()
    assert manifest["artifactType"] == "application/vnd.fio+compose-app"


def test_a_tag_that_is_something_else_is_left_alone_unless_it_may_be_moved(registry, tmp_path):
    plan = packaged(registry.host, tmp_path / "dist", "moved")
    (first,) = publish(plan, tmp_path / "dist")
    other = packaged(registry.host, tmp_path / "other", "moved", {**TREE, "README.txt": b"other\n"})

    with pytest.raises(VerificationFailed) as refused:
        publish(other, tmp_path / "other")

    assert refused.value.evidence[0].endswith(first.reference.partition("@")[2])
    (moved,) = publish(other, tmp_path / "other", replace=True)
    assert moved.changed
    assert moved.reference != first.reference


class CutLine:
    """A way to the registry whose first connections break after so many bytes from the client."""

    def __init__(self, port, lengths):
        self.cut, self._port, self._lengths = 0, port, list(lengths)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._port))
            limit = self._lengths.pop(0) if self._lengths else None
            threading.Thread(target=self._pass, args=(client, server, limit), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, None), daemon=True).start()

    def _pass(self, source, sink, limit):
        passed = 0
        try:
            while data := source.recv(65536):
                passed += len(data)
                if limit is not None and passed > limit:
                    self.cut += 1
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.close()


def test_an_upload_over_a_line_that_breaks_goes_on_where_the_registry_is(registry, tmp_path, monkeypatch):
    monkeypatch.setattr(registry_upload, "_CHUNK", 1 << 20)
    monkeypatch.setattr(registry_upload, "_WAITS", (0.0, 0.0, 0.0, 0.0))
    line = CutLine(int(registry.host.rpartition(":")[2]), ((1 << 20) + (32 << 10), 700_000))
    plan = packaged(line.host, tmp_path / "dist", "cut", BIG)
    said = []

    (done,) = publish(plan, tmp_path / "dist", tell=said.append)

    line.close()
    digest = done.reference.partition("@")[2]
    assert line.cut == 2
    assert [word.partition("; ")[2] for word in said if "trying again" in word] == [
        "1.0 MB are there, trying again",
        "0.0 MB are there, trying again",
    ]
    there = httpx.head(
        f"http://{registry.host}/v2/cut/manifests/{digest}",
        headers={"Accept": "application/vnd.oci.image.manifest.v1+json"},
    )
    assert there.status_code == 200


def test_a_registry_that_is_not_there_is_told_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(registry_upload, "_WAITS", (0.0, 0.0, 0.0, 0.0))
    with socket.create_server(("127.0.0.1", 0)) as free:
        host = f"127.0.0.1:{free.getsockname()[1]}"
    plan = packaged(host, tmp_path / "dist", "absent")

    with pytest.raises(InputUnavailable) as refused:
        publish(plan, tmp_path / "dist")

    assert refused.value.what == f"{host}/absent cannot be reached"
    assert "again" in refused.value.fix


def test_without_a_login_with_a_wrong_one_and_with_the_right_one(tmp_path, monkeypatch):
    (tmp_path / "htpasswd").write_text(HTPASSWD)
    process, running = started(tmp_path, AUTH.format(path=tmp_path / "htpasswd"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    plan = packaged(running.host, tmp_path / "dist", "private")
    said = []
    try:
        for login in (None, b"reader:wr0ng", b"reader:s3cret"):
            auths = {running.host: {"auth": base64.b64encode(login).decode()}} if login else {}
            (tmp_path / "config.json").write_text(json.dumps({"auths": auths}))
            try:
                said.append(publish(plan, tmp_path / "dist")[0].changed)
            except InputUnavailable as refused:
                said.append(refused.render())
    finally:
        process.terminate()
        process.wait()

    anonymous, wrong, right = said
    for message in (anonymous, wrong):
        assert "the registry answered 401" in message
        assert f"docker login {running.host}" in message
    assert "wr0ng" not in wrong
    assert right is True


def test_a_package_that_is_not_written_yet_or_has_no_image_is_told(tmp_path):
    plan = packaged("registry.example.com", tmp_path / "dist", "late")

    with pytest.raises(InputUnavailable, match="is not there") as absent:
        publish(plan, tmp_path / "elsewhere")
    with pytest.raises(ManifestError, match="no target has a package") as nothing:
        publish(Plan(package=PACKAGE, targets=(target_plan(formats=("deb",)),), allow=()), tmp_path)

    assert "hexpack package" in absent.value.fix
    assert nothing.value.evidence == ("qcs9075: deb",)


def test_a_damaged_package_is_not_published(registry, tmp_path):
    plan = packaged(registry.host, tmp_path / "dist", "damaged")
    (path,) = (tmp_path / "dist").glob("*.tar")
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"schemaVersion":2}', b'"schemaVersion":3}', 1))

    with pytest.raises(InputUnavailable, match="damaged"):
        publish(plan, tmp_path / "dist")
