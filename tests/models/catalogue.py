"""Which models, from where, with which inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import onnx

from packager.manifest_model import Input
from tests.models import networks

SOCS = ("qcs6490", "qcs9075", "sm8550", "sm8650", "sm8750", "sm8850", "sa8295p", "x-elite")
PRECISIONS = ("float", "w8a8")

OCR = ("rapidocr-onnxruntime==1.4.4", "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf")
MAGIKA = ("magika==1.0.3", None)
SILERO = ("silero-vad==6.2.3", None)
# Of a wheel that exists for several systems one is named, so that everybody reads the same file.
PLATFORMS = {MAGIKA[0]: "manylinux_2_28_x86_64"}


class Known(NamedTuple):
    """A model: a file in a wheel (requirement, sha256), or made here. `integers` is where these end."""

    name: str
    wheel: tuple[str, str | None] | None = None
    file: str = ""
    make: Callable[[], onnx.ModelProto] | None = None
    inputs: Mapping[str, Input] = {}
    integers: int = 256

    def sample(self, inputs: Mapping[str, Input], number: int) -> dict[str, np.ndarray]:
        """Random inputs; the same for the same number."""
        random = np.random.default_rng(number)
        return {name: self._array(name, spec, random) for name, spec in inputs.items()}

    def _array(self, name: str, spec: Input, random: np.random.Generator) -> np.ndarray:
        if name == "sr":
            return np.full(spec.shape, 16000, spec.dtype)
        if spec.dtype.startswith(("int", "uint")):
            return random.integers(0, self.integers, spec.shape).astype(spec.dtype)
        return random.uniform(-1, 1, spec.shape).astype(spec.dtype)


def _floats(**shapes: tuple[int, ...]) -> dict[str, Input]:
    return {name: Input(shape=shape, dtype="float32") for name, shape in shapes.items()}


_RATE = {"sr": Input(shape=(), dtype="int64")}
_VOICE = _floats(input=(1, 576), state=(2, 1, 128))


def _ocr(name: str, file: str, shape: tuple[int, ...]) -> Known:
    return Known(name, OCR, f"rapidocr_onnxruntime/models/{file}", inputs=_floats(x=shape))


def _silero(file: str, inputs: Mapping[str, Input]) -> Known:
    return Known(file.removesuffix(".onnx"), SILERO, f"silero_vad/data/{file}", inputs=inputs)


MODELS = (
    _ocr("OCR, direction of a line", "ch_ppocr_mobile_v2.0_cls_infer.onnx", (1, 3, 48, 192)),
    _silero("silero_vad_openvino_16k.onnx", _VOICE),
    _silero("silero_vad_16k_sequence.onnx", _floats(input=(4, 576), h=(1, 1, 128), c=(1, 1, 128))),
    _silero("silero_vad_half.onnx", _VOICE),
    _silero("silero_vad_16k_op15.onnx", {**_VOICE, **_RATE}),
    _silero("silero_vad_op18_ifless.onnx", {**_VOICE, **_RATE}),
    _silero("silero_vad.onnx", {**_VOICE, **_RATE}),
    Known(
        "magika, standard_v3_3",
        MAGIKA,
        "magika/models/standard_v3_3/model.onnx",
        inputs={"bytes": Input(shape=(1, 2048), dtype="int32")},
    ),
    Known("MobileNetV3-Large", make=networks.mobilenet_v3, inputs=_floats(x=(1, 3, 224, 224))),
    _ocr("OCR, recognition", "ch_PP-OCRv4_rec_infer.onnx", (1, 3, 48, 320)),
    Known("EfficientNet-B0", make=networks.efficientnet_b0, inputs=_floats(x=(1, 3, 224, 224))),
    Known("ViT blocks", make=networks.vit_blocks, inputs=_floats(x=(1, 3, 224, 224))),
    Known("ResNet-18", make=networks.resnet_18, inputs=_floats(x=(1, 3, 224, 224))),
    _ocr("OCR, detection", "ch_PP-OCRv4_det_infer.onnx", (1, 3, 320, 320)),
    Known("decoder block", make=networks.decoder_block, inputs=_floats(x=(1, 16, 2880))),
)
