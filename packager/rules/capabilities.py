"""What SoCs, toolchains and releases can do: the tables that only rules read."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Literal

from packager.catalog import Soc, table
from packager.model import Frozen
from packager.rules.reading import newer, same_release
from packager.versions import numbers


class Verdict(Frozen):
    """Whether the HTP libraries of a toolchain and of some releases run on a SoC.

    `socs` are ids, `archs` Hexagon numbers; a row with neither is about every SoC. `measured` means that
    the libraries themselves were asked, `reported` that people wrote so.
    """

    socs: tuple[str, ...] = ()
    archs: tuple[int, ...] = ()
    abis: tuple[str, ...]
    releases: tuple[str, ...]
    accepted: bool
    confidence: Literal["measured", "reported"]
    evidence: str
    source: str

    def about(self, soc: Soc, abi: str) -> bool:
        """Whether this row is about the libraries of that ABI on that SoC."""
        anybody = not self.socs and not self.archs
        return abi in self.abis and (anybody or soc.id in self.socs or soc.hexagon in self.archs)


class Option(Frozen):
    """A feature and where it begins; `keys` are patterns of its keys in an HTP configuration."""

    id: str
    name: str
    since: str | None = None
    oldest_arch: int | None = None
    keys: tuple[str, ...] = ()
    source: str


class BlobFormat(Frozen):
    """The version of HTP context blobs that a release writes, which is the newest that it reads."""

    release: str
    version: str
    source: str


@functools.cache
def untried_runners() -> dict[str, str]:
    """System to what was never tried with the runner that is built for it."""
    rows = table("toolchains")["toolchain"]
    return {row["system"]: row["reservation"] for row in rows if row.get("reservation")}


@functools.cache
def verdicts() -> tuple[Verdict, ...]:
    """All rows of the allow-lists."""
    return tuple(Verdict.model_validate(row) for row in table("allow_lists")["verdict"])


@functools.cache
def options() -> dict[str, Option]:
    """Features by id."""
    return {row["id"]: Option.model_validate(row) for row in table("options")["option"]}


@functools.cache
def blob_formats() -> tuple[BlobFormat, ...]:
    """Blob formats from the oldest release to the newest."""
    rows = (BlobFormat.model_validate(row) for row in table("blob_formats")["blob_format"])
    return tuple(sorted(rows, key=lambda row: numbers(row.release)))


def verdict_on(soc: Soc, abi: str, release: str) -> tuple[Verdict, str] | None:
    """The best evidence there is, and the release that it is about.

    That is a row about this very release, a measured one first; else one about the nearest earlier
    release, else about the nearest later one. None where nobody has looked, and for no release at all.
    """
    if not release:
        return None
    known = [(row, about) for row in verdicts() if row.about(soc, abi) for about in row.releases]
    if not known:
        return None
    earlier = [about for _, about in known if not newer(about, release)]
    nearest = max(earlier, key=numbers) if earlier else min((about for _, about in known), key=numbers)
    rows = [row for row, about in known if about == nearest]
    return max(rows, key=lambda row: row.confidence == "measured"), nearest


def toolchains_that_accept(soc: Soc, abis: Iterable[str], release: str) -> tuple[str, ...]:
    """Those of the ABIs whose libraries run on the SoC, as far as anybody knows."""
    found = ((abi, verdict_on(soc, abi, release)) for abi in abis)
    return tuple(abi for abi, best in found if best is not None and best[0].accepted)


def unreadable_blob(blob: str, release: str) -> str | None:
    """What the runtime of a release reads, in words, when the blob's format is later; None when it is not.

    Of a release between two rows only the major version is known, of one after the last row nothing.
    """
    if not release:
        return None
    own = [row for row in blob_formats() if same_release(row.release, release)]
    if own:
        return f"{own[-1].version} or earlier" if newer(blob, own[-1].version) else None
    earlier = [row for row in blob_formats() if newer(release, row.release)]
    if not earlier or len(earlier) == len(blob_formats()):
        return None
    epoch = numbers(earlier[-1].version)[0]
    return f"{epoch}.x or earlier" if numbers(blob)[0] > epoch else None
