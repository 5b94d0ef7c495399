"""The manifest's words about samples: what they are, how a model is quantized and proved with them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from packager.manifest_words import Word
from packager.model import Frozen


class Preprocessing(Frozen):
    """How a picture becomes the model's input: resized, then (pixel / divisor - mean) / std."""

    resize: Literal["stretch", "cover", "contain"] = Field(
        description="How a picture of another size is fitted: stretched; scaled to cover, its middle "
        "cut out; or scaled to lie inside, black around it",
        examples=["cover"],
    )
    layout: Literal["NCHW", "NHWC"] = Field(
        description="Order of the model's dimensions: channels first or last", examples=["NCHW"]
    )
    colours: Literal["RGB", "BGR", "gray"] = Field(
        description="Order of the colour channels, or one channel of brightness", examples=["RGB"]
    )
    divisor: Annotated[float, Field(gt=0)] = Field(
        description="What the pixels, 0 to 255, are divided by first", examples=[255.0]
    )
    mean: Annotated[tuple[float, ...], Field(min_length=1, max_length=3)] = Field(
        description="Subtracted from each channel then, in the order of `colours`; one number for all",
        examples=[[0.485, 0.456, 0.406]],
    )
    std: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1, max_length=3)] = Field(
        description="What each channel is divided by at last, in the order of `colours`; one number for all",
        examples=[[0.229, 0.224, 0.225]],
    )

    @model_validator(mode="after")
    def _one_number_for_each_channel(self) -> Preprocessing:
        channels = 1 if self.colours == "gray" else 3
        for name in ("mean", "std"):
            if len(getattr(self, name)) not in (1, channels):
                raise ValueError(
                    f"`{name}` holds {channels} numbers for {self.colours}, or one for all channels"
                )
        return self


class Quantization(Frozen):
    """How hexpack quantizes, where the precision asks for it."""

    per_channel: bool = Field(
        description="Whether weights have one scale for each channel; convolutions lose much without it",
        examples=[True],
    )
    mixed: dict[str, Literal["a8", "a16", "w4", "w8", "float"]] = Field(
        description="Another precision for nodes or tensors by their names: activations of 8 or 16 bits, "
        "weights of 4 or 8 bits, or (nodes only) float",
        examples=[{"/head/Softmax": "a16"}],
    )


class Samples(Frozen):
    """npy files (one input), npz files (input name → array) or pictures; a glob is taken in sorted order."""

    path: Word = Field(
        description="Path or glob of npy, npz, png or jpg files, from the folder of the manifest",
        examples=["calibration/*.npy"],
    )


class Reference(Frozen):
    """The numerical proof: inputs for the simulator, and how close the outputs must come."""

    inputs: Word = Field(
        description="Path or glob of npy, npz, png or jpg files that are run on the simulator",
        examples=["samples/*.npy"],
    )
    outputs: Word | None = Field(
        default=None,
        description="Path or glob of npy or npz files with the outputs that are expected, one for each of "
        "`inputs`; only for a DLC or a model library, of which onnxruntime computes no reference",
        examples=["expected/*.npy"],
    )
    min_cosine: Annotated[float, Field(ge=-1, le=1)] = Field(
        description="Least cosine similarity between the outputs of the float model and of the compiled one",
        examples=[0.99],
    )
    min_top1: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None,
        description="Least share of rows whose largest number is in the same place in both outputs; absent: "
        "not looked at",
        examples=[0.95],
    )
    seconds: Annotated[int, Field(ge=1, le=86_400)] = Field(
        description="What a proof may take on the simulator for one SoC; samples beyond that are left out, "
        "and the report says so",
        examples=[600],
    )
