"""skopeo and umoci judge our container images."""

from __future__ import annotations

import json

import pytest

from packager.facts.archive import read_archive
from tests.make.bundle import TREE, bundle_of, target_plan, whole_bundle

ROLES = {"dsp/libSkel.so": "skel", "lib/libBackend.so": "backend", "share/models/qcs9075.bin": "context"}


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_skopeo_reads_what_the_image_says_of_itself(tool, write, tmp_path, compression):
    own = {"oci": {"compression": compression, "labels": {"com.example.team": "vision"}}}
    plan = target_plan(formats=("oci",), own=own)
    image = write("oci", plan, bundle_of(TREE, tmp_path, roles=ROLES))

    said = json.loads(tool("skopeo")("inspect", f"oci-archive:{image}"))
    config = json.loads(tool("skopeo")("inspect", "--config", f"oci-archive:{image}"))

    assert (said["Architecture"], said["Os"], said["Created"]) == ("arm64", "linux", "2023-11-14T22:13:20Z")
    assert said["Labels"]["com.example.team"] == "vision"
    assert said["Labels"]["org.opencontainers.image.version"] == "1.2.0"
    assert said["Labels"]["hexpack.socs"] == "qcs9075"
    assert config["config"]["Entrypoint"] == ["/usr/bin/text-direction"]
    assert [step["comment"] for step in config["history"]] == [
        "device libraries of QAIRT 2.51.0", "models", "application",
    ]  # fmt: skip


def test_skopeo_copies_the_image_under_its_tag_and_finds_every_digest_right(tool, write, tmp_path):
    image = write("oci", target_plan(formats=("oci",), name="rb3gen2"), whole_bundle(tmp_path))

    tool("skopeo")("copy", f"oci-archive:{image}:1.2.0-rb3gen2", f"oci:{tmp_path / 'layout'}:copied")

    index = json.loads((tmp_path / "layout/index.json").read_text())
    assert index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"] == "copied"


def test_umoci_unpacks_every_byte_in_its_place(tool, write, tmp_path):
    big = {**TREE, "share/models/big.bin": bytes(range(251)) * 20_000}
    image = write("oci", target_plan(formats=("oci",)), bundle_of(big, tmp_path, roles=ROLES))
    tool("tar")("-xf", image, "-C", _made(tmp_path / "layout"))

    tool("umoci")("unpack", "--rootless", "--image", f"{tmp_path / 'layout'}:1.2.0", tmp_path / "bundle")

    root = tmp_path / "bundle/rootfs/usr"
    assert {path: (root / "lib/text-direction" / path).read_bytes() for path in big} == big
    assert (root / "bin/text-direction").readlink().as_posix() == "../lib/text-direction/bin/hexrun"
    assert (root / "lib/text-direction/bin/hexrun").stat().st_mode & 0o777 == 0o755


def test_hexpacks_own_reader_finds_the_files_of_all_layers(write, tmp_path):
    image = write("oci", target_plan(formats=("oci",)), bundle_of(TREE, tmp_path, roles=ROLES))

    facts = read_archive(image)

    assert facts.format == "oci"
    assert {member.name: member.size for member in facts.members if not member.link} == {
        f"usr/lib/text-direction/{path}": len(content) for path, content in TREE.items()
    }


def _made(folder):
    folder.mkdir()
    return folder
