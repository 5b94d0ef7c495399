"""Models of the AI Hub through its own client, from a service on this machine; published ones from the web."""

from __future__ import annotations

import functools
import hashlib
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from packager.errors import HexpackError, InputUnavailable, ToolFailed
from packager.manifest_sources import AiHubModelSource, AiHubPublishedSource
from packager.sources import Fetched, Surroundings
from packager.sources.aihub import fetch_asset
from packager.sources.model_source import source_of
from packager.store import Store
from tests.make.aihub import TOKEN, Hub, running

pb = pytest.importorskip("qai_hub.public_api_pb2", reason="the AI Hub's client is an extra: hexpack[aihub]")
DLC = b"what a job made" * 5000
DIGEST = hashlib.sha256(DLC).hexdigest()


@pytest.fixture
def hub(tmp_path, monkeypatch) -> Iterator[Hub]:
    service = Hub()
    with running(service, tmp_path) as config:
        monkeypatch.setenv("QAIHUB_CLIENT_INI", str(config))
        yield service


def around(tmp_path: Path, *, offline: bool = False, pins: dict[str, str] | None = None) -> Surroundings:
    told: list[str] = []
    made = Surroundings(
        base=tmp_path,
        store=Store(tmp_path / "store"),
        pin_for=(pins or {}).get,  # type: ignore[arg-type]
        offline=offline,
        tell=told.append,
    )
    made.tell.__self__.clear()  # type: ignore[attr-defined]
    return made


def said(surroundings: Surroundings) -> str:
    return "\n".join(surroundings.tell.__self__)  # type: ignore[attr-defined]


def test_a_model_is_fetched_by_its_id_once_and_then_needs_no_hub(hub, tmp_path):
    identity = hub.add_model(DLC, "cls.dlc", "MODEL_TYPE_QNN_DLC")
    source = source_of(AiHubModelSource(aihub_model=identity))

    first = source.fetch(around(tmp_path))
    asked = len(hub.asked)
    again = source.fetch(around(tmp_path, offline=True))

    assert (first.blob.sha256, first.name, first.origin) == (DIGEST, "cls.dlc", source.describe())
    assert first.path.read_bytes() == DLC
    assert again == first
    assert len(hub.asked) == asked


def wait_for(hub: Hub, tmp_path: Path, **told: str) -> tuple[Surroundings, Fetched]:
    """Fetch what a job makes that has just begun."""
    source = hub.add_model(DLC, "model.onnx", "MODEL_TYPE_ONNX")
    job = pb.Job(compile_job=pb.CompileJob(model=pb.Model(model_id=source), name="cls"))
    place = around(tmp_path)
    found = fetch_asset("job", hub.add_job("compile_job", job, **told), pinned=None, around=place, poll=0.02)
    return place, found


def test_a_job_that_still_runs_is_waited_for_and_its_states_are_told(hub, tmp_path):
    hub.states = ("CREATED", "CREATED", "CREATED", "OPTIMIZING_MODEL", "OPTIMIZING_MODEL")

    place, found = wait_for(hub, tmp_path)

    assert found.blob.sha256 == DIGEST
    assert found.name == "cls.dlc"
    states = [
        line.rpartition(": ")[2] for line in said(place).splitlines() if "job j0" in line and ":" in line
    ]
    assert states == ["created", "optimizing model", "success"]


@pytest.mark.parametrize("trouble", [[0, 0], [503, 0, 502]], ids=["cut", "busy"])
def test_a_hub_that_stops_answering_for_a_while_loses_no_job(hub, tmp_path, trouble):
    hub.failing = trouble

    _, found = wait_for(hub, tmp_path)

    assert found.blob.sha256 == DIGEST
    assert not hub.failing


