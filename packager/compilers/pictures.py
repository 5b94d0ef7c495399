"""Pictures as samples: decoded by Pillow, fitted to the model's input as the manifest declares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packager.compilers.jobs import TensorSpec
from packager.errors import InputUnavailable, ManifestError
from packager.manifest_samples import Preprocessing

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

    Array = np.ndarray[Any, Any]

ENDINGS = (".png", ".jpg", ".jpeg")


def read(path: Path, inputs: Sequence[TensorSpec], said: Preprocessing | None) -> dict[str, Array]:
    """The picture as the only input of a model, with its batch dimension of 1 if it has one.

    Orientation marks of cameras are obeyed, transparency is dropped. An integer input is rounded and limited
    to its type. Raises InputUnavailable for a file that is no picture, ManifestError where nothing declares
    how it becomes the input or the model's input is not a picture.
    """
    if said is None:
        raise ManifestError(
            f"sample {path} is a picture, and nothing says how it becomes the model's input",
            fix='declare it: [model] preprocessing = { colours = "RGB", mean = [0.5], std = [0.5] }',
        )
    spec, height, width = _place(inputs, said)
    array = _scaled(_fitted(_opened(path, said), width, height, said), said)
    if said.layout == "NCHW":
        array = array.transpose(2, 0, 1)
    if len(spec.shape) == 4:
        array = array[None]
    return {spec.name: _typed(array, spec)}


def _place(inputs: Sequence[TensorSpec], said: Preprocessing) -> tuple[TensorSpec, int, int]:
    """The input that pictures go to, its height and width in pixels."""
    spec = inputs[0]
    channels = 1 if said.colours == "gray" else 3
    rank = len(spec.shape)
    shape = spec.shape[-3:] if said.layout == "NCHW" else (spec.shape[-1], *spec.shape[-3:-1])
    wanted = rank == 3 or (rank == 4 and spec.shape[0] == 1)
    if len(inputs) == 1 and wanted and shape[0] == channels and shape[1] and shape[2]:
        return spec, shape[1], shape[2]
    found = "×".join("?" if size is None else str(size) for size in spec.shape)
    raise ManifestError(
        "pictures do not fit the model's inputs",
        evidence=(
            f"inputs    {len(inputs)}, the first is {spec.name} {found}",
            f"declared  layout {said.layout}, colours {said.colours}: {channels} channels, a batch of 1",
        ),
        fix="correct `layout` and `colours` under [model.preprocessing], or give npy or npz files as samples",
    )


def _opened(path: Path, said: Preprocessing) -> Image:
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as picture:
            return ImageOps.exif_transpose(picture).convert("L" if said.colours == "gray" else "RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputUnavailable(
            f"sample {path} is not a readable picture",
            evidence=(str(error).splitlines()[0] if str(error) else type(error).__name__,),
            fix="give a whole PNG or JPEG file",
        ) from None


def _fitted(picture: Image, width: int, height: int, said: Preprocessing) -> Image:
    from PIL import Image, ImageOps

    size, smooth = (width, height), Image.Resampling.BILINEAR
    if said.resize == "cover":
        return ImageOps.fit(picture, size, smooth)
    if said.resize == "contain":
        return ImageOps.pad(picture, size, smooth, color=0)
    return picture.resize(size, smooth)


def _scaled(picture: Image, said: Preprocessing) -> Array:
    """Height × width × channels as float32."""
    import numpy as np

    pixels = np.asarray(picture, np.float32)
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    if said.colours == "BGR":
        pixels = pixels[:, :, ::-1]
    mean, std = np.asarray(said.mean, np.float32), np.asarray(said.std, np.float32)
    scaled: Array = (pixels / np.float32(said.divisor) - mean) / std
    return scaled


def _typed(array: Array, spec: TensorSpec) -> Array:
    import numpy as np

    kind = np.dtype(spec.dtype)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        array = np.clip(np.rint(array), limits.min, limits.max)
    typed: Array = array.astype(kind)
    return typed
