"""However hexrun ends, the power vote goes back: signals at any point, once and again, crashes and exits of a library."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time

import pytest

pytest_plugins = ["runner_kit", "runner_device"]

ON = {"SOC": 77, "ARCH": 73}
INT, TERM, HUP, QUIT = (
    int(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
)
ABORT, FAULT = int(signal.SIGABRT), int(signal.SIGSEGV)
EXIT, HANG = 0, 99

# Calls of the backend from the first vote on, in order, by their number of times. The id is the runner's only
# when createPowerConfigId returns, so nothing can be given back when that call never does.
WHILE_VOTING = [("createPowerConfigId", 1)]
WHILE_HELD = [
    ("vote", 1),
    ("vote", 3),
    ("context", 1),
    ("graphRetrieve", 1),
    ("graphExecute", 1),
    ("graphExecute", 3),
    ("vote", 4),  # gives it back
    ("destroyPowerConfigId", 1),
]
AFTERWARDS = [("contextFree", 1), ("logFree", 1)]


def end(device, call: tuple[str, int], *signals: int, **settings: object) -> int:
    """The exit code of a run that this happens to in that call."""
    ran = device.run_plainly(
        *("--input", device.folder / "x.npy", "--iterations", 5),
        TROUBLE=call[0],
        TROUBLE_AT=call[1],
        SIGNALS=" ".join(map(str, signals)),
        NOTE_EXECUTE=1,
        **ON,
        **settings,
    )
    return ran.code


def held(device) -> bool:
    """Whether a power id was taken and not given back, or a vote is not the last but its release."""
    lines = [line for line in device.journal if line.startswith(("create", "vote 42 context", "destroy"))]
    return bool(lines) and not (lines[-1] == "destroyPowerConfigId 42" and "dcvs=1" in lines[-2])


@pytest.mark.parametrize("signals", [(INT,), (TERM,), (HUP,), (QUIT,), (int(signal.SIGUSR1),)])
@pytest.mark.parametrize("call", WHILE_VOTING + WHILE_HELD)
def test_one_signal_in_any_call_gives_the_vote_back(device, call, signals):
    assert end(device, call, *signals) in (0, 130)
    assert not held(device)


@pytest.mark.parametrize("signals", [(INT, INT), (TERM, TERM), (INT, TERM, HUP, QUIT, INT, INT), (HUP, QUIT)])
@pytest.mark.parametrize("call", WHILE_VOTING + WHILE_HELD + AFTERWARDS)
def test_signal_upon_signal_in_any_call_gives_the_vote_back(device, call, signals):
    assert end(device, call, *signals) == 130
    assert not held(device)


@pytest.mark.parametrize("call", WHILE_HELD)
def test_a_second_signal_ends_a_run_that_hangs_in_a_call_and_gives_the_vote_back(device, call):
    assert end(device, call, INT, INT, HANG) == 130
    assert not held(device)


def test_a_backend_that_hangs_while_the_vote_goes_back_is_not_waited_for(device):
    assert end(device, ("graphExecute", 1), INT, INT, HANG, HANGING_RELEASE=1) == -signal.SIGALRM


@pytest.mark.parametrize(("fault", "code"), [(ABORT, -ABORT), (FAULT, -FAULT), (EXIT, 7)])
@pytest.mark.parametrize("call", WHILE_HELD)
def test_a_library_that_crashes_or_exits_does_not_take_the_vote_with_it(device, call, fault, code):
    assert end(device, call, fault) == code
    assert not held(device)


def test_a_crash_before_the_vote_stays_a_crash(device):
    assert end(device, ("deviceCreate", 1), FAULT) == -FAULT
    assert not held(device)


def test_a_signal_that_is_to_be_ignored_stays_ignored(device):
    command = device.command("--input", device.folder / "x.npy", "--iterations", 3)
    told = device.environment(TROUBLE="graphExecute", SIGNALS=f"{HUP} {HUP}", **ON)

    ran = subprocess.run(["nohup", *command], env={**os.environ, **told}, capture_output=True, check=False)

    assert ran.returncode == 0, ran.stderr
    assert not held(device)


@pytest.mark.parametrize("seed", range(4))
def test_storms_of_signals_at_any_moment_leave_no_vote_behind(device, seed):
    source = random.Random(seed)
    kinds = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
    command = device.command("--input", device.folder / "x.npy", "--iterations", 20)
    codes = set()

    for _ in range(25):
        started = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **device.environment(EXECUTE_US=500, **ON)},
        )
        time.sleep(source.uniform(0, 0.025))
        for _ in range(source.randint(2, 5)):
            started.send_signal(source.choice(kinds))
            time.sleep(source.choice((0, 0, 0.0005)))
        codes.add(started.wait(timeout=60))

    assert codes <= {0, 130, *(-kind for kind in kinds)}
    assert 130 in codes
    taken = sum(line.startswith("createPower") for line in device.journal)
    given = sum(line.startswith("destroyPower") for line in device.journal)
    assert taken == given
