"""What people see on stderr while they wait."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from packager.report import console
from packager.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.status import Status


class Progress:
    """Tells what is going on: a line per step, and on a terminal a spinner at the step that runs."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._status: Status | None = None
        self._running = ""

    @contextlib.contextmanager
    def running(self) -> Iterator[Progress]:
        """Show progress until the block ends."""
        if not sys.stderr.isatty():
            yield self
            return
        with console(stderr=True).status("") as self._status:
            yield self
            self._finish_step()

    def __call__(self, message: str) -> None:
        """A new step has begun."""
        line = f"{time.monotonic() - self._started:6.1f} s  {message}"
        if self._status is None:
            sys.stderr.write(f"{visible(line)}\n")
            sys.stderr.flush()
            return
        from rich.text import Text

        self._finish_step()
        self._running = visible(line)
        self._status.update(Text(self._running))

    def _finish_step(self) -> None:
        if self._status is not None and self._running:
            self._status.console.print(self._running, style="dim")
        self._running = ""


class Waiting:
    """Says on a terminal what takes long, and since when; a log is told nothing, nor is any of short work."""

    def __init__(self, what: str, *, patience: float = 1.0) -> None:
        self._what = visible(what)
        self._timer = threading.Timer(patience, self._show)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._over = False
        self._shown: Bars | None = None

    def __enter__(self) -> None:
        if sys.stderr.isatty():
            self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._shown.stop()

    def _show(self) -> None:
        from rich.progress import Progress as Bars
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._over:
                return
            words = TextColumn("{task.description}", markup=False)
            self._shown = Bars(
                SpinnerColumn(), words, TimeElapsedColumn(), console=console(stderr=True), transient=True
            )
            self._shown.add_task(self._what, total=None)
            self._shown.start()
