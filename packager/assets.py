"""Everything a plan needs from outside, fetched and pinned: the model, its samples, the device libraries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from packager import catalog
from packager.errors import InputUnavailable
from packager.facts.identify import identify
from packager.facts.onnx import read_onnx
from packager.facts.types import OnnxFacts
from packager.files import is_plain_relative
from packager.lock import Compile, Entry, Lock
from packager.manifest_sources import PathSource
from packager.model import Frozen
from packager.plan_model import Plan, TargetPlan
from packager.sources import Fetched, Surroundings, Tell
from packager.sources.local import fetch_path, glob_paths
from packager.sources.model_source import source_of
from packager.sources.oci_image import FetchedImage, fetch_image
from packager.sources.runtime_set import fetch_runtime
from packager.sources.wheel_licence import licence_of
from packager.store import Store


class Inputs(Frozen):
    """The model and the sample files of a manifest, hashed. `facts` is None for a model of another format."""

    model: Fetched
    facts: OnnxFacts | None = None
    weights: tuple[Fetched, ...] = ()
    calibration: tuple[Fetched, ...] = ()
    reference: tuple[Fetched, ...] = ()
    expected: tuple[Fetched, ...] = ()

    def model_digests(self) -> list[str]:
        """The model and its files of weights: all bytes that make the network what it is."""
        return [self.model.blob.sha256, *(part.blob.sha256 for part in self.weights)]

    def digests(self) -> dict[str, list[str]]:
        """What a step's key has to contain so that a changed input is noticed."""
        return {
            "model": self.model_digests(),
            "calibration": [sample.blob.sha256 for sample in self.calibration],
            "reference": [sample.blob.sha256 for sample in self.reference],
            "expected": [sample.blob.sha256 for sample in self.expected],
        }


class Acquisition:
    """Fetches into one store, with the pins of one lock, and remembers what was used."""

    def __init__(self, base: Path, store: Store, lock: Lock, *, offline: bool, tell: Tell) -> None:
        self._base, self._store, self._lock = base, store, lock
        self._offline, self._tell = offline, tell
        self._entries: dict[str, Entry] = {}
        self._compiles: tuple[Compile, ...] = ()

    def inputs(self, plan: Plan) -> Inputs:
        """The model and the samples. Raises InputUnavailable."""
        wanted = plan.targets[0].model
        model = self._model(plan.targets[0])
        facts = read_onnx(model.path) if identify(model.path) == "onnx" else None
        beside = (*facts.context_binaries, *facts.external_data) if facts else ()
        inputs = Inputs(
            model=model,
            facts=facts,
            weights=self._weights(plan.targets[0], model, beside),
            calibration=self._samples(wanted.calibration.path if wanted.calibration else None),
            reference=self._samples(wanted.reference.inputs if wanted.reference else None),
            expected=self._samples(wanted.reference.outputs if wanted.reference else None),
        )
        used = (inputs.model, *inputs.weights, *inputs.calibration, *inputs.reference, *inputs.expected)
        self.use(self.entries(used))
        return inputs

    def _model(self, target: TargetPlan) -> Fetched:
        around = Surroundings(
            base=self._base,
            store=self._store,
            pin_for=self._lock.pin_for,
            offline=self._offline,
            tell=self._tell,
        )
        return source_of(target.model.source).fetch(around)

    def _weights(self, target: TargetPlan, model: Fetched, names: tuple[str, ...]) -> tuple[Fetched, ...]:
        """The files in which a model keeps weights outside itself, beside it."""
        source = target.model.source
        if names and not isinstance(source, PathSource):
            raise InputUnavailable(
                f"{model.origin} keeps weights in files beside it, which only a model on a disk can have",
                evidence=names[:4],
                fix="fetch or unpack all of them into one folder, and name the model by its path",
            )
        for name in names:
            if not is_plain_relative(name):
                raise InputUnavailable(
                    f"{model.origin} keeps weights outside its own folder",
                    evidence=(f"file  {name}",),
                    fix="save the model with its weights beside it",
                )
        folder = model.path.parent
        return tuple(fetch_path(folder / name, store=self._store, base=self._base) for name in names)

    def _samples(self, pattern: str | None) -> tuple[Fetched, ...]:
        if pattern is None:
            return ()
        paths = glob_paths(pattern, self._base)
        return tuple(fetch_path(path, store=self._store, base=self._base) for path in paths)

    def libraries(self, target: TargetPlan) -> dict[str, Fetched]:
        """The device libraries and licences of one target, by file name. Raises InputUnavailable."""
        artifact = target.runtime_set.artifact
        return fetch_runtime(
            target.runtime_set,
            base=self._base,
            store=self._store,
            pinned=self._lock.pin_for(f"maven {artifact}") if artifact else None,
            offline=self._offline,
            tell=self._tell,
        )

    def base_image(self, target: TargetPlan) -> FetchedImage | None:
        """The image that the target's image is built on, if there is to be one. Raises InputUnavailable."""
        wanted = target.formats.oci.base
        carried = any(catalog.formats()[package.format].image for package in target.packages)
        if wanted is None or not carried or target.abi.oci is None:
            return None
        return fetch_image(wanted, target.abi.oci, store=self._store, offline=self._offline, tell=self._tell)

    def entries(
        self,
        fetched: Iterable[Fetched],
        builds: Mapping[str, str | None] | None = None,
        licences: Iterable[str] = (),
    ) -> tuple[Entry, ...]:
        """The lock entries of inputs, each once, sorted.

        `builds` says, by the origin of a file, which QAIRT build its bytes name; `licences` are the files
        with licences that were taken along with them.
        """
        wholes: dict[str, Fetched] = {}
        named: dict[str, set[str]] = {}
        for one in fetched:
            origin = (one.within or one).origin
            wholes.setdefault(origin, one)
            build = (builds or {}).get(one.origin)
            named.setdefault(origin, set()).update([build] if build else [])
        made = []
        for origin in sorted(wholes):
            whole = wholes[origin].within or wholes[origin]
            words = (licence_of(whole, self._store), *(licences if named[origin] else ()))
            licence = ", ".join(filter(None, words)) or None
            build = ", ".join(sorted(named[origin])) or None
            made.append(Entry.of(whole, qairt_build=build, licence=licence))
        return tuple(made)

    def use(self, entries: Iterable[Entry], compiles: Iterable[Compile] = ()) -> None:
        """Remember what was used and made, for the lock."""
        self._entries |= {entry.origin: entry for entry in entries}
        self._compiles += tuple(compiles)

    def locked(self, *, complete: bool) -> Lock:
        """The lock that pins what was used; `complete` when no target was left out."""
        return self._lock.merged(self._entries.values(), self._compiles, complete=complete)

    def compiles(self) -> dict[tuple[str, str], Compile]:
        """The contexts that the lock has, by target and SoC."""
        return {row.place: row for row in self._lock.compiles}

    def drift(self, *, complete: bool = False) -> tuple[str, ...]:
        """Where the lock and what was used differ, a block each; `complete` when nothing is still to come."""
        return tuple(self._lock.drift(self._entries.values(), self._compiles, complete=complete))
