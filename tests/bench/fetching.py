"""What fetching costs beside copying and hashing the same file, and what memory it takes."""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packager.files import digest

REPEATS = 3
SOCS = ("sa8255p", "sc8380xp", "qcs8550", "sa7255p", "sa8797p", "qcs9075", "qcs8275", "qcs8625")
_TARGET = '\n[[targets]]\nname = "{name}"\nsoc = ["{soc}"]\nos = "linux"\nformats = ["tar.gz"]\n'


class Fetching(NamedTuple):
    """Median seconds of fetching a file into an empty store, and of `cp` and `sha256sum` of the same file."""

    size: int
    seconds: float
    yardstick_seconds: float

    @property
    def ratio(self) -> float:
        """How many times as long as the yardstick."""
        return self.seconds / self.yardstick_seconds


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a web server for a folder, in a process of its own."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout
        line = server.stdout.readline()  # Serving HTTP on 127.0.0.1 port 40123 (http://127.0.0.1:40123/) ...
        try:
            yield line.partition("(")[2].partition("/)")[0]
        finally:
            server.terminate()


def measure(size: int, folder: Path) -> Fetching:
    """Fetch `size` random bytes from this machine, and copy and hash them by the system's own programs."""
    source = folder / "large.bin"
    with source.open("wb") as out:
        for _ in range(size >> 20):
            out.write(os.urandom(1 << 20))
    sha256, fetches, copies = digest(source).sha256, [], []
    with served(folder) as address:
        for _ in range(REPEATS):
            with tempfile.TemporaryDirectory(dir=folder) as store:
                began = time.perf_counter()
                _fetch(f"{address}/large.bin", sha256, Path(store))
                fetches.append(time.perf_counter() - began)
            began = time.perf_counter()
            copy = folder / "copy.bin"
            subprocess.run(["cp", source, copy], check=True)
            subprocess.run(["sync", copy], check=True)  # a store flushes what it keeps
            subprocess.run(["sha256sum", copy], check=True, capture_output=True)
            copies.append(time.perf_counter() - began)
            copy.unlink()
    source.unlink()
    return Fetching(size, statistics.median(fetches), statistics.median(copies))


def _fetch(url: str, sha256: str, store: Path) -> int:
    """Fetch in a process of its own; returns its peak resident bytes."""
    program = f"from tests.bench.fetching import fetch_one; fetch_one({url!r}, {sha256!r}, {str(store)!r})"
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return int(run.stdout)


def fetch_one(url: str, sha256: str, store: str) -> None:
    """Fetch into an empty store and say this process's peak resident bytes on stdout."""
    from packager.sources.http import fetch_url
    from packager.store import Store
    from tests.bench.packing import peak_resident_bytes

    fetch_url(url, sha256=sha256, store=Store(Path(store)))
    sys.stdout.write(f"{peak_resident_bytes()}\n")


def peak_memory(size: int, folder: Path) -> int:
    """Peak resident bytes of a process that fetches `size` bytes, a hole in the server's file system."""
    hole = folder / "hole.bin"
    with hole.open("wb") as stream:
        stream.truncate(size)
    with served(folder) as address, tempfile.TemporaryDirectory(dir=folder) as store:
        peak = _fetch(f"{address}/hole.bin", digest(hole).sha256, Path(store))
    hole.unlink()
    return peak


def eight_targets(manifest: Path, folder: Path) -> Path:
    """The manifest's model for eight SoCs, with the example's folders beside it."""
    shutil.copytree(manifest.parent, folder, ignore=shutil.ignore_patterns("app.lock"))
    head = manifest.read_text(encoding="utf-8").partition("[[targets]]")[0]
    made = folder / "eight.toml"
    targets = "".join(_TARGET.format(name=f"on-{soc}", soc=soc) for soc in SOCS)
    made.write_text(head + targets, encoding="utf-8")
    return made
