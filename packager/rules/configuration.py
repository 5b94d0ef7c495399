"""HTP and Genie configuration and runner.conf: what they name is there, and what they ask for exists.

The backend ignores what it does not understand without a word, and runs with its defaults.
"""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from packager import catalog
from packager.bundle import BundleFile
from packager.catalog import Soc
from packager.errors import nearest
from packager.facts.config_types import GenieFacts, HtpConfigFacts, HtpDevice, RunnerConfigFacts
from packager.facts.types import ContextFacts, DamagedFacts, DlcFacts
from packager.rules.capabilities import options
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import folder_of
from packager.rules.table import number, word
from packager.versions import numbers


@functools.cache
def _keys() -> frozenset[str]:
    """Every key path of an HTP configuration that a document names."""
    return frozenset(row["path"] for row in catalog.table("htp_config")["key"])


def _is_known(path: str) -> bool:
    return path in _keys() or any(fnmatchcase(path, key) for one in options().values() for key in one.keys)


def _unknown(facts: HtpConfigFacts) -> Iterator[tuple[str, str | None]]:
    """(key path, the known one that was probably meant): the outermost of each unknown branch."""
    for path in facts.keys:
        parent, _, key = path.rpartition(".")
        if _is_known(path) or (parent and parent not in _keys()):
            continue
        beside = sorted(known.rpartition(".")[2] for known in _keys() if known.rpartition(".")[0] == parent)
        meant = nearest(key, beside)
        yield path, f"{parent}.{meant}".lstrip(".") if meant else None


@rule("HEX401", severity=Severity.ERROR)
def keys_as_they_are_spelt(case: Case) -> Iterable[Said]:
    """A key with a slip of the pen is ignored."""
    for file, facts in case.of_kind(HtpConfigFacts):
        for path, meant in _unknown(facts):
            if meant:
                yield Said(
                    file=file.path,
                    found=path,
                    wanted=meant,
                    fix=f'write "{meant.rpartition(".")[2]}"; an unknown key is ignored without a word',
                )


@rule("HEX402", severity=Severity.ERROR)
def graphs_in_the_shape_of_the_release(case: Case) -> Iterable[Said]:
    """`graphs` was one object in old releases and is an array in new ones; the wrong one is ignored."""
    release = case.plan.runtime_set.release.version
    if not release:
        return
    rows = [
        row for row in catalog.table("htp_config")["dialect"] if numbers(row["since"]) <= numbers(release)
    ]
    wanted = max(rows, key=lambda row: numbers(row["since"]))["graphs"]
    for file, facts in case.of_kind(HtpConfigFacts):
        if facts.graphs_shape not in (None, wanted):
            yield Said(
                file=file.path,
                found=f"graphs is an {facts.graphs_shape}",
                wanted=f"an {wanted}, as QAIRT {release} reads it",
                fix="put the object into [ ]" if wanted == "array" else "take the object out of the [ ]",
            )


def _graph_names(case: Case) -> tuple[str, ...]:
    """The graphs of all contexts and DLCs of the package, as they name them."""
    named = [
        graph.name
        for examined in case.files
        if isinstance(examined.facts, ContextFacts | DlcFacts)
        for graph in examined.facts.graphs
    ]
    return tuple(dict.fromkeys(named))


def _no_such_graph(file: BundleFile, name: str, names: tuple[str, ...]) -> Said:
    return Said(
        file=file.path,
        found=f'graph "{name}"',
        wanted=f"one of {', '.join(names[:6])}{' …' if len(names) > 6 else ''}",
        fix=f'write "{nearest(name, names) or names[0]}", or ship the model that has this graph',
    )


@rule("HEX403", severity=Severity.ERROR)
def graphs_that_exist(case: Case) -> Iterable[Said]:
    """Settings for a graph that no model has are settings for nothing."""
    names = _graph_names(case)
    for file, facts in case.of_kind(HtpConfigFacts):
        asked = dict.fromkeys(name for graph in facts.graphs for name in graph.names)
        yield from (_no_such_graph(file, name, names) for name in asked if names and name not in names)


@rule("HEX414", severity=Severity.ERROR)
def graph_of_the_runner(case: Case) -> Iterable[Said]:
    """A runner that asks for a graph by a name that no context has ends before it begins."""
    names = _graph_names(case)
    for file, facts in case.of_kind(RunnerConfigFacts):
        if facts.graph and names and facts.graph not in names:
            yield _no_such_graph(file, facts.graph, names)


@rule("HEX404", severity=Severity.ERROR)
def devices_of_the_target(case: Case) -> Iterable[Said]:
    """soc_model and dsp_arch say the same twice, and both have to be the device's."""
    for file, facts in case.of_kind(HtpConfigFacts):
        for device in facts.devices:
            fault = _device_fault(device, case.plan.socs)
            if fault:
                found, wanted = fault
                yield Said(
                    file=file.path,
                    found=found,
                    wanted=wanted,
                    fix="write both from the SoC table: `hexpack socs WORD` shows them",
                )


