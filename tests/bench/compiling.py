"""Eight SoCs compiled at once against one after another: `python -m tests.bench.compiling [MANIFEST]`.

Both run in turn, in stores that know the prepared model alone, and are compared by their wall times: with two
processors the target is 1.7. Of proofs there is no such target, because the simulator itself uses several threads.
Peak memory is what this process and all its workers hold together.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple, Self

from packager import catalog
from packager.assets import Acquisition, Inputs
from packager.contexts import Compilation
from packager.lock_reading import load as load_lock
from packager.manifest import load
from packager.plan import make_plan
from packager.plan_model import Plan
from packager.report import show, table
from packager.sources import silent
from packager.store import Store, default_root
from packager.units import human_size

EIGHT = ("sm8550", "sm8650", "sm8750", "sm8850", "sa8295p", "x-elite", "qcs9075", "qcs8275")
EXAMPLE = Path(__file__).parents[2] / "examples" / "text-direction" / "app.toml"
NINTH = "sm8475"  # whose compilation prepares the model for all
TARGET = """[[targets]]
name = "eight"
soc = [{socs}]
os = "linux"
abi = "x86_64-linux-clang"
formats = ["tar.gz"]
"""
GLANCE_SECONDS = 0.1
WHAT = {"compiling for 8 SoCs": (False, 2), "compiling and proving for 8 SoCs": (True, 1)}  # proved, rounds


class Measured(NamedTuple):
    """Seconds of all rounds, and the largest number of bytes held at one time."""

    seconds: float
    peak: int


class Watch:
    """The largest sum of resident memory of this process and its children while the block runs."""

    def __init__(self) -> None:
        self.peak, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(GLANCE_SECONDS):
            self.peak = max(self.peak, sum(map(resident, (os.getpid(), *children()))))


def children() -> list[int]:
    """The processes that this one started and that still run."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        try:
            found += [int(pid) for pid in (task / "children").read_text(encoding="ascii").split()]
        except OSError:
            continue  # a thread that has just ended
    return found


def resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 once it has ended."""
    try:
        said = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    found = re.search(r"^VmRSS:\s+(\d+) kB$", said, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def eight(manifest: Path, folder: Path, *, proved: bool) -> tuple[Plan, Inputs]:
    """The manifest's model for eight SoCs, and its inputs."""
    head = manifest.read_text(encoding="utf-8").partition("[[targets]]")[0]
    text = head + TARGET.format(socs=", ".join(f'"{soc}"' for soc in EIGHT))
    own = folder / "app.toml"
    own.write_text(text, encoding="utf-8")
    plan = make_plan(load(own))
    lock = load_lock(manifest.with_suffix(".lock"))
    got = Acquisition(manifest.parent.absolute(), Store(default_root()), lock, offline=False, tell=silent)
    inputs = got.inputs(plan)
    return plan, inputs if proved else inputs.model_copy(update={"reference": ()})


def measure(plan: Plan, inputs: Inputs, jobs: int, folder: Path) -> Measured:
    """Compile and (with samples) prove the plan's contexts in a store that knows the prepared model alone."""
    store = Store(folder)
    ninth = plan.targets[0].model_copy(update={"socs": (catalog.soc(NINTH),)})
    alone = inputs.model_copy(update={"reference": ()})
    Compilation(store, alone, silent).contexts([ninth], 1)
    began = time.perf_counter()
    with Watch() as watch:
        Compilation(store, inputs, silent).contexts(plan.targets, jobs)
    return Measured(time.perf_counter() - began, watch.peak)


def main(manifest: Path = EXAMPLE) -> None:
    """Measure and print one table."""
    rows = table("what", "one after another", "at once", "ratio", "target", right=("ratio",))
    jobs = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="hexpack-bench-") as name:
        for what, (proved, rounds) in WHAT.items():
            plan, inputs = eight(manifest, Path(name), proved=proved)
            serial, parallel = Measured(0, 0), Measured(0, 0)
            for number in range(rounds):
                one = measure(plan, inputs, 1, Path(name, f"{proved}-{number}-one"))
                many = measure(plan, inputs, jobs, Path(name, f"{proved}-{number}-many"))
                serial = Measured(serial.seconds + one.seconds, max(serial.peak, one.peak))
                parallel = Measured(parallel.seconds + many.seconds, max(parallel.peak, many.peak))
            rows.add_row(
                f"{what}, {jobs} at once",
                f"{serial.seconds / rounds:.1f} s, {human_size(serial.peak)}",
                f"{parallel.seconds / rounds:.1f} s, {human_size(parallel.peak)}",
                f"{serial.seconds / parallel.seconds:.2f}",
                "-" if proved else "at least 1.7 on 2 processors",
            )
    show(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLE)
