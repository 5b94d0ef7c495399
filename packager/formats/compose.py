"""`compose`: an app of one container for Foundries.io and every Docker Compose, with its image beside it.

One tar is both: a folder with `docker-compose.yml`, and an OCI image layout with the image that it names by
digest and the app as an artifact, so that nothing has to be built or resolved where it is published or
installed. Source: Compose specification; composeapp of Foundries.io for the artifact; field reports P5-13 and
P5-14 for what belongs to whom: the host owns the FastRPC library, the DSP's shells and C++ library and the
configuration of boards, the container owns QNN.
"""

from __future__ import annotations

import io
import json
from typing import Any, BinaryIO

from packager import catalog
from packager.bundle import Bundle
from packager.formats.gzip_stream import gzip_stream
from packager.formats.installed import home
from packager.formats.members import Member, planned_name
from packager.formats.oci import tag_of, write_image
from packager.formats.oci_layout import IMAGE_MANIFEST, Layout
from packager.formats.tar_stream import write_tar
from packager.layouts import layout_of
from packager.manifest_formats import IN_IMAGE
from packager.plan_model import PackagePlan, TargetPlan
from packager.templating import fill

FILE = "docker-compose.yml"
APP = "application/vnd.fio+compose-app"
_EMPTY = "application/vnd.oci.empty.v1+json"
# A group of the host may use the DSP. Its number differs, and the image knows no such name; 0 adds nothing.
_GROUP = "${FASTRPC_GID:-0}"
_IN_THE_CONTAINER = "/usr/lib"  # searched by every loader, wherever the host keeps its libraries


class Compose:
    """`docker-compose.yml` with its documents, the image and the app's artifact in one OCI layout."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "compose")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the app. Raises InputUnavailable when a file changed since it was staged.

        Raises ManifestError for an ABI that container images have no architecture for.
        """
        package = plan.package_of("compose")
        layout = Layout(out, epoch)
        image = write_image(layout, plan, package, bundle, epoch=epoch)
        service = service_of(plan, package, bundle, image["digest"])
        text = compose_text(plan, service).encode()
        app = _write_app(layout, plan, package, text, epoch)
        for name, content in {
            ".composeappignores": b"blobs\nindex.json\noci-layout\nREADME.md\nhost-requirements.json\n",
            "README.md": _readme(plan, package, service, image["digest"], app["digest"]).encode(),
            FILE: text,
            "host-requirements.json": _requirements(plan, service).encode(),
        }.items():
            layout.add_file(name, content)
        layout.finish([image, app])


def service_of(plan: TargetPlan, package: PackagePlan, bundle: Bundle, digest: str) -> dict[str, Any]:
    """The one service of the app, as the Compose specification has it."""
    said = plan.formats.compose
    service: dict[str, Any] = {
        "image": f"{plan.formats.oci.repository}@{digest}",
        "command": [_literal(word) for word in said.command],
        "restart": said.restart,
        "read_only": True,
        "security_opt": ["no-new-privileges:true"],
    }
    environment = {name: _literal(value) for name, value in said.environment.items()}
    volumes = [_bind(source, target, read_only=False) for target, source in sorted(said.volumes.items())]
    if not plan.abi.simulator:
        # FastRPC searches the host's folders by itself, behind these.
        own = f"/{home(package)}/{layout_of(plan.system).dsp}"
        environment = {"ADSP_LIBRARY_PATH": own, "DSP_LIBRARY_PATH": own} | environment
        service |= {"devices": [f"{node}:{node}" for node in said.devices], "group_add": [_GROUP]}
        shared = [(folder, folder) for folder in said.dsp_folders]
        if said.transport != IN_IMAGE:
            (name,) = _places(plan, "transport")
            shared.append((said.transport, f"{_IN_THE_CONTAINER}/{name}"))
        shared += [(file.path, file.path) for file in bundle.required]
        volumes = [_bind(source, target, read_only=True) for source, target in shared] + volumes
    if environment:
        service["environment"] = environment
    if volumes:
        service["volumes"] = volumes
    return service


def compose_text(plan: TargetPlan, service: dict[str, Any]) -> str:
    """`docker-compose.yml`."""
    import yaml

    document = {"services": {plan.package.name: service}}
    written = yaml.safe_dump(document, sort_keys=False, width=1000, allow_unicode=True)
    about = f"{plan.package.name} {plan.package.version}"
    return f"# Written by hexpack for {about}; README.md says what the host must have.\n{written}"


def _bind(source: str, target: str, *, read_only: bool) -> dict[str, Any]:
    """A mount that fails where the host lacks the file, instead of making an empty folder of its name."""
    words: dict[str, Any] = {"type": "bind", "source": source, "target": target}
    if read_only:
        words["read_only"] = True
    return words | {"bind": {"create_host_path": False}}


def _literal(word: str) -> str:
    """A word in which Compose finds no variable."""
    return word.replace("$", "$$")


def _places(plan: TargetPlan, kind: str) -> list[str]:
    """What the table of the doctor has of a kind on the target's system."""
    rows = catalog.table("doctor")["place"]
    return [str(row["value"]) for row in rows if row["kind"] == kind and plan.system in row["systems"]]


def _write_app(
    layout: Layout, plan: TargetPlan, package: PackagePlan, text: bytes, epoch: int
) -> dict[str, Any]:
    """The app as Foundries.io keeps it in a registry: an artifact with one packed folder."""
    packed = io.BytesIO()
    with gzip_stream(packed) as stream:
        write_tar(stream, [Member(FILE, 0o644, text)], epoch=epoch, dialect="pax")
    manifest = {
        "schemaVersion": 2,
        "mediaType": IMAGE_MANIFEST,
        "artifactType": APP,
        "config": layout.add_bytes(_EMPTY, b"{}"),
        "layers": [layout.add_bytes("application/octet-stream", packed.getvalue())],
        "annotations": {"compose-app": "v1"},
    }
    named = {"org.opencontainers.image.ref.name": f"app-{tag_of(plan, package)}"}
    return layout.add_document(IMAGE_MANIFEST, manifest) | {"artifactType": APP, "annotations": named}


def _nodes(service: dict[str, Any]) -> list[str]:
    return [device.partition(":")[0] for device in service.get("devices", ())]


def _of_the_host(service: dict[str, Any]) -> list[str]:
    """Files and folders that the host shares for reading."""
    return [volume["source"] for volume in service.get("volumes", ()) if volume.get("read_only")]


def _requirements(plan: TargetPlan, service: dict[str, Any]) -> str:
    """What the host must bring, for programs that decide where the app may run."""
    kinds = () if plan.abi.simulator else ("shell", "daemon")
    document = {
        "schema_version": 1,
        "architecture": plan.abi.oci,
        "socs": [soc.id for soc in plan.socs],
        "devices": _nodes(service),
        "files": _of_the_host(service),
        **{f"{kind}s": _places(plan, kind) for kind in kinds},
    }
    return json.dumps(document, indent=2) + "\n"


def _readme(plan: TargetPlan, package: PackagePlan, service: dict[str, Any], image: str, app: str) -> str:
    return fill(
        "compose",
        "README.md.jinja",
        plan=plan,
        package=package.file_name,
        devices=_nodes(service),
        files=_of_the_host(service),
        tag=tag_of(plan, package),
        image=image,
        app=app,
    )