def test_a_job_that_failed_is_told_with_the_hubs_own_reason(hub, tmp_path):
    with pytest.raises(ToolFailed) as failed:
        wait_for(hub, tmp_path, failure="the operator Foo is not supported")

    assert "the operator Foo is not supported" in failed.value.render()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("another token", "Failed to authenticate"),
        ("no configuration", "qai-hub configure"),
        ("another pin", "is not the file that was pinned"),
        ("no such model", "may see it"),
    ],
)
def test_what_the_hub_does_not_give_is_said_without_the_login(hub, tmp_path, monkeypatch, change, words):
    identity = hub.add_model(DLC, "cls.dlc", "MODEL_TYPE_QNN_DLC")
    config = tmp_path / "client.ini"
    pins: dict[str, str] = {}
    if change == "another token":
        config.write_text(config.read_text().replace(TOKEN, "another-token"))
    elif change == "no configuration":
        monkeypatch.setenv("QAIHUB_CLIENT_INI", str(tmp_path / "none.ini"))
    elif change == "another pin":
        pins[f"aihub model {identity}"] = "0" * 64
    else:
        identity = "mnosuchmodel"

    with pytest.raises(HexpackError) as refused:
        source_of(AiHubModelSource(aihub_model=identity)).fetch(around(tmp_path, pins=pins))

    assert words in refused.value.render()
    assert "token-" not in refused.value.render()
    assert not list((tmp_path / "store" / "blobs").rglob("*"))


def test_a_python_without_the_client_is_said_with_what_to_install(hub, tmp_path, monkeypatch):
    empty = tmp_path / "python"
    empty.write_text('#!/bin/sh\nexec python3 -S -E "$@"\n')
    empty.chmod(0o755)
    monkeypatch.setenv("HEXPACK_AIHUB_PYTHON", str(empty))

    with pytest.raises(ToolFailed) as refused:
        fetch_asset("model", "mabc", pinned=None, around=around(tmp_path))

    assert "hexpack[aihub]" in refused.value.fix


@pytest.fixture
def published(tmp_path, monkeypatch) -> Path:
    """The folder of a web server that stands for the published models."""
    root = tmp_path / "web"
    release = root / "qai-hub-models" / "models" / "mobilenet_v2" / "releases" / "v0.65.0"
    release.mkdir(parents=True)
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(SimpleHTTPRequestHandler, directory=str(root))
    )
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setenv("HEXPACK_AIHUB_STORE", f"http://127.0.0.1:{server.server_port}")
    yield release
    server.shutdown()
    server.server_close()


def archive(path: Path, *models: str) -> None:
    with zipfile.ZipFile(path, "w") as out:
        for name in (*models, "metadata.yaml"):
            out.writestr(f"mobilenet_v2-qnn_dlc-float/{name}", f"{name} in {path.name}")


def test_a_published_model_is_named_pinned_by_its_archive_and_then_needs_no_web(published, tmp_path):
    archive(published / "mobilenet_v2-qnn_dlc-float.zip", "mobilenet_v2.dlc")
    archive(published / "mobilenet_v2-qnn_dlc-w8a8-qualcomm_snapdragon_8gen3.zip", "mobilenet_v2.dlc")
    plain = AiHubPublishedSource(aihub="mobilenet_v2", release="0.65.0", runtime="qnn_dlc", precision="float")
    for_chip = plain.model_copy(update={"precision": "w8a8", "chipset": "qualcomm-snapdragon-8gen3"})

    first = source_of(plain).fetch(around(tmp_path))
    of_chip = source_of(for_chip).fetch(around(tmp_path))
    for left in published.iterdir():
        left.unlink()
    again = source_of(plain).fetch(around(tmp_path, offline=True))

    assert first.name == "mobilenet_v2.dlc"
    assert first.path.read_text() == "mobilenet_v2.dlc in mobilenet_v2-qnn_dlc-float.zip"
    assert of_chip.path.read_text().endswith("qualcomm_snapdragon_8gen3.zip")
    assert first.within is not None
    assert first.within.origin == "aihub mobilenet_v2 0.65.0 qnn_dlc float"
    assert again == first


def test_an_archive_of_several_models_wants_the_name_of_one_and_another_archive_is_refused(
    published, tmp_path
):
    path = published / "mobilenet_v2-qnn_dlc-float.zip"
    archive(path, "encoder.dlc", "decoder.dlc")
    source = AiHubPublishedSource(
        aihub="mobilenet_v2", release="0.65.0", runtime="qnn_dlc", precision="float"
    )
    named = source.model_copy(update={"file": "mobilenet_v2-qnn_dlc-float/decoder.dlc"})

    with pytest.raises(InputUnavailable) as several:
        source_of(source).fetch(around(tmp_path))
    found = source_of(named).fetch(around(tmp_path))
    pins = {source_of(source).describe(): "0" * 64}
    with pytest.raises(InputUnavailable) as another:
        source_of(named).fetch(around(tmp_path, pins=pins))

    assert "encoder.dlc" in several.value.render()
    assert found.name == "decoder.dlc"
    assert "is not the file that was pinned" in another.value.what
