"""What all commands share: errors become messages and exit codes, and FILE may be given many times."""

from __future__ import annotations

import contextlib
import errno
import functools
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from invoke.exceptions import Exit
from invoke.parser.argument import Argument
from invoke.tasks import Task, task

from packager import __version__
from packager.commands.streams import discard_output, prepare_streams, print_json
from packager.errors import HexpackError, InputUnavailable
from packager.visible import visible_lines

DEFECT = 70


def command(**options: Any) -> Callable[[Callable[..., None]], Task[Any]]:
    """A task (`options` are invoke's) whose errors reach the user as messages and exit codes."""

    def declare(body: Callable[..., None]) -> Task[Any]:
        # No short flags: invoke makes them up, and `-o` would be `out` here and `offline` there.
        made: Task[Any] = task(auto_shortflags=False, **options)(_guarded(body))
        return made

    return declare


def _guarded(body: Callable[..., None]) -> Callable[..., None]:
    """A user never meets a traceback: message on stderr, contract exit code."""

    @functools.wraps(body)
    def run(*args: Any, **kwargs: Any) -> Any:
        prepare_streams()
        with _signals() as received:
            try:
                try:
                    body(*args, **kwargs)
                finally:
                    sys.stdout.flush()
            except (HexpackError, KeyboardInterrupt) as problem:
                # Ctrl-C reaches the compilers too, and their end may be noticed before it.
                if received or isinstance(problem, KeyboardInterrupt):
                    print("interrupted: nothing was left half-written", file=sys.stderr)
                    raise Exit(code=128 + (received or [signal.SIGINT])[0]) from None
                print(problem.render(), file=sys.stderr)
                if kwargs.get("json"):
                    print_json(problem.document())
                raise Exit(code=problem.exit_code) from None
            except Exit:
                raise
            except Exception as problem:
                raise Exit(code=_unexpected(problem)) from None

    return run


def _unexpected(problem: Exception) -> int:
    """Say what happened; the exit code."""
    if isinstance(problem, OSError) and problem.errno == errno.ENOSPC:
        print(f"error: no space is left for the output ({problem})", file=sys.stderr)
        discard_output()
        return InputUnavailable.exit_code
    print(
        visible_lines(traceback.format_exc()),
        f"This is a defect of hexpack {__version__}, not of your manifest. Please report it with"
        " the lines above, the manifest, and the output of `hexpack --version`.",
        file=sys.stderr,
    )
    return DEFECT


@contextlib.contextmanager
def _signals() -> Iterator[list[int]]:
    """The signals that asked to stop, of which a CI system sends SIGTERM; both end children and clean up."""
    received: list[int] = []

    def stop(number: int, _frame: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class WordsTask(Task[Any]):
    """A task that takes any number of words, as its parameter `words`, which invoke itself does not offer.

    invoke asks a task for its arguments before it parses the command line, and wants one argument for
    each positional word; so this task counts the words after its own name and offers as many. Negative
    numbers are words too, which invoke takes apart.
    """

    least: ClassVar[int] = 0
    noun: ClassVar[str] = "word"
    _said: tuple[str, ...] = ()

    def get_arguments(self, ignore_unknown_help: bool | None = None) -> list[Argument]:
        """One positional argument for each word, then the flags."""
        flags = [a for a in super().get_arguments(ignore_unknown_help) if a.name != "words"]
        takes_value = {f"{'-' * min(2, len(name))}{name}" for f in flags if f.takes_value for name in f.names}
        words, behind = _words_after(self.name, takes_value)
        self._said = (*words, *behind)
        count = max(sum(map(_tokens, words)), 0 if behind else self.least)
        names = [self.noun if n == 1 else f"{self.noun}-{n}" for n in range(1, count + 1)]
        return [Argument(name=name, positional=True) for name in names] + flags

    def __call__(self, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Give the words as one tuple."""
        names = [name for name in kwargs if re.fullmatch(rf"{self.noun}([-_]\d+)?", name)]
        given = tuple(value for name in names if (value := kwargs.pop(name)) is not None)
        return super().__call__(context, self._said or given, *args, **kwargs)


class FilesTask(WordsTask):
    """A task that takes one or more files or folders."""

    least: ClassVar[int] = 1
    noun: ClassVar[str] = "file"


class SubjectTask(WordsTask):
    """A task about things whose names may have several words."""

    least: ClassVar[int] = 1
    noun: ClassVar[str] = "subject"


def _words_after(name: str, flags_with_value: set[str]) -> tuple[list[str], list[str]]:
    """The words of the command line for the task of a name, and those behind `--`."""
    arguments = sys.argv[1:]
    if name not in arguments:
        return [], []
    arguments = arguments[arguments.index(name) + 1 :]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words: list[str] = []
    skip = False
    for word in arguments[:end]:
        if skip:
            skip = False
        elif _FLAG.match(word):
            skip = word in flags_with_value
        else:
            words.append(word)
    return words, arguments[end + 1 :]


_FLAG = re.compile(r"-(?!\d|$)")  # `-12` is a number, `-` is standard input


def _tokens(word: str) -> int:
    """Into how many tokens invoke takes a word apart: `-12` is two flags to it, `-1=2` one and its value."""
    if not word.startswith("-") or len(word) < 3:
        return 1
    first, equals, value = word.partition("=")
    return 1 + _tokens(value) if equals else len(first) - 1
