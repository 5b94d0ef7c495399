"""One run of the cross-compiler in a folder of its own, ended when nobody needs its result any more."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from packager.catalog import Abi
from packager.errors import ToolFailed
from packager.store import Store

# Not the whole environment: clang takes further include and library folders from variables such as CPATH.
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "LOCALAPPDATA")
_GLANCE_SECONDS = 0.05


class Compilation:
    """Compiles for `abi` in `folder`, with zig's cache in the store. Setting `stop` ends what runs."""

    def __init__(self, folder: Path, abi: Abi, store: Store, stop: threading.Event) -> None:
        self.folder, self.abi = folder, abi
        self._stop = stop
        cache = str((store.root / "zig").absolute())
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        self._environment = kept | {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}

    def zig(self, *arguments: str, makes: str) -> None:
        """Run a tool of zig's that leaves the file `makes`. Raises ToolFailed with what it said."""
        command = [sys.executable, "-m", "ziglang", *arguments]
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
            output = said.read().decode(errors="replace")
        if tool.returncode != 0 or not (self.folder / makes).is_file():
            raise ToolFailed(
                f"the runner does not compile for {self.abi.id}",
                evidence=(f"exit code {tool.returncode} of {' '.join(command[3:])}", output[-4000:]),
                fix="this is a fault of hexpack or of the installed ziglang; report it with these lines",
            )
