"""What all commands share: errors become messages and exit codes, and FILE may be given many times."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from invoke.exceptions import Exit
from invoke.parser.argument import Argument
from invoke.tasks import Task, task

from packager import __version__
from packager.errors import HexpackError

DEFECT = 70
INTERRUPTED = 130


def command(**options: Any) -> Callable[[Callable[..., None]], Task[Any]]:
    """A task (`options` are invoke's) whose errors reach the user as messages and exit codes."""

    def declare(body: Callable[..., None]) -> Task[Any]:
        made: Task[Any] = task(**options)(_guarded(body))
        return made

    return declare


def _guarded(body: Callable[..., None]) -> Callable[..., None]:
    """A user never meets a traceback: message on stderr, contract exit code."""

    @functools.wraps(body)
    def run(*args: Any, **kwargs: Any) -> Any:
        # Python has no stream at all where the caller closed the descriptor (`>&-`).
        sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
        try:
            return body(*args, **kwargs)
        except HexpackError as problem:
            print(problem.render(), file=sys.stderr)
            if kwargs.get("json"):
                print_json(problem.document())
            raise Exit(code=problem.exit_code) from None
        except KeyboardInterrupt:
            print("interrupted: nothing was left half-written", file=sys.stderr)
            raise Exit(code=INTERRUPTED) from None
        except BrokenPipeError:
            # The reader went away (`| head`); point stdout elsewhere so that the exit flush stays silent.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise Exit(code=0) from None
        except Exit:
            raise
        except Exception:
            traceback.print_exc()
            print(
                f"\nThis is a defect of hexpack {__version__}, not of your manifest. Please report it with"
                " the lines above, the manifest, and the output of `hexpack --version`.",
                file=sys.stderr,
            )
            raise Exit(code=DEFECT) from None

    return run


def print_json(document: Any) -> None:
    """Exactly one JSON document on stdout."""
    print(json.dumps(_speakable(document), indent=2, ensure_ascii=False, allow_nan=False))


def _speakable(value: Any) -> Any:
    """JSON has no word for NaN and infinities (the cosine of a broken model): null."""
    if isinstance(value, dict):
        return {key: _speakable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_speakable(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class WordsTask(Task[Any]):
    """A task that takes any number of words, as its parameter `words`, which invoke itself does not offer.

    invoke asks a task for its arguments before it parses the command line, and wants one argument for
    each positional word; so this task counts the words after its own name and offers as many.
    """

    least: ClassVar[int] = 0
    noun: ClassVar[str] = "word"

    def get_arguments(self, ignore_unknown_help: bool | None = None) -> list[Argument]:
        """One positional argument for each word, then the flags."""
        flags = [a for a in super().get_arguments(ignore_unknown_help) if a.name != "words"]
        takes_value = {f"{'-' * min(2, len(name))}{name}" for f in flags if f.takes_value for name in f.names}
        count = max(self.least, len(_words_after(self.name, takes_value)))
        words = [
            Argument(name=self.noun if n == 1 else f"{self.noun}-{n}", positional=True)
            for n in range(1, count + 1)
        ]
        return words + flags

    def __call__(self, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Gather the words into one tuple."""
        names = [name for name in kwargs if re.fullmatch(rf"{self.noun}([-_]\d+)?", name)]
        words = tuple(value for name in names if (value := kwargs.pop(name)) is not None)
        return super().__call__(context, words, *args, **kwargs)


class FilesTask(WordsTask):
    """A task that takes one or more files or folders."""

    least: ClassVar[int] = 1
    noun: ClassVar[str] = "file"


def _words_after(name: str, flags_with_value: set[str]) -> list[str]:
    words: list[str] = []
    arguments = sys.argv[1:]
    if name not in arguments:
        return words
    skip = False
    for word in arguments[arguments.index(name) + 1 :]:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in flags_with_value
        else:
            words.append(word)
    return words
