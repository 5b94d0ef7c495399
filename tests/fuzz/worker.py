"""One fuzz target in this process: `python -m tests.fuzz.worker TARGET FOLDER MEGABYTES [libFuzzer's options]`.

The folder has the seeds under `corpus/`, and gets what a crash leaves. The limit is for one allocation or all
together: libFuzzer looks once in a second, which misses what a reader takes and gives back.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import atheris

NAME, FOLDER, MEGABYTES, *OPTIONS = sys.argv[1:]

# Readers import what they need when they need it, so each seed is read once before fuzzing begins.
with atheris.instrument_imports(include=["packager"]):
    from packager.facts import context_binary
    from tests.fuzz.targets import targets, try_one

    context_binary._installed_library = lambda: None  # the vendor's library is not ours to fuzz
    TARGET, PATH = targets()[NAME], Path(FOLDER, "input")
    for seed in TARGET.seeds:
        PATH.write_bytes(seed)
        try_one(TARGET, PATH)


def main() -> None:
    """Fuzz until libFuzzer's options say that it is enough; it ends the process itself."""

    def test_one_input(data: bytes) -> None:
        PATH.write_bytes(data)
        try_one(TARGET, PATH)

    corpus = Path(FOLDER, "corpus")
    corpus.mkdir()
    for number, seed in enumerate(TARGET.seeds):
        (corpus / str(number)).write_bytes(seed)
    mapped = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (int(MEGABYTES) << 20),) * 2)
    atheris.Setup([sys.argv[0], *OPTIONS, str(corpus)], test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
