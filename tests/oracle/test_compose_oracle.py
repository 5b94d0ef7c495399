"""A reader of the Compose specification and skopeo judge our Compose apps."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile

import compose_spec
import pytest

from packager.bundle import HostFile
from packager.facts.archive import read_archive
from packager.files import Blob
from tests.make.bundle import TREE, target_plan, whole_bundle

OCI = {"repository": "registry.example.com/vision/text-direction"}


def planned(**compose):
    return target_plan(formats=("oci", "compose"), own={"oci": OCI, "compose": compose})


@pytest.fixture
def unpacked(write, tmp_path):
    """The files of an app by their names, for settings of [formats.compose]."""

    def made(plan, bundle=None):
        package = write("compose", plan, bundle or whole_bundle(tmp_path))
        with tarfile.open(package) as archive:
            return {info.name: archive.extractfile(info).read() for info in archive}

    return made


def service_of(files, name="text-direction"):
    """The service as the specification reads it, with variables replaced as Compose does first."""
    text = re.sub(r"\$\{\w+:-(\w*)\}", r"\1", files["docker-compose.yml"].decode()).replace("$$", "$")
    app = compose_spec.PyCompose.from_yaml(text)
    app.validate()
    return app.get_service(name).model_dump(exclude_none=True, mode="json")


def test_the_service_has_the_image_by_digest_the_devices_and_the_hosts_files_for_reading(unpacked):
    files = unpacked(planned())

    service = service_of(files)

    image = json.loads(files["index.json"])["manifests"][0]["digest"]
    assert service["image"] == f"registry.example.com/vision/text-direction@{image}"
    assert service["command"] == ["--doctor"]
    text = json.dumps(service)
    for node in ("/dev/fastrpc-cdsp", "/dev/dma_heap/system"):
        assert node in text
    mounts = {mount["source"]: mount for mount in service["volumes"]}
    assert mounts["/usr/lib/libcdsprpc.so.1"]["target"] == "/usr/lib/libcdsprpc.so"
    assert all(mount["read_only"] for mount in mounts.values())
    assert files["docker-compose.yml"].count(b"create_host_path: false") == len(mounts) == 2
    assert "/usr/lib/text-direction/dsp" in json.dumps(service["environment"])


def test_the_users_words_reach_the_container_as_they_are(unpacked):
    plan = planned(
        command=("--input", "x=$HOME: a\"'b"),
        environment={"GREETING": "100 % $ür"},
        volumes={"/data": "/var/lib/text-direction"},
        transport="image",
        restart="unless-stopped",
    )

    service = service_of(unpacked(plan))

    assert service["command"] == ["--input", "x=$HOME: a\"'b"]
    assert "100 % $ür" in json.dumps(service["environment"], ensure_ascii=False)
    assert {mount["target"] for mount in service["volumes"]} == {"/usr/share/qcom", "/data"}
    assert service["restart"] == "unless-stopped"


def test_libraries_that_the_device_has_to_hold_are_mounted(unpacked, tmp_path):
    held = HostFile(path="/usr/lib/libQnnHtp.so", role="backend", blob=Blob(sha256="0" * 64, size=1))
    bundle = whole_bundle(tmp_path).model_copy(update={"required": (held,)})

    service = service_of(unpacked(planned(), bundle))

    assert "/usr/lib/libQnnHtp.so" in {mount["target"] for mount in service["volumes"]}


def test_an_app_for_the_simulator_asks_the_host_for_nothing(unpacked):
    plan = target_plan(abi="x86_64-linux-clang", formats=("compose",), own={"oci": OCI}, name="simulator")

    files = unpacked(plan)

    service = service_of(files)
    assert not {"devices", "volumes", "group_add"} & {key for key, value in service.items() if value}
    assert json.loads(files["host-requirements.json"])["devices"] == []


def test_the_app_is_an_artifact_with_the_same_compose_file(unpacked):
    files = unpacked(planned())

    descriptor = json.loads(files["index.json"])["manifests"][1]
    manifest = json.loads(files[descriptor["digest"].replace("sha256:", "blobs/sha256/")])

    assert manifest["artifactType"] == "application/vnd.fio+compose-app"
    assert manifest["annotations"] == {"compose-app": "v1"}
    (layer,) = manifest["layers"]
    packed = files[layer["digest"].replace("sha256:", "blobs/sha256/")]
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as archive:
        assert archive.getnames() == ["docker-compose.yml"]
        assert archive.extractfile("docker-compose.yml").read() == files["docker-compose.yml"]


def test_the_image_is_that_of_the_oci_package_and_skopeo_takes_it_out_of_the_app(tool, write, tmp_path):
    plan, bundle = planned(), whole_bundle(tmp_path)
    app, image = write("compose", plan, bundle), write("oci", plan, bundle)

    digests = [
        hashlib.sha256(
            tool("skopeo")("inspect", "--raw", f"oci-archive:{path}:1.2.0").encode().rstrip()
        ).hexdigest()
        for path in (app, image)
    ]

    assert digests[0] == digests[1]


def test_every_file_of_the_tree_is_in_the_app(write, tmp_path):
    names = {
        member.name for member in read_archive(write("compose", planned(), whole_bundle(tmp_path))).members
    }

    assert {f"linux/arm64/usr/lib/text-direction/{path}" for path in TREE} <= names


def test_the_readme_names_what_the_host_must_have(unpacked):
    files = unpacked(planned(repository="registry.example.com/apps/text-direction"))

    readme = files["README.md"].decode()

    needs = json.loads(files["host-requirements.json"])
    assert all(f"`{path}`" in readme for path in (*needs["devices"], *needs["files"]))
    assert "skopeo copy oci:.:1.2.0 docker://registry.example.com/vision/text-direction:1.2.0" in readme
    app = json.loads(files["index.json"])["manifests"][1]["digest"]
    assert f"registry.example.com/apps/text-direction@{app}" in readme
