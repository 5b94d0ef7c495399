"""A target for Android with its whole bundle: small genuine ELF files where an SDK has large ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from packager import catalog, parts, resources
from packager.bundle import Bundle, BundleFile
from packager.layouts import documents, layout_of
from packager.naming import version_word
from packager.plan_model import PackagePlan, TargetPlan
from packager.store import Store
from tests.make.bundle import PACKAGE, bundle_file, target_plan
from tests.make.elf import elf, hexagon_skel, shared_library
from tests.make.sdk import host_libraries

SOCS = ("sm8650", "sm8550")
ARCHS = (73, 75)


def android_plan(*formats: str, **settings: Any) -> TargetPlan:
    """A target for two SoCs. The tables pin no runtime set for Android, so it is another one's, renamed."""
    rows = [catalog.formats()[word] for word in formats]
    packages = tuple(
        PackagePlan(
            format=row.id,
            file_name=f"{PACKAGE.name}-{PACKAGE.version}-android-arm64{row.extension}",
            name=PACKAGE.name,
            version=version_word(PACKAGE.version, row.version),
        )
        for row in rows
    )
    return target_plan(socs=SOCS, formats=(), **settings).model_copy(
        update={"system": "android", "abi": catalog.abi("android-arm64"), "packages": packages}
    )


def android_bundle(plan: TargetPlan, tmp_path: Path, *, classes: bool = False) -> Bundle:
    """Runner, libraries, skels, contexts and texts in Android's layout, and the parts of an archive."""
    layout = layout_of("android")
    contents: list[tuple[str, str, bytes, str]] = [
        ("runner", "hexrun", elf(machine="AARCH64", interpreter="/system/bin/linker64", needed=("libc.so",), note="Android", alignment=0x4000), "runner"),
        ("config", "runner.conf", b"format 2\n", "runner-config"),
        ("licences", "LICENSE.txt", b"licence\n", "licence"),
        *(("models", f"{soc}.bin", f"context of {soc}".encode() * 999, "context") for soc in SOCS),
        *(("dsp", f"libQnnHtpV{arch}Skel.so", hexagon_skel(arch), "skel") for arch in ARCHS),
        *(("host", name, data, _role(name)) for name, data in host_libraries("android", ARCHS).items()),
    ]  # fmt: skip
    files = [
        bundle_file(
            layout.path(place, name), data, tmp_path, role=role, mode=0o755 if role == "runner" else None
        )  # type: ignore[arg-type]
        for place, name, data, role in contents
    ]
    files = [
        file.model_copy(update={"soc": file.name.removesuffix(".bin")}) if file.role == "context" else file
        for file in files
    ]
    texts = {"README.txt": documents.readme(plan, files), "SHA256SUMS": documents.sums(files, layout)}
    roles = {"SHA256SUMS": "sums", "README.txt": "document"}
    files += [bundle_file(name, text.encode(), tmp_path, role=roles[name]) for name, text in texts.items()]
    return Bundle.of(files).model_copy(update={"parts": _parts(plan, tmp_path, classes=classes)})


def _role(name: str) -> str:
    rows = [row for row in catalog.roles() if not row.per_arch and row.files.get("android") == name]
    return rows[0].id if rows else "stub"


def _parts(plan: TargetPlan, tmp_path: Path, *, classes: bool) -> tuple[BundleFile, ...]:
    library = shared_library(build=None, needed=("libc.so",), soname="libhexrun.so", alignment=0x4000)
    header = resources.text("templates", "runner", "hexrun.h").encode()
    activity = shared_library(
        build=None, needed=("libandroid.so", "libc.so"), soname="libhexrun_app.so", alignment=0x4000
    )
    made = [
        bundle_file("parts/libhexrun_app.so", activity, tmp_path, role="activity"),
        bundle_file("parts/libhexrun.so", library, tmp_path, role=parts.LIBRARY),
        bundle_file("parts/hexrun.h", header, tmp_path, role=parts.HEADER),
    ]
    if classes:
        made += parts.java_classes(plan, Store(tmp_path / "store"))
    return tuple(made)
