"""The Java class of an Android archive, compiled by the user's javac.

PyPI has no compiler of Java that is kept up, and class files are nobody's source: the JDK that every Android
project has makes them. Their bytes depend on the release of javac, which is part of the step's key.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path

from packager import catalog, resources
from packager.errors import InputUnavailable, ToolFailed
from packager.files import Blob, write_text
from packager.model import Frozen
from packager.store import Store, key_of

_LIMIT = 300  # seconds
_FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # a jar inside a package has no time of its own


class ClassesBuild(Frozen):
    """A jar of compiled classes. `compiler` names the tool and its version."""

    blob: Blob
    compiler: str


def find_javac() -> tuple[Path, str]:
    """The compiler and what it calls itself: `javac 17.0.1`. Raises InputUnavailable where there is none."""
    home = os.environ.get("JAVA_HOME")
    named = Path(home) / "bin" / "javac" if home else None
    found = shutil.which(named) if named else shutil.which("javac")
    if found is None:
        raise InputUnavailable(
            "the Java class of an Android archive needs a JDK, and there is no javac",
            evidence=(f"JAVA_HOME is {home}" if home else "JAVA_HOME is not set, and PATH has none",),
            fix=f"install JDK {_release()} or later (Debian: apt-get install openjdk-17-jdk-headless), or "
            "set JAVA_HOME to one",
        )
    done = _run([found, "-version"], Path())
    return Path(found), (done.stdout or done.stderr).strip()


def build_classes(sources: Mapping[str, str], store: Store) -> ClassesBuild:
    """A jar with the classes of these sources (path → text), compiled once and then taken from the store.

    They see Java's own library and, of Android's, what `templates/aar/stubs` declares.

    Raises InputUnavailable without a compiler, ToolFailed with what it said.
    """
    program, compiler = find_javac()
    stubs = dict(_stubs())
    key = key_of({"sources": dict(sources), "stubs": stubs, "release": _release(), "compiler": compiler})
    with store.lock(key):
        known = store.recall_as(ClassesBuild, "java", key)
        if known and store.intact(known.blob):
            return known
        with store.work() as folder:
            for path, text in {**sources, **stubs}.items():
                (folder / "source" / path).parent.mkdir(parents=True, exist_ok=True)
                write_text(folder / "source" / path, text)
            _compile(program, folder, sorted({**sources, **stubs}))
            jar = folder / "classes.jar"
            _pack(folder / "classes", jar, {path.rpartition("/")[0] for path in sources})
            built = ClassesBuild(blob=store.add_file(jar), compiler=compiler)
        store.record("java", key, built.model_dump(mode="json"))
    return built


def _release() -> int:
    return int(catalog.table("android")["java"]["release"])


def _stubs() -> Iterator[tuple[str, str]]:
    def below(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.is_dir():
                yield from below(entry, f"{path}{entry.name}/")
            elif entry.name.endswith(".java"):
                yield path + entry.name, entry.read_text(encoding="utf-8")

    return below(resources.folder("templates").joinpath("aar", "stubs"), "")


def _compile(program: Path, folder: Path, sources: list[str]) -> None:
    options = ["--release", str(_release()), "-encoding", "UTF-8", "-proc:none", "-nowarn"]
    done = _run([str(program), *options, "-d", "../classes", *sources], folder / "source")
    if done.returncode != 0:
        raise ToolFailed(
            "the Java class of the Android archive does not compile",
            evidence=(f"exit code {done.returncode} of {program}", (done.stdout + done.stderr)[-4000:]),
            fix=f"set JAVA_HOME to a JDK {_release()} or later; if this is one, report it with these lines",
        )


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    # JAVA_TOOL_OPTIONS and its kin would change what is compiled, and print a line of their own.
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAVA_", "JDK_", "_JAVA"))
    }
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=kept | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_LIMIT,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ToolFailed(
            "javac cannot be run", evidence=(str(problem),), fix="set JAVA_HOME to a JDK that works"
        ) from problem


def _pack(classes: Path, jar: Path, packages: set[str]) -> None:
    """The classes of these packages, and so none of Android's."""
    paths = sorted(path for package in packages for path in (classes / package).glob("*.class"))
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_STORED) as archive:
        for path in paths:
            name = path.relative_to(classes).as_posix()
            archive.writestr(zipfile.ZipInfo(name, _FIRST_TIME), path.read_bytes())
