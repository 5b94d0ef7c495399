"""One artifact of a Maven repository: asked of Maven itself, or of the mirror that its settings name.

As with pip, Maven's own configuration holds: settings.xml with its mirrors, servers, proxies and
repositories, and the user's local repository. Without Maven on the machine the same
files are had over plain HTTP from a mirror or repository that settings.xml names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from packager.errors import InputUnavailable
from packager.files import Blob, digest
from packager.model import Frozen
from packager.sources import Fetched, Tell, not_as_pinned, silent
from packager.sources.http import download_url
from packager.sources.maven_settings import Repository, home, repositories
from packager.store import Store, key_of

_FIX_ONLINE = (
    "run once where Maven reaches the repository, or fetch the archive elsewhere and name the file: "
    'from = "aar", path = "…"'
)
_TELLING = re.compile(r"^\[ERROR\] (?P<said>\S.*)$", re.MULTILINE)
_USELESS = re.compile(r"\[Help|full stack trace|-X switch|For more information|mvn install|Try downloading")
_LIMIT = 1800  # seconds; Maven ends by its own time limits long before


class Artifact(Frozen):
    """`group:name:version` with its file type, as Maven writes coordinates."""

    group: str
    name: str
    version: str
    packaging: str

    @classmethod
    def parse(cls, text: str) -> Artifact:
        """From `group:name:version:packaging`."""
        group, name, version, packaging = text.split(":")
        return cls(group=group, name=name, version=version, packaging=packaging)

    @property
    def label(self) -> str:
        """Maven's own order of the four words."""
        return f"{self.group}:{self.name}:{self.version}:{self.packaging}"

    @property
    def file_name(self) -> str:
        """The file's name in every repository."""
        return f"{self.name}-{self.version}.{self.packaging}"

    @property
    def path(self) -> str:
        """Where a repository keeps it."""
        return f"{self.group.replace('.', '/')}/{self.name}/{self.version}/{self.file_name}"


def fetch_artifact(
    coordinates: str,
    *,
    pinned: str | None,
    store: Store,
    offline: bool = False,
    tell: Tell = silent,
) -> Fetched:
    """The artifact of `group:name:version:packaging`, in the store.

    One whose pinned sha256 is in the store costs no process and no network; without a pin the store's answer
    to an earlier request is taken only when `offline`.

    Raises InputUnavailable when it cannot be had, and when it is another than `pinned`.
    """
    artifact = Artifact.parse(coordinates)
    key = key_of({"artifact": artifact.label})
    known = store.recall_as(Blob, "maven", key) if pinned is None and offline else None
    wanted = pinned or (known.sha256 if known else None)
    here = store.find(wanted) if wanted else None
    if here and wanted:
        blob = Blob(sha256=wanted, size=here.stat().st_size)
        if store.proved(blob):
            return _fetched(artifact, blob, store)
    if offline:
        raise InputUnavailable(
            f"maven {artifact.label} is not in the store, and offline nothing is fetched",
            evidence=(
                f"wanted  sha256 {pinned}" if pinned else "no sha256 is pinned",
                f"store   {store.root}",
            ),
            fix="run once without --offline",
        )
    with store.lock(key):
        tell(f"fetching {artifact.label}")
        with store.work() as folder:
            path, blob = _download(artifact, folder, pinned, store, tell)
            if pinned not in (None, blob.sha256):
                raise not_as_pinned(
                    f"maven {artifact.label}",
                    blob.sha256,
                    str(pinned),
                    fix="compare with the publisher's own digest before you change the pin",
                )
            store.adopt(path, blob)
        store.record("maven", key, blob.model_dump())
    return _fetched(artifact, blob, store)


def _fetched(artifact: Artifact, blob: Blob, store: Store) -> Fetched:
    path = store.path(blob.sha256)
    return Fetched(path=path, blob=blob, origin=f"maven {artifact.label}", name=artifact.file_name)


def _download(
    artifact: Artifact, folder: Path, pinned: str | None, store: Store, tell: Tell
) -> tuple[Path, Blob]:
    program = shutil.which("mvn")
    if program:
        path = _by_maven(program, artifact, folder)
        return path, digest(path)
    kept = home() / "repository" / artifact.path
    if kept.is_file():
        path = Path(shutil.copyfile(kept, folder / artifact.file_name))
        return path, digest(path)
    mirrors = repositories()
    if not mirrors:
        raise InputUnavailable(
            f"maven {artifact.label} cannot be fetched",
            evidence=("there is no mvn on PATH", "no mirror or repository is named in Maven's settings.xml"),
            fix=f"install Maven, or name a mirror in {home() / 'settings.xml'}; or " + _FIX_ONLINE,
        )
    refusals = []
    for mirror in mirrors:
        try:
            return _by_layout(mirror, artifact, folder, pinned, store, tell)
        except InputUnavailable as refusal:
            refusals.append(refusal)
    raise InputUnavailable(
        f"maven {artifact.label} cannot be fetched",
        evidence=[f"{refusal.what}: {' '.join(refusal.evidence)}" for refusal in refusals],
        fix=_FIX_ONLINE,
    )


def _by_layout(
    mirror: Repository, artifact: Artifact, folder: Path, pinned: str | None, store: Store, tell: Tell
) -> tuple[Path, Blob]:
    path = folder / artifact.file_name
    blob = download_url(
        f"{mirror.url.rstrip('/')}/{artifact.path}",
        into=path,
        sha256=pinned,
        store=store,
        authorization=mirror.authorization,
        tell=tell,
    )
    return path, blob


def _by_maven(program: str, artifact: Artifact, folder: Path) -> Path:
    """The file that Maven copies out of its local repository, fetched first where needed."""
    command = (
        *(program, "--batch-mode", "--no-transfer-progress", "dependency:copy"),
        *(f"-Dartifact={artifact.label}", f"-DoutputDirectory={folder}", "-Dmdep.overWriteReleases=true"),
    )
    try:
        done = subprocess.run(
            command,
            check=False,
            cwd=folder,  # no project of the user's is read
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=os.environ | {"MAVEN_OPTS": f"{os.environ.get('MAVEN_OPTS', '')} -Djansi.mode=strip".strip()},
            timeout=_LIMIT,
        )
    except subprocess.TimeoutExpired:
        raise InputUnavailable(
            f"Maven did not bring {artifact.label}", evidence=("it never ended",), fix=_FIX_ONLINE
        ) from None
    path = folder / artifact.file_name
    if done.returncode == 0 and path.is_file():
        return path
    said = [m["said"][:300] for m in _TELLING.finditer(done.stdout) if not _USELESS.search(m["said"])]
    raise InputUnavailable(
        f"Maven did not bring {artifact.label}",
        evidence=[without_logins(line) for line in said[:2]] or (f"exit code {done.returncode}",),
        fix=_FIX_ONLINE,
    )


def without_logins(text: str) -> str:
    """A message of another program without the name and password that an address in it may hold."""
    return re.sub(r"(?<=://)[^/@\s]+@", "", text)
