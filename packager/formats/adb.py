"""`adb`: a zip with scripts that put the tree into /data/local/tmp of an Android device; no root needed."""

from __future__ import annotations

from typing import BinaryIO

from packager.bundle import Bundle
from packager.formats.members import Member, members_below, planned_name
from packager.formats.zip import write_zip
from packager.layouts import layout_of
from packager.plan_model import TargetPlan
from packager.templating import fill

_EXECUTABLE = 0o755
_DEVICE = "device"
_RUN = "run.sh"


class Adb:
    """`push.sh` and `push.ps1` for the computer; `device/` with the tree and `run.sh` for the device."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "adb")

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the archive. Raises InputUnavailable when a file changed since it was staged."""
        root = f"{plan.package.name}-{plan.package.version}"
        programs = [file.path for file in bundle.files if file.mode & 0o111]
        words = {
            "package": plan.package,
            "folder": f"/data/local/tmp/{plan.package.name}",
            "programs": [*programs, _RUN],
            "sums": next((file.path for file in bundle.files if file.role == "sums"), None),
            "runner": next(file.path for file in bundle.files if file.role == "runner"),
            "host": layout_of(plan.system).host,
        }
        scripts = {"push.sh": "push.sh", "push.ps1": "push.ps1", f"{_DEVICE}/{_RUN}": _RUN}
        members = [
            Member(f"{root}/{path}", _EXECUTABLE, fill("adb", f"{template}.jinja", **words).encode())
            for path, template in scripts.items()
        ]
        write_zip(out, [*members, *members_below(f"{root}/{_DEVICE}", bundle)], epoch=epoch)
