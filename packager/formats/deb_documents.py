"""What Debian wants below /usr/share for a package: copyright, changelog, manual page, overrides."""

from __future__ import annotations

import datetime
import email.utils
import re
import struct
import zlib

from packager import catalog
from packager.bundle import Bundle
from packager.formats.installed import home
from packager.formats.members import Member
from packager.plan_model import PackagePlan, TargetPlan
from packager.templating import fill

_STORED_AT_MOST = 0xFFFF


def documents(plan: TargetPlan, planned: PackagePlan, bundle: Bundle, *, epoch: int) -> list[Member]:
    """The documents of a package, as members with paths relative to the root of the system."""
    package, name, installed = plan.package, planned.name, home(planned)
    moment = datetime.datetime.fromtimestamp(epoch, datetime.UTC)
    overrides = _filled("lintian-overrides", name=name, dsp=_below(installed, bundle, _dsp_roles()))
    changelog = _filled(
        "changelog",
        name=name,
        package=package,
        version=planned.version,
        date=email.utils.format_datetime(moment),
    )
    members = [
        (f"doc/{name}/copyright", _copyright(plan, bundle, installed, moment.year).encode()),
        (f"doc/{name}/changelog.gz", gzipped(changelog.encode())),
        (f"lintian/overrides/{name}", overrides.encode()),
    ]
    below = [Member(f"usr/share/{path}", 0o644, content) for path, content in members]
    return [*below, *manual_page(plan, planned, bundle, epoch=epoch)]


def manual_page(plan: TargetPlan, planned: PackagePlan, bundle: Bundle, *, epoch: int) -> list[Member]:
    """The page that `man` shows of the command, where the package has one."""
    if not any(file.role == "runner" for file in bundle.files):
        return []
    package = plan.package
    manual = _filled(
        "manual.1",
        name=planned.name,
        package=package,
        day=f"{datetime.datetime.fromtimestamp(epoch, datetime.UTC):%Y-%m-%d}",
        silicon=", ".join(soc.title for soc in plan.socs),
        installed=home(planned),
    )
    return [Member(f"usr/share/man/man1/{package.name}.1.gz", 0o644, gzipped(manual.encode()))]


def _copyright(plan: TargetPlan, bundle: Bundle, installed: str, year: int) -> str:
    vendor = {role.id for role in catalog.roles()} | {"support"}
    return _filled(
        "copyright",
        package=plan.package,
        year=year,
        qairt=plan.runtime_set.release.version,
        application=_licence(plan.package.license),
        runner=_below(installed, bundle, {"runner"}),
        vendor=_below(installed, bundle, vendor),
        terms=_below(installed, bundle, {"licence"}),
    )


def _below(installed: str, bundle: Bundle, roles: set[str]) -> list[str]:
    return [f"{installed}/{file.path}" for file in bundle.files if file.role in roles]


def _dsp_roles() -> set[str]:
    return {role.id for role in catalog.roles() if role.machine == "hexagon"}


def _licence(expression: str) -> dict[str, object]:
    """An SPDX expression for DEP-5, which has a grammar of its own: one word stands for a compound."""
    rows = catalog.table("debian")["common_licence"]
    words = re.findall(r"[A-Za-z0-9.+-]+", expression)
    return {
        "name": expression if words == [expression] else "application-licence",
        "spdx": expression,
        "common": [
            {"spdx": word, "file": row["file"]} for word in words for row in rows if word in row["spdx"]
        ],
    }


def _filled(template: str, **words: object) -> str:
    return fill("deb", f"{template}.jinja", **words)


def gzipped(content: bytes) -> bytes:
    """A gzip file of stored blocks (RFC 1951, 1952) without name and time.

    Compressed bytes would depend on the build of zlib; these texts are a few hundred bytes.
    """
    starts = range(0, max(len(content), 1), _STORED_AT_MOST)
    stored = bytearray()
    for start in starts:
        piece = content[start : start + _STORED_AT_MOST]
        stored += struct.pack("<BHH", start == starts[-1], len(piece), len(piece) ^ 0xFFFF) + piece
    # Flags, time, then 2: what `gzip -9` writes and lintian looks for; 255: written on no system.
    head = struct.pack("<4BIBB", 0x1F, 0x8B, 8, 0, 0, 2, 255)
    return head + stored + struct.pack("<II", zlib.crc32(content), len(content))
