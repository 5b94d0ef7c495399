"""The example for devices in the field, from its manifest into a registry, with a base out of the same registry."""

from __future__ import annotations

import json
import subprocess
import tarfile
import tomllib

import httpx
import pytest

from packager.audit import audit
from packager.facts.archive import read_archive
from tests.integration.program import ROOT, run
from tests.integration.registry import needs_registry, started
from tests.make.elf import shared_library

pytestmark = needs_registry
EXAMPLE = ROOT / "examples" / "iot-gateway" / "app.toml"
STEM = "text-direction-gateway-1.0.0-linux-arm64"
EXTENSIONS = ("-compose.tar", "-meta.tar.gz", ".mender", ".oci.tar", ".raucb", ".swu")
LIBRARIES = (
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libatomic.so.1",
    "libgcc_s.so.1",
    "ld-linux-aarch64.so.1",
)
BASE = {
    "etc/os-release": b"ID=tiny\n",
    "usr/lib/libc.so.6": b"GNU C Library (tiny) stable release version 2.41.\n",
    "usr/lib/libstdc++.so.6": b"GLIBCXX_3.4.33\0",
    **{f"usr/lib/{name}": shared_library(build=None, soname=name) for name in LIBRARIES},
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    process, running = started(tmp_path_factory.mktemp("registry"))
    yield running
    process.terminate()
    process.wait()


@pytest.fixture(scope="module")
def manifest(registry, tmp_path_factory):
    """The example's manifest, with the registry of the test in the place of those that it names."""
    digest = registry.index(arm64=registry.image(BASE))
    (base,) = (line for line in EXAMPLE.read_text().splitlines() if line.startswith("base = "))
    text = EXAMPLE.read_text().replace(base, f'base = "{registry.reference(digest)}"')
    path = tmp_path_factory.mktemp("example") / "app.toml"
    path.write_text(
        text.replace("registry.example.com", registry.host).replace(
            "../text-direction", str(ROOT / "examples/text-direction")
        )
    )
    return path


@pytest.fixture(scope="module")
def built(manifest, store):
    """(output folder, report) of the example."""
    out = manifest.parent / "dist"
    done = run(
        "package", "--manifest", str(manifest), "--out", str(out), "--json", HEXPACK_STORE=str(store.root)
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return out, json.loads(done.stdout)


def test_the_example_gives_all_packages_without_a_finding(built):
    out, report = built

    assert sorted(path.name for path in out.iterdir()) == sorted(STEM + end for end in EXTENSIONS)
    assert report["findings"] == []
    assert not report["refused"]


def test_the_lock_pins_the_base_and_a_run_without_network_gives_the_same_bytes(
    built, manifest, store, tmp_path
):
    out, _ = built

    again = run(
        "package", "--manifest", str(manifest), "--out", str(tmp_path / "dist"), "--locked", "--offline", "--json",
        HEXPACK_STORE=str(store.root),
    )  # fmt: skip

    assert again.returncode == 0, again.stderr
    base = tomllib.loads(manifest.read_text())["formats"]["oci"]["base"]
    assert f'origin = "oci {base}"' in manifest.with_suffix(".lock").read_text()
    for path in out.iterdir():
        assert path.read_bytes() == (tmp_path / "dist" / path.name).read_bytes()


def test_the_image_holds_the_base_and_the_package_and_an_audit_finds_nothing(built):
    out, _ = built

    names = {member.name for member in read_archive(out / f"{STEM}.oci.tar").members}
    report = audit(out / f"{STEM}.oci.tar")

    assert set(BASE) < names
    assert "usr/lib/text-direction-gateway/dsp/libQnnHtpV73Skel.so" in names
    assert [(finding.rule, finding.file) for one in report.sets for finding in one.findings] == []


def test_publishing_puts_image_and_app_where_the_compose_file_says_and_the_second_time_nothing(
    built, manifest, registry
):
    out, _ = built
    command = ("publish", "--manifest", str(manifest), "--out", str(out), "--json")

    first, second = (json.loads(run(*command).stdout)["published"] for _ in range(2))

    with tarfile.open(out / f"{STEM}-compose.tar") as app:
        compose = app.extractfile("docker-compose.yml").read().decode()
    (image,) = {one["reference"] for one in first if one["kind"] == "image"}
    assert f"image: {image}\n" in compose
    assert [one["changed"] for one in first] == [True, False, True]
    assert [one["changed"] for one in second] == [False, False, False]
    host, _, name = image.partition("/")
    repository, _, digest = name.partition("@")
    there = httpx.head(
        f"http://{host}/v2/{repository}/manifests/{digest}",
        headers={"Accept": "application/vnd.oci.image.manifest.v1+json"},
    )
    assert there.status_code == 200


def test_the_layer_carries_the_tree_that_the_report_lists(built, tmp_path):
    out, report = built

    subprocess.run(["tar", "-xzf", out / f"{STEM}-meta.tar.gz", "-C", tmp_path], check=True)

    (sums,) = tmp_path.rglob("SHA256SUMS")
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], check=True, cwd=sums.parent)
    listed = {file["path"] for target in report["targets"] for file in target["files"]}
    there = {path.relative_to(sums.parent).as_posix() for path in sums.parent.rglob("*") if path.is_file()}
    assert listed == there
