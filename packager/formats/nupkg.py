"""`nupkg`: a NuGet package for C# and C++ programs on Windows.

DLLs, skels and catalogues stand in `runtimes/<rid>/native`, which .NET copies beside the program as it is;
runner.conf, models and the program stand in `hexpack/`, from where MSBuild targets of the package copy them
to the same place. C++ projects get everything by the targets, and hexrun.h with its import library.

The container is an OPC package (ECMA-376 part 2), laid out as NuGet does: relations, types, core properties.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import BinaryIO

from packager import catalog
from packager.bundle import SUPPORT, Bundle, BundleFile
from packager.errors import ManifestError
from packager.formats.members import Member, planned_name
from packager.formats.opc import content_types, part_name
from packager.formats.zip import write_zip
from packager.plan_model import TargetPlan
from packager.templating import fill

_FILE = 0o644
_LEFT_OUT = ("document", "sums")  # they speak of the tree, which is elsewhere here
_RELATIONS = "application/vnd.openxmlformats-package.relationships+xml"
_CORE = "application/vnd.openxmlformats-package.core-properties+xml"
_MANIFEST_RELATION = "http://schemas.microsoft.com/packaging/2010/07/manifest"
_CORE_RELATION = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties"


class Nupkg:
    """A package that `dotnet add package` and Visual Studio take from a feed or a folder."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "nupkg")

    def places(self, plan: TargetPlan, bundle: Bundle) -> Mapping[str, str]:
        """Where the files of the tree and the parts stand; the tree's README and sums are left out."""
        rid = _rid(plan)
        parts = {part.path: place for part in bundle.parts if (place := _place_of_part(part, rid))}
        return parts | {file.path: _place(file, rid) for file in bundle.files if file.role not in _LEFT_OUT}

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the package. Raises InputUnavailable when a file changed since it was staged."""
        places = self.places(plan, bundle)
        members = [
            Member(places[file.path], _FILE, content=file)
            for file in (*bundle.files, *bundle.parts)
            if file.path in places
        ]
        texts = _texts(plan, bundle, places)
        texts |= _container(plan.package_of("nupkg").name, [*places.values(), *texts])
        members += [Member(path, _FILE, text.encode()) for path, text in texts.items()]
        write_zip(out, members, epoch=epoch)


def _rid(plan: TargetPlan) -> str:
    if plan.abi.nuget is None:
        raise ManifestError(
            f"{plan.label}: NuGet has no runtime identifier for ABI {plan.abi.id}",
            fix='remove "nupkg" from the formats of this target',
        )
    return plan.abi.nuget


def _place(file: BundleFile, rid: str) -> str:
    """Vendor files stand flat, as in the tree: NuGet copies no folders below `native`."""
    vendor = {role.id for role in catalog.roles()} | {SUPPORT}
    place = f"runtimes/{rid}/native/{file.name}" if file.role in vendor else f"hexpack/{file.path}"
    return part_name(place)


def _place_of_part(part: BundleFile, rid: str) -> str | None:
    if part.role == "header":
        return f"build/native/include/{part.name}"
    if part.role != "runner-library":
        return None
    if part.name.endswith(".lib"):
        return f"build/native/lib/{_machine(rid)}/{part.name}"
    return f"runtimes/{rid}/native/{part.name}"


def _machine(rid: str) -> str:
    return rid.rpartition("-")[2]


def _texts(plan: TargetPlan, bundle: Bundle, places: Mapping[str, str]) -> dict[str, str]:
    package, rid = plan.package_of("nupkg"), _rid(plan)
    words = {
        "package": plan.package,
        "name": package.name,
        "version": package.version,
        "rid": rid,
        "machine": _machine(rid),
        "platform": plan.abi.msbuild,
        # A property of MSBuild's has no hyphen and is no other package's.
        "prefix": f"Hexpack_{re.sub(r'[^a-z0-9]', '_', package.name)}_",
        "socs": ", ".join(soc.title for soc in plan.socs),
        "qairt": plan.runtime_set.release.version,
        "vendor": plan.vendor_libraries == "bundle",
        "runner": any(file.role == "runner" for file in bundle.files),
        "terms": [places[file.path] for file in bundle.files if file.role == "licence"],
    }

    def filled(template: str) -> str:
        return fill("nupkg", f"{template}.jinja", **words)

    managed = filled("managed.targets")
    return {
        f"{package.name}.nuspec": filled("package.nuspec"),
        "README.md": filled("README.md"),
        "LICENSE.txt": filled("LICENSE.txt"),
        f"build/{package.name}.targets": managed,
        f"buildTransitive/{package.name}.targets": managed,
        f"build/native/{package.name}.targets": filled("native.targets"),
        # Named after its content: NuGet takes a random number, and reads the name from the relations.
        _core_name(core := filled("core.psmdcp")): core,
    }


def _core_name(text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]
    return f"package/services/metadata/core-properties/{digest}.psmdcp"


def _container(name: str, paths: Iterable[str]) -> dict[str, str]:
    """The parts that make a zip an OPC package: which type each file has, and where reading begins."""
    paths = list(paths)
    (core,) = (path for path in paths if path.endswith(".psmdcp"))
    relations = [(_MANIFEST_RELATION, f"{name}.nuspec"), (_CORE_RELATION, core)]
    lines = [
        f'  <Relationship Type="{kind}" Target="/{target}" Id="R{number}" />'
        for number, (kind, target) in enumerate(relations, 1)
    ]
    known = {"rels": _RELATIONS, "psmdcp": _CORE}
    return {
        "_rels/.rels": "\n".join(
            [
                '<?xml version="1.0" encoding="utf-8"?>',
                '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">',
                *lines,
                "</Relationships>\n",
            ]
        ),
        "[Content_Types].xml": content_types(paths, known),
    }
