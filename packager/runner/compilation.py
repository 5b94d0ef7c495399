"""Runs of a cross-compiler in a folder of its own, ended when nobody needs their result any more."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from packager.catalog import Abi
from packager.errors import ToolFailed
from packager.runner.kits import FoundKit
from packager.store import Store

# Not the whole environment: clang takes further include and library folders from variables such as CPATH.
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "LOCALAPPDATA")
_GLANCE_SECONDS = 0.05


class Compilation:
    """Compiles for `abi` in `folder`, with zig and its cache in the store, or with a kit of somebody else.

    Setting `stop` ends what runs.
    """

    def __init__(
        self, folder: Path, abi: Abi, store: Store, stop: threading.Event, kit: FoundKit | None = None
    ) -> None:
        self.folder, self.abi = folder, abi
        self._stop, self._kit = stop, kit
        cache = str((store.root / "zig").absolute())
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        ours = {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
        self._environment = kept | (kit.environment if kit else ours)

    def compile(self, *arguments: str, makes: str) -> None:
        """Run the compiler's driver so that it leaves the file `makes`. Raises ToolFailed."""
        if self._kit:
            self._run([str(self._kit.compiler), *arguments], makes)
        else:
            self.zig("cc", *arguments, makes=makes)

    def archive(self, *arguments: str, makes: str) -> None:
        """Run the archiver of the same kit. Raises ToolFailed."""
        if self._kit:
            self._run([str(self._kit.archiver), *arguments], makes)
        else:
            self.zig("ar", *arguments, makes=makes)

    def zig(self, *arguments: str, makes: str) -> None:
        """Run a tool of zig's that leaves the file `makes`. Raises ToolFailed with what it said."""
        self._run([sys.executable, "-m", "ziglang", *arguments], makes)

    def _run(self, command: list[str], makes: str) -> None:
        try:
            code, output = self._ran(command)
        except OSError as refused:
            code, output = "no", str(refused)
        if code != 0 or not (self.folder / makes).is_file():
            said = command if self._kit else command[3:]
            culprit = f"the {self._kit.title}" if self._kit else "the installed ziglang"
            raise ToolFailed(
                f"the runner does not compile for {self.abi.id}",
                evidence=(f"exit code {code} of {' '.join(said)}", output[-4000:]),
                fix=f"this is a fault of hexpack or of {culprit}; report it with these lines",
            )

    def _ran(self, command: list[str]) -> tuple[int | str, str]:
        with (
            tempfile.TemporaryFile() as said,
            subprocess.Popen(
                command,
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            ) as tool,
        ):
            while tool.poll() is None:
                if self._stop.wait(_GLANCE_SECONDS):
                    tool.kill()
            said.seek(0)
            return tool.returncode, said.read().decode(errors="replace")
