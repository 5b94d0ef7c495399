"""What the strings in a library tell: its QAIRT build, and folders of the machine that built it.

Two strings carry the build: its id (`v2.51.0.260929181845`, in later builds with `_<number>` behind) and
`AISW_VERSION: 2.51.0`. libQnnSystem for Linux carries neither; from some release between 2.40 and 2.48 on it
has the id's last number, the date and time of the build, as a string of its own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from packager.catalog import table
from packager.facts.reading import opened
from packager.files import BLOCK
from packager.versions import numbers

# All begin with a literal: the search is then a memchr, forty times faster than with a look-behind.
_BUILD = re.compile(rb"v\d{1,4}\.\d{1,4}\.\d{1,4}\.\d{10,14}(?:_\d{1,9})?(?![0-9A-Za-z])")
_RELEASE = re.compile(rb"AISW_VERSION: (\d{1,4}\.\d{1,4}\.\d{1,4})(?![0-9A-Za-z])")
_STAMP = re.compile(
    rb"2[0-9](?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[01][0-9]|2[0-3])(?:[0-5][0-9]){2}\0"
)
_WORD = re.compile(rb"\w")
_INSIDE_A_PATH = re.compile(rb"[\w./\\-]")

MAX_BUILD_PATHS = 5  # who wants to find the build machine needs one; a library holds thousands
_LONGEST = 512  # of anything searched for; matches may not be cut by the end of a block
_REACH = 2  # bytes before a match that are looked at


class Marks(NamedTuple):
    """`build` with the leading v, `release` as three dotted numbers; None where the file does not say.

    `stamp` is a lone date and time, `260929181845`. `build_paths` are absolute paths of the build machine,
    one for each folder, the first few found.
    """

    build: str | None
    release: str | None
    stamp: str | None
    build_paths: tuple[str, ...]


def marks(path: Path) -> Marks:
    """Search a whole file in one pass.

    A library may name an older build that it still understands but cannot name one from its future, so
    of several ids the newest is its own. Raises InputUnavailable when the file cannot be opened.
    """
    build: str | None = None
    release: str | None = None
    stamp: str | None = None
    paths: dict[str, str] = {}
    with opened(path) as (stream, _):
        for text, first, end in _windows(stream):
            for found in _matches(_BUILD, text, first, end):
                if not _WORD.match(text, found.start() - 1):
                    build = _newer(build, found.group().decode("ascii"))
            for found in _matches(_RELEASE, text, first, end):
                release = _newer(release, found.group(1).decode("ascii"))
            for found in _matches(_STAMP, text, first, end):
                if text[found.start() - 1] == 0:
                    stamp = found.group()[:-1].decode("ascii")
            if len(paths) < MAX_BUILD_PATHS:
                for place in _build_paths(text, first, end):
                    paths.setdefault(re.split(r"[\\/](?=[^\\/]*$)", place)[0], place)
    known = release_of(build) if build else release
    return Marks(build, known, stamp, tuple(paths.values())[:MAX_BUILD_PATHS])


def release_of(build: str) -> str:
    """`2.51.0` of `v2.51.0.260929181845`."""
    return ".".join(build.removeprefix("v").split(".")[:3])


def _windows(stream: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """The file in overlapping pieces; a match that begins in [first, end) of one is whole in it.

    Reading in blocks rather than mapping the file: mapped pages count as the process's memory.
    """
    before = bytes(_REACH)
    text = before + stream.read(BLOCK)
    while block := stream.read(BLOCK):
        end = len(text) - _LONGEST
        if end > _REACH:
            yield text, _REACH, end
            text = text[end - _REACH :]
        text += block
    yield text, _REACH, len(text)


def _matches(pattern: re.Pattern[bytes], text: bytes, first: int, end: int) -> Iterator[re.Match[bytes]]:
    for found in pattern.finditer(text, first):
        if found.start() >= end:
            return
        yield found


@functools.cache
def _path_patterns() -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Paths below a build root, and paths on a drive, without the drive's letter."""
    rows = table("libraries")
    roots = "|".join(re.escape(row["folder"].removeprefix("/")) for row in rows["build_root"])
    kept = "|".join(re.escape(row["folder"]) for row in rows["device_drive"])
    unix = rf"/(?:{roots})[\x21-\x7e]{{3,300}}"
    drive = rf":\\(?!(?i:{kept}))[\w. -]{{1,80}}\\[\x20-\x21\x23-\x7e]{{3,200}}"
    return re.compile(unix.encode()), re.compile(drive.encode(), re.ASCII)


def _build_paths(text: bytes, first: int, end: int) -> Iterator[str]:
    unix, drive = _path_patterns()
    for found in _matches(unix, text, first, end):
        if not _INSIDE_A_PATH.match(text, found.start() - 1):
            yield found.group().decode("ascii")
    for found in _matches(drive, text, first, end):
        letter = text[found.start() - 1 : found.start()]
        if letter.isalpha() and not _WORD.match(text, found.start() - 2):
            yield (letter + found.group()).decode("ascii")


def _newer(known: str | None, found: str) -> str:
    return found if known is None or numbers(found) > numbers(known) else known
