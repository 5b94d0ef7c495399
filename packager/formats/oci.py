"""`oci`: a container image in an OCI image layout, as one tar that needs no Docker to be made or published.

Source: OCI image specification 1.1 (layout, manifest, configuration, annotations). What changes seldom lies
low: the device libraries are the first layer, the models the second, and all else the third, so that an
update of the model costs a device the model's layer only.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple, cast

from packager import catalog
from packager.bundle import MODEL_LIBRARY, Bundle, BundleFile
from packager.errors import ManifestError
from packager.files import Blob
from packager.formats.gzip_stream import gzip_stream
from packager.formats.installed import one_line, tree_and_command
from packager.formats.members import Member, in_order, planned_name
from packager.formats.oci_layout import IMAGE_MANIFEST, Layout, descriptor_of
from packager.formats.tar_stream import DigestingSink, write_tar, zstd_frame
from packager.plan_model import PackagePlan, TargetPlan

_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NOT_INHERITED = {"Cmd", "Entrypoint", "Healthcheck", "OnBuild", "ArgsEscaped", "Shell"}
_OWN = "org.opencontainers.image."  # what the specification names, and a base says of itself only


class Layer(NamedTuple):
    """A layer as it lies in the layout: its type, its bytes, and the digest of the tar inside them."""

    media_type: str
    blob: Blob
    diff_id: str
    about: str


class Oci:
    """The tree in /usr/lib/<package> and a command in /usr/bin, on top of the base image if there is one."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "oci")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the image. Raises InputUnavailable when a file changed since it was staged.

        Raises ManifestError for an ABI that container images have no architecture for.
        """
        package = plan.package_of("oci")
        layout = Layout(out, epoch)
        descriptor = write_image(layout, plan, package, bundle, epoch=epoch)
        layout.finish([descriptor])


def write_image(
    layout: Layout, plan: TargetPlan, package: PackagePlan, bundle: Bundle, *, epoch: int
) -> dict[str, Any]:
    """Write the layers, configuration and manifest of an image; the manifest's descriptor for the index."""
    if plan.abi.oci is None:
        raise ManifestError(
            f"{plan.label}: container images have no architecture for ABI {plan.abi.id}",
            fix=f'remove "{package.format}" from the formats of this target',
        )
    below = [layout.add_layer(layer) for layer in bundle.base.layers] if bundle.base else []
    layers = [
        _write_layer(layout, members, plan.formats.oci.compression, about, epoch)
        for about, members in _split(plan, tree_and_command(plan, package, bundle))
    ]
    said = said_of_image(plan, package, bundle, moment_of(epoch))
    config = _config(plan, bundle, layers, said, moment_of(epoch))
    document = {
        "schemaVersion": 2,
        "mediaType": IMAGE_MANIFEST,
        "config": layout.add_document(_CONFIG, config),
        "layers": below + [descriptor_of(layer.media_type, layer.blob) for layer in layers],
        "annotations": plan.formats.oci.annotations | said,
    }
    return layout.add_document(IMAGE_MANIFEST, document) | {
        "platform": {"architecture": plan.abi.oci, "os": plan.abi.system},
        "annotations": _reference(plan, tag_of(plan, package)),
    }


def tag_of(plan: TargetPlan, package: PackagePlan) -> str:
    """The tag of a target's image: the version, and the target's name, as all share one repository."""
    return f"{package.version}-{plan.name}" if plan.name else package.version


def moment_of(epoch: int) -> str:
    """A time as RFC 3339 has it."""
    return f"{datetime.datetime.fromtimestamp(epoch, datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"


def _reference(plan: TargetPlan, tag: str) -> dict[str, str]:
    """What tools call the image when they load it: its tag, and for containerd its whole name."""
    repository = plan.formats.oci.repository
    full = {"io.containerd.image.name": f"{repository}:{tag}"} if repository else {}
    return {f"{_OWN}ref.name": tag} | full


def said_of_image(plan: TargetPlan, package: PackagePlan, bundle: Bundle, created: str) -> dict[str, str]:
    """What image and manifest say of themselves in the specification's words, and what they are made for."""
    about = plan.package
    base, _, digest = bundle.base.reference.partition("@") if bundle.base else ("", "", "")
    own = {
        "created": created,
        "title": package.name,
        "description": one_line(about.description),
        "version": about.version,
        "vendor": about.vendor,
        "licenses": about.license,
        "authors": about.maintainer,
        "url": about.homepage,
        "base.name": base,
        "base.digest": digest,
    }
    return {f"{_OWN}{key}": value for key, value in own.items() if value} | {
        "hexpack.socs": ",".join(soc.id for soc in plan.socs),
        "hexpack.qairt": plan.runtime_set.release.version,
    }


def _config(
    plan: TargetPlan, bundle: Bundle, layers: Sequence[Layer], said: dict[str, str], created: str
) -> dict[str, Any]:
    """The image's configuration: what runs, on which processor, and the digests of the unpacked layers.

    What the base says of itself in the specification's words, and what it would start or watch, is not true
    of the whole; its variables, user and other labels stay.
    """
    below = bundle.base.config if bundle.base else {}
    settings = {key: value for key, value in (below.get("config") or {}).items() if key not in _NOT_INHERITED}
    inherited = {
        key: value
        for key, value in ((below.get("config") or {}).get("Labels") or {}).items()
        if not key.startswith(_OWN)
    }
    if any(file.role == "runner" for file in bundle.files):
        settings["Entrypoint"] = [f"/usr/bin/{plan.package.name}"]
    made = [{"created": created, "created_by": "hexpack", "comment": layer.about} for layer in layers]
    return {
        **{key: below[key] for key in ("variant", "os.version", "os.features") if key in below},
        "created": created,
        "author": plan.package.maintainer,
        "architecture": plan.abi.oci,
        "os": plan.abi.system,
        "config": {
            "Env": [_PATH],
            "WorkingDir": "/",
            **settings,
            "Labels": inherited | plan.formats.oci.labels | said,
        },
        "rootfs": {
            "type": "layers",
            "diff_ids": [
                *(below["rootfs"]["diff_ids"] if below else ()),
                *(f"sha256:{layer.diff_id}" for layer in layers),
            ],
        },
        "history": [*(below.get("history") or ()), *made],
    }


def _split(plan: TargetPlan, members: Sequence[Member]) -> Iterator[tuple[str, list[Member]]]:
    """What goes into each layer, with a word about it; empty layers are left out."""
    vendor = {role.id for role in catalog.roles()} | {"support", "licence"}
    models = {"context", "container", MODEL_LIBRARY}
    qairt = f"device libraries of QAIRT {plan.runtime_set.release.version}"
    for about, wanted in ((qairt, vendor), ("models", models), ("application", None)):
        chosen = [
            member
            for member in members
            if (_role(member) in wanted if wanted is not None else _role(member) not in vendor | models)
        ]
        if chosen:
            yield about, chosen


def _role(member: Member) -> str:
    return member.content.role if isinstance(member.content, BundleFile) else ""


def _write_layer(
    layout: Layout, members: Iterable[Member], compression: str, about: str, epoch: int
) -> Layer:
    packed = gzip_stream if compression == "gzip" else zstd_frame
    with layout.new_blob() as out, packed(cast("BinaryIO", out)) as stream:
        inside = DigestingSink(stream)
        write_tar(inside, in_order(members, folders=True), epoch=epoch, dialect="pax")
    return Layer(f"{_LAYER}+{compression}", out.blob, inside.sha256, about)
