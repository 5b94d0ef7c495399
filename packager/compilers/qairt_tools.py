"""The command-line tools of a QAIRT SDK, with flags from a table, in a process of their own.

An exit code of 0 proves nothing about what such a tool wrote: whoever calls this reads the result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from packager import files
from packager.catalog import table
from packager.compilers import messages, samples, worker
from packager.compilers.jobs import TensorSpec
from packager.errors import InputUnavailable, ToolFailed, nearest
from packager.manifest_samples import Preprocessing
from packager.model import Frozen

HOST = "x86_64-linux-clang"
ROOTS = ("QAIRT_SDK_ROOT", "QNN_SDK_ROOT")
_SHOWN_LINES = 12
_DLC = "model.dlc"
Hear = Callable[[str], None]
"""Takes what a tool says, line by line, while it runs."""


class Sdk(Frozen):
    """An SDK by its root folder and QAIRT release, three numbers."""

    root: Path
    release: str

    @property
    def libraries(self) -> Path:
        """The folder of the libraries for this machine."""
        return self.root / "lib" / HOST


class Quantizing(Frozen):
    """What qairt-quantizer is asked for: bits of activations and of weights, a scale for each channel."""

    activations: int
    weights: int
    per_channel: bool
    preprocessing: Preprocessing | None = None

    @classmethod
    def of(cls, precision: str, *, per_channel: bool, preprocessing: Preprocessing | None) -> Self:
        """The bits of a word like `w8a16`."""
        weights, activations = precision.removeprefix("w").split("a")
        return cls(
            activations=int(activations),
            weights=int(weights),
            per_channel=per_channel,
            preprocessing=preprocessing,
        )


class Flags(Frozen):
    """How one tool spells its flags from release `since` on; a row of `targets/qairt_tools.toml`."""

    id: str
    since: str
    flags: dict[str, str]
    source: str


def sdk_root(environment: Mapping[str, str] = os.environ) -> Path:
    """The SDK that the environment names. Raises InputUnavailable where it names none, or no folder."""
    name = next((name for name in ROOTS if environment.get(name)), None)
    if name is None:
        raise InputUnavailable(
            'compiler = "qairt" needs a QAIRT SDK, and none is named',
            evidence=(f"not set: {', '.join(ROOTS)}",),
            fix=f'set {ROOTS[0]} to the folder of the SDK (it has bin/{HOST}); or use compiler = "ort-qnn"',
        )
    root = Path(environment[name])
    if not (root / "bin" / HOST).is_dir():
        raise InputUnavailable(
            f"{name} names no QAIRT SDK for this machine",
            evidence=(f"missing: {root / 'bin' / HOST}",),
            fix=f"set {name} to the folder that holds bin/{HOST} and lib/{HOST}",
        )
    return root


def flags_of(tool: str, release: str) -> dict[str, str]:
    """Flags by what they are for. Raises ToolFailed for a release older than any that the table knows."""
    wanted = _numbers(release)
    rows = [Flags.model_validate(row) for row in table("qairt_tools")["tool"] if row["id"] == tool]
    known = [row for row in rows if _numbers(row.since) <= wanted]
    if not known:
        raise ToolFailed(
            f"the flags of {tool} in QAIRT {release} are not known",
            evidence=(f"known from {min(rows, key=lambda row: _numbers(row.since)).since} on",),
            fix="take a newer SDK",
        )
    return max(known, key=lambda row: _numbers(row.since)).flags


def convert(
    sdk: Sdk,
    model: Path,
    beside: Mapping[str, Path],
    inputs: Sequence[TensorSpec],
    work: Path,
    hear: Hear,
) -> Path:
    """An ONNX model as a DLC, `work`/model.dlc, by the SDK's qairt-converter.

    `beside` are its files of weights by their names, `inputs` the shapes to fix. Paths given to the tool are
    relative, because it writes its command line into the DLC. Raises InputUnavailable when the SDK lacks the
    tool, ToolFailed with its last words when it fails or leaves no file.
    """
    tool = "qairt-converter"
    flag = flags_of(tool, sdk.release)
    words = [flag["model"], "model.onnx", flag["output"], _DLC]
    for spec in inputs:
        words += [flag["shape"], spec.name, ",".join(map(str, spec.shape))]
    with files.scratch(work) as inside:
        files.place(model, inside / "model.onnx")
        for name, path in beside.items():
            (inside / name).parent.mkdir(parents=True, exist_ok=True)
            files.place(path, inside / name)
        _run(sdk, tool, words, inside, hear)
        return _kept(sdk, tool, inside, work)


def quantize(
    sdk: Sdk,
    dlc: Path,
    inputs: Sequence[TensorSpec],
    paths: Sequence[Path],
    wanted: Quantizing,
    work: Path,
    hear: Hear,
) -> Path:
    """A float DLC quantized by the SDK's qairt-quantizer, as `work`/model.dlc.

    `paths` (npy, npz or pictures) reach the tool as raw float32 files and a list of them, one line for each
    sample. Raises InputUnavailable for a sample that does not fit or a missing tool, ToolFailed with the
    tool's last words.
    """
    import numpy as np

    tool = "qairt-quantizer"
    flag = flags_of(tool, sdk.release)
    with files.scratch(work) as inside:
        files.place(dlc, inside / "float.dlc")
        lines = []
        for number, path in enumerate(paths):
            arrays = samples.read(path, inputs, wanted.preprocessing)
            words = []
            for index, (name, array) in enumerate(arrays.items()):
                raw = f"{number}-{index}.raw"
                with files.written_whole(inside / raw) as stream:
                    stream.write(np.ascontiguousarray(array, dtype="<f4").tobytes())
                words.append(f"{name}:={raw}")
            lines.append(" ".join(words) + "\n")
        files.write_text(inside / "samples.txt", "".join(lines))
        asked = [flag["model"], "float.dlc", flag["output"], _DLC, flag["samples"], "samples.txt"]
        asked += [flag["activations"], str(wanted.activations), flag["weights"], str(wanted.weights)]
        asked += [flag["per_channel"]] if wanted.per_channel else []
        _run(sdk, tool, asked, inside, hear)
        return _kept(sdk, tool, inside, work)


def _kept(sdk: Sdk, tool: str, inside: Path, work: Path) -> Path:
    if not (inside / _DLC).is_file() or not (inside / _DLC).stat().st_size:
        raise ToolFailed(
            f"{tool} of QAIRT {sdk.release} ended without an error and wrote no DLC",
            evidence=_last_words(inside),
            fix="look at what it said; run it by hand with --debug",
        )
    files.place(inside / _DLC, work / _DLC)
    return work / _DLC


def _run(sdk: Sdk, tool: str, words: Sequence[str], inside: Path, hear: Hear) -> None:
    program = sdk.root / "bin" / HOST / tool
    if not program.is_file():
        there = sorted(path.name for path in program.parent.iterdir())
        close = nearest(tool, there)
        raise InputUnavailable(
            f"the QAIRT SDK has no {tool}",
            evidence=(f"missing: {program}", *([f"nearest: {close}"] if close else [])),
            fix="install the SDK anew, or take a release that has this tool",
        )
    # The tools are Python programs that find their modules and libraries only through these.
    surroundings = {
        "PYTHONPATH": str(sdk.root / "lib" / "python"),
        "LD_LIBRARY_PATH": str(sdk.libraries),
        "PYTHONUNBUFFERED": "1",  # what they say is heard when they say it
        **dict.fromkeys(ROOTS, str(sdk.root)),
    }
    command = ["env", *(f"{name}={value}" for name, value in surroundings.items()), str(program), *words]
    doing = f"{tool} of QAIRT {sdk.release}"
    code = worker.wait(
        command,
        inside,
        doing=doing,
        seconds=worker.COMPILE_SECONDS,
        hear=lambda line: hear(f"{tool}: {line}"),
    )
    if code < 0 or code == 128 + 9:
        raise worker.died(code, doing, worker.log(inside))
    if code:
        said = worker.log(inside).splitlines()
        known = messages.explain(said)
        raise ToolFailed(
            f"{doing}: {known.sentence}" if known else f"{doing} failed (exit code {code})",
            evidence=_last_words(inside),
            fix=known.fix if known else "the lines above are the tool's own; mend what they name",
        )


def _last_words(inside: Path) -> list[str]:
    lines = [line.strip()[:300] for line in worker.log(inside).splitlines() if line.strip()]
    return lines[-_SHOWN_LINES:]


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
