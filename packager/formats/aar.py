"""`aar`: an Android archive, for apps that Gradle builds.

Libraries for the CPU go to `jni/<abi>/`. What the DSP and the runner read as files goes among the assets,
out of which `HexpackRuntime` copies it at the first run: the store refuses apps with ELF files of 4 KiB pages
below `lib/`, and skels are such. (Layout: Android developers, Anatomy of an AAR; schema version 2 of prefab.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import BinaryIO

from packager import android
from packager.bundle import Bundle, BundleFile
from packager.formats.members import Member, planned_name
from packager.formats.zip import write_zip
from packager.layouts import layout_of
from packager.naming import Version
from packager.plan_model import TargetPlan
from packager.templating import fill

MODULE = "hexrun"
_FILE = 0o644
_LEFT_OUT = ("document", "sums")  # they speak of the tree, which is elsewhere here
_METADATA = "META-INF/com/android/build/gradle/aar-metadata.properties"


class Aar:
    """Libraries, assets, one Java class, and the runner's C API as a prefab module."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "aar")

    def places(self, plan: TargetPlan, bundle: Bundle) -> Mapping[str, str]:
        """Where the files of the tree and the parts stand.

        The tree's README and sums are left out, and models that an AI pack of the same target has.
        """
        abi = android.abi_folder(plan.abi)
        parts = {part.path: place for part in bundle.parts if (place := _place_of_part(part, abi))}
        return parts | {
            file.path: _place(plan, file, abi)
            for file in bundle.files
            if file.role not in _LEFT_OUT and not _is_delivered_apart(plan, file)
        }

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the archive. Raises InputUnavailable when a file changed since it was staged."""
        places = self.places(plan, bundle)
        members = [
            Member(places[file.path], _FILE, content=file)
            for file in (*bundle.files, *bundle.parts)
            if file.path in places
        ]
        members += _prefab_libraries(plan, bundle)
        texts = _texts(plan, bundle, places) | _prefab(plan)
        write_zip(
            out,
            [*members, *(Member(path, _FILE, text.encode()) for path, text in texts.items())],
            epoch=epoch,
        )


def _is_delivered_apart(plan: TargetPlan, file: BundleFile) -> bool:
    """Whether the target's AI pack has this model."""
    return file.soc is not None and any(package.format == "aipack" for package in plan.packages)


def _place(plan: TargetPlan, file: BundleFile, abi: str) -> str:
    if file.role == "runner":
        return f"jni/{abi}/{android.installed_name(file.name)}"
    if file.path.startswith(f"{layout_of(plan.system).host}/"):
        return f"jni/{abi}/{file.name}"
    return f"assets/{android.assets(plan.package.name)}/{file.path}"


def _place_of_part(part: BundleFile, abi: str) -> str | None:
    return {
        "runner-library": f"jni/{abi}/{part.name}",
        "header": f"prefab/modules/{MODULE}/include/{part.name}",
        "classes": part.name,
    }.get(part.role)


def _texts(plan: TargetPlan, bundle: Bundle, places: Mapping[str, str]) -> dict[str, str]:
    platform = android.platform()
    words = {
        "plan": plan,
        "java_package": android.java_package(plan.package.name),
        "platform": platform,
        "device_libraries": android.device_libraries(plan),
        "file_name": plan.package_of("aar").file_name,
        "module": MODULE,
    }
    return {
        "AndroidManifest.xml": fill("aar", "AndroidManifest.xml.jinja", **words),
        "R.txt": "",
        "proguard.txt": fill("aar", "proguard.txt.jinja", **words),
        "README.md": fill("aar", "README.md.jinja", **words),
        _METADATA: "aarFormatVersion=1.0\naarMetadataVersion=1.0\n"
        f"minCompileSdk={platform.min_compile_sdk}\n",
        f"assets/{android.assets(plan.package.name)}/index.txt": android.index(
            android.assets_of(bundle, places)
        ),
        f"assets/{android.assets(plan.package.name)}/models.txt": android.index(
            file for file in bundle.files if _is_delivered_apart(plan, file)
        ),
    }


def _prefab(plan: TargetPlan) -> dict[str, str]:
    """The descriptions of a prefab package (schema version 2 of google/prefab)."""
    abi = android.abi_folder(plan.abi)
    version = Version.parse(plan.package.version).base
    package = {"schema_version": 2, "name": MODULE, "version": version, "dependencies": []}
    # No NDK made it, and it takes none of the NDK's C++ libraries.
    made = {"abi": abi, "api": android.platform().min_sdk, "ndk": 0, "stl": "none", "static": False}
    return {
        "prefab/prefab.json": _json(package),
        f"prefab/modules/{MODULE}/module.json": _json({"export_libraries": []}),
        f"{_prefab_folder(abi)}/abi.json": _json(made),
    }


def _prefab_libraries(plan: TargetPlan, bundle: Bundle) -> list[Member]:
    """The library once more: what is linked to is looked for here, what is installed in `jni/`."""
    folder = _prefab_folder(android.abi_folder(plan.abi))
    return [
        Member(f"{folder}/{p.name}", _FILE, content=p) for p in bundle.parts if p.role == "runner-library"
    ]


def _prefab_folder(abi: str) -> str:
    return f"prefab/modules/{MODULE}/libs/android.{abi}"


def _json(document: dict[str, object]) -> str:
    return json.dumps(document, indent=2) + "\n"
