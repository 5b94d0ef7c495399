"""What the plan asks of a target's `linux`."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from packager import catalog
from packager.manifest_model import Target

_Add = Callable[[tuple[str | int, ...], str, str], None]


def refuse_linux(target: Target, at: tuple[str | int, ...], add: _Add) -> None:
    """Tell `add` of every word that could have no effect, and of folders that no board searches."""
    linux = target.linux
    if linux is None:
        return
    if target.os != "linux":
        add((*at, "linux"), f"{target.os} has no use for these words", "remove the section from this target")
        return
    fitting = [row.id for row in catalog.formats().values() if row.into_system]
    if not set(target.formats) & set(fitting):
        add(
            (*at, "linux"),
            "none of these formats puts files into the system",
            f"add a format that is installed: {', '.join(fitting)}",
        )
    known = [row["folder"] for row in catalog.table("drivers")["firmware_folder"] if row["system"] == "linux"]
    for position, folder in enumerate(linux.board_folders):
        if not any(fnmatchcase(folder[1:], pattern + end) for pattern in known for end in ("", "/cdsp*")):
            places = ", ".join(f"/{pattern}/cdsp" if "*" in pattern else f"/{pattern}" for pattern in known)
            add(
                (*at, "linux", "board_folders", position),
                f"no board looks for DSP libraries in {folder}",
                f"boards look in {places}",
            )
