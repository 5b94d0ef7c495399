"""What people see of the store."""

from __future__ import annotations

from packager.report import add, say, show, table
from packager.store_keeping import Cleared, Survey, Verified
from packager.units import human_size

_KINDS = {
    "wheel": "wheels",
    "wheel-member": "files out of wheels",
    "prepare": "prepared models",
    "compile": "contexts",
    "runner": "runners",
    "target": "what packages were made of",
    "record": "records of steps",
    "unnamed": "files that no step names",
    "zig": "cache of the cross compiler",
    "partial": "broken downloads, to be taken up",
    "temporary": "temporary files",
}
_TIMES = ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute"))


def print_survey(survey: Survey) -> None:
    """One row for each kind of thing."""
    rows = table("in the store", "files", "size", "last used", right=("files", "size"))
    for part in survey.parts:
        kind = _KINDS.get(part.kind, part.kind)
        add(rows, kind, str(part.files), human_size(part.size), _ago(part.idle))
    if survey.parts:
        show(rows)
    say(f"{survey.root}: {human_size(survey.size)}")


def print_cleared(cleared: Cleared) -> None:
    """What was cleared, and what stays because somebody works with it."""
    say(f"cleared {cleared.files} files, {human_size(cleared.freed)}; {human_size(cleared.left)} are left")
    if cleared.in_use:
        say(f"{human_size(cleared.in_use)} are in use by running processes and stay")


def print_verified(verified: Verified) -> None:
    """What was read, and what was damaged."""
    say(f"read {verified.blobs} files and {verified.records} records: {len(verified.damaged)} damaged")
    for name in verified.damaged:
        say(f"  {name} was damaged and is removed; what needs it makes it again")


def _ago(seconds: float) -> str:
    for size, word in _TIMES:
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {word}{'s' if count > 1 else ''} ago"
    return "just now"
