"""What the makers of a model wrote about it, against what is in the package.

A context binary speaks for itself: HEX302 to HEX305 judge it, and not what is said of its release.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from pathlib import PureWindowsPath
from typing import NamedTuple

from packager.facts.config_types import AiHubFacts, ModelPackageFacts
from packager.facts.types import ContextFacts
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import folder_of, newer, parents, same_release
from packager.rules.table import number, word


@rule("HEX604", severity=Severity.WARNING)
def made_with_a_qairt_that_the_runtime_reads(case: Case) -> Iterable[Said]:
    """A runtime reads models of its own release and of earlier ones."""
    release = case.plan.runtime_set.release.version
    for file, facts in case.of_kind(AiHubFacts) if release else ():
        made_with = facts.tool_versions.get("qairt")
        if made_with and facts.runtime == word("HEX604", "runtime") and newer(made_with, release):
            yield Said(
                file=file.path,
                found=f"made with QAIRT {made_with}",
                wanted=f"{release} or earlier, the runtime in this package",
                fix=f"export the model with `--qairt_version {release}`, or ship newer libraries",
            )


@rule("HEX606", severity=Severity.WARNING)
def files_that_metadata_lists(case: Case) -> Iterable[Said]:
    """A model of several parts needs all of them."""
    there = _files(case) | _folders(case)
    for file, facts in case.of_kind(AiHubFacts):
        for name in (*(listed.name for listed in facts.files), *facts.supplements):
            path = _inside(folder_of(file), name)
            if path and path not in there:
                yield Said(
                    file=file.path,
                    found=f"lists {name}, which is not beside it",
                    wanted=path,
                    fix="add it from the archive that the metadata came in, or take the entry out",
                    absent=True,
                )


@rule("HEX608", severity=Severity.ERROR)
def parts_of_a_model_package(case: Case) -> Iterable[Said]:
    """A package of which a part is missing is refused when it is opened."""
    there = _files(case) | _folders(case)
    for file, package in case.of_kind(ModelPackageFacts):
        for name in _parts(package, folder_of(file), _folders(case)):
            path = _inside(folder_of(file), name)
            if path and path not in there:
                yield Said(
                    file=file.path,
                    found=f"names {name}, which is not there",
                    wanted=path,
                    fix="put it there, or take the entry out",
                    absent=True,
                )


def _parts(package: ModelPackageFacts, folder: str, folders: frozenset[str]) -> Iterator[str]:
    """What a model package in a folder names, by the paths from there."""
    for name in package.components:
        described = _inside(folder, name) in folders
        yield posixpath.join(name, word("HEX608", "component")) if described else name
    yield from package.shared_assets
    for variant in package.variants:
        yield variant.folder
        yield from (posixpath.join(variant.folder, name) for name in variant.files)


def _files(case: Case) -> frozenset[str]:
    return frozenset(examined.file.path for examined in case.files)


def _folders(case: Case) -> frozenset[str]:
    return frozenset(folder for examined in case.files for folder in parents(examined.file.path))


def _inside(folder: str, name: str) -> str | None:
    """The path in the package that a name in a folder means; None where it leads to the top or out of it.

    Tools on Windows write their own separators into what they make.
    """
    written = PureWindowsPath(name)
    path = posixpath.normpath(posixpath.join(folder, written.as_posix()))
    return None if written.anchor or path.split("/")[0] in (".", "..") else path


class _Compatibility(NamedTuple):
    """What ONNX Runtime's QNN provider writes about a context: version 2 of its string."""

    backend: str
    release: str
    archs: frozenset[str]
    soc_models: frozenset[str]


def _compatibility(text: str | None) -> _Compatibility | None:
    """None for the string of another provider, or of another version."""
    parts = (text or "").split(":")
    if len(parts) != number("HEX607", "parts") or parts[0] != word("HEX607", "version"):
        return None
    _, backend, release, _, archs, socs, _, by_driver = parts
    return _Compatibility(
        backend=backend,
        release="" if by_driver == "1" else release,  # the release is then the driver's, not the context's
        archs=_known(archs),
        soc_models=_known(socs),
    )


def _known(listed: str) -> frozenset[str]:
    """The numbers of a list; 0 stands for one that the provider did not know."""
    return frozenset(one.strip() for one in listed.split(",")) - {"", "0"}


@rule("HEX607", severity=Severity.ERROR)
def contexts_as_they_are_announced(case: Case) -> Iterable[Said]:
    """A provider chooses a variant by what is said of it, before it opens the context."""
    for file, package in case.of_kind(ModelPackageFacts):
        for variant in package.variants:
            said = _compatibility(variant.compatibility)
            folder = _inside(folder_of(file), variant.folder)
            for examined, facts in case.contexts() if said and folder else ():
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
    if said.backend and str(facts.backend_id) != said.backend:
        found.append(f"backend {facts.backend_id}")
        wanted.append(f"backend {said.backend}")
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
