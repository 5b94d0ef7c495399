"""How packages are called: file names, and the manifest's name and version in the words of each format."""

from __future__ import annotations

import re
from typing import NamedTuple

from packager import catalog
from packager.catalog import FormatRow, VersionRow

# Beside a package stands, while it is written, one whose name has a few letters more; folders take 255.
_LONGEST_FILE_NAME = 240

_VERSION = re.compile(
    r"^(?P<base>[0-9.]*[0-9])([.-]?(?P<stage>alpha|beta|rc|a|b)\.?(?P<number>[0-9]+))?$", re.ASCII
)
_STAGES = {"a": "alpha", "b": "beta"}


class Inexpressible(ValueError):
    """A name or version that a package format has no words for. `fix` is the way out."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


class Version(NamedTuple):
    """A version of the manifest in its parts: `1.2.0-rc1` is 1.2.0, `rc`, 1. A release has no stage."""

    base: str
    stage: str = ""
    number: int = 0

    @classmethod
    def parse(cls, text: str) -> Version:
        """The parts of a version as the manifest writes it; `a` and `b` are spelled out.

        Raises ValueError for words that no manifest can hold.
        """
        found = _VERSION.match(text)
        if not found:
            raise ValueError(f"not a version: {text}")
        stage = found["stage"] or ""
        return cls(found["base"], _STAGES.get(stage, stage), int(found["number"] or 0))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers before the stage."""
        return tuple(int(part) for part in self.base.split("."))


def package_stem(name: str, version: str, system: str, arch: str, target: str | None = None) -> str:
    """A package's file name without its extension: `text-direction-1.2.0-linux-arm64[-rb3gen2]`.

    `target` is the name that the manifest gives to the target, if it gives one; `arch` is the word of
    the ABI's row in `targets/systems.toml`.
    """
    return "-".join(part for part in (name, version, system, arch, target) if part)


def file_name(stem: str, row: FormatRow, name: str, version: str) -> str:
    """The file of a package that calls itself `name` and `version`.

    Raises Inexpressible when no folder can hold it.
    """
    name = (row.called.format(name=name, version=version) if row.called else stem) + row.extension
    if len(name.encode()) > _LONGEST_FILE_NAME:
        raise Inexpressible(
            f"a package would be called {name[:60]}… with {len(name.encode())} bytes in its name, and "
            f"{_LONGEST_FILE_NAME} is the most",
            "shorten the name of the package or of the target",
        )
    return name


def inner_name(name: str, target: str | None, row: FormatRow) -> str:
    """What a package of this format calls itself. Two targets of one manifest are two packages.

    Of one name and version they would be the same package to apt, which then installs whichever it
    finds on whichever board. Raises Inexpressible when the format has no room for the name.
    """
    inner = f"{name}-{target}" if target else name
    if row.name_most is not None and len(inner) > row.name_most:
        raise Inexpressible(
            f'"{inner}" has {len(inner)} characters, and the name of a {row.id} package at most '
            f"{row.name_most}",
            "shorten the name of the package or of the target",
        )
    if len(inner) < row.name_least:
        raise Inexpressible(
            f'"{inner}" has {len(inner)} characters, and the name of a {row.id} package at least '
            f"{row.name_least}",
            "choose a longer name for the package or the target",
        )
    return inner


def version_word(version: str, style: str, epoch: int | None = None) -> str:
    """The manifest's version as `style`, a row of [[version]] in `targets/formats.toml`, writes it.

    Whoever compares two results as the format does gets the order that people mean, if both versions
    have equally many numbers: a pre-release comes before its release, alpha before beta before rc, and
    a higher epoch after everything. Raises Inexpressible when the format has no word for the version.
    """
    row = catalog.version_rows()[style]
    if row.verbatim:
        return version
    parts = Version.parse(version)
    if epoch and row.epoch is None:
        raise Inexpressible(
            f"epoch {epoch} cannot be said in a version of the form {style}",
            "remove the epoch from [package], or this format from the target",
        )
    before = row.epoch.format(epoch=epoch) if epoch and row.epoch else ""
    if row.weights:
        return str(_code(version, parts, row))
    return before + _base(version, parts, row) + _pre(version, parts, row)


def _base(version: str, parts: Version, row: VersionRow) -> str:
    """The numbers: as they were written where any will do, else padded and without leading zeros."""
    numbers, (least, most) = parts.numbers, row.numbers
    if len(numbers) > most:
        raise Inexpressible(
            f'version "{version}" has {len(numbers)} numbers, and {row.id} versions at most {most}',
            "choose a version with fewer numbers, or remove this format from the target",
        )
    if not row.limits:
        return parts.base
    for number, limit in zip(numbers, row.limits, strict=False):
        if number > limit:
            raise Inexpressible(
                f'version "{version}" has the number {number}, and {row.id} versions at most {limit} there',
                "choose a smaller number, or remove this format from the target",
            )
    return ".".join(map(str, numbers + (0,) * (least - len(numbers))))


def _pre(version: str, parts: Version, row: VersionRow) -> str:
    if not parts.stage:
        return ""
    if row.pre is None:
        raise Inexpressible(
            f'version "{version}" is a pre-release, and {row.id} versions have numbers only',
            "give it numbers of its own, such as a lower last one, or remove this format from the target",
        )
    return row.pre.format(stage=parts.stage, number=parts.number)


def _code(version: str, parts: Version, row: VersionRow) -> int:
    """One number that grows with the version."""
    numbers = map(int, _base(version, parts, row).split("."))
    start = row.stages[parts.stage]
    room = min((first for first in row.stages.values() if first > start), default=start + 1) - start
    if parts.number >= room:
        raise Inexpressible(
            f'version "{version}" is {parts.stage} {parts.number}, and {row.id} versions count to {room - 1}',
            "count the pre-releases anew, or go on to the next stage",
        )
    weighed = sum(number * weight for number, weight in zip(numbers, row.weights, strict=True))
    return weighed + start + parts.number
