"""How long each format takes for one payload of 200 MB, beside the tools that people would use instead.

    python -m tests.bench.formats FILE...     files to make the payload of, such as vendor libraries

The yardstick is what three of the formats' own tools take for the same bytes: `dpkg-deb -Zzstd -z3`, `zip -0`, and
`tar | zstd -3`. All take turns, so that the noise of other processes is spread over them.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from packager.bundle import Bundle
from packager.formats import by_id
from tests.bench.packing import EPOCH, bundle_of_files
from tests.make.bundle import target_plan

SIZE = 200_000_000
REPEATS = 3
BLOCK = 1 << 20
FORMATS = ("tar.gz", "tar.zst", "deb", "ipk", "rpm", "zip", "oci")
ALIKE = ("tar.zst", "deb", "zip")  # those that the three tools make


def payload(files: Sequence[Path], folder: Path, size: int = SIZE) -> list[Path]:
    """Files of `size` bytes together, made of the given ones over and over."""
    folder.mkdir()
    made, left = [], size
    for number, path in enumerate(itertools.cycle(files)):
        if left <= 0:
            return made
        made.append(folder / f"{number:04}-{path.name}")
        content = path.read_bytes()[:left]
        made[-1].write_bytes(content)
        left -= len(content)
    raise ValueError("no files")


class Took(NamedTuple):
    """Median seconds by the clock and of all processors together; these do not depend on who else computes."""

    clock: float
    processors: float


def measured(
    files: Sequence[Path], work: Path, formats: Sequence[str] = FORMATS
) -> tuple[dict[str, Took], dict[str, Took]]:
    """What each format takes, and each tool for the same files, which all lie in one folder."""
    bundle, folder = bundle_of_files(files), files[0].parent
    tasks: dict[str, Callable[[], None]] = {
        **{name: (lambda name=name: _write(name, bundle, work)) for name in formats},
        **{name: (lambda line=line: _shell(line, folder, work)) for name, line in TOOLS.items()},
    }
    _as_debian_wants(folder, work)
    times: dict[str, list[Took]] = {name: [] for name in tasks}
    for _ in range(REPEATS):
        for name, task in tasks.items():
            # What the task before has written would otherwise be written to the disk during this one.
            os.sync()
            began, computed = time.perf_counter(), _processor_seconds()
            task()
            times[name].append(Took(time.perf_counter() - began, _processor_seconds() - computed))
    medians = {
        name: Took(*(statistics.median(values) for values in zip(*each, strict=True)))
        for name, each in times.items()
    }
    return {name: medians[name] for name in formats}, {name: medians[name] for name in TOOLS}


def _processor_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def together(took: Iterable[Took]) -> Took:
    """The sum of several."""
    each = list(took)
    return Took(sum(one.clock for one in each), sum(one.processors for one in each))


TOOLS: Mapping[str, str] = {
    "dpkg-deb -Zzstd -z3": 'dpkg-deb --root-owner-group -Zzstd -z3 --build "$2/debian" "$2/tool.deb"',
    "zip -0": 'rm -f "$2/tool.zip" && zip -q -0 -r "$2/tool.zip" "$1"',
    "tar | zstd -3": 'tar -cf - -C "$1" . | zstd -3 -q -f -o "$2/tool.tar.zst"',
}


def _write(format_id: str, bundle: Bundle, work: Path) -> None:
    with (work / f"ours.{format_id}").open("w+b") as out:
        by_id(format_id).write(target_plan(formats=(format_id,)), bundle, out, epoch=EPOCH)


def _shell(line: str, folder: Path, work: Path) -> None:
    subprocess.run(["sh", "-ec", line, "-", folder, work], check=True, capture_output=True)


def _as_debian_wants(folder: Path, work: Path) -> None:
    """The tree that `dpkg-deb --build` asks for: the payload, and a control file."""
    root = work / "debian"
    (root / "DEBIAN").mkdir(parents=True)
    fields = (
        "Package: payload\nVersion: 1\nArchitecture: all\nMaintainer: A <a@example.com>\nDescription: bench\n"
    )
    (root / "DEBIAN/control").write_text(fields)
    (root / "usr/lib").mkdir(parents=True)
    for path in folder.iterdir():
        (root / "usr/lib" / path.name).hardlink_to(path)


def main(files: Sequence[Path]) -> None:
    """Measure and print one line for each format and tool."""
    with tempfile.TemporaryDirectory(prefix="hexpack-bench-") as name:
        ours, tools = measured(payload(files, Path(name) / "payload"), Path(name))
    for what, took in (ours | tools).items():
        sys.stdout.write(f"{what:<22}{took.clock:6.2f} s, {took.processors:6.2f} s of all processors\n")
    yardstick = together(tools.values())
    for names in (ALIKE, FORMATS):
        sums = together(ours[name] for name in names)
        ratios = (sums.clock / yardstick.clock, sums.processors / yardstick.processors)
        sys.stdout.write(f"{' + '.join(names)}: {ratios[0]:.2f}, {ratios[1]:.2f} of the three tools\n")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
