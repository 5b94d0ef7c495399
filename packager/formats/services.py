"""What a package puts into a Linux system beside its own tree, and the scripts that its manager runs.

All of it is asked for in the manifest's `[targets.linux]`; without that there is neither file nor script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from packager import catalog
from packager.bundle import Bundle
from packager.formats.members import Member
from packager.layouts import required_of
from packager.plan_model import PackagePlan, TargetPlan
from packager.templating import fill

Manager = Literal["deb", "opkg", "rpm"]

_SCRIPTS = {
    "postinst": "Makes the package at home here; may run any number of times.",
    "prerm": "Takes back what postinst did; may run any number of times.",
    "postrm": "Tells the system that the files are gone.",
}
_SEARCH_PATHS = ("ADSP_LIBRARY_PATH", "DSP_LIBRARY_PATH")


def service_members(plan: TargetPlan, package: PackagePlan, bundle: Bundle, home: str) -> list[Member]:
    """Unit, udev rule and the group's declaration, with paths relative to the root of the system.

    `home` is the folder of the package's own tree, relative to that root too.
    """
    linux = plan.linux
    if linux is None:
        return []
    group = "" if plan.abi.simulator else linux.group
    words: dict[str, Any] = {"group": group, "nodes": _nodes(), "name": package.name}
    members = {}
    if linux.service:
        members[unit_path(package)] = fill(
            "linux",
            "service.jinja",
            description=_in_unit(plan.package.description),
            command=[systemd_word(word) for word in (_runner(bundle, home), *linux.service.arguments)],
            environment=[
                systemd_word(f"{k}={v}", variables=True) for k, v in _environment(plan, bundle, home)
            ],
            service=linux.service,
            state=package.name,
            simulator=plan.abi.simulator,
            **words,
        )
    if group and _needs_group(plan):
        members[_sysusers_path(package)] = fill("linux", "sysusers.jinja", **words)
    if group and linux.udev:
        # After the image's own rules, of which FastRPC's begins with 60 or less.
        members[f"usr/lib/udev/rules.d/70-{package.name}.rules"] = fill("linux", "udev.jinja", **words)
    return [Member(path, 0o644, text.encode()) for path, text in members.items()]


def unit_path(package: PackagePlan) -> str:
    """Where the systemd unit of a package is, relative to the root of the system."""
    return f"usr/lib/systemd/system/{package.name}.service"


def scripts(
    plan: TargetPlan, package: PackagePlan, bundle: Bundle, home: str, manager: Manager
) -> dict[str, str]:
    """The maintainer scripts by dpkg's names for them; only those that have something to do.

    They are POSIX shell, may be run twice, and work for an image that is being built as well as here.
    """
    linux = plan.linux
    if linux is None:
        return {}
    words: dict[str, Any] = {
        "manager": manager,
        "name": package.name,
        "group": linux.group if _needs_group(plan) else "",
        "sysusers": _sysusers_path(package).rpartition("/")[2],
        "udev": linux.udev and not plan.abi.simulator,
        "links": _links(plan, bundle),
        "dsp": f"/{home}/{_dsp_folder(bundle)}",
        "service": linux.service,
        "unit": f"{package.name}.service",
        "state": package.name,
    }
    wanted = {
        "postinst": words["group"] or words["links"] or words["service"],
        "prerm": words["links"] or words["service"],
        "postrm": words["udev"] or words["service"],
    }
    return {
        name: fill("linux", "head.jinja", what=what, manager=manager)
        + fill("linux", f"{name}.jinja", **words)
        for name, what in _SCRIPTS.items()
        if wanted[name]
    }


def systemd_word(word: str, *, variables: bool = False) -> str:
    """A word of ExecStart= or Environment= in quotes (systemd.service(5), systemd.syntax(7)).

    `%` begins a specifier in both; `$` begins a variable in a command and is plain in an assignment, which
    `variables` says this is.
    """
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped if variables else escaped.replace("$", "$$")}"'


def _in_unit(text: str) -> str:
    # A backslash at the end of a line would join the next one to it.
    return text.replace("%", "%%").replace("\\", "/")


def _needs_group(plan: TargetPlan) -> bool:
    linux = plan.linux
    return linux is not None and not plan.abi.simulator and (linux.udev or linux.service is not None)


def _sysusers_path(package: PackagePlan) -> str:
    return f"usr/lib/sysusers.d/{package.name}.conf"


def _nodes() -> Sequence[dict[str, str]]:
    rows: Sequence[dict[str, str]] = catalog.table("device_nodes")["node"]
    return rows


def _runner(bundle: Bundle, home: str) -> str:
    return next(f"/{home}/{file.path}" for file in bundle.files if file.role == "runner")


def _environment(plan: TargetPlan, bundle: Bundle, home: str) -> list[tuple[str, str]]:
    """The service's variables. FastRPC divides folders by `;`, which only quotes keep together elsewhere."""
    service = plan.linux.service if plan.linux else None
    named = dict(service.environment) if service else {}
    if not plan.abi.simulator:
        for variable in _SEARCH_PATHS:
            named.setdefault(variable, _searched(plan, bundle, home))
    return sorted(named.items())


def _searched(plan: TargetPlan, bundle: Bundle, home: str) -> str:
    """Where the DSP's libraries are: in the package, or where the manifest says that the device has them."""
    on_device = required_of(plan)
    return on_device.dsp_folder if on_device else f"/{home}/{_dsp_folder(bundle)}"


def _dsp_files(bundle: Bundle) -> list[tuple[str, str]]:
    """(folder, name) of what the DSP loads."""
    roles = {role.id for role in catalog.roles() if role.machine == "hexagon"}
    return [(f.path.rpartition("/")[0], f.name) for f in bundle.files if f.role in roles]


def _dsp_folder(bundle: Bundle) -> str:
    return next((folder for folder, _ in _dsp_files(bundle)), "dsp")


def _links(plan: TargetPlan, bundle: Bundle) -> list[tuple[str, str]]:
    """(folder of the board, file name) of each link that the manifest asks for."""
    folders = plan.linux.board_folders if plan.linux else ()
    return [(folder, name) for folder in folders for _, name in _dsp_files(bundle)]