def _device_fault(device: HtpDevice, targets: tuple[Soc, ...]) -> tuple[str, str] | None:
    arch = f"v{device.arch}"
    archs = {soc.hexagon for soc in catalog.socs() if soc.hexagon} - {None}
    if device.arch and device.arch not in archs:
        served = sorted(known for known in archs if known >= number("HEX308", "oldest_arch"))
        return f"dsp_arch {arch}", f"one of {', '.join(f'v{known}' for known in served)}"
    mine = [soc for soc in catalog.socs() if device.soc_model in (soc.soc_model, *soc.accepts)]
    if device.soc_model and mine and device.arch and device.arch not in {soc.hexagon for soc in mine}:
        names = " or ".join(f"{soc.id} ({soc.arch})" for soc in mine)
        return f"soc_model {device.soc_model} and dsp_arch {arch}", f"soc_model {device.soc_model} is {names}"
    numbered = {model for soc in targets for model in (soc.soc_model, *soc.accepts) if model}
    if device.soc_model and numbered and device.soc_model not in numbered:
        return f"soc_model {device.soc_model}", " or ".join(f"{s.soc_model} ({s.id})" for s in targets)
    if device.arch and targets and device.arch not in {soc.hexagon for soc in targets}:
        return f"dsp_arch {arch}", " or ".join(f"{soc.arch} ({soc.id})" for soc in targets)
    return None


@rule("HEX405", severity=Severity.ERROR)
def files_that_are_there(case: Case) -> Iterable[Said]:
    """What a configuration names is in the package, and a context that it names is one."""
    there = {examined.file.path: examined.facts for examined in case.files}
    known = {".", *there, *(link.path for link in case.links)}
    known |= {parent for path in known for parent in _parents(path)}
    for file, name, is_model in _named(case):
        places = [posixpath.normpath(posixpath.join(base, name)) for base in (folder_of(file), "")]
        found = next((place for place in places if place in known), None)
        facts = there.get(found or "")
        if found is None:
            close = nearest(places[0], known)
            yield Said(
                file=file.path,
                found=f"names {name}, which is not in the package",
                wanted=f"{close}?" if close else "the file, at that path",
                fix="correct the path, which begins at the configuration's own folder, or add the file",
            )
        elif is_model and facts is not None and not isinstance(facts, ContextFacts | DlcFacts | DamagedFacts):
            yield Said(
                file=found,
                found="neither a context binary nor a DLC",
                wanted=f"a compiled model, as {file.path} names it",
                fix="compile the model again, or name the right file",
            )


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _named(case: Case) -> Iterator[tuple[BundleFile, str, bool]]:
    """(configuration, path as written, whether it is a model) of all paths that a package can answer for."""
    for examined in case.files:
        facts = examined.facts
        if isinstance(facts, RunnerConfigFacts):
            paths, models = (*facts.paths, *facts.contexts), facts.contexts
        elif isinstance(facts, GenieFacts):
            paths, models = facts.paths, facts.model_paths
        elif isinstance(facts, HtpConfigFacts):
            paths, models = facts.paths, ()
        else:
            continue
        for path in paths:
            plain = path.replace("\\", "/")
            elsewhere = plain.startswith("/") or plain[1:2] == ":" or any(mark in plain for mark in "<$%{")
            if not elsewhere:
                yield examined.file, plain, path in models


@rule("HEX406", severity=Severity.ERROR)
def graph_settings_in_range(case: Case) -> Iterable[Said]:
    """More VTCM than there is, or an optimization level that does not exist."""
    for file, facts in case.of_kind(HtpConfigFacts):
        socs = _socs_of(facts, case.plan.socs)
        most = min((soc.vtcm_mb for soc in socs if soc.vtcm_mb), default=None)
        for graph in facts.graphs:
            if most is not None and (graph.vtcm_mb or 0) > most:
                yield Said(
                    file=file.path,
                    found=f"vtcm_mb {graph.vtcm_mb}",
                    wanted=f"at most {most}, as {', '.join(s.id for s in socs if s.vtcm_mb == most)} has",
                    fix="write 0, which is all that the SoC has",
                )
            highest = number("HEX406", "highest_level")
            if graph.optimization is not None and not 1 <= graph.optimization <= highest:
                yield Said(
                    file=file.path,
                    found=f"O {graph.optimization}",
                    wanted=f"1 to {highest}",
                    fix=f"write {highest} for the fastest graph, 1 for the shortest preparation",
                )


def _socs_of(facts: HtpConfigFacts, targets: tuple[Soc, ...]) -> list[Soc]:
    """The SoCs that a configuration is for: those of the target that it numbers, else all of the target."""
    asked = {device.soc_model for device in facts.devices if device.soc_model}
    mine = [soc for soc in targets if asked & {soc.soc_model, *soc.accepts}]
    return mine or ([] if asked else list(targets))


@rule("HEX412", severity=Severity.WARNING)
def unsigned_sessions(case: Case) -> Iterable[Said]:
    """A signed session needs a skel that the device's maker has signed."""
    for file, facts in case.of_kind(HtpConfigFacts):
        if any((device.pd_session or "").lower() == word("HEX412", "session") for device in facts.devices):
            yield Said(
                file=file.path,
                found=f"pd_session {word('HEX412', 'session')}",
                wanted="unsigned, as the skels of QAIRT are",
                fix="write unsigned; if the device's maker has signed these skels, allow this finding",
            )


@rule("HEX415", severity=Severity.WARNING)
def keys_that_somebody_knows(case: Case) -> Iterable[Said]:
    """A key that no document names may be new, or nothing."""
    for file, facts in case.of_kind(HtpConfigFacts):
        for path, meant in _unknown(facts):
            if meant is None:
                yield Said(
                    file=file.path,
                    found=path,
                    wanted="a key that QAIRT's documents name",
                    fix="take it out, or read back from the compiled context that it had an effect",
                )
