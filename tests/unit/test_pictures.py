"""Pictures as samples, judged by what Pillow itself wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from packager.compilers import samples
from packager.compilers.jobs import TensorSpec
from packager.errors import InputUnavailable, ManifestError
from packager.manifest_samples import Preprocessing

SPEC = TensorSpec(name="x", dtype="float32", shape=(1, 3, 2, 4))
PLAIN = {
    "resize": "stretch",
    "layout": "NCHW",
    "colours": "RGB",
    "divisor": 255.0,
    "mean": (0.0,),
    "std": (1.0,),
}


def said(**more) -> Preprocessing:
    return Preprocessing.model_validate({**PLAIN, **more})


def write(path: Path, pixels: np.ndarray) -> Path:
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def pixels() -> np.ndarray:
    return np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10


def test_a_picture_of_the_inputs_size_keeps_its_pixels(pixels, tmp_path):
    array = samples.read(write(tmp_path / "a.png", pixels), [SPEC], said(divisor=1.0))["x"]

    np.testing.assert_array_equal(array, pixels.transpose(2, 0, 1)[None].astype(np.float32))


def test_mean_and_deviation_follow_the_declared_order_of_colours(pixels, tmp_path):
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.25, 2.0)

    array = samples.read(write(tmp_path / "a.png", pixels), [SPEC], said(colours="BGR", mean=mean, std=std))[
        "x"
    ]

    wanted = (pixels[:, :, ::-1] / 255 - mean) / std
    np.testing.assert_allclose(array[0], wanted.transpose(2, 0, 1), rtol=1e-5, atol=1e-6)


def test_an_integer_input_with_channels_last_is_rounded_into_its_type(pixels, tmp_path):
    spec = TensorSpec(name="x", dtype="uint8", shape=(2, 4, 3))

    array = samples.read(write(tmp_path / "a.png", pixels), [spec], said(layout="NHWC", divisor=0.5))["x"]

    np.testing.assert_array_equal(array, np.clip(pixels.astype(int) * 2, 0, 255).astype(np.uint8))


@pytest.mark.parametrize(("resize", "corner", "middle"), [("cover", 255, 255), ("contain", 0, 255)])
def test_a_picture_of_another_shape_is_cut_or_framed_in_black(tmp_path, resize, corner, middle):
    white = np.full((8, 8, 3), 255, np.uint8)

    array = samples.read(write(tmp_path / "a.png", white), [SPEC], said(resize=resize, divisor=1.0))["x"]

    assert (array[0, 0, 0, 0], array[0, 0, 0, 2]) == (corner, middle)


def test_a_jpeg_becomes_one_channel_of_brightness(tmp_path):
    spec = TensorSpec(name="x", dtype="float32", shape=(1, 1, 8, 8))
    file = write(tmp_path / "a.jpg", np.full((8, 8, 3), 51, np.uint8))

    array = samples.read(file, [spec], said(colours="gray"))["x"]

    np.testing.assert_allclose(array, 0.2, atol=0.01)


def test_a_cut_picture_is_named(pixels, tmp_path):
    file = write(tmp_path / "a.png", pixels)
    file.write_bytes(file.read_bytes()[:-30])

    with pytest.raises(InputUnavailable, match=r"a\.png is not a readable picture"):
        samples.read(file, [SPEC], said())


def test_a_picture_without_declared_preprocessing_asks_for_it(pixels, tmp_path):
    with pytest.raises(ManifestError, match="nothing says how it becomes the model's input") as caught:
        samples.read(write(tmp_path / "a.png", pixels), [SPEC])

    assert "[model] preprocessing" in caught.value.fix


@pytest.mark.parametrize(
    "inputs",
    [
        [TensorSpec(name="x", dtype="float32", shape=(1, 2, 4, 3))],
        [TensorSpec(name="x", dtype="float32", shape=(2, 3, 2, 4))],
        [SPEC, TensorSpec(name="y", dtype="float32", shape=(1,))],
    ],
)
def test_inputs_that_are_no_single_picture_are_told_with_their_shape(pixels, tmp_path, inputs):
    with pytest.raises(ManifestError, match="pictures do not fit") as caught:
        samples.read(write(tmp_path / "a.png", pixels), inputs, said())

    assert "layout NCHW, colours RGB: 3 channels" in caught.value.evidence[1]


def test_a_mean_for_three_channels_does_not_fit_gray():
    with pytest.raises(ValidationError, match="`mean` holds 1 numbers for gray"):
        said(colours="gray", mean=(0.1, 0.2, 0.3))
