"""`aipack`: models as a module for Gradle, of which Google Play delivers to each device the one for its SoC.

A pack has models alone; libraries and the runner are in the `aar` of the same target, which then has none.
(Source: Android developers, Play for On-device AI.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO

from packager import android, catalog
from packager.bundle import Bundle
from packager.errors import ManifestError
from packager.formats.members import Member, planned_name
from packager.formats.zip import write_zip
from packager.plan_model import TargetPlan
from packager.templating import fill

_FILE = 0o644
_TARGETING = "device_targeting_configuration.xml"


class AiPack:
    """A zip with the module, the device groups and a README with the lines for the app's Gradle files."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "aipack")

    def places(self, plan: TargetPlan, bundle: Bundle) -> Mapping[str, str]:
        """Where the models stand; nothing else is in the module."""
        assets = f"{_root(plan)}/{_pack(plan)}/src/main/assets/{android.MODELS}"
        return {
            file.path: f"{assets}#group_{_group(file.soc)}/{file.name}" for file in bundle.files if file.soc
        }

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the zip.

        Raises InputUnavailable when a file changed since it was staged, ManifestError where no model is for
        one SoC.
        """
        places = self.places(plan, bundle)
        if not places:
            raise ManifestError(
                "an AI pack holds one model for each SoC, and this target has none",
                evidence=(f"runtime is {plan.runtime}",),
                fix='write runtime = "context-binary", or take "aipack" out of the formats',
            )
        members = [
            Member(places[file.path], _FILE, content=file) for file in bundle.files if file.path in places
        ]
        members += [
            Member(f"{_root(plan)}/{path}", _FILE, text.encode()) for path, text in _texts(plan).items()
        ]
        write_zip(out, members, epoch=epoch)


def _root(plan: TargetPlan) -> str:
    return f"{plan.package.name}-{plan.package.version}"


def _pack(plan: TargetPlan) -> str:
    """A pack's name has letters, digits and underscores."""
    return f"{plan.package.name.replace('-', '_')}_models"


def _group(soc: str | None) -> str:
    return (soc or "").replace("-", "_")


def _texts(plan: TargetPlan) -> dict[str, str]:
    archives = [package.file_name for package in plan.packages if package.format == "aar"]
    words: dict[str, Any] = {
        "plan": plan,
        "pack": _pack(plan),
        "folder": android.MODELS,
        "groups": [{"name": _group(soc.id), "chips": soc.chips} for soc in plan.socs],
        "manufacturers": catalog.table("android")["play"]["manufacturers"],
        "archive": archives[0] if archives else None,
    }
    return {
        "README.md": fill("aipack", "README.md.jinja", **words),
        _TARGETING: fill("aipack", f"{_TARGETING}.jinja", **words),
        f"{_pack(plan)}/build.gradle.kts": fill("aipack", "build.gradle.kts.jinja", **words),
    }
