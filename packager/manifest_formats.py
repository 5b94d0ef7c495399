"""What a manifest says about single package formats: `[formats.<id>]`, a table for each that has settings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from packager.manifest_linux import Folder, VariableName
from packager.manifest_sources import OciReference
from packager.manifest_words import Word
from packager.model import Frozen

# A label's or annotation's value may be long, but not break a line.
_Text = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=4000)]
_Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", max_length=200)]
MachineName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
_Series = Annotated[str, StringConstraints(pattern=r"^[a-z]+$", max_length=40)]
_FolderAddress = Annotated[
    str, StringConstraints(pattern=r"^https://[^\s\"'\\;$]+[^\s\"'\\;$/]$", max_length=500)
]
_Root = Annotated[str, StringConstraints(pattern=r"^(/|(/[A-Za-z0-9_+-][A-Za-z0-9._+-]*)+)$", max_length=200)]
IN_IMAGE = "image"
_FileOrImage = Annotated[
    str, StringConstraints(pattern=rf"^({IN_IMAGE}|(/[A-Za-z0-9._+-]+)+)$", max_length=200)
]
Repository = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$", max_length=255
    ),
]
# Attributes of a distinguished name, as the manifest schema of app packages takes them.
Publisher = Annotated[
    str,
    StringConstraints(
        pattern=r"^(CN|L|O|OU|E|C|S|STREET|T|G|I|SN|DC|SERIALNUMBER|Description|PostalCode|OID(\.[0-9]+)+)="
        r'("([^"]|"")*"|[^,+="<>#;]+)(, ?[A-Za-z0-9.]+=("([^"]|"")*"|[^,+="<>#;]+))*$',
        max_length=8192,
    ),
]


class OciSettings(Frozen):
    """`oci`: a container image, which `compose` carries too."""

    base: OciReference | None = Field(
        default=None,
        description="Image that the package's image is built on, with its digest or that of an index of "
        "platforms; it brings the C library. Absent: the image holds the package's files only",
        examples=["docker.io/library/debian@sha256:" + "0" * 64],
    )
    repository: Repository | None = Field(
        default=None,
        description="Registry and repository that the image is published to, without tag",
        examples=["registry.example.com/vision/text-direction"],
    )
    compression: Literal["gzip", "zstd"] = Field(
        description="How layers are compressed: gzip, which every container runtime unpacks, or zstd, which "
        "containerd 1.5, Docker 23 and podman 3 do and later ones",
        examples=["gzip"],
    )
    labels: dict[_Key, _Text] = Field(
        description="Labels of the image beside those that hexpack writes",
        examples=[{"com.example.team": "vision"}],
    )
    annotations: dict[_Key, _Text] = Field(
        description="Annotations of the image's manifest beside those that hexpack writes",
        examples=[{"com.example.release": "spring"}],
    )


class ComposeSettings(Frozen):
    """`compose`: how the container meets the host, which owns the way to the DSP."""

    repository: Repository | None = Field(
        default=None,
        description="Registry and repository that the app is published to, without tag, as Foundries.io "
        "keeps apps; absent: only its image is published",
        examples=["registry.example.com/apps/text-direction"],
    )
    command: tuple[Word, ...] = Field(
        description="What the runner is called with in the container",
        examples=[["--input", "x=/data/in", "--output", "/data/out"]],
    )
    restart: Literal["no", "always", "on-failure", "unless-stopped"] = Field(
        description="When the container is started again", examples=["unless-stopped"]
    )
    devices: tuple[Folder, ...] = Field(
        description="Device nodes of the host; without one of them the container does not start",
        examples=[["/dev/fastrpc-cdsp", "/dev/dma_heap/system"]],
    )
    dsp_folders: tuple[Folder, ...] = Field(
        description="Folders of the host with what its DSP loads (shells, C++ library, board settings), "
        "mounted for reading; without one of them the container does not start",
        examples=[["/usr/share/qcom"]],
    )
    transport: _FileOrImage = Field(
        description="The host's FastRPC library, mounted for reading; `image`: the base image brings one",
        examples=["/usr/lib/aarch64-linux-gnu/libcdsprpc.so.1"],
    )
    volumes: dict[Folder, Folder] = Field(
        description="Further folders of the host, writable: where in the container, and which",
        examples=[{"/data": "/var/lib/text-direction"}],
    )
    environment: dict[VariableName, Word] = Field(
        description="Further variables of the container", examples=[{"TZ": "UTC"}]
    )


class YoctoSettings(Frozen):
    """`yocto`: a layer with a recipe for an image builder."""

    url: (
        Annotated[str, StringConstraints(pattern=r"^https://[^\s\"'\\;]+[^\s\"'\\;/]$", max_length=500)]
        | None
    ) = Field(
        default=None,
        description="Address of the folder where the target's tar.gz package is published; absent: the layer "
        "carries the files itself",
        examples=["https://downloads.example.com/text-direction"],
    )
    series: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^[a-z]+$")], ...], Field(min_length=1)
    ] = Field(
        description="Releases of the Yocto Project that the layer is for", examples=[["scarthgap", "wrynose"]]
    )
    depends: tuple[Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]*$")], ...] = Field(
        description="Packages of the image that the package needs beside those that its libraries link to",
        examples=[["fastrpc"]],
    )


class SwuSettings(Frozen):
    """`swu`: an update for SWUpdate."""

    root: _Root = Field(
        description="Folder of the device below which usr/lib and usr/bin are, where the files are unpacked",
        examples=["/"],
    )


class MenderSettings(Frozen):
    """`mender`: an artifact for Mender's update module `directory`."""

    folder: Folder | None = Field(
        default=None,
        description="Folder of the device that the tree replaces; absent: /data/<name of the package>",
        examples=["/data/text-direction"],
    )


class RaucSettings(Frozen):
    """`rauc`: a bundle for RAUC."""

    slot: MachineName = Field(
        description="Class of the slots of the device that the application's file system is in",
        examples=["appfs"],
    )


class MsixSettings(Frozen):
    """`msix`: what Windows identifies the package by."""

    publisher: Publisher | None = Field(
        default=None,
        description="Subject of the certificate that packages are signed with, written as Windows does: the "
        "common name first; absent: CN= and the package's vendor",
        examples=["CN=Example Devices, O=Example Devices Ltd, C=GB"],
    )


class FormatSettings(Frozen):
    """`[formats]`: settings of package formats, for all targets that ask for them."""

    machines: dict[Word, Annotated[tuple[MachineName, ...], Field(min_length=1)]] = Field(
        description="What image builders and updaters call the boards with a SoC: names by the SoC's id",
        examples=[{"qcs6490": ["qcs6490-rb3gen2-core-kit"]}],
    )
    yocto: YoctoSettings = Field(description="The layer of `yocto` packages")
    oci: OciSettings = Field(description="The container image of `oci` and `compose` packages")
    compose: ComposeSettings = Field(description="The app of `compose` packages and its needs")
    swu: SwuSettings = Field(description="The update of `swu` packages")
    mender: MenderSettings = Field(description="The artifact of `mender` packages")
    rauc: RaucSettings = Field(description="The bundle of `rauc` packages")

    msix: MsixSettings = Field(description="The identity of `msix` packages")
