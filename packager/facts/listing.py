"""The limits that the members of an archive must keep."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from packager.errors import Fault, UnreadableFile
from packager.facts.reading import Readable
from packager.facts.types import ArchiveMember
from packager.files import is_plain_relative

MAX_MEMBERS = 100_000  # five times a whole SDK
MAX_NAME = 4096  # PATH_MAX: a longer name cannot be unpacked
MAX_TOTAL = 64 << 30  # a dozen of the largest LLM contexts (2–4 GB each)
MAX_RATIO = 1100  # deflate ends at 1032 : 1, so an honest zip or deb of nothing but zeros still passes
RATIO_FREE = 256 << 20  # below this size a bomb does no harm


class Entry(NamedTuple):
    """A member as it is met. `open` gives its bytes until the next entry is asked for; links have none.

    `at` is their offset in the unpacked tar, `folder_file` the file itself where the archive is a folder.
    """

    member: ArchiveMember
    open: Callable[[], Readable] | None = None
    at: int = 0
    folder_file: Path | None = None


class Listing:
    """Checks members. `root_is_system` tells that the root is the device's `/`, so that an absolute link
    stays inside; `packed` is the size in bytes of what is unpacked.
    """

    def __init__(self, path: Path, packed: int, *, root_is_system: bool = False) -> None:
        self.prefix = ""
        self._path, self._packed, self._root_is_system = path, packed, root_is_system
        self._total = self._seen = 0

    def refuse(self, name: str, why: str, at: int, fault: Fault = "damaged") -> NoReturn:
        """Raise UnreadableFile that names the member (shortened)."""
        raise UnreadableFile(self._path, at, f"member {name[:200]!r}: {why}", fault)

    def weigh(self, unpacked: int, name: str = "", at: int = 0) -> None:
        """Raise UnreadableFile when `unpacked` bytes are too many, in themselves or for the packed size."""
        if unpacked > MAX_TOTAL:
            self.refuse(name, f"more than {MAX_TOTAL} bytes in all", at, "unsafe")
        if unpacked > RATIO_FREE and unpacked > MAX_RATIO * self._packed:
            self.refuse(name, f"unpacks to more than {MAX_RATIO} times the size of the archive", at, "unsafe")

    def checked(
        self,
        name: str,
        size: int,
        *,
        at: int,
        folder: bool = False,
        mode: int | None = None,
        link: str | None = None,
    ) -> ArchiveMember | None:
        """The member, None for a folder. `at` is its offset, for the error."""
        self._seen += 1
        if self._seen > MAX_MEMBERS:
            self.refuse(name, f"more than {MAX_MEMBERS} members", at, "unsafe")
        if len(name) > MAX_NAME:
            self.refuse(name, f"a name of {len(name)} characters", at, "unsafe")
        plain = name.removeprefix("./").rstrip("/")
        if "\0" in name or (not is_plain_relative(plain) and not (folder and plain in ("", "."))):
            self.refuse(name, "the name leaves the archive's root", at, "unsafe")
        if link is not None and not self._stays_inside(plain, link):
            self.refuse(name, f"a link to {link[:200]!r}, outside the archive's root", at, "unsafe")
        if size < 0:
            self.refuse(name, f"a size of {size} bytes", at)
        self._total += size
        self.weigh(self._total, name, at)
        return None if folder else ArchiveMember(name=self.prefix + plain, size=size, mode=mode, link=link)

    def _stays_inside(self, name: str, target: str) -> bool:
        target = target.replace("\\", "/")
        if not target or "\0" in target or len(target) > MAX_NAME:
            return False
        if target.startswith("/"):
            return self._root_is_system
        return is_plain_relative(posixpath.normpath(posixpath.join(posixpath.dirname(name), target)))
