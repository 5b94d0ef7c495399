"""From assets to a bundle: every file of a target in its place, with what its bytes say."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

from pydantic import TypeAdapter

from packager import catalog, layouts
from packager.bundle import (
    DSP_LIBRARY,
    MODEL_LIBRARY,
    SPLIT_MODEL,
    SUPPORT,
    BaseImage,
    Bundle,
    BundleFile,
    HostFile,
)
from packager.codeprint import codeprint, surroundings
from packager.contexts import ContextAsset
from packager.facts.base_image import BaseImageFacts, read_base_image
from packager.facts.identify import examine
from packager.facts.types import ContextFacts, DamagedFacts, ElfFacts, Facts
from packager.layouts import debian, documents
from packager.layouts.additions import additions
from packager.lock import Compile
from packager.manifest_host import Host
from packager.plan_model import TargetPlan
from packager.rules.core import Examined
from packager.runner import RunnerBuild
from packager.runtime_config import htp_config, json_text, net_run_config, runner_conf
from packager.sources import Fetched
from packager.sources.runtime_set import dsp_runtime_names, keys_of, licence_keys
from packager.store import Store, key_of

_FACTS: TypeAdapter[Facts] = TypeAdapter(Facts)


class Staging:
    """Builds the bundle of one target."""

    def __init__(self, store: Store, plan: TargetPlan) -> None:
        self._store, self._plan = store, plan
        self._layout = layouts.layout_of(plan.system)

    def stage(
        self,
        libraries: dict[str, Fetched],
        contexts: Sequence[ContextAsset],
        runner: RunnerBuild,
        parts: Sequence[BundleFile] = (),
    ) -> tuple[Bundle, tuple[Examined, ...]]:
        """The bundle and the facts of its files. Nothing is judged here."""
        vendor, own = list(self._vendor(libraries)), [*self._contexts(contexts), self._runner(runner)]
        # What the device brings is judged like the rest: it is to be the set that it was judged with.
        examined = self._examined([*vendor, *own, *parts])
        on_device = layouts.required_of(self._plan)
        files = own if on_device else [*vendor, *own]
        required = tuple(self._required(on_device, examined)) if on_device else ()
        graphs = {e.file.soc: _graph_names(e.facts) for e in examined if e.file.role == "context"}
        configuration = list(self._configuration(graphs))
        examined += self._examined(configuration)
        files += configuration
        readme = documents.readme(self._plan, files, required)
        texts = [self._text("documents", "README.txt", "document", readme)]
        beside = additions(self._plan, [*files, *texts])
        texts += [
            self._text(script.place, script.name, "document", script.text, script.mode)
            for script in beside.scripts
        ]
        examined += self._examined(texts)
        files += texts
        files.append(self._text("documents", "SHA256SUMS", "sums", documents.sums(files, self._layout)))
        packed = {file.path for file in (*files, *parts)}
        elves = [e.facts for e in examined if isinstance(e.facts, ElfFacts) and e.file.path in packed]
        depends = self._dependencies(elves, [file.name for file in (*files, *parts)])
        update = {**depends, "parts": tuple(parts), "required": required}
        return Bundle.of(files, beside.links).model_copy(update=update), tuple(examined)

    def _dependencies(self, elves: Sequence[ElfFacts], own: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """What each package manager has to install beside, by the bundle's fields."""
        abi, host = self._plan.abi, layouts.required_of(self._plan)
        needs = (host.depends or ()) if host else ()
        likes = (host.recommends or ()) if host else ()
        return {
            "depends": (*debian.depends(elves, own), *needs) if abi.debian else (),
            "opkg_depends": (*debian.depends(elves, own, "opkg"), *needs) if abi.opkg else (),
            "rpm_requires": (*debian.requires(elves, own), *map(debian.in_rpm_words, needs))
            if abi.rpm
            else (),
            "recommends": likes,
            "rpm_recommends": tuple(map(debian.in_rpm_words, likes)),
        }

    def _required(self, host: Host, examined: Iterable[Examined]) -> Iterable[HostFile]:
        """The vendor's files as the device has them."""
        folders = {wanted.name: wanted.folder for wanted in self._plan.runtime_set.files}
        for one in examined:
            if one.file.role in {*(role.id for role in catalog.roles()), SUPPORT}:
                dsp = layouts.vendor_place(folders.get(one.file.name, "")) == "dsp"
                folder = host.dsp_folder if dsp else host.libraries
                build = getattr(one.facts, "qairt_build", None)
                yield HostFile(
                    path=f"{folder.rstrip('/')}/{one.file.name}",
                    role=one.file.role,
                    blob=one.file.blob,
                    build=build,
                )

    def _vendor(self, libraries: dict[str, Fetched]) -> Iterable[BundleFile]:
        for wanted in self._plan.runtime_set.files:
            yield self._file(
                layouts.vendor_place(wanted.folder), wanted.name, wanted.role, libraries[wanted.name],
                arch=wanted.arch,
            )  # fmt: skip
        keys = keys_of(self._plan.runtime_set)
        for path in self._plan.runtime_set.extra:
            yield self._file("host", keys[path], "support", libraries[keys[path]])
        for name in dsp_runtime_names(self._plan.runtime_set):
            yield self._file("dsp", name, DSP_LIBRARY, libraries[name])
        for key in licence_keys(self._plan.runtime_set, libraries):
            yield self._file("licences", key, "licence", libraries[key])

    def _contexts(self, contexts: Sequence[ContextAsset]) -> Iterable[BundleFile]:
        if self._plan.asset != "context":
            (blob,) = {asset.context for asset in contexts}
            written = self._plan.asset == "dlc" and contexts[0].written
            yield BundleFile(
                path=layouts.model_path(self._layout, self._plan, contexts[0].soc),
                role="container" if self._plan.asset == "dlc" else MODEL_LIBRARY,
                blob=blob,
                local=self._store.path(blob.sha256),
                origin="written by QAIRT's IR backend" if written else contexts[0].inputs[0],
            )
            return
        for asset in contexts:
            yield BundleFile(
                path=layouts.model_path(self._layout, self._plan, asset.soc),
                role="context",
                blob=asset.context,
                local=self._store.path(asset.context.sha256),
                soc=asset.soc.id,
                arch=asset.soc.hexagon,
                origin=f"compiled for {asset.soc.id}",
            )
            if asset.split is not None:
                yield BundleFile(
                    path=layouts.split_path(self._layout, asset.soc),
                    role=SPLIT_MODEL,
                    blob=asset.split,
                    local=self._store.path(asset.split.sha256),
                    origin=f"split for {asset.soc.id}",
                )

    def _runner(self, runner: RunnerBuild) -> BundleFile:
        return BundleFile(
            path=self._layout.path("runner", runner.file_name),
            role="runner",
            blob=runner.blob,
            local=self._store.path(runner.blob.sha256),
            mode=0o755,
            origin=f"built with {runner.compiler}",
        )

    def _configuration(self, graphs: dict[str | None, tuple[str, ...]]) -> Iterable[BundleFile]:
        plan = self._plan
        yield self._text(
            "config",
            "runner.conf",
            "runner-config",
            runner_conf(plan, layouts.places(plan), asset=plan.asset),
        )
        for soc in plan.socs:
            htp = htp_config(plan, soc, graphs.get(soc.id, ()))
            yield self._text("htp", f"{soc.id}.json", "htp-config", json_text(htp))
            outer = net_run_config(plan, f"{soc.id}.json")
            yield self._text("htp", f"{soc.id}-net-run.json", "htp-config", json_text(outer))

    def _file(
        self, place: layouts.Place, name: str, role: str, fetched: Fetched, arch: int | None = None
    ) -> BundleFile:
        return BundleFile(
            path=self._layout.path(place, name),
            role=role,
            blob=fetched.blob,
            local=fetched.path,
            arch=arch,
            origin=fetched.origin,
        )

    def _text(self, place: layouts.Place, name: str, role: str, text: str, mode: int = 0o644) -> BundleFile:
        blob = self._store.add_blocks([text.encode("utf-8")])
        return BundleFile(
            path=self._layout.path(place, name),
            role=role,
            blob=blob,
            local=self._store.path(blob.sha256),
            mode=mode,
            origin="written by hexpack",
        )

    def _examined(self, files: Iterable[BundleFile]) -> list[Examined]:
        return [Examined(file=file, facts=self._facts(file)) for file in files]

    def _facts(self, file: BundleFile) -> Facts:
        """What the bytes say, remembered by their digest."""
        key = key_of({"blob": file.blob.sha256, "hexpack": codeprint("facts"), "tools": surroundings()})
        with contextlib.suppress(ValueError):  # no record, or a damaged one
            return _FACTS.validate_python(self._store.recall("facts", key))
        facts = examine(file.local)
        if isinstance(facts, DamagedFacts):
            return facts  # a reader that ran out of time or memory must get another chance
        self._store.record("facts", key, _FACTS.dump_python(facts, mode="json"))
        return facts


