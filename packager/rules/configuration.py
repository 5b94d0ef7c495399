"""HTP and Genie configuration and runner.conf: what they name is there, and what they ask for exists.

The backend ignores what it does not understand without a word, and runs with its defaults.
"""

from __future__ import annotations

import functools
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from packager import catalog
from packager.bundle import BundleFile
from packager.catalog import Soc
from packager.errors import nearest
from packager.facts.config_types import GenieFacts, HtpConfigFacts, HtpDevice, RunnerConfigFacts
from packager.facts.types import ContextFacts, DamagedFacts, DlcFacts, ElfFacts, OnnxFacts, PeFacts
from packager.model import Frozen
from packager.rules.android import abi_of
from packager.rules.capabilities import options
from packager.rules.core import Case, Examined, Said, Severity, rule
from packager.rules.reading import folder_of, parents, stand_in, vendor_roles
from packager.rules.table import number, word
from packager.versions import numbers

_MODELS = (ContextFacts, DlcFacts, DamagedFacts)


class Key(Frozen):
    """A key path of an HTP configuration; see the head of `targets/htp_config.toml`."""

    path: str
    outer: bool = False
    open: bool = False
    confused: tuple[str, ...] = ()
    source: str


class RunnerKey(Frozen):
    """A key of runner.conf; see the head of `targets/runner_config.toml`."""

    name: str
    required: bool = False
    repeats: bool = False
    since: int
    until: int
    source: str


@functools.cache
def _keys() -> dict[str, Key]:
    """Every key path of an HTP configuration that a document names."""
    return {row["path"]: Key.model_validate(row) for row in catalog.table("htp_config")["key"]}


@functools.cache
def _runner_keys() -> dict[str, RunnerKey]:
    return {row["name"]: RunnerKey.model_validate(row) for row in catalog.table("runner_config")["key"]}


def _is_known(path: str) -> bool:
    return path in _keys() or any(fnmatchcase(path, key) for one in options().values() for key in one.keys)


def _unknown(facts: HtpConfigFacts) -> Iterator[tuple[str, str | None]]:
    """(key path, what was probably meant): the outermost of each unknown branch."""
    for path in facts.keys:
        parent = path.rpartition(".")[0]
        above = _keys().get(parent)
        if not _is_known(path) and (not parent or (above is not None and not above.open)):
            yield path or '""', _meant(path)


def _meant(path: str) -> str | None:
    """The same key where it belongs, else the one of this object that goes by this name or nearly so."""
    parent, _, key = path.rpartition(".")
    known = sorted((*one.path.rpartition("."), one) for one in _keys().values())
    elsewhere = [one.path for _, _, name, one in known if name == key]
    beside = {name: one for folder, _, name, one in known if folder == parent}
    confused = [one.path for one in beside.values() if key in one.confused]
    near = nearest(key, beside)
    return " or ".join(elsewhere or confused) or (beside[near].path if near else None)


@rule("HEX401", severity=Severity.ERROR)
def keys_as_they_are_spelt(case: Case) -> Iterable[Said]:
    """A key with a slip of the pen, or under another one than its own, is ignored."""
    for file, facts in case.of_kind(HtpConfigFacts):
        for path, meant in _unknown(facts):
            if meant:
                yield Said(
                    file=file.path,
                    found=path,
                    wanted=meant,
                    fix=f"write it as {meant}; an unknown key is ignored without a word",
                )


@rule("HEX416", severity=Severity.ERROR)
def outer_and_inner_apart(case: Case) -> Iterable[Said]:
    """The tools read the outer file and the backend the inner one; neither reads the other's keys."""
    for file, facts in case.of_kind(HtpConfigFacts):
        tops = [key for path in facts.keys if "." not in path and (key := _keys().get(path))]
        outer = [key.path for key in tops if key.outer]
        inner = [key.path for key in tops if not key.outer]
        if outer and inner:
            yield Said(
                file=file.path,
                found=f"{', '.join(inner)} beside {', '.join(outer)}",
                wanted="a file for each",
                fix=f"move {', '.join(inner)} into the file that backend_extensions.config_file_path names",
            )


@rule("HEX402", severity=Severity.WARNING)
def graphs_in_the_shape_of_the_release(case: Case) -> Iterable[Said]:
    """`graphs` was one object in old releases and is an array in new ones; the wrong one may be ignored."""
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
    """The graphs of all models of the package, as they name them; none where one does not tell its own."""
    named: list[str] = []
    for examined in case.files:
        facts = examined.facts
        if isinstance(facts, ContextFacts | DlcFacts):
            mine = _graphs_of(facts)
            if not mine:
                return ()
            named += mine
        elif _is_mute(examined) or stand_in(case, examined):
            return ()
    return tuple(dict.fromkeys(named))


