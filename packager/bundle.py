"""The staged tree of one target as a frozen value. Layouts make it, formats eat it, nobody mutates it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, cast

from pydantic import model_validator

from packager.files import Blob, VerifyingReader, is_plain_relative
from packager.model import Frozen

# Roles of libraries that the table of vendor files does not name.
MODEL_LIBRARY = "model-library"
DSP_LIBRARY = "dsp-library"  # for the Hexagon, and no skel
SPLIT_MODEL = "split-model"  # the ONNX file whose NPU parts lie in the context binary beside it
SUPPORT = "support"  # what a vendor file links to
FOREIGN = "foreign"  # came along in somebody else's package; its own makers know what it needs


class BundleFile(Frozen):
    """One file of the tree. `path` is relative with `/`; `local` is where its bytes are right now.

    `role` is a row of `targets/qairt.toml` for vendor files, one of the words above, and one of runner,
    context, htp-config, runner-config, licence, document, sums for the rest. `arch` is the Hexagon number
    that the role was filled for. `origin` says in a person's words where the bytes came from.
    """

    path: str
    role: str
    blob: Blob
    local: Path
    mode: int = 0o644
    arch: int | None = None
    soc: str | None = None
    origin: str = ""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    def open(self) -> BinaryIO:
        """A stream of the bytes that raises InputUnavailable at its end if they are no longer `blob`."""
        return cast("BinaryIO", VerifyingReader(self.local, self.blob))


class BundleLink(Frozen):
    """A symbolic link. `target` is relative to the link's own folder."""

    path: str
    target: str


class HostFile(Frozen):
    """A file that the package needs and the device has to hold: `path` is absolute there.

    `blob` is the file that the set was judged with, `build` the QAIRT build id inside it.
    """

    path: str
    role: str
    blob: Blob
    build: str | None = None


class BaseLayer(Frozen):
    """A layer of a container image that somebody else made, as it is in the registry."""

    media_type: str
    blob: Blob
    local: Path

    def open(self) -> BinaryIO:
        """A stream of the bytes that raises InputUnavailable at its end if they are no longer `blob`."""
        return cast("BinaryIO", VerifyingReader(self.local, self.blob))


class BaseImage(Frozen):
    """A container image below the tree: its reference with the digest, its configuration, its layers.

    `config` is the OCI image configuration; its `rootfs.diff_ids` are as many as there are layers.
    """

    reference: str
    config: dict[str, Any]
    layers: tuple[BaseLayer, ...]


class Bundle(Frozen):
    """Files and links sorted by path. Raises ValueError for clashing names and for unsafe paths.

    `parts` are no files of the tree: what only some formats carry, such as the runner's library and headers.
    `required` are the files that the device has to hold beside them.

    `base` is what a container image of the target is built on.
    `depends` are Debian dependencies (`libc6 (>= 2.34)`) computed from the symbol versions of the files,
    `opkg_depends` and `rpm_requires` the same in the words of opkg and rpm; `recommends` and
    `rpm_recommends` name what the package can be installed without.
    """

    files: tuple[BundleFile, ...]
    links: tuple[BundleLink, ...] = ()
    parts: tuple[BundleFile, ...] = ()
    depends: tuple[str, ...] = ()
    opkg_depends: tuple[str, ...] = ()
    rpm_requires: tuple[str, ...] = ()
    recommends: tuple[str, ...] = ()
    rpm_recommends: tuple[str, ...] = ()
    required: tuple[HostFile, ...] = ()
    base: BaseImage | None = None

    @model_validator(mode="after")
    def _plain_and_unique(self) -> Bundle:
        seen: set[str] = set()
        folders: set[str] = set()
        for path in (*(f.path for f in self.files), *(link.path for link in self.links)):
            # A line end in a name would start a new line in md5sums and SHA256SUMS.
            if not is_plain_relative(path) or any(ord(letter) < 0x20 for letter in path):
                raise ValueError(f"not a plain relative path: {path}")
            if path.casefold() in seen:
                raise ValueError(f"two files of one name: {path}")
            seen.add(path.casefold())
            parts = path.casefold().split("/")
            folders.update("/".join(parts[:depth]) for depth in range(1, len(parts)))
        if both := seen & folders:
            raise ValueError(f"a file and a folder of one name: {min(both)}")
        return self

    @classmethod
    def of(
        cls, files: Iterable[BundleFile], links: Iterable[BundleLink] = (), depends: Iterable[str] = ()
    ) -> Bundle:
        """A bundle in canonical order (byte order of the paths)."""
        return cls(
            files=tuple(sorted(files, key=lambda f: f.path.encode())),
            links=tuple(sorted(links, key=lambda link: link.path.encode())),
            depends=tuple(depends),
        )

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(f.blob.size for f in self.files)
