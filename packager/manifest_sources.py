"""Where a manifest's model comes from: one frozen model for each kind of source, told apart by one key."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag

from packager.manifest_words import Word
from packager.model import Frozen

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Url = Annotated[
    str,
    StringConstraints(
        pattern=r"^(https://|http://(localhost|127\.0\.0\.1|\[::1\])[:/])[^\s@\x00-\x1f\x7f]+$",
        max_length=2000,
    ),
]
Requirement = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+_-]+$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
HubName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$", max_length=200),
]
OciReference = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+@sha256:[0-9a-f]{64}$",
        max_length=500,
    ),
]


class PathSource(Frozen):
    """A file beside the manifest."""

    path: Word = Field(
        description="Path of the model file, from the folder of the manifest", examples=["model.onnx"]
    )
    sha256: Digest | None = Field(
        default=None,
        description="SHA-256 of the file, 64 lower-case hex digits; `--locked` needs none to refuse another",
    )

    @property
    def title(self) -> str:
        """The path."""
        return self.path


class WheelSource(Frozen):
    """A file inside a wheel. `sha256` is the wheel's; without it the lock pins it on first use."""

    wheel: Requirement = Field(
        description="Wheel that holds the model file: name and exact version",
        examples=["example-models==1.0.0"],
    )
    file: Word = Field(
        description="Path of the model file inside the wheel", examples=["example_models/model.onnx"]
    )
    platform: Word | None = Field(
        default=None,
        description="Platform tag of the wheel, for a wheel that differs by platform",
        examples=["manylinux_2_34_aarch64"],
    )
    sha256: Digest | None = Field(
        default=None,
        description="SHA-256 of the file or wheel that is named, 64 lower-case hex digits; without it the "
        "lock pins it on first use",
    )

    @property
    def title(self) -> str:
        """The file and its wheel."""
        return f"{self.file} in {self.wheel}"


class UrlSource(Frozen):
    """A file on the web. Only its digest makes it the same file tomorrow."""

    url: Url = Field(
        description="Address of the model file: https, or http from this very machine; logins belong into "
        "~/.netrc",
        examples=["https://example.com/models/model.onnx"],
    )
    sha256: Digest = Field(
        description="SHA-256 of the file, 64 lower-case hex digits",
        examples=["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    )

    @property
    def title(self) -> str:
        """The address without its query, which may hold a key."""
        return self.url.partition("?")[0]


class HuggingFaceSource(Frozen):
    """A file of a repository on the Hugging Face hub, at one commit."""

    huggingface: HubName = Field(
        description="Repository on the hub that holds the model file", examples=["example/classifier"]
    )
    revision: Commit = Field(
        description="Commit of the repository, 40 lower-case hex digits; branches and tags move",
        examples=["0123456789abcdef0123456789abcdef01234567"],
    )
    file: Word = Field(description="Path of the model file in the repository", examples=["onnx/model.onnx"])
    sha256: Digest | None = Field(
        default=None, description="SHA-256 of the file, 64 lower-case hex digits; without it the lock pins it"
    )

    @property
    def title(self) -> str:
        """The file and its repository."""
        return f"{self.file} in {self.huggingface} at {self.revision[:12]}"


class OciSource(Frozen):
    """A layer of an artifact or image in an OCI registry, or a file in such a layer."""

    oci: OciReference = Field(
        description="Artifact, image or blob with its digest; this machine's registry may be asked over http",
        examples=["registry.example.com/models/cls@sha256:" + "0" * 64],
    )
    file: Word | None = Field(
        default=None,
        description="Title of the layer, or path of the file in the image's layers; needed where there are "
        "several layers",
        examples=["model.onnx"],
    )

    @property
    def title(self) -> str:
        """The reference, and the file in it."""
        return f"{self.file} in {self.oci}" if self.file else self.oci


class AiHubJobSource(Frozen):
    """What a compile or quantize job at the Qualcomm AI Hub made."""

    aihub_job: Annotated[str, StringConstraints(pattern=r"^j[0-9a-z]{2,40}$")] = Field(
        description="Id of a job at the AI Hub that made the model", examples=["jp4kz2q8g"]
    )
    sha256: Digest | None = Field(
        default=None, description="SHA-256 of the file, 64 lower-case hex digits; without it the lock pins it"
    )

    @property
    def title(self) -> str:
        """The job."""
        return f"job {self.aihub_job} of the AI Hub"


class AiHubModelSource(Frozen):
    """A model that was uploaded to the Qualcomm AI Hub, or made there."""

    aihub_model: Annotated[str, StringConstraints(pattern=r"^m[0-9a-z]{2,40}$")] = Field(
        description="Id of a model at the AI Hub", examples=["mqk8v3xrn"]
    )
    sha256: Digest | None = Field(
        default=None, description="SHA-256 of the file, 64 lower-case hex digits; without it the lock pins it"
    )

    @property
    def title(self) -> str:
        """The model's id."""
        return f"model {self.aihub_model} of the AI Hub"


class AiHubPublishedSource(Frozen):
    """A model that Qualcomm publishes, by its name; no login is needed."""

    aihub: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=100)] = Field(
        description="Name of a published model of the AI Hub", examples=["mobilenet_v2"]
    )
    release: Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+){1,3}$")] = Field(
        description="Release of AI Hub Models that published it", examples=["0.65.0"]
    )
    runtime: Literal["qnn_dlc", "onnx"] = Field(
        description="Form in which it is published", examples=["qnn_dlc"]
    )
    precision: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+$", max_length=40)] = Field(
        description="Precision in which it is published", examples=["float"]
    )
    chipset: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+$", max_length=80)] | None = Field(
        default=None,
        description="Chipset that it is published for, where it differs by chipset",
        examples=["qualcomm-snapdragon-8gen3"],
    )
    file: Word | None = Field(
        default=None,
        description="Path of the model file in the archive; needed where there are several models",
        examples=["mobilenet_v2.dlc"],
    )
    sha256: Digest | None = Field(
        default=None,
        description="SHA-256 of the archive, 64 lower-case hex digits; without it the lock pins it",
    )

    @property
    def title(self) -> str:
        """The model, its form and release."""
        return f"{self.aihub} {self.release} ({self.runtime}, {self.precision}) of the AI Hub"


_KINDS = {
    "wheel": WheelSource,
    "url": UrlSource,
    "huggingface": HuggingFaceSource,
    "oci": OciSource,
    "aihub": AiHubPublishedSource,
    "aihub_job": AiHubJobSource,
    "aihub_model": AiHubModelSource,
    "path": PathSource,
}


def _source_kind(value: object) -> str | None:
    """Which source is meant, by the key that only this one has, so that errors speak of one kind only."""
    for kind, model in _KINDS.items():
        if isinstance(value, model) or (isinstance(value, dict) and kind in value):
            return kind
    return None


Source = Annotated[
    Annotated[PathSource, Tag("path")]
    | Annotated[AiHubPublishedSource, Tag("aihub")]
    | Annotated[AiHubJobSource, Tag("aihub_job")]
    | Annotated[AiHubModelSource, Tag("aihub_model")]
    | Annotated[HuggingFaceSource, Tag("huggingface")]
    | Annotated[OciSource, Tag("oci")]
    | Annotated[WheelSource, Tag("wheel")]
    | Annotated[UrlSource, Tag("url")],
    Discriminator(_source_kind),
]
