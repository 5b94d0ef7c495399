"""hexrun for Linux on Arm with the real HTP backends of two releases: the calls go through to the end.

What they compute means nothing, because nothing computes: see tests/lab/dsp_stand_in.c.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.lab.boards import KINDS, Board
from tests.lab.bundles import Bundle, skel, stub
from tests.lab.releases import Shelf

KIND = KINDS["qcs8550"]
OTHER = {"2.48": "2.51", "2.51": "2.48"}
BUILDS = {"2.48": "v2.48.0.260626120635", "2.51": "v2.51.0.260929181845"}
# The model of 2.48 has two graphs.
GRAPH = {"2.48": ("--graph", "negated"), "2.51": ()}
# As they reach the DSP.
BURST = [
    "vote dcvs 0 mode 0x10 sleep 40 us bus 0xa0 core 0xa0",
    "latency 100 us",
    "polling 9999 us",
]
RELEASED = ["vote dcvs 1 mode 0x4 sleep 2000 us bus 0x30 core 0x30", "vote given back"]


class Examined(NamedTuple):
    """What the doctor says: its exit code, and its steps by their names."""

    code: int
    first_failure: str | None
    steps: dict[str, dict]


class Place(NamedTuple):
    """A bundle on a board, and the arguments of a run."""

    release: str
    bundle: Bundle
    board: Board
    arguments: tuple[object, ...]

    def run(self, *more: object) -> subprocess.CompletedProcess[str]:
        return self.board.run(self.bundle.root / "bin/hexrun", *more)

    def doctor(self) -> Examined:
        ran = self.run("--doctor", "--json")
        said = json.loads(ran.stdout)
        return Examined(ran.returncode, said["first_failure"], {step["step"]: step for step in said["steps"]})

    def votes(self) -> list[str]:
        """What of votes came to the DSP."""
        return [line for line in self.board.journal.splitlines() if "skel " not in line]


@pytest.fixture(params=list(OTHER))
def place(request: pytest.FixtureRequest, store, tmp_path: Path) -> Place:
    release, shelf = request.param, Shelf(store)
    context = shelf.context(release, KIND.soc)
    bundle = Bundle.sound(tmp_path / "bundle", shelf, release, KIND, context)
    np.save(tmp_path / "x.npy", np.linspace(-2, 2, 192, dtype=np.float32).reshape(1, 3, 8, 8))
    arguments = ("--input", tmp_path / "x.npy", *GRAPH[release])
    return Place(release, bundle, Board(tmp_path / "board", KIND, store), arguments)


def test_a_context_runs_to_the_end_and_the_dsp_gets_the_votes_and_gets_them_back(place, tmp_path):
    ran = place.run(*place.arguments, "--output", tmp_path / "out", "--json", "--iterations", "3")

    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["backend"]["build"] == BUILDS[place.release]
    assert said["variant"]["chosen_because"] == "the device reports soc_model 66, Hexagon v73"
    assert said["iterations"] == 3
    assert np.load(said["outputs"][0]["file"]).shape == (1, 3, 8, 8)
    assert (said["power"]["applied"], said["power"]["rpc_applied"]) == (True, True)
    assert place.votes() == BURST + RELEASED


def test_another_profile_votes_otherwise_and_one_without_votes_sends_none(place):
    assert place.run(*place.arguments, "--power", "power_saver").returncode == 0
    saving = place.votes()
    assert place.run(*place.arguments, "--power", "default").returncode == 0

    assert saving[0] == "vote dcvs 1 mode 0x10 sleep 1000 us bus 0x40 core 0x40"
    assert saving[-2:] == RELEASED
    assert place.votes() == saving


def test_an_interrupted_run_gives_its_vote_back(place):
    running = place.board.start(
        place.bundle.root / "bin/hexrun", *place.arguments, "--duration", "120", "--iterations", "1"
    )
    with running:
        wait_until(lambda: BURST[-1] in place.votes() or running.poll() is not None)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)

    assert running.returncode == 130, err
    assert place.votes() == BURST + RELEASED


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def test_the_doctor_finds_nothing_wrong_with_a_sound_bundle_on_its_board(place):
    examined = place.doctor()

    verdicts = {name: step["verdict"] for name, step in examined.steps.items()}
    assert (examined.code, examined.first_failure) == (0, None)
    assert (verdicts["skel"], verdicts["device"], verdicts["context"]) == ("ok", "ok", "ok")


def test_the_doctor_explains_a_skel_of_another_release(place):
    place.bundle.take(OTHER[place.release], skel(73))

    examined = place.doctor()

    assert examined.first_failure == "skel"
    assert BUILDS[OTHER[place.release]] in str(examined.steps["skel"]["found"])
    assert BUILDS[place.release] in examined.steps["skel"]["wanted"]
    assert examined.steps["device"]["code"]["decimal"] == 1008


def test_the_doctor_explains_a_missing_skel(place):
    place.bundle.drop(skel(73))

    examined = place.doctor()

    assert examined.first_failure == "skel"
    assert "libQnnHtpV73Skel.so" in examined.steps["skel"]["wanted"]
    assert examined.steps["device"]["code"]["decimal"] == 14001


def test_the_doctor_explains_a_missing_stub(place):
    place.bundle.drop(stub(73))

    examined = place.doctor()

    assert examined.first_failure == "stub"
    assert "libQnnHtpV73Stub.so" in examined.steps["stub"]["wanted"]
    assert examined.steps["device"]["code"]["decimal"] == 14001


def test_the_doctor_misses_the_library_that_reaches_the_dsp(place, store, tmp_path):
    without = place._replace(board=Board(tmp_path / "bare", KIND, store, dsp=False))

    examined = without.doctor()

    assert examined.code != 0
    assert examined.steps["transport"]["verdict"] == "failed"
    assert "libcdsprpc" in str(examined.steps["transport"]["found"])


def test_a_run_with_a_skel_of_another_release_ends_with_the_code_and_the_two_builds(place):
    place.bundle.take(OTHER[place.release], skel(73))

    ran = place.run(*place.arguments)

    assert ran.returncode == 4
    assert "error 1008 (0x3f0) COMMON_INCOMPATIBLE_BINARIES" in ran.stderr
    assert f"expected ({BUILDS[place.release]}), detected ({BUILDS[OTHER[place.release]]})" in ran.stderr
    assert place.votes() == []
