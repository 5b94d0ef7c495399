"""The frame of a PE file: headers, extents, and the directories whose content makes facts.

Read piece by piece rather than with lief, which holds the whole file in memory, and a second time while
it verifies a signature (200 MB for a library of 93 MB).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

from packager.errors import UnreadableFile
from packager.facts.reading import MAX_TEXT, must_end_within, piece, terminated
from packager.files import blocks

# Bounds keep forged counts from costing time or memory.
_MAX_OPTIONAL_HEADER = 4096  # 240 with all sixteen directories
_MAX_IMPORTS = 4096  # a library imports from a few dozen others
_MAX_EXPORTS = 65_536  # ordinals are 16-bit numbers
_MAX_EXPORT = 256  # a longer name is cut; those of C++ with templates are
_MAX_DEBUG_ENTRIES = 64  # linkers write four or so
_MAX_RESOURCES = 256  # entries of one level of the resource tree; a library has one version
_MAX_VERSION = 65_535  # its length is a 16-bit number
_MAX_SIGNATURE = 4 << 20  # 10 KB as a rule; hashes of every page of a 100 MB image take 900 KB

_EXPORT, _IMPORT, _RESOURCE, _CERTIFICATES, _DEBUG, _LOAD_CONFIG, _DELAY_IMPORT = 0, 1, 2, 4, 6, 10, 13
_EXPORT_TABLE = struct.Struct("<24xI4xI")  # number of names, address of their addresses
_PE32, _PE32_PLUS = 0x10B, 0x20B
_RT_VERSION, _SUBTREE = 16, 1 << 31
_CODEVIEW, _RSDS = 2, b"RSDS"
_CHPE_POINTER = 200  # offset of CHPEMetadataPointer in the 64-bit load configuration
_PKCS7 = 2  # WIN_CERT_TYPE_PKCS_SIGNED_DATA
_COFF = struct.Struct("<HHIIIHH")
_SECTION_ROW = struct.Struct("<8sIIIIIIHHI")


class _Section(NamedTuple):
    """Where a section is in memory (`address`) and in the file (`offset`), and its size there."""

    address: int
    offset: int
    size: int


class PeImage:
    """A PE32 or PE32+ file whose headers and sections lie inside it.

    All methods raise UnreadableFile, with an offset.
    """

    def __init__(self, path: Path, stream: BinaryIO, size: int) -> None:
        self._path, self._stream, self._size = path, stream, size
        dos = self._piece(0, 64, "DOS header")
        if dos[:2] != b"MZ":
            self._refuse(0, "no MZ magic")
        (start,) = struct.unpack_from("<I", dos, 60)
        self._inside(start + 4 + _COFF.size, "the PE header")
        if self._piece(start, 4, "PE signature") != b"PE\0\0":
            self._refuse(start, "no PE signature where the DOS header points")
        coff = _COFF.unpack(self._piece(start + 4, _COFF.size, "COFF header"))
        self.machine, sections, _, _, _, optional_size, _ = coff
        self._optional_at = start + 4 + _COFF.size
        if optional_size > _MAX_OPTIONAL_HEADER:
            self._refuse(start + 20, f"an optional header of {optional_size} bytes")
        optional = self._piece(self._optional_at, optional_size, "optional header")
        self._magic = int.from_bytes(optional[:2], "little")
        self._directories = self._read_directories(optional)
        self._base = int.from_bytes(
            optional[24:32] if self._magic == _PE32_PLUS else optional[28:32], "little"
        )
        self._sections = tuple(self._read_sections(self._optional_at + optional_size, sections))
        _, length = self._certificates
        if length:
            self._inside(sum(self._certificates), "the certificate table")

    def imports(self) -> list[str]:
        """Names of the libraries that the loader needs: at once, then those loaded at first use."""
        return [*self._imported(_IMPORT, 20, 12), *self._imported(_DELAY_IMPORT, 32, 4)]

    def exported(self) -> Iterator[str]:
        """Names of the functions and variables that others can link to; those by number alone have none."""
        address, _ = self._directory(_EXPORT)
        if not address:
            return
        at = self._offset(address, "export table")
        count, names = _EXPORT_TABLE.unpack(self._piece(at, _EXPORT_TABLE.size, "export table"))
        if count > _MAX_EXPORTS:
            self._refuse(at, f"{count} exports, at most {_MAX_EXPORTS} have a number")
        rows = (
            self._piece(self._offset(names, "names of exports"), 4 * count, "names of exports")
            if count
            else b""
        )
        for (name,) in struct.iter_unpack("<I", rows):
            name_at = self._offset(name, "name of an export")
            length = min(_MAX_EXPORT, self._size - name_at)
            yield terminated(self._piece(name_at, length, "name of an export"))

    def is_hybrid(self) -> bool:
        """Whether the load configuration carries the metadata of ARM64EC code beside another."""
        address, size = self._directory(_LOAD_CONFIG)
        if not address or self._magic != _PE32_PLUS or size < _CHPE_POINTER + 8:
            return False
        at = self._offset(address, "load configuration")
        own_size, *_ = struct.unpack("<I", self._piece(at, 4, "load configuration"))
        if own_size < _CHPE_POINTER + 8:
            return False
        return self._piece(at + _CHPE_POINTER, 8, "load configuration") != bytes(8)

    def debug_path(self) -> str | None:
        """The path of the PDB as the linker wrote it."""
        address, size = self._directory(_DEBUG)
        if not address:
            return None
        at = self._offset(address, "debug directory")
        for number in range(min(size // 28, _MAX_DEBUG_ENTRIES)):
            row = struct.unpack("<IIHHIIII", self._piece(at + 28 * number, 28, "debug directory"))
            kind, length, offset = row[4], row[5], row[7]
            if kind == _CODEVIEW and length > 24:
                self._inside(offset + length, "the debug information")
                entry = self._piece(offset, min(length, 24 + MAX_TEXT), "debug information")
                if entry[:4] == _RSDS:
                    return terminated(entry, 24) or None
        return None

    def version_resources(self) -> Iterator[bytes]:
        """Each VS_VERSIONINFO structure, one for each language."""
        address, _ = self._directory(_RESOURCE)
        if not address:
            return
        root = self._offset(address, "resource tree")
        for _, names in self._resource_level(root, 0, only=_RT_VERSION):
            for _, languages in self._resource_level(root, names):
                for _, leaf in self._resource_level(root, languages):
                    at, size = struct.unpack("<II", self._piece(root + leaf, 8, "version resource"))
                    if size > _MAX_VERSION:
                        self._refuse(root + leaf, f"a version resource of {size} bytes")
                    yield self._piece(self._offset(at, "version resource"), size, "version resource")

    def signatures(self) -> list[bytes]:
        """The PKCS #7 structures of the certificate table."""
        offset, length = self._certificates
        end, found = offset + length, []
        while offset + 8 <= end:
            size, _, kind = struct.unpack("<IHH", self._piece(offset, 8, "certificate"))
            if not 8 <= size <= end - offset:
                self._refuse(offset, f"a certificate of {size} bytes in {end - offset}")
            if size > _MAX_SIGNATURE:
                self._refuse(offset, f"a certificate of {size} bytes, more than {_MAX_SIGNATURE}")
            if kind == _PKCS7:
                found.append(self._piece(offset + 8, size - 8, "certificate"))
            offset += -(-size // 8) * 8
        return found

    def signed_digest(self, algorithm: str) -> bytes:
        """What an Authenticode signature signs: the file without its checksum and without the signature."""
        checksum_at = self._optional_at + 64
        entry_at = self._optional_at + self._directories_at + 8 * _CERTIFICATES
        offset, length = self._certificates
        state, at = hashlib.new(algorithm), 0
        for hole, size in ((checksum_at, 4), (entry_at, 8), (offset, length)):
            self._digest(state, at, hole)
            at = hole + size
        self._digest(state, at, self._size)
        return state.digest()

    # Headers

    def _read_directories(self, optional: bytes) -> list[tuple[int, int]]:
        self._directories_at = {_PE32: 96, _PE32_PLUS: 112}.get(self._magic, 0)
        if not self._directories_at or len(optional) < self._directories_at:
            self._refuse(
                self._optional_at, f"optional header magic 0x{self._magic:x} of {len(optional)} bytes"
            )
        (count,) = struct.unpack_from("<I", optional, self._directories_at - 4)
        table = optional[self._directories_at :][: 8 * min(count, 16)]
        return list(struct.iter_unpack("<II", table[: len(table) // 8 * 8]))

    def _directory(self, index: int) -> tuple[int, int]:
        return self._directories[index] if index < len(self._directories) else (0, 0)

    @property
    def _certificates(self) -> tuple[int, int]:
        """Offset and size. The only directory with a file offset: certificates are not part of the image."""
        return self._directory(_CERTIFICATES)

    def _read_sections(self, at: int, count: int) -> Iterator[_Section]:
        table = self._piece(at, count * _SECTION_ROW.size, "section table")
        for name, _, address, size, offset, *_ in _SECTION_ROW.iter_unpack(table):
            if offset:
                label = name.rstrip(b"\0").decode("ascii", "backslashreplace")
                self._inside(offset + size, f"section {label}")
                yield _Section(address, offset, size)

    # Directories

    def _imported(self, directory: int, row: int, name_field: int) -> Iterator[str]:
        address, _ = self._directory(directory)
        if not address:
            return
        at = self._offset(address, "import table")
        for number in range(_MAX_IMPORTS):
            entry = self._piece(at + number * row, row, "import table")
            (name,) = struct.unpack_from("<I", entry, name_field)
            if not name:
                return
            if directory == _DELAY_IMPORT and not entry[0] & 1:
                name -= self._base  # tables of old linkers hold addresses of the loaded image
            name_at = self._offset(name, "name of an import")
            yield terminated(self._piece(name_at, min(MAX_TEXT, self._size - name_at), "name of an import"))
        self._refuse(at, f"imports from more than {_MAX_IMPORTS} libraries")

    def _resource_level(self, root: int, at: int, only: int | None = None) -> Iterator[tuple[int, int]]:
        """(id, offset from the root) of the entries of one node of the resource tree."""
        named, numbered = struct.unpack("<HH", self._piece(root + at + 12, 4, "resource tree"))
        if named + numbered > _MAX_RESOURCES:
            self._refuse(root + at, f"{named + numbered} resources in one node")
        rows = self._piece(root + at + 16, 8 * (named + numbered), "resource tree")
        for key, below in struct.iter_unpack("<II", rows):
            if only is None or key == only:
                yield key, below & ~_SUBTREE

    # Pieces

    def _offset(self, address: int, what: str) -> int:
        """Where in the file an address of the image is."""
        for section in self._sections:
            if 0 <= address - section.address < section.size:
                return section.offset + address - section.address
        return self._refuse(0, f"the {what} is at address 0x{address:x}, which no section of the file has")

    def _digest(self, state: hashlib._Hash, start: int, end: int) -> None:
        self._stream.seek(start)
        for block in blocks(self._stream, max(end - start, 0)):
            state.update(block)

    def _piece(self, offset: int, size: int, what: str) -> bytes:
        return piece(self._path, self._stream, offset, size, what)

    def _inside(self, end: int, what: str) -> None:
        must_end_within(self._path, self._size, end, what)

    def _refuse(self, offset: int, reason: str) -> NoReturn:
        raise UnreadableFile(self._path, offset, reason)
