"""The tree of a Linux package as the system sees it: what every package manager installs, and where."""

from __future__ import annotations

import textwrap

from packager.bundle import Bundle
from packager.formats.members import Member, members_below
from packager.formats.services import Manager, scripts, service_members
from packager.plan_model import PackagePlan, TargetPlan

_COLUMNS = 79


def home(package: PackagePlan) -> str:
    """The folder of the package's own tree, relative to the root of the system."""
    return f"usr/lib/{package.name}"


def installed(plan: TargetPlan, package: PackagePlan, bundle: Bundle) -> list[Member]:
    """The members that every Linux package installs, with paths relative to the root of the system."""
    return [
        *tree_and_command(plan, package, bundle),
        *service_members(plan, package, bundle, home(package)),
    ]


def tree_and_command(plan: TargetPlan, package: PackagePlan, bundle: Bundle) -> list[Member]:
    """The package's own tree and its command: all that a system without services of its own needs."""
    return [*members_below(home(package), bundle), *_command(plan, package, bundle)]


def script_members(plan: TargetPlan, package: PackagePlan, bundle: Bundle, manager: Manager) -> list[Member]:
    """The maintainer scripts as members of a control archive."""
    texts = scripts(plan, package, bundle, home(package), manager)
    return [Member(f"./{name}", 0o755, text.encode()) for name, text in texts.items()]


def _command(plan: TargetPlan, package: PackagePlan, bundle: Bundle) -> list[Member]:
    """The link that puts the runner on the PATH under the application's name."""
    below = home(package).removeprefix("usr/")
    return [
        Member(f"usr/bin/{plan.package.name}", 0o777, target=f"../{below}/{file.path}")
        for file in bundle.files
        if file.role == "runner"
    ]


def control_fields(plan: TargetPlan, package: PackagePlan, bundle: Bundle, size: int) -> dict[str, str]:
    """What deb and ipk say about a package, without its description; `size` is Installed-Size.

    Packages of other targets bring the same command; only one of them can be installed.
    """
    same = plan.package.name if package.name != plan.package.name else ""
    return {
        "Package": package.name,
        "Version": package.version,
        "Architecture": plan.abi.debian or "",
        "Maintainer": plan.package.maintainer,
        "Installed-Size": str(size),
        "Depends": ", ".join(bundle.depends),
        "Recommends": ", ".join(bundle.recommends),
        "Provides": same,
        "Conflicts": same,
        "Replaces": same,
        "Section": "misc",
        "Priority": "optional",
        "Homepage": plan.package.homepage or "",
    }


def control_text(plan: TargetPlan, package: PackagePlan, fields: dict[str, str]) -> str:
    """A control file: fields with a value, then the description (Debian policy 5.6.13)."""
    lines = [f"{name}: {one_line(value)}" for name, value in fields.items() if value]
    synopsis, extended = description(plan, package)
    return "\n".join([*lines, f"Description: {synopsis}", *(f" {line}" for line in extended)]) + "\n"


def description(plan: TargetPlan, package: PackagePlan) -> tuple[str, list[str]]:
    """A synopsis, and lines of at most 78 characters that say the rest."""
    words = one_line(plan.package.description)
    synopsis = textwrap.shorten(words, _COLUMNS - 1, placeholder=" ...")
    silicon = ", ".join(f"{soc.title} ({soc.id}, Hexagon {soc.arch})" for soc in plan.socs)
    brings = "with" if plan.vendor_libraries == "bundle" else "and for systems that have"
    made_for = f"Made for {silicon}, {brings} the libraries of QAIRT {plan.runtime_set.release.version}."
    place = f"Everything is below /{home(package)}."
    lines = [*textwrap.wrap(words, _COLUMNS - 1), "."] if synopsis != words else []
    return synopsis, lines + textwrap.wrap(f"{made_for} {place}", _COLUMNS - 1, break_on_hyphens=False)


def one_line(value: str) -> str:
    """A value that cannot start another field."""
    return " ".join(value.split())
