"""What is true of the world: SoCs, boards, systems, QAIRT releases, read from `targets/*.toml`.

Tables are data. Nothing outside this module knows their file names, and nothing in Python repeats
their content. Every row says where it comes from.
"""

from __future__ import annotations

import functools
import tomllib
from typing import Any, Literal

from pydantic import Field

from packager import resources
from packager.errors import ManifestError, nearest
from packager.model import Frozen


class Soc(Frozen):
    """One silicon. `hexagon` is the DSP architecture (73 for v73), `vtcm_mb` its VTCM in MiB.

    `compute_dsps` is the number of its NPUs, each with a domain of its own (cdsp0, cdsp1).
    """

    id: str
    soc_model: int
    hexagon: int | None = None
    vtcm_mb: int | None = None
    fp16: bool | None = None
    weight_sharing: bool | None = None
    compute_dsps: int = 1
    chips: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    accepts: tuple[int, ...] = ()
    proxy_for: tuple[str, ...] = ()
    linux_soc_ids: tuple[int, ...] = ()
    systems: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    source: str

    @property
    def title(self) -> str:
        """What a person calls it."""
        return self.names[0] if self.names else (self.chips[0] if self.chips else self.id)

    @property
    def arch(self) -> str:
        """`v73`, or `no HTP` where the HTP backend does not know the part."""
        return f"v{self.hexagon}" if self.hexagon else "no HTP"


class Board(Frozen):
    """A device that people own, and the SoC on it."""

    id: str
    name: str
    soc: str
    aliases: tuple[str, ...] = ()
    source: str


class System(Frozen):
    """An operating system and the runtime formats that can run on it."""

    id: str
    name: str
    runtimes: tuple[str, ...]
    source: str


class Abi(Frozen):
    """A binary interface on one system; see the head of `targets/systems.toml` for the fields."""

    id: str
    system: str
    machine: str
    arch: str
    debian: str | None = None
    opkg: str | None = None
    rpm: str | None = None
    oci: str | None = None
    nuget: str | None = None
    msix: str | None = None
    msbuild: str | None = None
    libc: str
    glibc: str | None = None
    glibcxx: str | None = None
    cxxabi: str | None = None
    c_library: tuple[str, ...] = ()
    zig: str | None = None
    simulator: bool = False
    aliases: tuple[str, ...] = ()
    source: str


class FormatRow(Frozen):
    """A package format; the head of `targets/formats.toml` explains the fields."""

    id: str
    systems: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    extension: str
    version: str
    name_least: int = 1
    name_most: int | None = None
    file_most: int | None = None
    whole_most: int | None = None
    into_system: bool = False
    called: str | None = None
    parts: tuple[str, ...] = ()
    app: bool = False
    usual: bool = False
    image: bool = False
    needs: tuple[str, ...] = ()
    source: str


class VersionRow(Frozen):
    """How a kind of package writes versions; the head of `targets/formats.toml` explains the fields."""

    id: str
    verbatim: bool = False
    numbers: tuple[int, int] = (1, 4)
    limits: tuple[int, ...] = ()
    pre: str | None = None
    epoch: str | None = None
    weights: tuple[int, ...] = ()
    stages: dict[str, int] = Field(default_factory=dict)
    source: str


class Release(Frozen):
    """A QAIRT release. `build` is the id inside its libraries."""

    version: str
    build: str
    core_api: str
    backend_api: str
    system_api: str | None = None
    blob: str | None = None
    source: str


class RuntimeSet(Frozen):
    """Where the device libraries of one release and ABI are found; paths are inside the wheel."""

    release: str
    abis: tuple[str, ...]
    wheel: str
    platform: str
    python: str
    sha256: str
    root: str
    archs: tuple[int, ...]
    catalogues: tuple[int, ...] = ()
    extra: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    source: str


class Role(Frozen):
    """What a vendor file is for, and its name on each system (`{arch}` is the Hexagon number).

    It is needed where the target computes on `unit`, or anywhere without one; `backend` is that unit's own.
    """

    id: str
    files: dict[str, str]
    folder: str
    needed: Literal["always", "device", "compose", "catalogue", "unit", "never"]
    unit: Literal["npu", "gpu", "cpu"] | None = None
    backend: bool = False
    per_arch: bool = False
    machine: Literal["host", "hexagon", "any"]
    source: str


class Place(Frozen):
    """A folder in which vendor files may lie; the head of `targets/qairt.toml` explains its braces."""

    folder: str
    source: str


class Backend(Frozen):
    """What models a backend takes; `compute` is its word in the manifest, if it has one.

    `floats` is `fp16` where it is a matter of the SoC. `archs` are Hexagon architectures that this backend
    serves and the HTP does not. Types are those of ONNX: `half` are computed in half precision, `refused`
    fit nowhere, `only_quantized` fit nothing but the sides of QuantizeLinear and DequantizeLinear.
    """

    id: str
    name: str
    compute: str | None = None
    floats: Literal["always", "fp16", "never"]
    quantized: bool
    archs: tuple[int, ...] = ()
    largest_rank: int | None = None
    half: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    only_quantized: tuple[str, ...] = ()
    source: str


@functools.cache
def table(name: str) -> dict[str, Any]:
    """One raw table file of `targets/`, parsed."""
    return tomllib.loads(resources.text("targets", f"{name}.toml"))


