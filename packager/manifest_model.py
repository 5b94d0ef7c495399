"""What a person writes in the manifest, as frozen models.

No field has a default here: defaults are written in `manifests/defaults.toml`, merged under the user's
words before validation, and nowhere else. A field that may be left out without a default is `X | None`.

The descriptions and examples are read by people: they are the text of the JSON Schema, which editors
show, and of the hints in error messages. Both follow from the models, so neither can disagree with them.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from packager.manifest_formats import FormatSettings
from packager.manifest_host import Host, VendorLibraries
from packager.manifest_linux import LinuxSystem
from packager.manifest_samples import Preprocessing, Quantization, Reference, Samples
from packager.manifest_signing import Signing
from packager.manifest_sources import Digest, Source
from packager.manifest_words import ONE_LINE, Word
from packager.model import Frozen

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*[a-z0-9]$", max_length=64)]
Version = Annotated[
    str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+){0,3}([.-]?(a|alpha|b|beta|rc)\.?[0-9]+)?$")
]
Mailbox = Annotated[str, StringConstraints(pattern=r"^[^<>\s][^<>\x00-\x1f\x7f]* <[^<>@\s]+@[^<>@\s]+>$")]
Precision = Literal["float", "w8a8", "w8a16", "w4a16", "as-is"]
Compiler = Literal["ort-qnn", "qnn", "qairt", "aihub"]
Runtime = Literal["context-binary", "dlc", "model-library"]
ElementType = Literal["float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "int64", "bool"]
ComputeUnit = Literal["npu", "gpu", "cpu"]
Flavour = Literal["community", "auto"]
Compatibility = Literal["strict", "permissive"]
PowerProfile = Literal[
    "burst", "sustained_high_performance", "high_performance", "balanced", "low_balanced",
    "high_power_saver", "power_saver", "low_power_saver", "extreme_power_saver", "default",
]  # fmt: skip


class Package(Frozen):
    """Who ships what."""

    name: Name = Field(
        description="Name of the packages: lower-case letters, digits and hyphens, first a letter, "
        "last no hyphen, 2 to 64 characters",
        examples=["text-direction"],
    )
    version: Version = Field(
        description="Version of the packages: up to four numbers with dots, then perhaps a, b or rc "
        "and a number",
        examples=["1.2.0", "2.0.0-rc1"],
    )
    epoch: Annotated[int, Field(ge=1, le=999)] | None = Field(
        default=None,
        description="Outweighs every version, for deb, ipk and rpm: raised when versions begin to count anew",
        examples=[1],
    )
    vendor: Word = Field(description="Who publishes the packages, in one line", examples=["Example Devices"])
    license: Word = Field(
        description="SPDX expression for the application and its model", examples=["Apache-2.0"]
    )
    description: Word = Field(
        description="What the application does, in one line of at most 200 characters",
        examples=["Tells whether a line of text is upside down"],
    )
    maintainer: Mailbox = Field(
        description="Who answers questions: a name, then a mail address in angle brackets",
        examples=["Release Team <release@example.com>"],
    )
    homepage: Word | None = Field(
        default=None, description="Address of a page about the application", examples=["https://example.com"]
    )


class Input(Frozen):
    """A model input. Every dimension is fixed here."""

    shape: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(max_length=8)] = Field(
        description="Dimensions, each at least 1, at most 8 of them", examples=[[1, 3, 224, 224]]
    )
    dtype: ElementType = Field(description="Element type of the input", examples=["float32"])


class Model(Frozen):
    """The network and how it is to be compiled."""

    source: Source = Field(
        description="Where the model file comes from: a path, a file in a wheel, an address on the web, a "
        "repository of Hugging Face, or an OCI registry",
        examples=[{"path": "model.onnx"}],
    )
    inputs: dict[str, Input] | None = Field(
        default=None,
        description="Shape and element type of each input by its name; needed where the model leaves "
        "dimensions open",
        examples=[{"x": {"shape": [1, 3, 224, 224], "dtype": "float32"}}],
    )
    compiler: Compiler | None = Field(
        default=None,
        description="What makes context binaries: onnxruntime's QNN provider of an ONNX model (ort-qnn), or "
        "the QNN API itself of a DLC or an x86-64 model library (qnn), or of the DLC that a QAIRT SDK's "
        "converter makes of an ONNX model (qairt), or jobs at the Qualcomm AI Hub (aihub); absent: what "
        "the file asks for",
        examples=["qnn"],
    )
    precision: Precision = Field(
        description="float, or weights and activations quantized to so many bits, or the model as it is",
        examples=["w8a16"],
    )
    calibration: Samples | None = Field(
        default=None,
        description="Typical inputs, for finding value ranges when the precision asks to quantize",
        examples=[{"path": "calibration/*.npy"}],
    )
    preprocessing: Preprocessing | None = Field(
        default=None,
        description="How pictures among the samples become the model's input",
        examples=[{"colours": "RGB", "mean": [0.5], "std": [0.5]}],
    )
    quantization: Quantization | None = Field(
        default=None,
        description="How hexpack quantizes, where the precision asks for it",
        examples=[{"mixed": {"/head/Softmax": "a16"}}],
    )
    reference: Reference | None = Field(
        default=None,
        description="The numerical proof on the simulator",
        examples=[{"inputs": "samples/*.npy", "min_cosine": 0.99}],
    )


class LibrarySource(Frozen):
    """What holds the device libraries of a target: a known wheel, an SDK, an Android archive, a folder."""

    source: Literal["wheel", "sdk", "aar", "path"] = Field(
        alias="from",
        description="What holds the QAIRT device libraries: a known wheel, an SDK, the Android archive, or a "
        "folder",
        examples=["wheel"],
    )
    path: Word | None = Field(
        default=None,
        description='With from = "path" the folder of the device libraries; with "sdk" that of the SDK '
        '(absent: what QAIRT_SDK_ROOT names); with "aar" the archive (absent: Maven is asked)',
        examples=["/opt/qairt"],
    )
    sha256: Digest | None = Field(
        default=None,
        description='SHA-256 of the archive with from = "aar", 64 lower-case hex digits; without it the lock '
        "pins it on first use",
    )

    @model_validator(mode="after")
    def _path_where_it_belongs(self) -> Self:
        if self.source == "path" and self.path is None:
            raise ValueError('`from = "path"` needs `path`, the folder of the device libraries')
        if self.source == "wheel" and self.path is not None:
            raise ValueError('`path` goes with `from = "path"`, "sdk" or "aar", and not with a wheel')
        if self.source != "aar" and self.sha256 is not None:
            raise ValueError('`sha256` goes with `from = "aar"`, and only with it')
        return self


class Qairt(LibrarySource):
    """Where the device libraries come from, and of which release and edition they are."""

    version: Annotated[str, StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")] = Field(
        description="QAIRT release: three numbers with dots", examples=["2.51.0"]
    )
    flavour: Flavour = Field(
        description="Edition of the SDK: the one for everybody, or the one for cars, which has QNX too",
        examples=["community"],
    )


class Settings(Frozen):
    """What `[defaults]` sets for all targets and a target may set for itself."""

    runtime: Runtime = Field(description="Form in which the model is shipped", examples=["context-binary"])
    compute: Annotated[tuple[ComputeUnit, ...], Field(min_length=1)] = Field(
        description="Processors in order of preference; there is no silent fallback to one that is not named",
        examples=[["npu"]],
    )
    optimization: Annotated[int, Field(ge=1, le=3)] = Field(
        description="HTP graph optimization level", examples=[3]
    )
    power: PowerProfile = Field(description="HTP power profile", examples=["burst"])
    vtcm_mb: Annotated[int, Field(ge=0, le=64)] = Field(
        description="VTCM that the graph may use, in MiB; 0 is the SoC's maximum", examples=[0]
    )
    hvx_threads: Annotated[int, Field(ge=0, le=16)] = Field(
        description="HVX threads; 0 is the backend's own choice", examples=[4]
    )
    io: Literal["float", "quantized"] = Field(
        description="What a quantized model takes and gives: float32, converted on the NPU, or the integers "
        "between which it computes",
        examples=["quantized"],
    )
    rpc_latency_us: Annotated[int, Field(ge=0, le=100_000)] = Field(
        description="RPC control latency in microseconds", examples=[100]
    )
    rpc_polling_us: Annotated[int, Field(ge=0, le=9999)] | None = Field(
        default=None,
        description="RPC polling time in microseconds; absent: what the power profile says",
        examples=[9999],
    )
    compatibility: Compatibility = Field(
        description="What becomes of a context binary for another SoC of the same Hexagon architecture: "
        "refused (strict), or shipped with a warning (permissive)",
        examples=["strict"],
    )
    vendor_libraries: VendorLibraries = Field(
        description="Whether packages bring the vendor's libraries (bundle), or only say which the "
        "device has to hold (require)",
        examples=["bundle"],
    )
    host: Host | None = Field(
        default=None,
        description='With vendor_libraries = "require": where the device has them, and which of its packages '
        "bring them",
        examples=[{"libraries": "/usr/lib", "dsp": "/usr/lib/dsp/cdsp"}],
    )
    signing: Signing | None = Field(
        default=None,
        description="What packages are signed with whose form has signatures inside; absent: an apk and a "
        "rauc bundle by a key for trying things out, the others not at all",
        examples=[{"keystore": "release.p12", "password": {"env": "KEYSTORE_PASSWORD"}}],
    )


class Target(Settings):
    """One set of packages for one operating system."""

    name: Name | None = Field(
        default=None,
        description="Name of the target, for `--target` and [[allow]]: lower-case letters, digits and "
        "hyphens, first a letter, last no hyphen, 2 to 64 characters",
        examples=["rb3gen2"],
    )
    soc: Annotated[tuple[Word, ...], Field(min_length=1)] = Field(
        description="SoCs by chip id, product name or board; one package serves them all",
        examples=[["qcs6490"]],
    )
    os: Word = Field(description="Operating system", examples=["linux"])
    abi: Word = Field(description="Binary interface of the host libraries", examples=["oe-linux-gcc11.2"])
    formats: Annotated[tuple[Word, ...], Field(min_length=1)] = Field(
        description="Package formats, one file for each", examples=[["tar.zst", "deb"]]
    )
    precision: Precision = Field(
        description="As in [model], for this target; absent: what [model] says", examples=["w8a16"]
    )
    dsp_runtime: Annotated[str, StringConstraints(min_length=1)] | None = Field(
        default=None,
        description="Folder with the DSP's C++ libraries, copied from the image of the board's QNX host; for "
        "QNX and the guests on it",
        examples=["qnx-host/cdsp0"],
    )
    libraries: LibrarySource | None = Field(
        default=None,
        description="What holds this target's device libraries; absent: what [qairt] says",
        examples=[{"from": "aar"}],
    )
    linux: LinuxSystem | None = Field(
        default=None,
        description="How the packages of a Linux target fit into the system that they are installed on",
        examples=[{"udev": True}],
    )


class Allow(Frozen):
    """A finding that is accepted on purpose."""

    rule: Annotated[str, StringConstraints(pattern=r"^HEX[0-9]{3}$")] = Field(
        description="Id of the rule: HEX and three digits", examples=["HEX207"]
    )
    target: Name | None = Field(
        default=None,
        description="Name of the target that it is accepted for; absent: all",
        examples=["rb3gen2"],
    )
    reason: Annotated[str, StringConstraints(pattern=ONE_LINE, min_length=8)] = Field(
        description="Why, in at least 8 characters; it is printed in every report",
        examples=["image ships fastrpc 1.0.7"],
    )


class Manifest(Frozen):
    """The whole document, schema 1."""

    schema_: Annotated[int, Field(ge=1, le=1)] = Field(
        alias="schema",
        description="Edition of the manifest's keys; this hexpack reads 1",
        examples=[1],
    )
    package: Package = Field(description="Who ships what")
    model: Model = Field(description="The network and how it is to be compiled")
    qairt: Qairt = Field(description="Where the device libraries come from")
    defaults: Settings = Field(description="Settings for all targets; a target may say otherwise for itself")
    targets: Annotated[tuple[Target, ...], Field(min_length=1)] = Field(
        description="What to build: each [[targets]] gives one set of packages for one operating system"
    )
    formats: FormatSettings = Field(description="Settings of single package formats, one table for each")
    allow: tuple[Allow, ...] = Field(description="Findings that are accepted on purpose, each with a reason")
