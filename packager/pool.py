"""Calls that wait for worker processes, several at once, in threads that end with the first failure."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self, TypeVar

from packager.compilers.worker import STOPPING
from packager.model import Frozen

Result = TypeVar("Result", bound=Frozen)


class Pool:
    """Threads that wait for worker processes. When one fails or the user stops, the others are ended too."""

    def __init__(self, jobs: int) -> None:
        self._stopping = threading.Event()
        self._pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="compile")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._pool.shutdown(cancel_futures=True)

    def all(self, calls: Iterable[Callable[[], Result]]) -> list[Result]:
        """The results in the order of the calls."""
        waiting: list[Future[Result]] = [self._pool.submit(self._call, call) for call in calls]
        return [future.result() for future in waiting]

    def _call(self, call: Callable[[], Result]) -> Result:
        def within() -> Result:
            STOPPING.set(self._stopping)
            return call()

        return contextvars.copy_context().run(within)
