"""The console script `hexpack`: the same collection, run by invoke's Program."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from invoke.exceptions import Exit, ParseError
from invoke.program import Program

from packager import __version__
from packager.commands import collection
from packager.commands.streams import prepare_streams
from packager.errors import ManifestError
from packager.visible import visible


class HexpackProgram(Program):
    """invoke's program with the exit code of a usage error; plain `invoke` answers those with 1."""

    def parse_core(self, argv: list[str] | None) -> None:
        """Parse what stands before the command."""
        with _usage():
            super().parse_core(self._help_first(argv or sys.argv))

    def _help_first(self, argv: list[str]) -> list[str]:
        """`inspect --help` as `--help inspect`: a task that wants a word would take --help for it."""
        tasks = [word for word in argv[1:] if self.namespace and word in self.namespace.task_names]
        asks = {"--help", "-h"} & set(argv[1:])
        return [argv[0], "--help", tasks[0]] if asks and tasks else argv

    def parse_tasks(self) -> None:
        """Parse the command and its arguments."""
        with _usage():
            super().parse_tasks()


@contextlib.contextmanager
def _usage() -> Iterator[None]:
    """Turns a parse error into a message and the exit code of a usage error."""
    try:
        yield
    except ParseError as problem:
        fix = "`hexpack --list` shows the commands, `hexpack --help COMMAND` one of them"
        raise Exit(f"error: {visible(str(problem))}\n  fix: {fix}", code=ManifestError.exit_code) from None


def main() -> None:
    """Run `hexpack`."""
    prepare_streams()
    HexpackProgram(name="hexpack", binary="hexpack", version=__version__, namespace=collection()).run()
