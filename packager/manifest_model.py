"""What a person writes in the manifest, as frozen models.

No field has a default here: defaults are written in `manifests/defaults.toml`, merged under the user's
words before validation, and nowhere else. A field that may be left out without a default is `X | None`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from packager.model import Frozen

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*[a-z0-9]$", max_length=64)]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+){0,3}([.-]?(a|alpha|b|beta|rc)\.?[0-9]+)?$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Precision = Literal["float", "w8a8", "w8a16", "as-is"]
Runtime = Literal["context-binary", "dlc", "model-library"]
ComputeUnit = Literal["npu", "gpu", "cpu"]
PowerProfile = Literal[
    "burst", "sustained_high_performance", "high_performance", "balanced", "low_balanced",
    "high_power_saver", "power_saver", "low_power_saver", "extreme_power_saver", "default",
]  # fmt: skip


class Package(Frozen):
    """Who ships what."""

    name: Name
    version: Version
    vendor: Word
    license: Word = Field(description="SPDX expression for the application and its model")
    description: Word
    maintainer: Annotated[str, StringConstraints(pattern=r"^[^<>\n]+ <[^<>@\s]+@[^<>@\s]+>$")] = Field(
        description="Name <mail@example.com>"
    )
    homepage: Word | None = None


class PathSource(Frozen):
    """A file beside the manifest."""

    path: Word
    sha256: Digest | None = None


class WheelSource(Frozen):
    """A file inside a wheel. `sha256` is the wheel's; without it the lock pins it on first use."""

    wheel: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.!+_-]+$")]
    file: Word
    platform: Word | None = None
    sha256: Digest | None = None


class Input(Frozen):
    """A model input. Every dimension is fixed here."""

    shape: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(max_length=8)]
    dtype: Literal["float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "int64", "bool"]


class Samples(Frozen):
    """npy files (one input) or npz files (input name → array); a glob is taken in sorted order."""

    path: Word


class Reference(Frozen):
    """The numerical proof: inputs for the simulator, and how close the outputs must come."""

    inputs: Word
    min_cosine: Annotated[float, Field(ge=-1, le=1)]


class Model(Frozen):
    """The network and how it is to be compiled."""

    source: PathSource | WheelSource
    inputs: dict[str, Input] | None = None
    precision: Precision
    calibration: Samples | None = None
    reference: Reference | None = None


class Qairt(Frozen):
    """Where the device libraries come from: a known wheel, or a folder of the user's."""

    source: Literal["wheel", "path"] = Field(alias="from")
    version: Annotated[str, StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
    path: Word | None = None

    @model_validator(mode="after")
    def _path_with_path(self) -> Qairt:
        if (self.source == "path") != (self.path is not None):
            raise ValueError('`path` goes with `from = "path"`, and only with it')
        return self


class Settings(Frozen):
    """What `[defaults]` sets for all targets and a target may set for itself."""

    runtime: Runtime
    compute: Annotated[tuple[ComputeUnit, ...], Field(min_length=1)]
    optimization: Annotated[int, Field(ge=1, le=3)]
    power: PowerProfile
    vtcm_mb: Annotated[int, Field(ge=0, le=64)]
    hvx_threads: Annotated[int, Field(ge=0, le=16)]
    rpc_latency_us: Annotated[int, Field(ge=0, le=100_000)]
    rpc_polling_us: Annotated[int, Field(ge=0, le=9999)] | None = Field(
        default=None, description="0…9999; absent: what the power profile says"
    )


class Target(Settings):
    """One set of packages for one operating system."""

    name: Name | None = None
    soc: Annotated[tuple[Word, ...], Field(min_length=1)]
    os: Word
    abi: Word
    formats: Annotated[tuple[Word, ...], Field(min_length=1)]
    precision: Precision


class Allow(Frozen):
    """A finding that is accepted on purpose."""

    rule: Annotated[str, StringConstraints(pattern=r"^HEX[0-9]{3}$")]
    target: Name | None = None
    reason: Annotated[str, StringConstraints(min_length=8)]


class Manifest(Frozen):
    """The whole document, schema 1."""

    schema_: Literal[1] = Field(alias="schema")
    package: Package
    model: Model
    qairt: Qairt
    defaults: Settings
    targets: Annotated[tuple[Target, ...], Field(min_length=1)]
    allow: tuple[Allow, ...]
