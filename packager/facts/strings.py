"""Which QAIRT build a library comes from, according to the strings in it.

Two strings carry it: the build id (`v2.51.0.260929181845`, in later builds with `_<number>` behind) and
`AISW_VERSION: 2.51.0`. libQnnSystem carries neither.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import NamedTuple

from packager.facts.reading import opened

# Both begin with a literal: the search is then a memchr, forty times faster than with a look-behind.
_BUILD = re.compile(rb"v\d+\.\d+\.\d+\.\d{10,14}(?:_\d+)?(?![0-9A-Za-z])")
_RELEASE = re.compile(rb"AISW_VERSION: (\d{1,4}\.\d{1,4}\.\d{1,4})(?![0-9A-Za-z])")
_WORD = re.compile(rb"\w")


class QairtMark(NamedTuple):
    """`build` with the leading v, `release` as three dotted numbers; None where the file does not say."""

    build: str | None
    release: str | None


def qairt_mark(path: Path) -> QairtMark:
    """Search a whole file.

    A library may name an older build that it still understands but cannot name one from its future, so
    of several ids the newest is its own. Raises InputUnavailable when the file cannot be opened.
    """
    with opened(path) as (stream, size):
        if size == 0:
            return QairtMark(None, None)
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as view:
            builds = {
                match.group().decode("ascii")
                for match in _BUILD.finditer(view)
                if not _WORD.match(view[max(match.start() - 1, 0) : match.start()])
            }
            releases = {match.group(1).decode("ascii") for match in _RELEASE.finditer(view)}
    build = max(builds, key=_numbers, default=None)
    release = release_of(build) if build else max(releases, key=_numbers, default=None)
    return QairtMark(build, release)


def release_of(build: str) -> str:
    """`2.51.0` of `v2.51.0.260929181845`."""
    return ".".join(build.removeprefix("v").split(".")[:3])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))
