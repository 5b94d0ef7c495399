"""A target for Windows with its whole bundle: small genuine PE and ELF files where a package has large ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from packager import catalog, parts, resources
from packager.bundle import Bundle, BundleFile
from packager.layouts import documents, layout_of
from packager.plan_model import TargetPlan
from tests.make.bundle import bundle_file, target_plan
from tests.make.elf import hexagon_skel
from tests.make.pe import dll

ARCH = 73


def windows_plan(*formats: str, **settings: Any) -> TargetPlan:
    """A target for one laptop."""
    return target_plan(socs=("x-elite",), abi="windows-arm64", formats=formats, **settings)


def windows_bundle(plan: TargetPlan, tmp_path: Path) -> Bundle:
    """Program, libraries, skel and catalogue in the top folder, texts, a model, and the parts of a NuGet package."""
    layout = layout_of("windows")
    name = {
        role: catalog.role_file(role, "windows", ARCH)
        for role in ("backend", "system", "stub", "skel", "catalogue")
    }
    contents: list[tuple[str, str, bytes, str]] = [
        ("runner", "hexrun.exe", dll(), "runner"),
        ("host", name["backend"], dll(), "backend"),
        ("host", name["system"], dll(), "system"),
        ("host", name["stub"], dll(), "stub"),
        ("dsp", name["skel"], hexagon_skel(ARCH), "skel"),
        ("dsp", name["catalogue"], b"\x30\x82 catalogue", "catalogue"),
        ("config", "runner.conf", b"format 2\n", "runner-config"),
        ("models", "sc8380xp.bin", b"context" * 20_000, "context"),
        ("htp", "sc8380xp.json", b"{}\n", "htp-config"),
        ("licences", "Qualcomm_LICENSE.pdf", b"%PDF-1.4 licence", "licence"),
    ]  # fmt: skip
    files = [
        bundle_file(layout.path(place, name), data, tmp_path, role=role)  # type: ignore[arg-type]
        for place, name, data, role in contents
    ]
    texts = {"README.txt": documents.readme(plan, files), "SHA256SUMS": documents.sums(files, layout)}
    roles = {"SHA256SUMS": "sums", "README.txt": "document"}
    files += [bundle_file(name, text.encode(), tmp_path, role=roles[name]) for name, text in texts.items()]
    return Bundle.of(files).model_copy(update={"parts": _parts(tmp_path)})


def _parts(tmp_path: Path) -> tuple[BundleFile, ...]:
    header = resources.text("templates", "runner", "hexrun.h").encode()
    return (
        bundle_file("parts/hexrun.dll", dll(exports=("hexrun_open",)), tmp_path, role=parts.LIBRARY),
        bundle_file("parts/hexrun.lib", b"!<arch>\n", tmp_path, role=parts.LIBRARY),
        bundle_file("parts/hexrun.h", header, tmp_path, role=parts.HEADER),
    )
