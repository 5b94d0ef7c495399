"""A device whose backend is the stand-in, for tests that watch what the runner does there.

Imported by tests before pytest can rewrite the asserts: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from runner_kit import HERE, QCS9075, SM8650, Ran, configure, run, zig

from packager.store import Store


class Device:
    """A package on a device whose backend is the stand-in."""

    def __init__(self, folder: Path, library: Path, hexrun: Path) -> None:
        self.folder, self._hexrun = folder, hexrun
        (folder / "dsp").mkdir()
        (folder / "model.bin").write_text("the model")
        np.save(folder / "x.npy", np.arange(4, dtype=np.float32).reshape(2, 2))
        self.conf = configure(
            folder, QCS9075, SM8650, backend=str(library), system=str(library), simulator="no", dsp="dsp"
        )

    def run(self, *arguments: object, **settings: object) -> Ran:
        """x.npy goes in, the report comes out as JSON."""
        return self.run_plainly("--input", self.folder / "x.npy", "--json", *arguments, **settings)

    def run_plainly(self, *arguments: object, **settings: object) -> Ran:
        program, *rest = self.command(*arguments)
        return run(Path(program), *rest, **self.environment(**settings))

    def environment(self, **settings: object) -> dict[str, str]:
        """What makes the stand-in write its journal and do as it is told."""
        plain = {"LOCPATH"}
        told = {key if key in plain else f"STAND_IN_{key}": str(value) for key, value in settings.items()}
        if "LOCPATH" in settings:
            told["LC_ALL"] = "de_DE.UTF-8"
        return {"STAND_IN_JOURNAL": str(self.folder / "journal"), **told}

    def command(self, *arguments: object) -> list[str]:
        return [str(word) for word in (self._hexrun, "--config", self.conf, *arguments)]

    @property
    def journal(self) -> list[str]:
        return (self.folder / "journal").read_text().splitlines()


@pytest.fixture
def device(tmp_path: Path, stand_in: Path, hexrun: Path) -> Device:
    return Device(tmp_path, stand_in, hexrun)


@pytest.fixture(scope="session")
def fastrpc(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a FastRPC library that shares memory for real; see stand_in_fastrpc.c."""
    folder = tmp_path_factory.mktemp("fastrpc")
    zig(store, folder, "-shared", "-fPIC", "-o", "libcdsprpc.so", HERE / "stand_in_fastrpc.c")
    return folder
