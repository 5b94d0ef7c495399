"""Starts `ort_worker` and turns whatever happens to it into a result or an error in words.

A process of its own for each job, because the vendor's compiler may crash, eat all memory or count graphs
per process; and with relative file names only, because context binaries contain a hash of the path of their
model: in a fresh process a relative name gives the same bytes in every folder.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from packager import errors, files
from packager.errors import HexpackError, ToolFailed

COMPILE_SECONDS = 3600.0
STOPPING: ContextVar[threading.Event | None] = ContextVar("STOPPING", default=None)
"""Set by whoever runs jobs in threads, where no Ctrl-C arrives: once it is set, workers are ended."""

_GLANCE_SECONDS = 0.05
_LONGEST_LINE = 300  # bytes of what a tool says in one line
_LEAST_ROOM = 64 << 10  # bytes; a tool that has so little cannot have written what it was asked for
_ACCESS_VIOLATION = 0xC0000005
_CHECKOUT = Path(__file__).resolve().parents[2]


def run(
    job: Mapping[str, Any], work: Path, *, doing: str, seconds: float = COMPILE_SECONDS
) -> dict[str, Any]:
    """Run one job in `work` and return its result.

    `doing` completes the sentence "… failed" in messages. The worker's output goes to `work/worker.log`.
    Raises the HexpackError that the worker raised, OSError when its disk is full, ToolFailed when it crashed
    or was killed, TookTooLong when it took longer than `seconds`.
    """
    files.write_text(work / "job.json", json.dumps(job, sort_keys=True))
    command = [sys.executable, "-P", "-m", "packager.compilers.ort_worker", "job.json", "result.json"]
    returncode = wait(command, work, doing=doing, seconds=seconds)
    try:
        result = json.loads((work / "result.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        _require_room(work)
        raise died(returncode, doing, log(work)) from None
    if "error" in result or "refused" in result:
        _require_room(work)
    if "error" in result:
        raise _error(result["error"])
    return dict(result)


def _require_room(work: Path) -> None:
    """Of a job that failed where there is no room left, that is the reason, whatever the tools made of it."""
    if shutil.disk_usage(work).free < _LEAST_ROOM or os.strerror(errno.ENOSPC) in log(work):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(work))


def log(work: Path) -> str:
    """What the last worker in this folder wrote, for parsing; never for showing."""
    return (work / "worker.log").read_text(encoding="utf-8", errors="replace")


def wait(
    command: Sequence[str],
    work: Path,
    *,
    doing: str,
    seconds: float,
    answer: str | None = None,
    hear: Callable[[str], None] | None = None,
) -> int:
    """Run a command in `work` to its end; its exit code, or minus the number of the signal that ended it.

    Both its streams go to `work`/worker.log, or the standard output to the file `answer` there. `hear` gets
    the lines of that log while they are written.
    """
    stopping, until = STOPPING.get(), time.monotonic() + seconds
    with (
        files.written_whole(work / "worker.log") as said,
        files.written_whole(work / answer) if answer else contextlib.nullcontext(said) as out,
        subprocess.Popen(
            command,
            cwd=work,
            env=_environment(work),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=said,
        ) as process,
    ):
        ear = _Ear(said.fileno(), hear) if hear else None
        try:
            while True:
                left = until - time.monotonic()
                glance = min(left, _GLANCE_SECONDS) if stopping or ear else left
                try:
                    code = process.wait(max(glance, 0))
                    if ear:
                        ear.listen()
                    return code
                except subprocess.TimeoutExpired:
                    if ear:
                        ear.listen()
                    if stopping and stopping.is_set():
                        raise KeyboardInterrupt from None
                    if left <= 0:
                        raise _too_slow(doing, seconds) from None
        except BaseException:
            process.kill()
            raise


class _Ear:
    """Hears a log while another process writes it: whole lines, each once, none too long for people."""

    def __init__(self, descriptor: int, hear: Callable[[str], None]) -> None:
        self._descriptor, self._hear, self._at, self._rest = descriptor, hear, 0, b""

    def listen(self) -> None:
        """Pass on what has come since the last time."""
        # Reading at a place leaves alone the position at which the other process writes.
        while data := os.pread(self._descriptor, 1 << 16, self._at):
            self._at += len(data)
            *lines, rest = (self._rest + data).split(b"\n")
            self._rest = rest[-_LONGEST_LINE:]
            for line in lines:
                text = line[:_LONGEST_LINE].decode("utf-8", errors="replace").strip()
                if text:
                    self._hear(text)


class TookTooLong(ToolFailed):
    """A worker was stopped because it used up its time."""


def _too_slow(doing: str, seconds: float) -> ToolFailed:
    return TookTooLong(
        f"{doing} took longer than {seconds:g} s and was stopped",
        fix="try a smaller input shape or a lower `optimization`, or run on a faster machine",
    )


def died(returncode: int, doing: str, said: str) -> HexpackError | RuntimeError:
    """The error for a worker that left no result but `said` something; a RuntimeError is a defect of ours."""
    if returncode in (-getattr(signal, "SIGKILL", 9), 137):
        return ToolFailed(
            f"{doing} was killed by the operating system (signal 9)",
            evidence=("this is what happens when memory runs out",),
            fix="give the machine or the container more memory, compile one at a time (--jobs 1), or take a"
            " smaller input shape",
        )
    if returncode < 0 or returncode >= _ACCESS_VIOLATION:
        name = _signal_name(-returncode) if returncode < 0 else f"0x{returncode:08X}"
        return ToolFailed(
            f"{doing} ended in a crash of the vendor's library ({name})",
            fix="try another `optimization` level or another release of onnxruntime-qnn",
        )
    return RuntimeError(f"{doing}: the worker left no result (exit code {returncode})\n{said[-4000:]}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _environment(work: Path) -> dict[str, str]:
    """Ours, with what must not differ between two runs taken out of it."""
    temporary = {name: str(work.resolve()) for name in ("TMPDIR", "TMP", "TEMP")}
    path = os.pathsep.join(filter(None, (str(_CHECKOUT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, **temporary, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}


def _error(told: Mapping[str, Any]) -> HexpackError:
    kind: type[HexpackError] = getattr(errors, told["kind"])
    return kind(told["what"], evidence=told["evidence"], fix=told["fix"])
