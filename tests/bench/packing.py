"""How long packing takes beside hashing and `zstd -3 -T0` of the same bytes, and how much memory it needs.

    python -m tests.bench.packing FILE...     files that are to be packed, such as vendor libraries

prints one JSON document. Measures only the writers: no compiling, no reading back.
"""

from __future__ import annotations

import io
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from packager.bundle import Bundle, BundleFile
from packager.files import Blob, digest
from packager.formats import by_id
from packager.plan_model import TargetPlan
from tests.make.bundle import target_plan

EPOCH = 1_700_000_000
REPEATS = 5


class Job(NamedTuple):
    """One package to write."""

    format_id: str
    plan: TargetPlan
    bundle: Bundle


class Measured(NamedTuple):
    """Median seconds of writing packages and of the yardstick, and bytes before and after."""

    seconds: float
    yardstick_seconds: float
    bytes_in: int
    bytes_out: int

    @property
    def ratio(self) -> float:
        """How many times the yardstick's time the packing takes."""
        return self.seconds / self.yardstick_seconds


def bundle_of_files(files: Sequence[Path]) -> Bundle:
    """A bundle of files that exist already, all below `lib/`."""
    return Bundle.of(
        BundleFile(path=f"lib/{path.name}", role="backend", blob=digest(path), local=path) for path in files
    )


def measure(jobs: Sequence[Job], folder: Path, repeats: int = REPEATS) -> Measured:
    """Write all packages, then hash and compress the same bytes with the zstd command, in turns.

    The yardstick hashes and compresses the files of a bundle once for each of its packages. Both write
    to `folder`. Taking turns spreads the noise of other processes over the two.
    """
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(_timed(lambda: [_write(job, folder) for job in jobs]))
        theirs.append(_timed(lambda: [_yardstick(job.bundle, folder) for job in jobs]))
    return Measured(
        seconds=statistics.median(ours),
        yardstick_seconds=statistics.median(theirs),
        bytes_in=sum(job.bundle.size for job in jobs),
        bytes_out=sum((folder / by_id(job.format_id).file_name(job.plan)).stat().st_size for job in jobs),
    )


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _write(job: Job, folder: Path) -> None:
    writer = by_id(job.format_id)
    with (folder / writer.file_name(job.plan)).open("w+b") as out:
        writer.write(job.plan, job.bundle, out, epoch=EPOCH)


def _yardstick(bundle: Bundle, folder: Path) -> None:
    files = [file.local for file in bundle.files]
    for path in files:
        digest(path)
    with (folder / "yardstick.zst").open("wb") as out:
        subprocess.run(["zstd", "-3", "-T0", "-q", "-c", *files], stdout=out, check=True)


class Nowhere(io.RawIOBase):
    """A seekable stream that keeps nothing but its position."""

    def __init__(self) -> None:
        self._at = 0

    def writable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]
        """Count the bytes."""
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Only to a place counted from the start."""
        assert whence == io.SEEK_SET
        self._at = offset
        return offset

    def tell(self) -> int:
        """Where the next byte would go."""
        return self._at


def peak_memory(format_id: str, size: int, folder: Path) -> int:
    """Peak resident bytes of a process that packs one file of `size` bytes, a hole in the file system.

    Compare sizes: what Python and the modules need is in the number too.
    """
    hole = folder / f"hole-{size}"
    with hole.open("wb") as stream:
        stream.truncate(size)
    blob = digest(hole)
    try:
        call = f"pack_one({format_id!r}, {str(hole)!r}, {blob.sha256!r})"
        program = f"from tests.bench.packing import pack_one; {call}"
        run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        return int(run.stdout)
    finally:
        hole.unlink()


def pack_one(format_id: str, path: str, sha256: str) -> None:
    """Pack one file to nowhere and say on stdout the peak resident bytes of this process, or of its largest child."""
    blob = Blob(sha256=sha256, size=Path(path).stat().st_size)
    bundle = Bundle.of([BundleFile(path="share/weights.bin", role="context", blob=blob, local=Path(path))])
    plan = target_plan(formats=(format_id,))
    by_id(format_id).write(plan, bundle, cast("BinaryIO", Nowhere()), epoch=EPOCH)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    sys.stdout.write(f"{max(peak_resident_bytes(), children)}\n")


def peak_resident_bytes() -> int:
    """Of this process since it began."""
    # Not getrusage: its ru_maxrss keeps what the parent had before exec.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def report(files: Sequence[Path]) -> dict[str, object]:
    """Ratios for one bundle of `files` in each format and for all together; memory for 16 MB and 3 GB."""
    bundle = bundle_of_files(files)
    jobs = [
        Job(format_id, target_plan(formats=(format_id,)), bundle) for format_id in ("tar.zst", "deb", "zip")
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measured = {job.format_id: measure([job], folder) for job in jobs}
        measured["together"] = measure(jobs, folder)
        return {
            "packing": {
                key: {**value._asdict(), "ratio": round(value.ratio, 3)} for key, value in measured.items()
            },
            "peak_memory_bytes": {
                job.format_id: {
                    str(size): peak_memory(job.format_id, size, folder) for size in (16 << 20, 3 << 30)
                }
                for job in jobs
            },
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(report([Path(argument) for argument in sys.argv[1:]]), indent=2) + "\n")
