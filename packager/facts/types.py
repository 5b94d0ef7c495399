"""The facts that readers return: one frozen model per kind of file.

A fact never says whether something is good. Sizes and alignments are in bytes unless a name says
otherwise; `None` means that the file does not say.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from packager.errors import Fault, UnreadableFile
from packager.facts.config_types import (
    AiHubFacts,
    AiHubReleaseFacts,
    AndroidManifestFacts,
    BuildFileFacts,
    EnvironmentFacts,
    GenieFacts,
    HtpConfigFacts,
    HubAppsFacts,
    ModelPackageFacts,
    RunnerConfigFacts,
)
from packager.facts.stand_in import StandIn
from packager.model import Frozen


class ElfFacts(Frozen):
    """An ELF shared object or executable.

    `machine` is AARCH64, X86_64, HEXAGON, ARM … or the number in hex; `flags` is the raw e_flags word;
    `hexagon_arch` is 73 for v73 (e_flags & 0x3ff) and None off Hexagon. `qairt_build` is the whole id
    (`v2.51.0.260929181845`), `qairt_release` the first three numbers, known for more files, `qairt_stamp` the
    last number where a file says no more than that. `build_id` is the linker's id of this link in hex, `ndk`
    reads `r27c (12479018)`, `build_paths` are the first few absolute paths of the machine that built it.
    `page_alignment` is the smallest alignment that a LOAD segment asks for: a loader compares it with its
    pages.
    `model_prefix` is `QnnModel` in a model library: what stands before `_composeGraphs` in the names of its
    exports.
    """

    kind: Literal["elf"] = "elf"
    machine: str
    bits: Literal[32, 64]
    abi: Literal["glibc", "musl", "bionic", "qnx", "hexagon", "unknown"]
    flags: int
    hexagon_arch: int | None = None
    soname: str | None = None
    needed: tuple[str, ...] = ()
    search_path: tuple[str, ...] = ()
    interpreter: str | None = None
    skel_release: str | None = None
    qnn_entries: tuple[str, ...] = ()
    model_prefix: str | None = None
    qairt_build: str | None = None
    qairt_release: str | None = None
    qairt_stamp: str | None = None
    glibc_needed: str | None = None
    glibcxx_needed: str | None = None
    cxxabi_needed: str | None = None
    page_alignment: int = 0
    build_id: str | None = None
    android_api: int | None = None
    ndk: str | None = None
    build_paths: tuple[str, ...] = ()


class PeFacts(Frozen):
    """A Windows DLL or executable. `signature_valid` is None for an unsigned file.

    `machine` is ARM64, ARM64EC, ARM64X, X64 …; `qnn_entries` and `model_prefix` are as in ElfFacts.

    `debug_path` is where the linker put the PDB, `build_paths` the first few absolute paths of the machine
    that built it.
    """

    kind: Literal["pe"] = "pe"
    machine: str
    file_version: str | None = None
    product_version: str | None = None
    imports: tuple[str, ...] = ()
    qnn_entries: tuple[str, ...] = ()
    model_prefix: str | None = None
    signer: str | None = None
    signature_valid: bool | None = None
    qairt_build: str | None = None
    qairt_release: str | None = None
    debug_path: str | None = None
    build_paths: tuple[str, ...] = ()


class CatalogueMember(Frozen):
    """One file that a catalogue vouches for; digests are lower-case hex of the whole file."""

    name: str | None
    sha1: str | None = None
    sha256: str | None = None


class CatalogueFacts(Frozen):
    """A Windows catalogue (.cat). `problem` says why `signature_valid` is False."""

    kind: Literal["catalogue"] = "catalogue"
    members: tuple[CatalogueMember, ...]
    signer: str | None
    chain: tuple[str, ...] = ()
    systems: str | None = None
    signature_valid: bool
    problem: str | None = None


class TensorFacts(Frozen):
    """A graph input or output. `scale` and `offset` follow QNN: real = (q + offset) * scale."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float | None = None
    offset: int | None = None


class GraphFacts(Frozen):
    """One graph of a context binary or DLC. `optimization` is the O level, `vtcm_mb` is in MiB.

    `shared_weights_bytes` is what it takes from weights that it shares with other graphs of the context.
    """

    name: str
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    optimization: int | None = None
    vtcm_mb: float | None = None
    hvx_threads: int | None = None
    spill_fill_bytes: int | None = None
    shared_weights_bytes: int | None = None


