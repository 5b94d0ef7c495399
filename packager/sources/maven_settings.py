"""What Maven's settings.xml says about where artifacts come from, for machines without Maven."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from packager.errors import InputUnavailable
from packager.sources.http import is_allowed

_LARGEST = 1 << 20  # bytes; real files have a few kB
_VARIABLE = re.compile(r"\$\{env\.(\w+)\}")


class Repository(NamedTuple):
    """A place with Maven's layout, and the header that the server of its name in settings.xml asks for."""

    url: str
    authorization: str | None


def home() -> Path:
    """Maven's folder of the user."""
    return Path.home() / ".m2"


def repositories() -> list[Repository]:
    """Mirrors of the central repository, then repositories of active profiles, if they may be fetched from.

    Raises InputUnavailable when settings.xml is there and cannot be read.
    """
    document = _document(home() / "settings.xml")
    if document is None:
        return []
    logins = {
        _text(server, "id"): _basic(_text(server, "username"), _text(server, "password"))
        for server in document.iterfind("servers/server")
    }
    named = [*_mirrors(document), *_of_profiles(document)]
    found = (Repository(url, logins.get(name)) for name, url in named if is_allowed(url))
    return list(dict.fromkeys(found))


def _basic(name: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


def _mirrors(document: ElementTree.Element) -> Iterator[tuple[str, str]]:
    for mirror in document.iterfind("mirrors/mirror"):
        patterns = [word.strip() for word in _text(mirror, "mirrorOf").split(",")]
        if "!central" not in patterns and {"*", "central", "external:*"} & set(patterns):
            yield _text(mirror, "id"), _text(mirror, "url")


def _of_profiles(document: ElementTree.Element) -> Iterator[tuple[str, str]]:
    active = {(one.text or "").strip() for one in document.iterfind("activeProfiles/activeProfile")}
    for profile in document.iterfind("profiles/profile"):
        by_default = _text(profile, "activation/activeByDefault") == "true"
        if _text(profile, "id") in active or (by_default and not active):
            for repository in profile.iterfind("repositories/repository"):
                yield _text(repository, "id"), _text(repository, "url")


def _document(path: Path) -> ElementTree.Element | None:
    """The settings without name spaces, which differ by edition."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _unreadable(path, problem.strerror or str(problem)) from problem
    if len(content) > _LARGEST or b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise _unreadable(path, "it is larger than 1 MiB, or declares entities")
    try:
        document = ElementTree.fromstring(content)  # noqa: S314 - no entities, limited size
    except ElementTree.ParseError as problem:
        raise _unreadable(path, str(problem)) from problem
    for element in document.iter():
        element.tag = element.tag.rpartition("}")[2]
    return document


def _text(element: ElementTree.Element, path: str) -> str:
    written = (element.findtext(path) or "").strip()
    return _VARIABLE.sub(lambda found: os.environ.get(found[1], ""), written)


def _unreadable(path: Path, why: str) -> InputUnavailable:
    return InputUnavailable(
        f"Maven's {path} cannot be read", evidence=(why,), fix="mend the file, as Maven needs it too"
    )
