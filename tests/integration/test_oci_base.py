"""Images on top of images: the base comes out of a registry by its digest, and umoci unpacks the whole."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from packager.errors import InputUnavailable
from packager.facts.archive import read_archive
from packager.formats import by_id
from packager.sources.oci_image import fetch_image
from packager.store import Store
from tests.integration.registry import needs_registry, started
from tests.make.bundle import TREE, bundle_of, target_plan

pytestmark = needs_registry
BASE = {"etc/os-release": b"ID=tiny", "usr/lib/libc.so.6": b"C library", "usr/bin/env": b"env"}
SAID = {
    "variant": "v8",
    "config": {
        "Env": ["PATH=/bin", "LANG=C.UTF-8"],
        "Cmd": ["/bin/sh"],
        "User": "1000",
        "Labels": {"org.opencontainers.image.title": "tiny", "com.example.kept": "yes"},
    },
    "history": [{"created_by": "somebody"}],
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    process, running = started(tmp_path_factory.mktemp("registry"))
    yield running
    process.terminate()
    process.wait()


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def refused(registry, digest, store, architecture="arm64"):
    with pytest.raises(InputUnavailable) as raised:
        fetch_image(registry.reference(digest), architecture, store=store)
    return raised.value


def test_of_an_index_the_image_of_the_architecture_is_taken_and_then_needs_no_network(registry, store):
    arm = registry.image(BASE, **SAID)
    digest = registry.index(amd64=registry.image({"x": b"x"}, "amd64"), arm64=arm)

    fetched = fetch_image(registry.reference(digest), "arm64", store=store)

    assert fetched.image.config["variant"] == "v8"
    assert [layer.media_type for layer in fetched.image.layers] == [
        "application/vnd.oci.image.layer.v1.tar+gzip"
    ]
    assert fetched.document.origin == f"oci {registry.reference(digest)}"
    assert fetched.document.blob.sha256 == digest
    again = fetch_image(registry.reference(digest), "arm64", store=store, offline=True)
    assert again == fetched


def test_an_architecture_that_an_index_lacks_is_told_with_those_that_it_has(registry, store):
    digest = registry.index(amd64=registry.image({"x": b"x"}, "amd64"), s390x=registry.image(BASE, "s390x"))

    error = refused(registry, digest, store)

    assert error.evidence == ("wanted  linux/arm64", "found   linux/amd64, linux/s390x")


def test_an_image_of_another_architecture_is_refused_by_its_own_words(registry, store):
    image = registry.image(BASE, "amd64")

    error = refused(registry, image["digest"].removeprefix("sha256:"), store)

    assert error.evidence == ("wanted  linux/arm64", "found   linux/amd64")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"rootfs": {"type": "layers", "diff_ids": []}}, "does not fit its manifest"),
        ({"rootfs": 5}, "makes no sense"),
        ({"history": "long"}, "does not fit its manifest"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(registry, store, said, words):
    image = registry.image(BASE, **said)

    assert words in refused(registry, image["digest"].removeprefix("sha256:"), store).evidence[0]


def test_an_artifact_that_is_no_image_is_refused(registry, store):
    artifact = registry.manifest(registry.titled("model.onnx", b"model"))

    error = refused(registry, artifact, store)

    assert "octet-stream" in error.evidence[0]


def test_offline_no_registry_is_asked_for_a_base(store):
    with pytest.raises(InputUnavailable, match="offline nothing is fetched"):
        fetch_image(f"x.example/a@sha256:{'0' * 64}", "arm64", store=store, offline=True)


@pytest.fixture
def image(registry, store, tmp_path):
    """An image of the usual tree on the tiny base."""
    digest = registry.index(arm64=registry.image(BASE, **SAID))
    base = fetch_image(registry.reference(digest), "arm64", store=store).image
    bundle = bundle_of(TREE, tmp_path).model_copy(update={"base": base})
    plan = target_plan(formats=("oci",))
    path = tmp_path / "image.oci.tar"
    with path.open("w+b") as out:
        by_id("oci").write(plan, bundle, out, epoch=1_700_000_000)
    return path


@pytest.mark.skipif(shutil.which("umoci") is None, reason="umoci is missing")
def test_umoci_unpacks_the_base_and_the_package_above_it(image, tmp_path):
    (tmp_path / "layout").mkdir()
    subprocess.run(["tar", "-xf", image, "-C", tmp_path / "layout"], check=True)

    subprocess.run(
        ["umoci", "unpack", "--rootless", "--image", f"{tmp_path / 'layout'}:1.2.0", tmp_path / "bundle"],
        check=True, capture_output=True,
    )  # fmt: skip

    root = tmp_path / "bundle/rootfs"
    assert {path: (root / path).read_bytes() for path in BASE} == BASE
    assert (root / "usr/lib/text-direction/README.txt").read_bytes() == TREE["README.txt"]
    process = json.loads((tmp_path / "bundle/config.json").read_text())["process"]
    assert process["args"] == ["/usr/bin/text-direction"]
    assert {"PATH=/bin", "LANG=C.UTF-8"} <= set(process["env"])


@pytest.mark.skipif(shutil.which("skopeo") is None, reason="skopeo is missing")
def test_what_the_base_says_of_itself_is_not_said_of_the_whole(image):
    run = subprocess.run(
        ["skopeo", "inspect", "--config", f"oci-archive:{image}"], check=True, capture_output=True, text=True
    )

    said = json.loads(run.stdout)

    assert said["config"]["Labels"]["org.opencontainers.image.title"] == "text-direction"
    assert said["config"]["Labels"]["com.example.kept"] == "yes"
    assert said["config"]["Labels"]["org.opencontainers.image.base.digest"].startswith("sha256:")
    assert said["config"]["User"] == "1000"
    assert "Cmd" not in said["config"]
    assert len(said["history"]) == len(said["rootfs"]["diff_ids"]) == 2


def test_hexpacks_own_reader_finds_the_files_of_base_and_package(image):
    names = {member.name for member in read_archive(image).members}

    assert set(BASE) < names
    assert "usr/lib/text-direction/bin/hexrun" in names
