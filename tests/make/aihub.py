"""A small AI Hub on this machine: the service's addresses, spoken with the messages of its own client."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "a-token-that-nobody-may-print"
Make = Callable[[str, bytes, str, str], bytes]


@dataclass
class Hub:
    """What the service knows. `make` gives what a job makes: kind of job, its input, its options, the device."""

    make: Make = lambda kind, model, options, device: model
    devices: dict[str, list[str]] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    datasets: dict[str, bytes] = field(default_factory=dict)
    failing: list[int] = field(default_factory=list)  # answers 503 or cuts the connection (0), once each
    asked: list[str] = field(default_factory=list)
    states: tuple[str, ...] = ("CREATED", "OPTIMIZING_MODEL")
    root: str = ""

    def add_model(self, content: bytes, name: str, kind: str, producer: str = "") -> str:
        identity = f"m{len(self.models):08d}"
        self.models[identity] = {"content": content, "name": name, "kind": kind, "producer": producer}
        return identity

    def add_job(self, kind: str, job: Any, failure: str = "") -> str:
        identity = f"j{len(self.jobs):08d}"
        self.jobs[identity] = {"kind": kind, "job": job, "left": list(self.states), "failure": failure}
        return identity


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def do_PATCH(self) -> None:
        self._serve("PATCH")

    def _serve(self, method: str) -> None:
        import qai_hub.public_api_pb2 as pb

        hub, parts = self.server.hub, urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        hub.asked.append(f"{method} {parts.path}")
        if hub.failing and parts.path.startswith("/api/"):
            status = hub.failing.pop(0)
            if status == 0:
                self.close_connection = True
                self.connection.close()
                return
            self._reply(status, b"try again")
            return
        if parts.path.startswith("/store/"):
            self._store(method, parts.path.removeprefix("/store/"), body)
            return
        if self.headers.get("Authorization") != f"token {TOKEN}":
            self._reply(401, b"no such token")
            return
        path = parts.path.removeprefix("/api/v1/").rstrip("/")
        answer = _answer(pb, hub, method, path, body, parse_qs(parts.query))
        if answer is None:
            self._reply(404, b"not found")
        else:
            self._reply(200, answer.SerializeToString(), "application/x-protobuf")

    def _store(self, method: str, identity: str, body: bytes) -> None:
        hub = self.server.hub
        if method == "GET":
            self._reply(200, hub.models[identity]["content"])
            return
        if identity.startswith("d"):
            hub.datasets[identity] = body
        else:
            hub.models[identity]["content"] = body
        self._reply(200, b"", ETag='"part"')

    def _reply(
        self, status: int, body: bytes, kind: str = "application/octet-stream", **headers: str
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    hub: Hub


def _answer(pb: Any, hub: Hub, method: str, path: str, body: bytes, query: dict[str, list[str]]) -> Any:
    kind, _, rest = path.partition("/")
    identity, _, action = rest.partition("/")
    if kind == "devices":
        wanted = set(query.get("attributes", []))
        fitting = [name for name, has in hub.devices.items() if wanted <= set(has)][:1]
        return pb.DeviceList(
            devices=[pb.Device(name=name, os="", attributes=hub.devices[name]) for name in fitting]
        )
    if kind == "models" and method == "POST" and not identity:
        asked = pb.Model.FromString(body)
        made = hub.add_model(b"", asked.name, pb.ModelType.Name(asked.model_type))
        return pb.CreateUpdateResponse(id=made)
    if kind == "models" and identity in hub.models:
        return _of_model(pb, hub, identity, action, method)
    if kind == "datasets":
        return _of_dataset(pb, hub, identity, action, method)
    if kind == "jobs" and method == "POST":
        job = pb.Job.FromString(body)
        return pb.CreateUpdateResponse(id=hub.add_job(job.WhichOneof("job"), job))
    if kind == "jobs" and identity in hub.jobs:
        return _job(pb, hub, identity)
    return None


def _of_model(pb: Any, hub: Hub, identity: str, action: str, method: str) -> Any:
    known, address = hub.models[identity], f"{hub.root}/store/{identity}"
    if action == "multipart_upload" and method == "GET":
        urls = pb.FileMultipartUploadURL(urls=[address], upload_id="u", max_part_size=1 << 30)
        return pb.FileUploadResponse(multipart_url=urls)
    if action == "download":
        return pb.FileDownloadResponse(
            url=pb.FileDownloadURL(url=f"{address}?signature=secret", filename=known["name"])
        )
    if method != "GET":
        return pb.CreateUpdateResponse(id=identity)
    key = pb.ModelMetadataKey.MODEL_METADATA_KEY_QAIRT_SDK_VERSION
    return pb.Model(
        model_id=identity,
        name=known["name"],
        model_type=pb.ModelType.Value(known["kind"]),
        producer_id=known["producer"],
        metadata=pb.ModelMetadata(entries={key: "2.51.0.260929"}),
    )


def _of_dataset(pb: Any, hub: Hub, identity: str, action: str, method: str) -> Any:
    if not identity:
        made = f"d{len(hub.datasets):08d}"
        hub.datasets[made] = b""
        return pb.CreateUpdateResponse(id=made)
    if action == "upload_url" and method == "GET":
        url = pb.FileUploadURL(url=f"{hub.root}/store/{identity}", file_field_name="file")
        return pb.FileUploadResponse(url=url)
    return pb.CreateUpdateResponse(id=identity)


def _job(pb: Any, hub: Hub, identity: str) -> Any:
    """The job, one state further each time it is asked for; what it makes is made at its end."""
    known = hub.jobs[identity]
    job, kind = pb.Job(), known["kind"]
    job.CopyFrom(known["job"])
    inner = getattr(job, kind)
    setattr(inner, f"{kind}_id", identity)
    if known["left"]:
        inner.job_state = pb.JobState.Value(f"JOB_STATE_{known['left'].pop(0)}")
    elif known["failure"]:
        inner.job_state, inner.failure_reason = pb.JobState.Value("JOB_STATE_FAILED"), known["failure"]
    else:
        inner.job_state = pb.JobState.Value("JOB_STATE_DONE")
        if "made" not in known:
            known["made"] = _make(hub, identity, kind, inner)
    made = known.get("made") or known.setdefault(
        "target", hub.add_model(b"", "waiting.dlc", "MODEL_TYPE_QNN_DLC", identity)
    )
    inner.target_model.model_id, inner.target_model.name = made, hub.models[made]["name"]
    inner.target_model.producer_id = identity
    return job


def _make(hub: Hub, identity: str, kind: str, inner: Any) -> str:
    source = inner.models.models[0] if kind == "link_job" else inner.model
    device = inner.device.name if kind == "link_job" else ""
    content = hub.make(kind, hub.models[source.model_id]["content"], inner.options, device)
    suffix = {"link_job": "bin", "compile_job": "dlc", "quantize_job": "onnx"}[kind]
    word = {"bin": "QNN_CONTEXT_BINARY", "dlc": "QNN_DLC", "onnx": "ONNX"}[suffix]
    stem = re.sub(r"\.\w+$", "", inner.name or "model")
    made = hub.jobs[identity].get("target") or hub.add_model(b"", "", "", identity)
    hub.models[made] |= {"content": content, "name": f"{stem}.{suffix}", "kind": f"MODEL_TYPE_{word}"}
    return str(made)


@contextmanager
def running(hub: Hub, folder: Path) -> Iterator[Path]:
    """The service, for as long as the block; gives the client's configuration file."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.hub = hub
    hub.root = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    config = folder / "client.ini"
    config.write_text(
        f"[api]\napi_url = {hub.root}\nweb_url = {hub.root}\napi_token = {TOKEN}\nverbose = false\n"
    )
    try:
        yield config
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)
