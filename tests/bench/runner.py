"""hexrun's own cost, beside yardsticks of the same minute: `python -m tests.bench.runner`.

Overhead per inference (target: at most 1 %) is hexrun_run against the backend's graphExecute, called in turn in
one process on the x86-64 simulator. Start-up (target: at most 15 ms) is a whole process without a model. Copies
(target: at most one) are what hexrun counts of an input on its way to the backend.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import onnxruntime_qnn

from packager import catalog, resources
from packager.report import show, table
from packager.runner import build, generated_tables
from packager.store import Store

HERE = Path(__file__).parent
MODELS = HERE.parent / "integration" / "runner_models.py"
RUNS, STARTS = 400, 25
CONF = """format 1
package bench 1.0.0
backend {vendor}/libQnnHtp.so
system {vendor}/libQnnSystem.so
simulator yes
compute npu
power burst
rpc_latency_us 100
variant soc=qcs9075 soc_model=77 accepts=- hexagon=73 vtcm_mb=8 linux_soc_ids=667 context=model.bin
"""


class Overhead(NamedTuple):
    """Medians in nanoseconds; `extra` of the differences within pairs. Copies are (form, wanted, copied) bytes."""

    through: float
    direct: float
    extra: float
    copies: list[tuple[str, int, int]]


def compiled(folder: Path) -> Path:
    """runner_overhead.c with the runner's own sources, for this machine."""
    sources = Path(str(resources.folder("templates"))) / "runner"
    (folder / "tables.c").write_text(generated_tables(), encoding="ascii")
    units = [path for path in sources.glob("*.c") if not path.name.endswith(("_windows.c", "main.c"))]
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("neither gcc nor clang is installed")
    made = folder / "overhead"
    flags = ("-std=c11", "-D_XOPEN_SOURCE=700", "-Os", f"-I{sources}", "-o", str(made))
    files = [HERE / "runner_overhead.c", folder / "tables.c", *units]
    subprocess.run([compiler, *flags, *map(str, files), "-lm", "-ldl"], check=True)
    return made


def model(folder: Path) -> None:
    """A small quantized model, compiled for the simulator: the smaller it is, the more overhead shows."""
    subprocess.run(
        [sys.executable, str(MODELS), str(folder), "quantized", "77"], check=True, capture_output=True
    )
    conf = CONF.format(vendor=Path(onnxruntime_qnn.__file__).parent)
    (folder / "runner.conf").write_text(conf, encoding="utf-8")


def overhead(folder: Path) -> Overhead:
    """Compile the program, the model, and run both kinds of call in turn."""
    program = compiled(folder)
    model(folder)
    done = subprocess.run(
        [program, folder, str(RUNS)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    pairs = [(int(row[1]), int(row[2])) for row in rows if row[:1] == ["pair"]]
    copies = [(row[1], int(row[2]), int(row[3])) for row in rows if row[:1] == ["copied"]]
    return Overhead(
        statistics.median(run for run, _ in pairs),
        statistics.median(direct for _, direct in pairs),
        statistics.median(run - direct for run, direct in pairs),
        copies,
    )


def start(command: Sequence[str]) -> float:
    """Median wall time of a whole process, in milliseconds."""
    times = []
    for _ in range(STARTS):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def main() -> None:
    """Measure and print one table."""
    rows = table("what", "measured", "yardstick", "ratio", "target", right=("measured", "yardstick", "ratio"))
    with tempfile.TemporaryDirectory(prefix="hexpack-bench-") as name:
        folder = Path(name)
        store = Store(Path(os.environ.get("HEXPACK_STORE", str(folder / "store"))))
        hexrun = folder / "hexrun"
        shutil.copyfile(store.path(build(catalog.abis()["x86_64-linux-clang"], store).blob.sha256), hexrun)
        hexrun.chmod(0o755)
        found = overhead(folder)
        rows.add_row(
            "an inference through hexrun_run / straight into the backend",
            f"{found.through / 1000:.1f} us", f"{found.direct / 1000:.1f} us",
            f"{1 + found.extra / found.direct:.4f}", "at most 1.01",
        )  # fmt: skip
        true, own = start(["/bin/true"]), start([str(hexrun), "--version"])
        rows.add_row(
            "start without a model / start of true",
            f"{own:.1f} ms", f"{true:.1f} ms", f"{own / true:.2f}", "at most 15 ms",
        )  # fmt: skip
        for form, wanted, copied in found.copies:
            rows.add_row(
                f"input copied on its way, {form} / its bytes",
                f"{copied} B", f"{wanted} B", f"{copied / wanted:.2f}", "at most 1",
            )  # fmt: skip
    show(rows)


if __name__ == "__main__":
    main()
