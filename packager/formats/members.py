"""What every format is made of: the members of an archive, in canonical order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from packager.bundle import Bundle, BundleFile
from packager.files import blocks
from packager.plan_model import TargetPlan


class Member(NamedTuple):
    """A file, a link or a folder of an archive.

    `path` is relative, parts divided by `/`. A file has `content`, a link has a `target` relative to
    its own folder, a folder has neither. `mode` holds the permission bits.
    """

    path: str
    mode: int
    content: BundleFile | bytes | None = None
    target: str | None = None

    @property
    def is_folder(self) -> bool:
        """Whether this is neither a file nor a link."""
        return self.content is None and self.target is None

    @property
    def size(self) -> int:
        """Bytes of a file's content or of a link's target, 0 for a folder."""
        if isinstance(self.content, BundleFile):
            return self.content.blob.size
        return len(self.content or (self.target or "").encode())

    def blocks(self) -> Iterator[bytes]:
        """A file's bytes in blocks of at most 1 MiB.

        Raises InputUnavailable after the last one when they are not what the bundle promised.
        """
        if isinstance(self.content, BundleFile):
            with self.content.open() as stream:
                yield from blocks(stream)
        elif self.content:
            yield self.content


def members_below(root: str, bundle: Bundle) -> list[Member]:
    """The files and links of a bundle below the folder `root`; "" is the top of the archive."""
    above = f"{root}/" if root else ""
    return [
        *(Member(f"{above}{file.path}", file.mode, content=file) for file in bundle.files),
        *(Member(f"{above}{link.path}", 0o777, target=link.target) for link in bundle.links),
    ]


def in_order(members: Iterable[Member], *, folders: bool) -> list[Member]:
    """Members in byte order of their paths, with an entry for each folder above them if `folders`.

    A folder comes before what is in it, because its path is a prefix of theirs.
    """
    by_path = {member.path: member for member in members}
    if folders:
        for path in list(by_path):
            parts = path.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                folder = "/".join(parts[:depth])
                by_path.setdefault(folder, Member(folder, 0o755))
    return sorted(by_path.values(), key=lambda member: member.path.encode())


def planned_name(plan: TargetPlan, format_id: str) -> str:
    """The file name that the plan gives to its package of this format; ValueError when it has none."""
    return plan.package_of(format_id).file_name
