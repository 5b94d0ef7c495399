"""Compilers of others that a target names: the NDK, QNX's SDP. Where they are, and which release they are."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from packager.catalog import table
from packager.errors import InputUnavailable
from packager.model import Frozen

_LONGEST = 4 << 20  # of the file that tells the release; QNX's header has some 100 kB


class Kit(Frozen):
    """A `[[kit]]` of `targets/toolchains.toml`; its head explains the fields."""

    id: str
    name: str
    systems: tuple[str, ...]
    environment: tuple[str, ...]
    up: int = 0
    compiler: tuple[str, ...]
    archiver: tuple[str, ...]
    release: tuple[str, ...]
    release_pattern: str
    variables: dict[str, str] = Field(default_factory=dict)
    source: str


class FoundKit(NamedTuple):
    """A kit on this machine. `title` has its release, `environment` what its compiler wants set."""

    id: str
    title: str
    compiler: Path
    archiver: Path
    environment: dict[str, str]


def find_kit(kit_id: str, root: Path | None = None) -> FoundKit:
    """The kit at `root`, or where its variables lead. Raises InputUnavailable with what was looked for."""
    kit = next(Kit.model_validate(row) for row in table("toolchains")["kit"] if row["id"] == kit_id)
    root = (root or _named_by_environment(kit)).absolute()
    release = _first(kit, root, kit.release)
    with release.open("rb") as file:
        text = file.read(_LONGEST).decode(errors="replace")
    number = re.search(kit.release_pattern, text, re.MULTILINE)
    if number is None:
        raise InputUnavailable(
            f"the release of the {kit.name} is not told",
            evidence=(f"{release} has no line like {kit.release_pattern}",),
            fix=f"name the root of a whole {kit.name}",
        )
    return FoundKit(
        id=kit.id,
        title=f"{kit.name} {number[1]}",
        compiler=_first(kit, root, kit.compiler),
        archiver=_first(kit, root, kit.archiver),
        environment={name: str(_first(kit, root, (place,))) for name, place in kit.variables.items()},
    )


def _named_by_environment(kit: Kit) -> Path:
    for name in kit.environment:
        if os.environ.get(name):
            folder = Path(os.environ[name])
            return folder.parents[kit.up - 1] if 0 < kit.up <= len(folder.parents) else folder
    raise InputUnavailable(
        f"it is not said where the {kit.name} is",
        evidence=(f"not set: {', '.join(kit.environment)}",),
        fix=f'give `path` in toolchain = {{ kit = "{kit.id}" }}, or set {kit.environment[0]}',
    )


def _first(kit: Kit, root: Path, patterns: tuple[str, ...]) -> Path:
    for pattern in patterns:
        for found in sorted(root.glob(pattern)):
            return found
    raise InputUnavailable(
        f"there is no {kit.name} in {root}",
        evidence=(f"looked for {' and '.join(patterns)}",),
        fix="name the folder that it was unpacked or installed into",
    )
