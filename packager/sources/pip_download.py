"""pip as a subprocess: one wheel into a folder, and its refusals in one sentence with evidence.

pip is asked, not imitated, so that the user's mirrors, proxies, certificates and credentials simply
work: they are in pip's own configuration and environment variables.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from packager.errors import InputUnavailable
from packager.files import write_text
from packager.model import Frozen
from packager.sources import Tell, nearest_lines, not_as_pinned

FIX_ONLINE = "run once where the package index can be reached, or name a folder of wheels in PIP_FIND_LINKS"
FIX_DIGEST = (
    "the index offers another build of this version, or the pin is that of another platform or Python: "
    "compare with the publisher's own list of digests before you change the pin"
)
_REPORT_EVERY = 5.0  # seconds between two progress messages
_UNREACHABLE = re.compile(
    r"connection broken|connection error|max retries|read timed out|SSLError|ProxyError", re.IGNORECASE
)
_FULL = re.compile(r"no space left|disk quota exceeded|file too large", re.IGNORECASE)
_ERROR = re.compile(r"^ERROR|No module named")
_LOG_TIME = re.compile(r"^\d{4}-\d\d-\d\dT[\d:,.]+ ")
_MISMATCH = re.compile(r"^\s*Got\s+(?P<sha256>[0-9a-f]{64})\s*$", re.MULTILINE)
_FILE = re.compile(r"[\w.+!-]+\.whl\b")
_SKIPPED = re.compile(r"Skipping link: (?!wrong project).*?[/\\](?P<file>[\w.+!%-]+\.(?:whl|tar\.gz|zip))\b")
_VERSIONS = re.compile(r"\(from versions: (?P<versions>[^)]*)\)")


class WheelRequest(Frozen):
    """An exact requirement (`name==version`), for a machine and a Python other than ours where given."""

    requirement: str
    platform: str | None = None
    python: str | None = None
    pinned: str | None = None

    @property
    def label(self) -> str:
        """What the wheel is called in messages and origins."""
        return f"{self.requirement} ({self.platform})" if self.platform else self.requirement

    @property
    def origin(self) -> str:
        """How the lock knows the wheel."""
        return f"wheel {self.label}"

    @property
    def line(self) -> str:
        """The requirement as pip reads it from a file; a digest makes pip choose between builds."""
        pin = f" --hash=sha256:{self.pinned}" if self.pinned else ""
        return f"{self.requirement}{pin}\n"

    @property
    def options(self) -> tuple[str, ...]:
        """pip's options for a wheel of another machine or Python."""
        platform = ("--platform", self.platform) if self.platform else ()
        python = ("--implementation", "cp", "--python-version", self.python) if self.python else ()
        return (*platform, *python)


def download(request: WheelRequest, folder: Path, tell: Tell) -> Path:
    """The wheel, in `folder`, a scratch folder. Raises InputUnavailable with pip's last words."""
    listed, log, into = folder / "wanted.txt", folder / "pip.log", folder / "wheel"
    write_text(listed, request.line)
    command = (
        *(sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", "--progress-bar", "off"),
        *("--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--log", str(log)),
        *("--dest", str(into), *request.options, "--requirement", str(listed)),
    )
    code, said = _run(command, folder, tell)
    wheels = sorted(into.glob("*.whl")) if into.is_dir() else []
    if code != 0 or len(wheels) != 1:
        history = log.read_text("utf-8", errors="replace") if log.is_file() else ""
        raise _refusal(request, said, history)
    return wheels[0]


def _run(command: tuple[str, ...], folder: Path, tell: Tell) -> tuple[int, str]:
    """Exit code and output of pip; tells now and then how much has come."""
    # pip collects a download below TMPDIR: so it is on the store's disk, and a killed run's is swept.
    environment = os.environ | {name: str(folder) for name in ("TMPDIR", "TEMP", "TMP")}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=environment,
    )
    try:
        while (said := _output(process)) is None:
            tell(f"{_size_below(folder) / 1e6:.0f} MB so far")
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process.returncode, said


