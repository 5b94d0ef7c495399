"""The device libraries of four QAIRT releases for Linux on Arm, and context binaries that each of them made."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from packager import catalog
from packager.runner import build
from packager.sources import Fetched
from packager.sources.wheel import fetch_wheel
from packager.sources.zipped import file_names, member
from packager.store import Store, key_of
from tests.lab.boards import KINDS, Board, Kind, compiled

PLATFORM, PYTHON = "manylinux_2_34_aarch64", "3.11"
MODELS = Path(__file__).parent.parent / "integration"
RUNNER = Path(__file__).parents[2] / "templates" / "runner"
ABI = "oe-linux-gcc11.2"
NEWEST = "2.51"  # its compiler runs on this machine too


class Wheel(NamedTuple):
    """The wheel that carries a release's libraries."""

    requirement: str
    sha256: str


RELEASES = {
    "2.36": Wheel("qnnruntime==2.36.4.2", "d249ef04003bd068dbd4c41abb8cada8f7e39fd2e8370562bbed52c8b253e906"),
    "2.40": Wheel("qnnruntime==2.40.0.2", "4d888aa446ebb10165ace92362beff5c4629e62348e1733d62a252bac2ad7eb9"),
    "2.48": Wheel("qnnruntime==2.48.0.2", "0543be989fef3fc48df53edfbe4746f4bf1bef8e2c80a6d055cc3afe74121aa4"),
    "2.51": Wheel(
        "onnxruntime-qnn==2.7.0", "ad08bbfebd7c07ffe83995418303215f46cb25a89e12676f47ee20c32002eaad"
    ),
}


class Shelf:
    """Where the lab takes its material from: libraries by release, contexts by release and SoC."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._wheels: dict[str, tuple[Fetched, dict[str, str]]] = {}

    def library(self, release: str, name: str) -> Path:
        """A file of a release's wheel. Raises KeyError where the release has none of that name."""
        if release not in self._wheels:
            wheel = RELEASES[release]
            fetched = fetch_wheel(
                wheel.requirement, platform=PLATFORM, python=PYTHON, pinned=wheel.sha256, store=self.store
            )
            inside = {path.rpartition("/")[2]: path for path in file_names(fetched, self.store)}
            self._wheels[release] = fetched, inside
        fetched, inside = self._wheels[release]
        return member(fetched, inside[name], self.store).path

    def hexrun(self) -> Path:
        """The runner for the boards."""
        return self.store.path(build(catalog.abis()[ABI], self.store).blob.sha256)

    def context(self, release: str, soc: str) -> Path:
        """A small model for a SoC, compiled by that release: by the newest on this machine, quantized; by the
        others as a board would do it, from a model library.
        """
        key = key_of({"release": release, "soc": soc, "sources": _sources()})
        known = self.store.recall("lab-context", key)
        if not known or not self.store.path(known["sha256"]).is_file():
            with tempfile.TemporaryDirectory() as name:
                make = _compiled_here if release == NEWEST else _composed_on_the_board
                blob = self.store.add_file(make(self, Path(name), release, KINDS[soc]))
            known = {"sha256": blob.sha256}
            self.store.record("lab-context", key, known)
        return self.store.path(known["sha256"])


def _sources() -> list[str]:
    names = ("runner_models.py", "model_library.c")
    return [hashlib.sha256((MODELS / name).read_bytes()).hexdigest() for name in names]


def _compiled_here(_shelf: Shelf, folder: Path, _release: str, kind: Kind) -> Path:
    script = [sys.executable, str(MODELS / "runner_models.py"), str(folder), "quantized", str(kind.soc_model)]
    subprocess.run(script, capture_output=True, check=True)
    return folder / "model.bin"


def _composed_on_the_board(shelf: Shelf, folder: Path, release: str, kind: Kind) -> Path:
    from tests.lab.bundles import Bundle

    board = Board(folder / "board", kind, shelf.store)
    bundle = Bundle.sound(folder / "bundle", shelf, release, kind, context=None)
    bundle.put(shelf.library(release, "libQnnHtpPrepare.so"), "lib/libQnnHtpPrepare.so")
    # On Arm a pointer to the interface is passed, so that its length is no matter.
    flags = (f"-I{RUNNER}", "-DINTERFACE_LENGTH=55", "-shared", "-fPIC", "-fvisibility=hidden")
    library = compiled(shelf.store, "model.so", [MODELS / "model_library.c"], flags)
    bundle.put(library, "share/models/model.so")
    bundle.configure(
        kind, asset="library=models/model.so", prepare="optimization=1 vtcm_mb=0 hvx_threads=0 fp16=yes"
    )
    made = folder / "model.bin"
    ran = board.run(bundle.root / "bin/hexrun", "--save-context", made)
    assert made.is_file(), ran.stderr
    return made