def _graphs_of(facts: ContextFacts | DlcFacts) -> list[str]:
    caches = facts.caches if isinstance(facts, DlcFacts) else ()
    compiled = [graph for cache in caches if cache.context for graph in cache.context.graphs]
    return [graph.name for graph in (*facts.graphs, *compiled)]


def _is_mute(examined: Examined) -> bool:
    """Whether a file holds graphs, or may hold them, whose names nobody can read."""
    facts = examined.facts
    if isinstance(facts, DamagedFacts):
        return examined.file.role not in vendor_roles()
    if isinstance(facts, OnnxFacts):
        return not facts.context_binaries
    return isinstance(facts, ElfFacts | PeFacts) and facts.model_prefix is not None


@rule("HEX403", severity=Severity.ERROR)
def graphs_that_exist(case: Case) -> Iterable[Said]:
    """Settings for a graph that no model has are settings for nothing."""
    names = _graph_names(case)
    for file, facts in case.of_kind(HtpConfigFacts):
        asked = dict.fromkeys(name for graph in facts.graphs for name in graph.names)
        for name in asked:
            if names and name not in names:
                yield Said(
                    file=file.path,
                    found=f'graph "{name}"',
                    wanted=f"one of {', '.join(names[:6])}{' …' if len(names) > 6 else ''}",
                    fix=f'write "{nearest(name, names) or names[0]}", or ship the model that has this graph',
                )


@rule("HEX414", severity=Severity.ERROR)
def lines_that_hexrun_reads(case: Case) -> Iterable[Said]:
    """hexrun ends at a line that it does not know, and without one that it needs."""
    for file, facts in case.of_kind(RunnerConfigFacts):
        known = {
            name: key
            for name, key in _runner_keys().items()
            if facts.format is None or key.since <= facts.format <= key.until
        }
        for first, times in Counter(facts.keys).items():
            if first not in known:
                wanted = nearest(first, known) or f"one of {', '.join(known)}"
                yield Said(file.path, first, wanted, fix="correct the word, or take the line out")
            elif times > 1 and not known[first].repeats:
                yield Said(file.path, f"{times} lines {first}", wanted="one", fix="keep one of them")
        for key in known.values():
            if key.required and key.name not in facts.keys:
                yield Said(
                    file.path,
                    found=f"no {key.name}",
                    wanted=f"a line {key.name}",
                    fix="take the runner.conf that hexpack wrote for this package",
                )


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
    folded = str.lower if case.plan.system == word("HEX405", "ignores_case") else str
    there = {folded(examined.file.path): examined for examined in case.files}
    known = {".", *there, *(folded(link.path) for link in case.links)}
    known |= {parent for path in known for parent in parents(path)}
    for file, paths, models in _named(case):
        missing = []
        for path in paths:
            bases = (folder_of(file), *parents(folder_of(file)), "")
            places = [folded(posixpath.normpath(posixpath.join(base, path))) for base in bases]
            place = next((place for place in places if place in known), None)
            if place is None and not _is_linked_to_later(case, file, path):
                missing.append(path)
            elif place is None:
                continue
            elif path in models and place in there and not _may_be_model(case, there[place]):
                yield Said(
                    file=there[place].file.path,
                    found="neither a context binary nor a DLC nor a model library",
                    wanted=f"a compiled model, as {file.path} names it",
                    fix="compile the model again, or name the right file",
                )
        if missing:
            name = posixpath.basename(missing[0])
            near = [path for path in there if posixpath.basename(path) == folded(name)]
            more = f" and {len(missing) - 1} more files" if len(missing) > 1 else ""
            yield Said(
                file=file.path,
                found=f"names {missing[0]}{more}, not in the package",
                wanted=f"{there[near[0]].file.path}?" if near else "files that are there",
                fix="correct the path, which begins at the configuration's own folder, or add the file",
                absent=True,
            )


def _is_linked_to_later(case: Case, configuration: BundleFile, path: str) -> bool:
    """Whether an app finds a library of this name where Android puts its own, once its assets are copied."""
    if "assets" not in configuration.path.split("/"):
        return False
    name = posixpath.basename(path)
    return any(e.file.name == name and abi_of(e.file) is not None for e in case.files)


def _may_be_model(case: Case, examined: Examined) -> bool:
    facts = examined.facts
    library = isinstance(facts, ElfFacts | PeFacts) and facts.model_prefix is not None
    return isinstance(facts, _MODELS) or library or stand_in(case, examined) is not None


def _named(case: Case) -> Iterator[tuple[BundleFile, list[str], list[str]]]:
    """(configuration, paths, those of them that are models) of all paths that a package can answer for."""
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
        yield examined.file, _inside(paths), _inside(models)


def _inside(paths: Iterable[str]) -> list[str]:
    """Those that begin neither at a device's root or drive nor with a placeholder; `/` between folders."""
    plain = (path.replace("\\", "/") for path in paths)
    return [
        path
        for path in plain
        if not path.startswith("/") and path[1:2] != ":" and not any(mark in path for mark in "<$%{")
    ]


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