def _output(process: subprocess.Popen[str]) -> str | None:
    """All that the process said once it has ended, or None after some seconds."""
    try:
        return process.communicate(timeout=_REPORT_EVERY)[0]
    except subprocess.TimeoutExpired:
        return None


def _size_below(folder: Path) -> int:
    """Bytes in a folder that another process is writing to."""
    size = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            size += path.stat().st_size
    return size


def _refusal(request: WheelRequest, said: str, history: str) -> InputUnavailable:
    """What pip's output and log mean for this request."""
    got = _MISMATCH.search(said)
    if got and request.pinned:
        file = _FILE.search(said)
        return wrong_build(request, got["sha256"], request.pinned, file[0] if file else "")
    if _FULL.search(said):
        return InputUnavailable(
            f"the disk of the store has no room for wheel {request.label}",
            evidence=_lines(said, _FULL),
            fix="free some space, or name another folder in HEXPACK_STORE",
        )
    if _UNREACHABLE.search(history + said):
        return InputUnavailable(
            f"the package index could not be reached for wheel {request.label}",
            evidence=_lines(said + history, _UNREACHABLE),
            fix=FIX_ONLINE,
        )
    return _not_offered(request, said, history)


def _not_offered(request: WheelRequest, said: str, history: str) -> InputUnavailable:
    """What the index has instead of the wheel, as far as pip tells."""
    last = _lines(said, _ERROR)
    name, _, version = request.requirement.partition("==")
    skipped = {found["file"] for found in _SKIPPED.finditer(history)}
    tags = sorted(_tags_of(skipped, name, version))
    if tags:
        return InputUnavailable(
            f"{request.requirement} has no wheel for {_machine(request)}",
            evidence=(f"there are wheels for {', '.join(tags)}", *last),
            fix="name one of these platforms, or a version that has a wheel for yours",
        )
    if any(_stem(file) == (_folded(name), version) for file in skipped):
        return InputUnavailable(
            f"{request.requirement} is published as source only, and hexpack builds no sources",
            evidence=last,
            fix="build the wheel yourself (`pip wheel`) and name its folder in PIP_FIND_LINKS",
        )
    offered = _VERSIONS.search(said)
    if offered:
        versions = [word for word in offered["versions"].split(", ") if word and word != "none"]
        return InputUnavailable(
            f"there is no {request.requirement} for {_machine(request)}",
            evidence=(*(nearest_lines(version, versions) if versions else ()), *last),
            fix=f"`pip index versions {name}` lists what your package index offers",
        )
    return InputUnavailable(f"pip could not fetch wheel {request.label}", evidence=last, fix=FIX_ONLINE)


def wrong_build(request: WheelRequest, found: str, pinned: str, file: str) -> InputUnavailable:
    """The error for a wheel of another digest than the pinned one."""
    evidence = (f"file    {file}",) if file else ()
    return not_as_pinned(f"wheel {request.label}", found, pinned, evidence=evidence, fix=FIX_DIGEST)


def _lines(text: str, telling: re.Pattern[str]) -> tuple[str, ...]:
    """The last lines that tell something, each once and not endless."""
    plain = (_LOG_TIME.sub("", line).strip()[:200] for line in text.splitlines() if telling.search(line))
    found = dict.fromkeys(plain)
    return tuple(found)[-2:]


def _machine(request: WheelRequest) -> str:
    python = request.python or f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{request.platform or 'this machine'} and Python {python}"


def _tags_of(files: Iterable[str], name: str, version: str) -> Iterator[str]:
    """`cp311-cp311-win_arm64` of every wheel among these file names that is of this name and version."""
    for file in files:
        if file.endswith(".whl") and _stem(file) == (_folded(name), version):
            yield "-".join(file.removesuffix(".whl").split("-")[-3:])


def _stem(file: str) -> tuple[str, str]:
    """Name, folded, and version of a wheel's or source archive's file name."""
    if file.endswith(".whl"):
        name, _, rest = file.partition("-")
        version = rest.partition("-")[0]
    else:
        name, _, version = re.sub(r"\.(tar\.gz|zip)$", "", file).rpartition("-")
    return _folded(name), version


def _folded(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
