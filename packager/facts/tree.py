"""Archives and folders as trees of files that the other readers can read.

One member at a time is unpacked into a scratch folder, so neither memory nor disk grows with the archive,
and nothing is written under a name that the archive chose.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

from packager.errors import Fault, UnreadableFile
from packager.facts.archive import ZIP_ERRORS, Archive, opened_archive
from packager.facts.identify import examine_found
from packager.facts.inflate import inflate_errors
from packager.facts.listing import MAX_TOTAL, Entry
from packager.facts.reading import Readable
from packager.facts.types import ArchiveFacts, ArchiveMember, DamagedFacts, Facts
from packager.files import BLOCK, Blob, digest, scratch

MAX_DEPTH = 2  # an aar in a zip is looked into; an archive in that one is listed
MAX_MEMBER = 16 << 30  # four of the largest LLM contexts (2–4 GB each)
INSIDE = "!/"  # between an archive and its member, as in URLs of Java


class Budget:
    """How many bytes may still be unpacked, from an archive and all archives inside it together."""

    def __init__(self, left: int = MAX_TOTAL) -> None:
        self._left = left

    def spend(self, size: int) -> bool:
        """Whether `size` more bytes are allowed."""
        self._left -= size
        return self._left >= 0


class Member:
    """A file or link of a tree. `about` has its name, size in bytes, mode and link."""

    def __init__(self, tree: Tree, entry: Entry) -> None:
        self._tree, self._entry = tree, entry
        self.about: ArchiveMember = entry.member

    def local(self) -> Path:
        """A file with the member's bytes, there until the tree is asked for the next member.

        Raises UnreadableFile when the bytes are damaged or too many, ValueError for a link (it has none)
        and for a member that the tree has passed.
        """
        return self._tree.unpacked(self._entry)


class Tree:
    """An archive or folder, whose members come once and in order. `format` is as in ArchiveFacts."""

    def __init__(self, path: Path, archive: Archive, folder: Path, budget: Budget) -> None:
        self._path, self._archive, self._folder, self._budget = path, archive, folder, budget
        self._current: Entry | None = None
        self.format = archive.format

    def __iter__(self) -> Iterator[Member]:
        """Raises UnreadableFile when the archive is damaged, exceeds a limit or a name leaves its root."""
        for entry in self._archive.entries:
            self._current = entry
            yield Member(self, entry)
            self._place.unlink(missing_ok=True)
        self._current = None

    @property
    def _place(self) -> Path:
        return self._folder / "member"

    def unpacked(self, entry: Entry) -> Path:
        """What `Member.local` gives."""
        if entry is not self._current:
            raise ValueError(f"{entry.member.name} has been passed")
        if entry.folder_file:
            return entry.folder_file
        if entry.open is None:
            raise ValueError(f"{entry.member.name} is a link")
        if not self._place.exists():
            partial = self._folder / "partial"
            with partial.open("wb") as out:  # gone in a moment: it need not reach the disk
                for block in self._blocks(entry.member, entry.open):
                    out.write(block)
            partial.replace(self._place)
        return self._place

    def _blocks(self, member: ArchiveMember, source: Callable[[], Readable]) -> Iterator[bytes]:
        """Exactly as many bytes as the archive announced."""
        left = member.size
        if left > MAX_MEMBER or not self._budget.spend(left):
            self._refuse(member, f"{left} bytes are more than may be unpacked", "unsafe")
        damage: tuple[type[Exception], ...] = (*ZIP_ERRORS, *inflate_errors())
        try:
            stream = source()
            while block := stream.read(min(left, BLOCK) or 1):
                left -= len(block)
                if left < 0:
                    break
                yield block
        except damage as error:
            self._refuse(member, str(error))
        if left:
            self._refuse(member, f"its {member.size} bytes are announced, {member.size - left} are there")

    def _refuse(self, member: ArchiveMember, why: str, fault: Fault = "damaged") -> NoReturn:
        raise UnreadableFile(self._path, 0, f"member {member.name[:200]!r}: {why}", fault)


@contextlib.contextmanager
def open_tree(path: Path, *, budget: Budget | None = None, work: Path | None = None) -> Iterator[Tree]:
    """The tree of any archive that `read_archive` reads, or of a folder.

    `work` is where members are unpacked: the system's folder for temporary files unless another is given.
    Raises UnreadableFile, InputUnavailable.
    """
    with opened_archive(path) as archive, scratch(work or Path(tempfile.gettempdir())) as folder:
        yield Tree(path, archive, folder, budget or Budget())


class Found(NamedTuple):
    """A member of an archive, by its whole name (`app.zip!/jni/libs.aar!/libx.so`), and its facts.

    The facts of a link are None. `blob` is there if digests were asked for and the member can be unpacked.
    """

    name: str
    about: ArchiveMember
    facts: Facts | None
    blob: Blob | None = None


def examine_tree(
    path: Path, name: str, *, digests: bool = False, budget: Budget | None = None, depth: int = 1
) -> Iterator[Found]:
    """The facts of every member, and of the members of archives among them, `MAX_DEPTH` deep.

    A member that cannot be unpacked is damaged and does not end it. `name` begins all names.
    Raises UnreadableFile when the archive itself is damaged.
    """
    budget = budget or Budget()
    with open_tree(path, budget=budget) as tree:
        for member in tree:
            whole_name = f"{name}{INSIDE}{member.about.name}"
            if member.about.link is not None:
                yield Found(whole_name, member.about, None)
                continue
            try:
                local = member.local()
            except UnreadableFile as error:
                yield Found(whole_name, member.about, DamagedFacts.of(error))
                continue
            facts = examine_found(local)
            readable = not isinstance(facts, DamagedFacts) or facts.fault not in ("unreadable", "closed")
            yield Found(whole_name, member.about, facts, digest(local) if digests and readable else None)
            if isinstance(facts, ArchiveFacts) and depth < MAX_DEPTH:
                yield from examine_tree(local, whole_name, digests=digests, budget=budget, depth=depth + 1)