class ContextFacts(Frozen):
    """A QNN context binary. `authority` is libQnnSystem, or `head` where only the file's head was read.

    Versions are dotted strings. `soc_model` is 0 or None in files of old releases.
    """

    kind: Literal["context-binary"] = "context-binary"
    authority: Literal["libQnnSystem", "head"]
    backend_id: int
    qairt_build: str | None
    core_api: str
    backend_api: str
    blob_version: str
    soc_model: int | None
    hexagon_arch: int | None
    graphs: tuple[GraphFacts, ...]


class DlcRecord(Frozen):
    """A record of a DLC: its zip entry, size in bytes, and what its head says (`4.0`, `NETD`)."""

    name: str
    size: int
    role: str | None = None
    version: str | None = None
    identifier: str | None = None


class DlcCache(Frozen):
    """A model that was compiled into a DLC ahead of time. `context` is None where it cannot be told apart."""

    record: str
    size: int
    context: ContextFacts | None = None


class DlcFacts(Frozen):
    """A deep learning container. `lineage` tells who wrote it: SNPE 1, SNPE 2, or QAIRT (QNN).

    `converter_version` and `converter_command` are as in its metadata. `graphs` are the ones that can be
    composed, as the topology records say (those of SNPE 1 are not read); `caches` the ones that are compiled
    already.
    """

    kind: Literal["dlc"] = "dlc"
    lineage: Literal["snpe1", "snpe2", "qairt"]
    records: tuple[DlcRecord, ...]
    graphs: tuple[GraphFacts, ...] = ()
    caches: tuple[DlcCache, ...] = ()
    converter_version: str | None = None
    converter_command: str | None = None
    qairt_build: str | None = None
    copyright: str | None = None


class OnnxTensorFacts(Frozen):
    """An ONNX graph input or output; a free dimension is its name, or `?` when it has none."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


class OnnxFacts(Frozen):
    """An ONNX model, read without its weights. `quantized` means QuantizeLinear nodes are in the graph.

    `ranks` and `dtypes` have one tensor each as an example: of that many dimensions, of that type. They know
    the inputs, the outputs, the constants and the values between whose shapes the model itself records.
    """

    kind: Literal["onnx"] = "onnx"
    ir_version: int
    opset: int
    producer: str
    inputs: tuple[OnnxTensorFacts, ...]
    outputs: tuple[OnnxTensorFacts, ...]
    operators: dict[str, int]
    quantized: bool
    context_binaries: tuple[str, ...] = ()
    external_data: tuple[str, ...] = ()
    ranks: dict[int, str] = Field(default_factory=dict)
    dtypes: dict[str, str] = Field(default_factory=dict)


class ArchiveMember(Frozen):
    """A file or link inside an archive."""

    name: str
    size: int
    mode: int | None = None
    link: str | None = None


class ArchiveFacts(Frozen):
    """The members of a zip, wheel, deb or tar."""

    kind: Literal["archive"] = "archive"
    format: str
    members: tuple[ArchiveMember, ...]


class DamagedFacts(Frozen):
    """A file that stops making sense at `offset`, or that could not be read for another reason, which `fault`
    says.
    """

    kind: Literal["damaged"] = "damaged"
    offset: int
    reason: str
    fault: Fault = "damaged"

    @classmethod
    def of(cls, error: UnreadableFile) -> DamagedFacts:
        """What a reader found."""
        return cls(offset=error.offset, reason=error.reason, fault=error.fault)


class OtherFacts(Frozen):
    """A file of no format that matters here (text, licence, configuration).

    `stand_in` says what it is where it holds nothing of its own: a pointer of Git LFS, a web page, no bytes,
    or nothing but zeros.
    """

    kind: Literal["other"] = "other"
    stand_in: StandIn | None = None


Facts = Annotated[
    ElfFacts
    | PeFacts
    | CatalogueFacts
    | ContextFacts
    | DlcFacts
    | OnnxFacts
    | ArchiveFacts
    | HtpConfigFacts
    | RunnerConfigFacts
    | EnvironmentFacts
    | BuildFileFacts
    | GenieFacts
    | AiHubFacts
    | AiHubReleaseFacts
    | HubAppsFacts
    | ModelPackageFacts
    | AndroidManifestFacts
    | DamagedFacts
    | OtherFacts,
    Field(discriminator="kind"),
]
