"""Judge every situation, or those whose names hold a word, and write the page when all were judged."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import platformdirs

from packager.store import Store
from tests.lab.releases import Shelf
from tests.lab.situations import SITUATIONS
from tests.lab.verdicts import judge, record, unexplained


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """Print one line for each situation and the disagreements; 1 if there is one without explanation."""
    named = os.environ.get("HEXPACK_TEST_STORE")
    shelf = Shelf(
        Store(Path(named) if named else Path(platformdirs.user_cache_dir("hexpack-tests")) / "store")
    )
    chosen = [one for one in SITUATIONS if not words or any(word in one.name for word in words)]
    begun = time.monotonic()
    for context in sorted({one.context for one in chosen}):
        shelf.context(*context)  # made here, one by one: a compiler takes what memory there is
    verdicts = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for verdict in pool.map(lambda one: judge(one, shelf), chosen):
            real = f"{verdict.step} {verdict.code or ''} {verdict.words}"
            _say(f"{verdict.compared:24} {verdict.name}: {real}"[:200])
            _say(f"{'':24} {' '.join(verdict.errors)} ({' '.join(verdict.warnings)})")
            verdicts.append(verdict)
    _say(f"{len(verdicts)} situations in {time.monotonic() - begun:.0f} s")
    faults = unexplained({verdict.name: verdict for verdict in verdicts})
    for fault in faults:
        _say(fault)
    if not words:
        record(verdicts)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
