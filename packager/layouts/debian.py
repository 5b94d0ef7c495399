"""What a Debian package depends on, from what its libraries link to. Data in `targets/debian.toml`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from packager import catalog
from packager.facts.types import ElfFacts
from packager.versions import newest, numbers


def depends(libraries: Iterable[ElfFacts], bundled: Collection[str]) -> tuple[str, ...]:
    """Debian dependencies of host libraries, sorted; `bundled` are file names that the package brings.

    libc6 and libstdc++6 carry the newest symbol version that is needed. GLIBCXX_3.4.N came with gcc
    releases that Debian's libstdc++6 has in its version: 3.4.29 with 11 (GCC's ABI policy page).
    """
    host = [facts for facts in libraries if facts.abi == "glibc"]
    linked = {name for facts in host for name in facts.needed} - set(bundled)
    versions = {"libc6": newest(f.glibc_needed for f in host), "libstdc++6": _libstdcxx(host)}
    found = []
    for row in catalog.table("debian")["runtime_package"]:
        if linked & set(row["libraries"]):
            version = versions.get(row["package"])
            found.append(f"{row['package']} (>= {version})" if version else row["package"])
    return tuple(sorted(found))


def _libstdcxx(host: Iterable[ElfFacts]) -> str | None:
    wanted = newest(facts.glibcxx_needed for facts in host)
    if wanted is None:
        return None
    rows = sorted(catalog.table("debian")["libstdcxx"], key=lambda row: numbers(row["glibcxx"]))
    return next((row["debian"] for row in rows if numbers(row["glibcxx"]) >= numbers(wanted)), None)
