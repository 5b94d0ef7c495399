"""Debian's docker-registry on this machine, and what tests put into it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import socket
import subprocess
import tarfile
import time

import httpx
import pytest

needs_registry = pytest.mark.skipif(
    shutil.which("docker-registry") is None, reason="docker-registry is missing"
)
CONFIG = """version: 0.1
log: {{accesslog: {{disabled: true}}, level: error}}
storage: {{filesystem: {{rootdirectory: {root}}}}}
http: {{addr: 127.0.0.1:{port}}}
"""
AUTH = "auth: {{htpasswd: {{realm: models, path: {path}}}}}\n"
# bcrypt of "s3cret", the only kind that the registry takes
HTPASSWD = "reader:$2b$05$abcdefghijklmnopqrstuuLK7U1u6pVRmL7L1BBM2aS35PSZnDXlK\n"


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Registry:
    def __init__(self, port):
        self.host = f"127.0.0.1:{port}"
        self.root = f"http://{self.host}/v2/models/cls"

    def push(self, data):
        """A blob in one request, as the distribution specification has it."""
        begun = httpx.post(f"{self.root}/blobs/uploads/")
        httpx.put(f"{begun.headers['Location']}&digest=sha256:{sha(data)}", content=data).raise_for_status()
        return {"digest": f"sha256:{sha(data)}", "size": len(data)}

    def manifest(self, *layers):
        """The digest of a manifest with these layers."""
        kind = "application/vnd.oci.image.manifest.v1+json"
        config = self.push(b"{}") | {"mediaType": "application/vnd.oci.empty.v1+json"}
        content = json.dumps(
            {"schemaVersion": 2, "mediaType": kind, "config": config, "layers": list(layers)}
        ).encode()
        answer = httpx.put(
            f"{self.root}/manifests/sha256:{sha(content)}", content=content, headers={"Content-Type": kind}
        )
        answer.raise_for_status()
        return sha(content)

    def document(self, content, kind):
        """The digest of a manifest or index with this content."""
        content = json.dumps(content).encode()
        httpx.put(
            f"{self.root}/manifests/sha256:{sha(content)}", content=content, headers={"Content-Type": kind}
        ).raise_for_status()
        return {"digest": f"sha256:{sha(content)}", "size": len(content), "mediaType": kind}

    def image(self, files, architecture="arm64", **said):
        """An image of one layer: the descriptor of its manifest. `said` replaces parts of its configuration."""
        kind = "application/vnd.oci.image.manifest.v1+json"
        layer = self.tar(files)
        inside = gzip.decompress(httpx.get(f"{self.root}/blobs/{layer['digest']}").content)
        config = {
            "architecture": architecture,
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha(inside)}"]},
        } | said
        return self.document(
            {
                "schemaVersion": 2,
                "mediaType": kind,
                "config": self.push(json.dumps(config).encode())
                | {"mediaType": "application/vnd.oci.image.config.v1+json"},
                "layers": [layer],
            },
            kind,
        )

    def index(self, **images):
        """The digest of an index: manifests by architecture."""
        kind = "application/vnd.oci.image.index.v1+json"
        manifests = [
            image | {"platform": {"os": "linux", "architecture": name}} for name, image in images.items()
        ]
        content = {"schemaVersion": 2, "mediaType": kind, "manifests": manifests}
        return self.document(content, kind)["digest"].removeprefix("sha256:")

    def titled(self, name, data):
        return self.push(data) | {
            "mediaType": "application/octet-stream",
            "annotations": {"org.opencontainers.image.title": name},
        }

    def tar(self, files):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name, data in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        kind = "application/vnd.oci.image.layer.v1.tar+gzip"
        return self.push(packed.getvalue()) | {"mediaType": kind}

    def reference(self, digest):
        return f"{self.host}/models/cls@sha256:{digest}"


def started(tmp_path, extra=""):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = tmp_path / "registry.yml"
    config.write_text(CONFIG.format(root=tmp_path / "registry", port=port) + extra)
    process = subprocess.Popen(
        ["docker-registry", "serve", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for _ in range(200):
        try:
            httpx.get(f"http://127.0.0.1:{port}/v2/")
            return process, Registry(port)
        except httpx.TransportError:
            assert process.poll() is None
            time.sleep(0.05)
    raise AssertionError("the registry does not answer")
