"""How packages are called: file names, and the manifest's version in Debian's words."""

from __future__ import annotations

import re

_PRE_RELEASE = re.compile(r"^(?P<base>[0-9.]*[0-9])[.-]?(?P<stage>alpha|beta|rc|a|b)\.?(?P<number>[0-9]+)$")
_STAGES = {"a": "alpha", "b": "beta"}


def package_stem(name: str, version: str, system: str, arch: str, target: str | None = None) -> str:
    """A package's file name without its extension: `text-direction-1.2.0-linux-arm64[-rb3gen2]`.

    `target` is the name that the manifest gives to the target, if it gives one; `arch` is the word of
    the ABI's row in `targets/systems.toml`.
    """
    return "-".join(part for part in (name, version, system, arch, target) if part)


def debian_version(version: str) -> str:
    """The manifest's version so that dpkg sorts it: a pre-release comes before its release.

    `1.2.0-rc1` becomes `1.2.0~rc1`, because dpkg sorts `~` before the end of the word (Debian policy
    5.6.12). `a` and `b` are spelled out, so that `1.0a2` follows `1.0-alpha.1`.
    """
    found = _PRE_RELEASE.match(version)
    if not found:
        return version
    stage = _STAGES.get(found["stage"], found["stage"])
    return f"{found['base']}~{stage}{found['number']}"


def debian_name(name: str, target: str | None) -> str:
    """The Debian package of a target. Two targets of one manifest are two packages.

    Of one name and version they would be the same package to apt, which then installs whichever it
    finds on whichever board.
    """
    return f"{name}-{target}" if target else name
