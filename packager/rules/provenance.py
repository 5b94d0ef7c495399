"""What the makers of a model wrote about it, against what is in the package.

A context binary speaks for itself: where one is there, HEX302 to HEX305 judge it and not what is said of it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from packager.bundle import BundleFile
from packager.facts.config_types import AiHubFacts, ModelPackageFacts
from packager.facts.types import ContextFacts
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import folder_of, newer, parents, same_release
from packager.rules.table import word


@rule("HEX604", severity=Severity.ERROR)
def made_with_a_qairt_that_the_runtime_reads(case: Case) -> Iterable[Said]:
    """A runtime reads models of its own release and of earlier ones."""
    release = case.plan.runtime_set.release.version
    if not release or any(case.contexts()):
        return
    for file, facts in case.of_kind(AiHubFacts):
        made_with = facts.tool_versions.get("qairt")
        if made_with and newer(made_with, release):
            yield Said(
                file=file.path,
                found=f"made with QAIRT {made_with}",
                wanted=f"{release} or earlier, the runtime in this package",
                fix=f"export the model with `--qairt_version {release}`, or ship newer libraries",
            )


@rule("HEX606", severity=Severity.ERROR)
def files_that_metadata_names(case: Case) -> Iterable[Said]:
    """A part of a model that its own metadata lists is needed to run it."""
    there = {examined.file.path for examined in case.files}
    folders = {folder_of(examined.file) for examined in case.files}
    folders |= {parent for folder in folders for parent in parents(folder)}
    for file, name in _listed(case):
        path = posixpath.normpath(posixpath.join(folder_of(file), name))
        if path not in there | folders:
            yield Said(
                file=file.path,
                found=f"lists {name}, which is not beside it",
                wanted=path,
                fix="add it from the archive that the metadata came in, or take the entry out",
            )


def _listed(case: Case) -> Iterator[tuple[BundleFile, str]]:
    """(metadata, path of a file or folder relative to it)."""
    for file, facts in case.of_kind(AiHubFacts):
        yield from ((file, listed.name) for listed in facts.files)
        yield from ((file, name) for name in facts.supplements)
    for file, package in case.of_kind(ModelPackageFacts):
        yield from ((file, name) for name in package.components)
        yield from ((file, variant.folder) for variant in package.variants)


class _Compatibility(NamedTuple):
    """What ONNX Runtime's QNN provider writes about a context: version 2 of its string."""

    backend: str
    release: str
    backend_api: str
    archs: frozenset[str]
    soc_models: frozenset[str]


def _compatibility(text: str | None) -> _Compatibility | None:
    """None for the string of another provider, or of another version."""
    parts = (text or "").split(":")
    if len(parts) != int(word("HEX607", "parts")) or parts[0] != word("HEX607", "version"):
        return None
    archs, socs = (frozenset(part.strip() for part in parts[n].split(",") if part.strip()) for n in (4, 5))
    return _Compatibility(parts[1], parts[2], parts[3], archs, socs)


@rule("HEX607", severity=Severity.ERROR)
def contexts_as_they_are_announced(case: Case) -> Iterable[Said]:
    """A provider chooses a variant by what is said of it, before it opens the context."""
    for file, package in case.of_kind(ModelPackageFacts):
        for variant in package.variants:
            said = _compatibility(variant.compatibility)
            folder = posixpath.normpath(posixpath.join(folder_of(file), variant.folder))
            for examined, facts in case.contexts() if said else ():
                inside = examined.file.path.startswith(f"{folder}/")
                found, wanted = _differences(facts, said) if inside and said else ([], [])
                if found:
                    yield Said(
                        file=examined.file.path,
                        found=", ".join(found),
                        wanted=f"{', '.join(wanted)}, as {file.path} says of {variant.name}",
                        fix="generate the compatibility string again from this context",
                    )


def _differences(facts: ContextFacts, said: _Compatibility) -> tuple[list[str], list[str]]:
    found, wanted = [], []
    if facts.hexagon_arch and said.archs and str(facts.hexagon_arch) not in said.archs:
        found.append(f"Hexagon v{facts.hexagon_arch}")
        wanted.append(f"v{' or v'.join(sorted(said.archs))}")
    if facts.soc_model and said.soc_models and str(facts.soc_model) not in said.soc_models:
        found.append(f"soc_model {facts.soc_model}")
        wanted.append(f"soc_model {' or '.join(sorted(said.soc_models))}")
    if facts.qairt_build and said.release and not same_release(facts.qairt_build, said.release):
        found.append(f"QAIRT {facts.qairt_build}")
        wanted.append(f"QAIRT {said.release}")
    return found, wanted
