"""`invoke bench`: speed and memory of the main job, as ratios within one run.

    python -m tests.bench [MANIFEST]

Builds the manifest's packages once (so that everything is in the store), then measures. Times on a shared
machine mean little; each figure stands beside a yardstick that ran in the same minute.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from packager.manifest import load
from packager.plan import make_plan
from packager.report import show, table
from packager.units import human_size
from tests.bench import compiling, fetching, formats, runner
from tests.bench.packing import Job, bundle_of_files, measure, peak_memory

REPEATS = 5
SMALL, MIDDLE, LARGE = 16 << 20, 512 << 20, 3 << 30
CONTENT = ("*.so*", "*.dll", "*.cat", "*.bin", "hexrun*")


def hexpack(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from packager.commands.program import main; main()", *arguments]


def seconds(command: Sequence[str], *, expect: int = 0) -> float:
    """Median wall time of a whole process."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        code = subprocess.run(command, capture_output=True, check=False).returncode
        times.append(time.perf_counter() - began)
        if code != expect:
            raise SystemExit(f"{command} ended with {code}, wanted {expect}")
    return statistics.median(times)


def unpacked(package: Path, folder: Path) -> list[Path]:
    """The libraries, contexts and programs of a finished package."""
    folder.mkdir()
    unpack = {
        ".deb": ["dpkg-deb", "-x", str(package), str(folder)],
        ".zst": ["tar", "--zstd", "-xf", str(package), "-C", str(folder)],
        ".zip": ["unzip", "-q", str(package), "-d", str(folder)],
    }[package.suffix]
    subprocess.run(unpack, check=True)
    found = {path for pattern in CONTENT for path in folder.rglob(pattern) if not path.is_symlink()}
    return sorted(path for path in found if path.is_file())


def jobs(manifest: Path, dist: Path, work: Path) -> Iterator[Job]:
    """Every package of the manifest again, with the files that it really holds."""
    for target in make_plan(load(manifest)).targets:
        for package in target.packages:
            files = unpacked(dist / package.file_name, work / f"tree-of-{package.file_name}")
            yield Job(package.format, target, bundle_of_files(files))


def main(manifest: Path) -> None:
    """Measure and print one table."""
    rows = table("what", "measured", "yardstick", "ratio", "target", right=("measured", "yardstick", "ratio"))
    with tempfile.TemporaryDirectory(prefix="hexpack-bench-") as name:
        work = Path(name)
        dist = work / "dist"
        package = hexpack("package", "--manifest", str(manifest), "--out", str(dist))
        subprocess.run(package, check=True)
        python = seconds([sys.executable, "-c", "pass"])

        def timed(what: str, command: Sequence[str], target: str, expect: int = 0) -> None:
            took = seconds(command, expect=expect)
            rows.add_row(what, f"{took:.2f} s", f"{python:.2f} s", f"{took / python:.1f}", target)

        timed("package, nothing changed / python start", package, "under 1 s")
        eight = hexpack(
            "package",
            "--manifest",
            str(fetching.eight_targets(manifest, work / "eight")),
            "--out",
            str(work / "8"),
        )
        subprocess.run(eight, check=True)
        timed("package of 8 targets, nothing changed / python start", eight, "under 1 s")
        timed("--list / python start", hexpack("--list"), "under 0.5 s")
        broken = work / "broken.toml"
        broken.write_text(
            manifest.read_text(encoding="utf-8").replace("qcs6490", "qcs6940"), encoding="utf-8"
        )
        check = hexpack("check", "--manifest", str(broken))
        timed("check, broken manifest / python start", check, "under 0.5 s", expect=2)

        written = list(jobs(manifest, dist, work))
        packing = measure(written, work)
        rows.add_row(
            f"packing {human_size(packing.bytes_in)} / sha256 + zstd -3 -T0",
            f"{packing.seconds:.2f} s",
            f"{packing.yardstick_seconds:.2f} s",
            f"{packing.ratio:.2f}",
            "at most 1.5",
        )
        files = sorted({file.local for job in written for file in job.bundle.files})
        ours, tools = formats.measured(formats.payload(files, work / "payload"), work)
        yardstick = formats.together(tools.values())
        for names, target in ((formats.ALIKE, "at most 1.5"), (formats.FORMATS, "-")):
            took = formats.together(ours[name] for name in names)
            rows.add_row(
                f"200 MB as {', '.join(names)} / {', '.join(tools)}",
                f"{took.clock:.2f} s",
                f"{yardstick.clock:.2f} s",
                f"{took.clock / yardstick.clock:.2f}",
                target,
            )
            rows.add_row(
                "  the same, seconds of all processors",
                f"{took.processors:.2f} s",
                f"{yardstick.processors:.2f} s",
                f"{took.processors / yardstick.processors:.2f}",
                target,
            )
        for format_id in formats.FORMATS:
            small, large = (peak_memory(format_id, size, work) for size in (SMALL, LARGE))
            rows.add_row(
                f"peak memory, {format_id} of one 3 GB file / of 16 MB",
                human_size(large), human_size(small), f"{large / small:.2f}", "flat",
            )  # fmt: skip
        fetched = fetching.measure(MIDDLE, work)
        rows.add_row(
            f"fetching {human_size(fetched.size)} into the store / cp + sync + sha256sum",
            f"{fetched.seconds:.2f} s",
            f"{fetched.yardstick_seconds:.2f} s",
            f"{fetched.ratio:.2f}",
            "one pass",
        )
        small, large = (fetching.peak_memory(size, work) for size in (SMALL, LARGE))
        rows.add_row(
            "peak memory, fetching 3 GB / 16 MB",
            human_size(large), human_size(small), f"{large / small:.2f}", "flat",
        )  # fmt: skip
        shutil.rmtree(dist)
    show(rows)
    compiling.main(manifest)
    runner.main()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "examples/text-direction/app.toml"))
