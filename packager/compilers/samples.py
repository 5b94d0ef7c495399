"""Samples for calibration and proof: npy files (one input), npz files (input name → array), pictures."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packager.compilers import pictures
from packager.compilers.jobs import TensorSpec
from packager.errors import InputUnavailable, nearest
from packager.manifest_samples import Preprocessing

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def read(
    path: Path, inputs: Sequence[TensorSpec], preprocessing: Preprocessing | None = None
) -> dict[str, Array]:
    """The arrays of one sample by input name, in the order of the model's inputs, contiguous.

    `preprocessing` is for pictures. Raises InputUnavailable naming the file when it cannot be read, lacks an
    input or has one too many, or when an array differs in dtype or shape or holds NaN or infinity.
    """
    picture = path.suffix.lower() in pictures.ENDINGS
    arrays = pictures.read(path, inputs, preprocessing) if picture else _load(path, inputs)
    return {spec.name: _checked(path, arrays[spec.name], spec) for spec in inputs}


class Feed:
    """Hands samples to a calibrator one by one, so that memory does not grow with their number.

    The method is that of onnxruntime's CalibrationDataReader.
    """

    def __init__(
        self, specs: Sequence[TensorSpec], paths: Sequence[Path], preprocessing: Preprocessing | None = None
    ) -> None:
        self._specs, self._paths, self._preprocessing = specs, iter(paths), preprocessing

    def get_next(self) -> dict[str, Any] | None:
        """The next sample, None after the last."""
        path = next(self._paths, None)
        return None if path is None else dict(read(path, self._specs, self._preprocessing))


def _load(path: Path, inputs: Sequence[TensorSpec]) -> dict[str, Array]:
    import numpy as np

    try:
        # Pickled objects run code when they are read, so they are refused.
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _single(path, loaded, inputs)
        with loaded as archive:
            _same_names(path, archive.files, inputs)
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, SyntaxError, zipfile.BadZipFile, zlib.error) as error:
        raise InputUnavailable(
            f"sample {path} is not a readable .npy or .npz file",
            evidence=(str(error).splitlines()[0] if str(error) else type(error).__name__,),
            fix="write samples with numpy.save (one input) or numpy.savez (several inputs); pictures end in "
            + ", ".join(pictures.ENDINGS),
        ) from None


def _single(path: Path, array: Array, inputs: Sequence[TensorSpec]) -> dict[str, Array]:
    if len(inputs) == 1:
        return {inputs[0].name: array}
    names = ", ".join(spec.name for spec in inputs)
    raise InputUnavailable(
        f"sample {path} holds one array, but the model has {len(inputs)} inputs",
        evidence=(f"inputs: {names}",),
        fix="write a .npz file with one array for each input name (numpy.savez)",
    )


def _same_names(path: Path, found: Sequence[str], inputs: Sequence[TensorSpec]) -> None:
    known = [spec.name for spec in inputs]
    missing = [name for name in known if name not in found]
    strange = [name for name in found if name not in known]
    if not missing and not strange:
        return
    evidence = [f"missing: {', '.join(missing)}"] if missing else []
    for name in strange:
        close = nearest(name, missing or known)
        evidence.append(f"not an input: {name}" + (f" (did you mean {close}?)" if close else ""))
    raise InputUnavailable(
        f"sample {path} does not hold the model's inputs",
        evidence=evidence,
        fix=f"name its arrays {', '.join(known)}",
    )


def _checked(path: Path, array: Array, spec: TensorSpec) -> Array:
    import numpy as np

    if array.dtype.name != spec.dtype or not _fits(array.shape, spec.shape):
        raise InputUnavailable(
            f"sample {path} does not fit model input {spec.name}",
            evidence=(
                f"found   {array.dtype.name} {dimensions(array.shape)}",
                f"wanted  {spec.dtype} {dimensions(spec.shape)}",
            ),
            fix="save the array exactly as the application gives it to the model, batch dimension included",
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputUnavailable(
            f"sample {path} holds NaN or infinity in {spec.name}",
            evidence=(f"{int((~np.isfinite(array)).sum())} of {array.size} values",),
            fix="a sample must be a real input; look at how it was written",
        )
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).reshape(array.shape)


def _fits(shape: Sequence[int], wanted: Sequence[int | None]) -> bool:
    return len(shape) == len(wanted) and all(w in (None, s) for s, w in zip(shape, wanted, strict=True))


def dimensions(shape: Sequence[int | str | None]) -> str:
    """`1×3×48×48`; `?` for an open dimension, `scalar` for none."""
    return "×".join("?" if d is None else str(d) for d in shape) or "scalar"