def facts_of_base(image: BaseImage, store: Store) -> BaseImageFacts:
    """What the layers of a base image hold, remembered by their digests. Raises UnreadableFile."""
    layers = [layer.blob.sha256 for layer in image.layers]
    key = key_of({"layers": layers, "hexpack": codeprint("facts"), "tools": surroundings()})
    known = store.recall_as(BaseImageFacts, "base-image", key)
    if known is None:
        known = read_base_image(layer.local for layer in image.layers)
        store.record("base-image", key, known.model_dump(mode="json"))
    return known


def _graph_names(facts: Facts) -> tuple[str, ...]:
    return tuple(graph.name for graph in facts.graphs) if isinstance(facts, ContextFacts) else ()


def qairt_builds(examined: Iterable[Examined]) -> dict[str, str | None]:
    """The QAIRT build that the bytes of each staged file name, by the file's origin."""
    return {e.file.origin: getattr(e.facts, "qairt_build", None) for e in examined}


def compiles_of(
    plan: TargetPlan, contexts: Sequence[ContextAsset], examined: Iterable[Examined]
) -> tuple[Compile, ...]:
    """What the lock keeps of the contexts of a target: how they were made, and what their bytes say."""
    read = {e.file.soc: e.facts for e in examined if isinstance(e.facts, ContextFacts)}
    return tuple(_compile(plan, asset, read.get(asset.soc.id)) for asset in contexts)


def _compile(plan: TargetPlan, asset: ContextAsset, facts: ContextFacts | None) -> Compile:
    sizes = [graph.vtcm_mb for graph in facts.graphs if graph.vtcm_mb is not None] if facts else []
    return Compile(
        target=plan.label,
        soc=asset.soc.id,
        model=asset.model,
        calibration=asset.calibration,
        precision=plan.precision,
        inputs=asset.inputs,
        optimization=plan.optimization,
        vtcm_mb=plan.vtcm_mb,
        hvx_threads=plan.hvx_threads,
        tools=asset.tools,
        sha256=asset.context.sha256,
        size=asset.context.size,
        jobs=asset.jobs,
        read_soc_model=facts.soc_model if facts else None,
        read_hexagon=facts.hexagon_arch if facts else None,
        read_vtcm_mb=max(sizes, default=None),
        read_qairt_build=facts.qairt_build if facts else None,
        read_graphs=tuple(graph.name for graph in facts.graphs) if facts else (),
    )
