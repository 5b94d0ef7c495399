"""What a package depends on, from what its libraries link to. Data in `targets/debian.toml`.

Each package manager has its own notion: dpkg and opkg name packages and their versions, rpm names libraries
and their symbol versions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from packager import catalog
from packager.facts.types import ElfFacts
from packager.versions import newest, numbers


def depends(
    libraries: Iterable[ElfFacts], bundled: Collection[str], manager: Literal["package", "opkg"] = "package"
) -> tuple[str, ...]:
    """Packages that host libraries need, sorted; `bundled` are file names that the package brings.

    `manager` is the column of the table: Debian's packages or those of OpenEmbedded for opkg. libc6 and
    libstdc++6 carry the newest symbol version that is needed. GLIBCXX_3.4.N came with gcc releases that
    libstdc++6 has in its version: 3.4.29 with 11 (GCC's ABI policy page).
    """
    host = [facts for facts in libraries if facts.abi == "glibc"]
    linked = {name for facts in host for name in facts.needed} - set(bundled)
    versions = {"libc6": newest(f.glibc_needed for f in host), "libstdc++6": _libstdcxx(host)}
    found = []
    for row in catalog.table("debian")["runtime_package"]:
        if linked & set(row["libraries"]):
            version = versions.get(row["package"])
            found.append(f"{row[manager]} (>= {version})" if version else row[manager])
    return tuple(sorted(found))


def requires(libraries: Iterable[ElfFacts], bundled: Collection[str]) -> tuple[str, ...]:
    """What host libraries need in rpm's words, sorted: `libc.so.6(GLIBC_2.34)(64bit)`.

    Libraries of the board, which no package of a distribution brings, are left out as they are for dpkg.
    """
    host = [facts for facts in libraries if facts.abi == "glibc"]
    linked = {name for facts in host for name in facts.needed} - set(bundled)
    known = {name for row in catalog.table("debian")["runtime_package"] for name in row["libraries"]}
    found = {f"{name}()(64bit)" for name in linked & known if not name.startswith("ld-")}
    versions = (
        ("libc.so.6", "GLIBC", newest(facts.glibc_needed for facts in host)),
        ("libstdc++.so.6", "GLIBCXX", newest(facts.glibcxx_needed for facts in host)),
        ("libstdc++.so.6", "CXXABI", newest(facts.cxxabi_needed for facts in host)),
    )
    found |= {
        f"{name}({word}_{version})(64bit)" for name, word, version in versions if name in linked and version
    }
    return tuple(sorted(found))


def in_rpm_words(dependency: str) -> str:
    """`qairt (>= 2.51.0)` as rpm writes it: `qairt >= 2.51.0`. Source: Debian policy 7.1, rpm's manual."""
    name, _, relation = dependency.rstrip(")").partition(" (")
    return f"{name} {relation.replace('<<', '<').replace('>>', '>')}" if relation else name


def _libstdcxx(host: Iterable[ElfFacts]) -> str | None:
    wanted = newest(facts.glibcxx_needed for facts in host)
    if wanted is None:
        return None
    rows = sorted(catalog.table("debian")["libstdcxx"], key=lambda row: numbers(row["glibcxx"]))
    return next((row["debian"] for row in rows if numbers(row["glibcxx"]) >= numbers(wanted)), None)
