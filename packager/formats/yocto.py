"""`yocto`: a layer for BitBake with one recipe, which installs the finished files into an image.

The files are in the layer, or the recipe fetches the target's tar.gz package by its digest. Source: BitBake's
and the Yocto Project's reference manuals; field report P5-21 for what their checks say of prebuilt files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, cast

from packager import catalog
from packager.bundle import Bundle, BundleFile
from packager.files import HashingWriter, blocks
from packager.formats.gzip_stream import gzip_stream
from packager.formats.installed import one_line
from packager.formats.members import Member, in_order, members_below, planned_name
from packager.formats.tar_gz import TarGz
from packager.formats.tar_stream import write_tar
from packager.plan_model import PackagePlan, TargetPlan
from packager.templating import fill


class Yocto:
    """`meta-<package>/` with its configuration, a recipe, and the tree beside the recipe."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "yocto")

    def places(self, plan: TargetPlan, bundle: Bundle) -> Mapping[str, str]:
        """Where the files are in the layer; nowhere when the recipe fetches them."""
        if plan.formats.yocto.url:
            return {}
        below = f"{_recipe_folder(plan.package_of('yocto'))}/files/{plan.package.name}"
        return {file.path: f"{below}/{file.path}" for file in bundle.files}

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the layer. Raises InputUnavailable when a file changed since it was staged."""
        package = plan.package_of("yocto")
        folder, words = _recipe_folder(package), _words(plan, package, bundle, epoch)
        epochless = package.version.rpartition(":")[2]
        texts = {
            f"{_layer(package)}/conf/layer.conf": fill("yocto", "layer.conf.jinja", **words),
            f"{_layer(package)}/README.md": fill("yocto", "README.md.jinja", **words),
            f"{folder}/{package.name}_{epochless}.bb": fill("yocto", "recipe.bb.jinja", **words),
        }
        members = [Member(path, 0o644, text.encode()) for path, text in texts.items()]
        if not plan.formats.yocto.url:
            members += members_below(f"{folder}/files/{plan.package.name}", bundle)
        with gzip_stream(out) as stream:
            write_tar(stream, in_order(members, folders=True), epoch=epoch, dialect="pax")


def _layer(package: PackagePlan) -> str:
    return f"meta-{package.name}"


def _recipe_folder(package: PackagePlan) -> str:
    return f"{_layer(package)}/recipes-{package.name}/{package.name}"


def _words(plan: TargetPlan, package: PackagePlan, bundle: Bundle, epoch: int) -> dict[str, Any]:
    """What the texts of the layer are filled with."""
    about, said = plan.package, plan.formats.yocto
    fetched = {"archive": "", "sha256": "", "folder": about.name}
    if said.url:
        fetched = {
            "archive": TarGz().file_name(plan),
            "sha256": _digest_of_tar_gz(plan, bundle, epoch),
            "folder": f"{about.name}-{about.version}",
        }
    runners = [file.path for file in bundle.files if file.role == "runner"]
    return fetched | {
        "plan": plan,
        "name": package.name,
        "file": package.file_name,
        "layer": re.sub(r"[^a-z0-9]", "-", package.name),
        "series": said.series,
        "url": said.url,
        "summary": _quoted(one_line(about.description)),
        "silicon": _quoted(", ".join(soc.title for soc in plan.socs)),
        "qairt": plan.runtime_set.release.version,
        "homepage": _quoted(about.homepage or ""),
        "licence": _licence(about.license),
        "vendor_licence": "QAIRT",
        "licence_files": list(_with_md5(bundle, "licence")),
        "documents": list(_with_md5(bundle, "document")),
        "epoch": package.version.rpartition(":")[0],
        "machine": plan.abi.opkg,
        "machines": [_expression(name) for soc in plan.socs for name in plan.formats.machines[soc.id]],
        "runner": runners[0] if runners else "",
        "command": about.name,
        "depends": [*said.depends, *map(_recipe_name, bundle.opkg_depends)],
    }


def _quoted(words: str) -> str:
    """Text inside the double quotes of a recipe, in which BitBake expands nothing."""
    return words.replace("\\", "/").replace('"', "'").replace("${", "$ {")


def _expression(name: str) -> str:
    """A machine's name inside a regular expression."""
    return name.replace(".", "\\.")


def _licence(expression: str) -> str:
    """An SPDX expression with OpenEmbedded's operators."""
    words = {"AND": "&", "OR": "|"}
    said = re.sub(r"\s+WITH\s+", "-with-", expression)
    return " ".join(words.get(word, word) for word in said.replace("(", "( ").replace(")", " )").split())


def _recipe_name(dependency: str) -> str:
    """A package of an OpenEmbedded image in the words of a recipe; its least version stays."""
    name, _, version = dependency.partition(" ")
    rows = catalog.table("debian")["runtime_package"]
    found = next((str(row["recipe"]) for row in rows if row["opkg"] == name), name)
    return f"{found} {version}".rstrip()


def _with_md5(bundle: Bundle, role: str) -> Iterator[dict[str, str]]:
    """Files of a role with what LIC_FILES_CHKSUM knows them by."""
    for file in bundle.files:
        if file.role == role:
            yield {"path": file.path, "md5": _md5(file)}


def _md5(file: BundleFile) -> str:
    md5 = hashlib.md5(usedforsecurity=False)
    with file.open() as stream:
        for block in blocks(stream):
            md5.update(block)
    return md5.hexdigest()


def _digest_of_tar_gz(plan: TargetPlan, bundle: Bundle, epoch: int) -> str:
    """SHA-256 of the target's tar.gz package, which is made once more and not kept."""
    sink = HashingWriter(cast("BinaryIO", _Nowhere()))
    TarGz().write(plan, bundle, cast("BinaryIO", sink), epoch=epoch)
    return sink.blob.sha256


class _Nowhere:
    """Takes bytes and keeps none."""

    def write(self, data: bytes) -> int:
        return len(data)