@functools.cache
def rule_rows() -> tuple[dict[str, Any], ...]:
    """The rows of all tables in `targets/rules/`, in the order of their ids."""
    tables = [
        path
        for path in resources.folder("targets").joinpath("rules").iterdir()
        if path.name.endswith(".toml")
    ]
    rows = [row for path in tables for row in tomllib.loads(path.read_text(encoding="utf-8"))["rule"]]
    return tuple(sorted(rows, key=lambda row: str(row["id"])))


@functools.cache
def backends() -> tuple[Backend, ...]:
    """All backends."""
    return tuple(Backend.model_validate(row) for row in table("backends")["backend"])


def backend_of(compute: str) -> Backend:
    """The backend of a compute unit. Raises KeyError for a word that the manifest does not know."""
    return {row.compute: row for row in backends()}[compute]


@functools.cache
def socs() -> tuple[Soc, ...]:
    """All SoCs in the order of the table."""
    return tuple(Soc.model_validate(row) for row in table("socs")["soc"])


@functools.cache
def boards() -> tuple[Board, ...]:
    """All boards in the order of the table."""
    return tuple(Board.model_validate(row) for row in table("boards")["board"])


@functools.cache
def systems() -> dict[str, System]:
    """Operating systems by id."""
    return {row["id"]: System.model_validate(row) for row in table("systems")["system"]}


@functools.cache
def abis() -> dict[str, Abi]:
    """ABIs by id."""
    return {row["id"]: Abi.model_validate(row) for row in table("systems")["abi"]}


@functools.cache
def formats() -> dict[str, FormatRow]:
    """Package formats by id."""
    return {row["id"]: FormatRow.model_validate(row) for row in table("formats")["format"]}


@functools.cache
def version_rows() -> dict[str, VersionRow]:
    """How versions are written, by the word that formats use for it."""
    return {row["id"]: VersionRow.model_validate(row) for row in table("formats")["version"]}


@functools.cache
def releases() -> dict[str, Release]:
    """QAIRT releases by version."""
    return {row["version"]: Release.model_validate(row) for row in table("qairt")["release"]}


@functools.cache
def runtime_sets() -> tuple[RuntimeSet, ...]:
    """Known runtime sets."""
    return tuple(RuntimeSet.model_validate(row) for row in table("qairt")["runtime_set"])


@functools.cache
def roles() -> tuple[Role, ...]:
    """File roles in the order of the table."""
    return tuple(Role.model_validate(row) for row in table("qairt")["role"])


@functools.cache
def places() -> tuple[Place, ...]:
    """Folders in which vendor files may lie, in the order in which they are searched."""
    return tuple(Place.model_validate(row) for row in table("qairt")["place"])


def toolchains(abi_id: str, flavour: str) -> tuple[str, ...]:
    """The names of an ABI's folder in an SDK of this edition, best first; none where it has none."""
    rows = table("sdk")["toolchain"]
    return tuple(row["name"] for row in rows if row["abi"] == abi_id and flavour in row["flavours"])


def archive_for(abi_id: str) -> str | None:
    """The Maven artifact (`group:name`) with the libraries of an ABI, or None."""
    return next((row["artifact"] for row in table("sdk")["archive"] if abi_id in row["abis"]), None)


def _fold(word: str) -> str:
    return word.lower().replace("_", "-").replace(" ", "-")


def role_file(role_id: str, system: str, arch: int | None = None) -> str:
    """The file name of a role on a system. Raises KeyError for a role or system without one."""
    row = next(row for row in roles() if row.id == role_id)
    return row.files[system].format(arch=arch)


@functools.cache
def _soc_words() -> dict[str, Soc]:
    """Every word that means a SoC. Ids and chip ids win over marketing names and boards."""
    words: dict[str, Soc] = {}
    by_id = {soc.id: soc for soc in socs()}
    for soc in socs():
        for word in (soc.id, *soc.chips, *soc.aliases):
            words.setdefault(_fold(word), soc)
    for soc in socs():
        for word in soc.names:
            words.setdefault(_fold(word), soc)
    for board in boards():
        owner = by_id.get(board.soc) or words[_fold(board.soc)]
        for word in (board.id, board.name, *board.aliases):
            words.setdefault(_fold(word), owner)
    return words


def soc(word: str) -> Soc:
    """The SoC that a chip id, marketing name, alias or board means.

    Raises ManifestError with the nearest known word.
    """
    words = _soc_words()
    found = words.get(_fold(word))
    if found:
        return found
    close = nearest(word, words)
    hint = f'did you mean "{close}" ({words[close].title}, Hexagon {words[close].arch})?' if close else ""
    raise ManifestError(
        f'unknown SoC "{word}"',
        evidence=(hint,) if hint else (),
        fix="`hexpack socs` lists every SoC, `hexpack socs WORD` those that match",
    )


def find_socs(word: str) -> tuple[Soc, ...]:
    """SoCs with `word` anywhere in their ids, names, aliases, boards, arch or soc_model."""
    wanted = _fold(word)
    named: dict[str, list[str]] = {}
    for alias, owner in _soc_words().items():
        named.setdefault(owner.id, []).append(alias)
    return tuple(
        s
        for s in socs()
        if any(wanted in alias for alias in named.get(s.id, [s.id]))
        or wanted in (s.arch.lower(), str(s.soc_model))
    )


def abi(word: str) -> Abi | None:
    """The ABI with this id or alias."""
    return next((row for row in abis().values() if word == row.id or word in row.aliases), None)


def runtime_set(release: str, abi_id: str) -> RuntimeSet | None:
    """Where the libraries of this release and ABI are found, if a table row knows."""
    return next((s for s in runtime_sets() if s.release == release and abi_id in s.abis), None)
