"""Trees and archives of the shape in which device libraries are published, with small genuine ELF files."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

from packager import catalog
from tests.make.elf import hexagon_skel, shared_library

BUILD = "v2.51.0.260929181845"
_WHEN = (2024, 1, 1, 0, 0, 0)
_C_LIBRARIES = {"android": "libc.so", "qnx": "libc.so.5", "linux": "libc.so.6"}


def host_libraries(system: str, archs: Sequence[int], build: str = BUILD) -> dict[str, bytes]:
    """The libraries that a target of this system links to or opens, by file name."""
    needed = (_C_LIBRARIES[system],)
    names = [catalog.role_file(role, system) for role in ("backend", "system")]
    files = {name: shared_library(build=build, needed=needed, soname=name) for name in names}
    for arch in archs:
        name = catalog.role_file("stub", system, arch)
        files[name] = shared_library(build=build, needed=("libcdsprpc.so", *needed), soname=name)
    return files


def make_sdk(root: Path, toolchains: dict[str, str], archs: Sequence[int] = (73, 75)) -> Path:
    """An SDK with these toolchains, each of a system, and the Hexagon libraries of these architectures."""
    files = {"LICENSE.pdf": b"%PDF-1.4 licence", "NOTICE.txt": b"notices"}
    for toolchain, system in toolchains.items():
        for name, content in host_libraries(system, archs).items():
            files[f"lib/{toolchain}/{name}"] = content
    for arch in archs:
        files[f"lib/hexagon-v{arch}/unsigned/libQnnHtpV{arch}Skel.so"] = hexagon_skel(arch)
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return root


def make_aar(path: Path, archs: Sequence[int] = (73, 75)) -> Path:
    """An Android archive of the runtime: one folder for host and Hexagon libraries."""
    inside = {f"jni/arm64-v8a/{name}": data for name, data in host_libraries("android", archs).items()}
    inside |= {f"jni/arm64-v8a/libQnnHtpV{arch}Skel.so": hexagon_skel(arch) for arch in archs}
    inside |= {"AndroidManifest.xml": b"<manifest/>", "classes.jar": b"PK\5\6" + bytes(18)}
    inside |= {"LICENSE.txt": b"licence of the runtime"}
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in inside.items():
            archive.writestr(zipfile.ZipInfo(name, _WHEN), content, zipfile.ZIP_DEFLATED)
    return path
