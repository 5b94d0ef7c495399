"""Artifacts and images out of Debian's docker-registry on this machine."""

from __future__ import annotations

import json

import pytest

from packager.errors import InputUnavailable
from packager.sources.oci import fetch_oci
from packager.store import Store
from tests.integration.registry import AUTH, HTPASSWD, needs_registry, sha, started

pytestmark = needs_registry


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    process, running = started(tmp_path_factory.mktemp("registry"))
    yield running
    process.terminate()
    process.wait()


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def refused(*arguments, **options):
    with pytest.raises(InputUnavailable) as raised:
        fetch_oci(*arguments, **options)
    return raised.value


def test_the_layer_of_an_artifact_is_fetched_by_its_title_and_then_needs_no_network(registry, store):
    digest = registry.manifest(registry.titled("a.onnx", b"A"), registry.titled("b.onnx", b"B"))

    fetched = fetch_oci(registry.reference(digest), "b.onnx", store=store)

    assert fetched.path.read_bytes() == b"B"
    assert (fetched.origin, fetched.name) == (f"oci {registry.reference(digest)}: b.onnx", "b.onnx")
    assert fetch_oci(registry.reference(digest), "b.onnx", store=store, offline=True) == fetched


def test_a_blob_and_an_artifact_of_one_layer_need_no_title(registry, store):
    layer = registry.titled("a.onnx", b"alone")
    manifest = registry.manifest(layer)

    by_blob = fetch_oci(registry.reference(layer["digest"].partition(":")[2]), None, store=store)
    by_manifest = fetch_oci(registry.reference(manifest), None, store=store)

    assert by_blob.blob == by_manifest.blob
    assert by_blob.blob.sha256 == sha(b"alone")


def test_a_file_of_an_image_is_that_of_the_last_layer_that_has_it(registry, store):
    lower = registry.tar({"models/cls.onnx": b"old", "etc/x": b"x"})
    upper = registry.tar({"./models/cls.onnx": b"new"})
    digest = registry.manifest(lower, upper)

    fetched = fetch_oci(registry.reference(digest), "models/cls.onnx", store=store)
    below = fetch_oci(registry.reference(digest), "/etc/x", store=store)

    assert (fetched.path.read_bytes(), below.path.read_bytes()) == (b"new", b"x")


def test_several_layers_without_a_file_and_a_file_in_none_are_told(registry, store):
    digest = registry.manifest(registry.titled("a.onnx", b"A"), registry.titled("b.onnx", b"B"))

    unsaid = refused(registry.reference(digest), None, store=store)
    absent = refused(registry.reference(digest), "bb.onnx", store=store)

    assert unsaid.evidence == ("a.onnx", "b.onnx")
    assert absent.evidence == ('nearest: "b.onnx"',)


def test_what_the_registry_does_not_have_is_told_by_its_answer(registry, store):
    error = refused(registry.reference("0" * 64), None, store=store)

    assert "404" in error.evidence[0]


def test_offline_no_registry_is_asked(store):
    assert (
        "offline nothing is fetched"
        in refused(f"x.example/a@sha256:{'0' * 64}", None, store=store, offline=True).what
    )


def test_a_registry_that_wants_a_login_gets_that_of_dockers_configuration(tmp_path, store, monkeypatch):
    (tmp_path / "htpasswd").write_text(HTPASSWD)
    process, running = started(tmp_path, AUTH.format(path=tmp_path / "htpasswd"))
    try:
        monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
        reference = running.reference("0" * 64)

        anonymous = refused(reference, None, store=store)
        (tmp_path / "config.json").write_text(
            json.dumps({"auths": {running.host: {"auth": "cmVhZGVyOnMzY3JldA=="}}})
        )
        known = refused(reference, None, store=store)
    finally:
        process.terminate()
        process.wait()

    assert anonymous.evidence == ("the registry answered 401",)
    assert "404" in known.evidence[0]
    assert "s3cret" not in known.render()
