"""Damaged files of every kind: a reader gives facts or says UnreadableFile, and nothing else ever."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packager.errors import UnreadableFile
from packager.facts.archive import read_archive
from packager.facts.elf import read_elf
from packager.facts.identify import identify
from packager.facts.pe import read_pe
from packager.facts.rpm import rpm_digests
from packager.facts.types import ArchiveFacts, ArchiveMember, DamagedFacts
from tests.make.authenticode import signed
from tests.make.elf import elf, hexagon_skel, shared_library
from tests.make.pe import dll
from tests.make.rpm import rpm_of

bounded = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def tar():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a/b", "n" * 120):
            info = tarfile.TarInfo(name)
            info.size = 700
            archive.addfile(info, io.BytesIO(bytes(700)))
        link = tarfile.TarInfo("a/link")
        link.type, link.linkname = tarfile.SYMTYPE, "b"
        archive.addfile(link)
    return out.getvalue()


def deb():
    out = b"!<arch>\n"
    for name, content in (
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", gzip.compress(tar())),
        ("data.tar", tar()),
    ):
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b", bytes(700))
        link = zipfile.ZipInfo("a/link")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "b")
    return out.getvalue()


def rpm_digest_facts(path):
    """The digests, as facts that are JSON and back."""
    found = rpm_digests(path)
    return ArchiveFacts(format="rpm", members=tuple(ArchiveMember(name=name, size=0) for name in found))


SEEDS = {
    "skel": (read_elf, hexagon_skel()),
    "library": (
        read_elf,
        shared_library(glibc="2.34", glibcxx="3.4.29", exports=("QnnInterface_getProviders",)),
    ),
    "runner": (
        read_elf,
        elf(machine="ARM", interpreter="/system/bin/linker", note="Android", runpath="$ORIGIN"),
    ),
    "dll": (read_pe, signed(dll(imports=("KERNEL32.dll",)))),
    "hybrid dll": (read_pe, dll("ARM64X", imports=("KERNEL32.dll",))),
    "zip": (read_archive, zipped()),
    "deb": (read_archive, deb()),
    "rpm": (read_archive, rpm_of({"a/b": bytes(700), "a/link": "b"}, gzip.compress)),
    "rpm digests": (rpm_digest_facts, rpm_of({"a/b": bytes(700), "a/link": "b"})),
    "tar": (read_archive, tar()),
    "tar.gz": (read_archive, gzip.compress(tar())),
    "tar.xz": (read_archive, lzma.compress(tar())),
    "tar.zst": (read_archive, zstandard.compress(tar())),
}

# What breaks readers: extreme numbers, text where numbers are, any byte at all.
patches = st.one_of(
    st.binary(min_size=1, max_size=8),
    st.sampled_from(
        [b"\xff" * 2, b"\xff" * 4, b"\xff" * 8, bytes(4), bytes(8), b"\xff\xff\xff\x7f", b"\0\0\0\x80"]
    ),
    st.integers(0, 1 << 20).map(lambda number: number.to_bytes(4, "little")),
)


@st.composite
def damages(draw, size):
    """Edits (offset, bytes) and the length at which the file is cut."""
    edits = draw(st.lists(st.tuples(st.integers(0, size - 1), patches), max_size=8))
    return edits, draw(st.one_of(st.just(size), st.integers(0, size)))


def damaged(seed, damage):
    edits, length = damage
    content = bytearray(seed)
    for offset, patch in edits:
        content[offset : offset + len(patch)] = patch
    return bytes(content[:length])


@pytest.mark.parametrize("kind", SEEDS)
@pytest.mark.filterwarnings("error")
def test_a_damaged_file_is_read_or_called_unreadable(tmp_path, kind):
    read, seed = SEEDS[kind]
    path = tmp_path / "file"

    @bounded
    @given(damages(len(seed)))
    def check(damage):
        content = damaged(seed, damage)
        path.write_bytes(content)
        identify(path)
        try:
            facts = read(path)
        except UnreadableFile as error:
            facts = DamagedFacts(offset=error.offset, reason=error.reason)
        assert type(facts).model_validate_json(facts.model_dump_json()) == facts

    check()


@bounded
@given(st.binary(max_size=600))
def test_random_bytes_are_identified_as_something_and_never_fail(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)

    kind = identify(path)

    assert kind in {"elf", "pe", "catalogue", "context-binary", "onnx", "dlc", "archive", "other"}


@pytest.mark.parametrize("read", [read_elf, read_pe, read_archive])
@pytest.mark.parametrize(
    "magic",
    [
        b"\x7fELF\x01\x01",
        b"\x7fELF\x02\x01",
        b"MZ",
        b"PK\x03\x04",
        b"!<arch>\ndebian-binary",
        b"\x1f\x8b\x08",
        b"",
    ],
)
def test_random_bytes_behind_any_magic_are_unreadable_and_nothing_worse(tmp_path, read, magic):
    path = tmp_path / "file"

    @bounded
    @given(st.binary(max_size=300))
    def check(content):
        path.write_bytes(magic + content)
        with pytest.raises(UnreadableFile):
            read(path)

    check()
