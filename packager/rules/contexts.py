"""Features and makers of compiled models, against what their SoC and release can do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from packager import catalog
from packager.bundle import BundleFile
from packager.catalog import Soc
from packager.facts.config_types import AiHubFacts, HtpConfigFacts
from packager.facts.types import DlcFacts
from packager.rules.capabilities import options
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import newer, soc_of
from packager.rules.table import word


@rule("HEX320", severity=Severity.ERROR)
def weights_shared_where_that_is_possible(case: Case) -> Iterable[Said]:
    """Weight sharing begins with one Hexagon architecture. A file that asks for it is the cause of others."""
    option = options()["weight-sharing"]
    oldest = option.oldest_arch or 0
    young = [soc for soc in case.plan.socs if soc.hexagon and soc.hexagon < oldest]
    asking = [file for file, facts in case.of_kind(HtpConfigFacts) if facts.weight_sharing]
    if young and asking:
        for file in asking:
            yield Said(
                file=file.path,
                found=f"asks for {option.name} on {', '.join(f'{soc.id} ({soc.arch})' for soc in young)}",
                wanted=f"Hexagon v{oldest} or later",
                fix="switch weight sharing off for these SoCs, and compile the graphs one by one",
            )
        return
    for examined, facts in case.contexts():
        sharing = [graph.name for graph in facts.graphs if graph.shared_weights_bytes]
        if sharing and facts.hexagon_arch is not None and facts.hexagon_arch < oldest:
            yield Said(
                file=examined.file.path,
                found=f"graphs that share weights ({', '.join(sharing)}), for Hexagon v{facts.hexagon_arch}",
                wanted=f"Hexagon v{oldest} or later",
                fix="compile the graphs without weight sharing, each into a context of its own",
            )


def _by_proxy(case: Case) -> Iterator[tuple[BundleFile, str]]:
    """Metadata of the AI Hub that names a stand-in, and how it names it."""
    mark = word("HEX327", "mark")
    for file, facts in case.of_kind(AiHubFacts):
        named = next((name for name in (facts.device, facts.chipset) if name and mark in name.lower()), None)
        if named is not None:
            yield file, named


@rule("HEX327", severity=Severity.ERROR)
def model_of_a_real_device(case: Case) -> Iterable[Said]:
    """A proxy of the AI Hub is another device than the one that it stands for."""
    for file, named in _by_proxy(case):
        yield Said(
            file=file.path,
            found=f'made for the device "{named}"',
            wanted="a device of the target's own SoC",
            fix=f"compile the model for {', '.join(soc.id for soc in case.plan.socs) or 'the SoC itself'}",
        )


@rule("HEX328", severity=Severity.WARNING)
def features_that_the_release_has(case: Case) -> Iterable[Said]:
    """What a release does not know it ignores, or cannot read."""
    release = case.plan.runtime_set.release.version
    for file, name, since in _features(case):
        if newer(since, release):
            yield Said(
                file=file.path,
                found=f"{name}, with QAIRT {release}",
                wanted=f"QAIRT {since} or later",
                fix=f"take the device libraries of QAIRT {since} or later, or do without",
            )


def _features(case: Case) -> Iterator[tuple[BundleFile, str, str]]:
    """(file, feature, first release) of what files show that some release had first."""
    several = options()["multi-soc"]
    for file, dlc in case.of_kind(DlcFacts):
        if several.since and len(_soc_models(dlc)) > 1:
            yield file, several.name, several.since
    for file, config in case.of_kind(HtpConfigFacts):
        for option in options().values():
            if option.since and any(fnmatchcase(key, one) for key in config.keys for one in option.keys):
                yield file, option.name, option.since


def _soc_models(dlc: DlcFacts) -> set[int]:
    """The SoCs that the compiled graphs of a DLC name."""
    return {cache.context.soc_model for cache in dlc.caches if cache.context and cache.context.soc_model}


@rule("HEX329", severity=Severity.WARNING)
def caches_for_the_socs(case: Case) -> Iterable[Said]:
    """A compiled graph for another SoC is of no use; the model is composed again, or not at all."""
    for file, dlc in case.of_kind(DlcFacts):
        models = _soc_models(dlc)
        owner = soc_of(case.plan, file)
        for soc in (owner,) if owner else case.plan.socs:
            if models and not models & {soc.soc_model, *soc.accepts}:
                yield Said(
                    file=file.path,
                    found=f"compiled graphs for soc_model {', '.join(map(str, sorted(models)))}",
                    wanted=f"one for soc_model {soc.soc_model}, {soc.id}",
                    fix=f"prepare the DLC for {soc.id} as well, or ship a context binary",
                )


@rule("HEX330", severity=Severity.ERROR)
def dlc_of_this_lineage(case: Case) -> Iterable[Said]:
    """The records of the first SNPE are of a form that only SNPE reads."""
    foreign = word("HEX330", "lineage")
    for file, dlc in case.of_kind(DlcFacts):
        if dlc.lineage == foreign and case.one("backend") is not None:
            converter = f", converter {dlc.converter_version}" if dlc.converter_version else ""
            yield Said(
                file=file.path,
                found=f"written by SNPE 1{converter}",
                wanted="a DLC of QAIRT",
                fix="convert the original model again, with qairt-converter",
            )


@rule("HEX334", severity=Severity.WARNING)
def context_of_the_soc_itself(case: Case) -> Iterable[Said]:
    """A public table gives this number to the SoC, and it is that of the AI Hub's stand-in."""
    if next(_by_proxy(case), None) is not None:
        return
    for examined, facts in case.contexts():
        soc = soc_of(case.plan, examined.file)
        if soc is None or facts.soc_model not in soc.accepts:
            continue
        proxy = _proxy(soc, facts.soc_model)
        if proxy is not None:
            yield Said(
                file=examined.file.path,
                found=f"compiled for soc_model {facts.soc_model}, {proxy.id}, which stands in for {soc.id}",
                wanted=f"soc_model {soc.soc_model}",
                fix=f"compile the model for {soc.id} itself, and try it on the device",
            )


def _proxy(soc: Soc, soc_model: int) -> Soc | None:
    """The other SoC of that number, where it stands in for this one."""
    return next(
        (
            other
            for other in catalog.socs()
            if other.soc_model == soc_model and set(other.proxy_for) & set(soc.chips)
        ),
        None,
    )
