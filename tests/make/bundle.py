"""Bundles and target plans for tests: real values from the real tables, made of bytes given in the test."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from packager import catalog, resources
from packager.bundle import Bundle, BundleFile, BundleLink
from packager.catalog import Abi, RuntimeSet, Soc
from packager.files import Blob
from packager.manifest_formats import FormatSettings
from packager.manifest_model import Model, Package
from packager.manifest_sources import PathSource
from packager.naming import file_name, inner_name, package_stem, version_word
from packager.plan_model import PackagePlan, RuntimePlan, TargetPlan, WantedFile

PACKAGE = Package(
    name="text-direction",
    version="1.2.0",
    vendor="Example Devices",
    license="Apache-2.0",
    description="Tells whether a line of text is upside down",
    maintainer="Release Team <release@example.com>",
)
RUNNABLE = "bin/"
TREE = {
    "README.txt": b"read me\n",
    "bin/hexrun": b"\x7fELF of a runner",
    "dsp/libSkel.so": b"skel" * 300,
    "lib-extra/z": b"",
    "lib/libBackend.so": bytes(range(256)) * 5,
    "share/licenses/terms.txt": b"terms\n",
    "share/models/qcs9075.bin": b"context",
}
_TREE_ROLES = {
    "dsp/libSkel.so": "skel",
    "lib/libBackend.so": "backend",
    "share/licenses/terms.txt": "licence",
}


def bundle_file(
    path: str, content: bytes, tmp_path: Path, *, role: str = "", mode: int | None = None
) -> BundleFile:
    """A staged file with this content; files below `bin/` are executable unless `mode` says otherwise."""
    sha256 = hashlib.sha256(content).hexdigest()
    local = tmp_path / "blobs" / sha256
    local.parent.mkdir(parents=True, exist_ok=True)
    local.write_bytes(content)
    return BundleFile(
        path=path,
        role=role or ("runner" if path.startswith(RUNNABLE) else "document"),
        blob=Blob(sha256=sha256, size=len(content)),
        local=local,
        mode=mode if mode is not None else (0o755 if path.startswith(RUNNABLE) else 0o644),
        origin="made by a test",
    )


def bundle_of(
    content: Mapping[str, bytes],
    tmp_path: Path,
    links: Mapping[str, str] | None = None,
    *,
    roles: Mapping[str, str] | None = None,
    depends: tuple[str, ...] = (),
) -> Bundle:
    """A bundle of these files (path → bytes) and links (path → target), staged below `tmp_path`."""
    return Bundle.of(
        (
            bundle_file(path, data, tmp_path, role=(roles or {}).get(path, ""))
            for path, data in content.items()
        ),
        (BundleLink(path=path, target=target) for path, target in (links or {}).items()),
        depends,
    )


def whole_bundle(tmp_path: Path) -> Bundle:
    """`TREE` and one link: something of everything that a Linux package has."""
    return bundle_of(TREE, tmp_path, {"lib/libBackend.so.1": "libBackend.so"}, roles=_TREE_ROLES)


def target_plan(
    *,
    socs: tuple[str, ...] = ("qcs9075",),
    abi: str = "oe-linux-gcc11.2",
    formats: tuple[str, ...] = ("tar.zst",),
    name: str | None = None,
    precision: str = "float",
    own: Mapping[str, Mapping[str, Any]] | None = None,
    **settings: Any,
) -> TargetPlan:
    """A resolved target for SoCs and an ABI of the tables; `settings` replace those of defaults.toml.

    `own` are settings of package formats, by format: what `[formats.<id>]` says.
    """
    defaults = tomllib.loads(resources.text("manifests", "defaults.toml"))
    chosen = defaults["defaults"] | settings
    binary_interface = catalog.abi(abi)
    assert binary_interface, f"no ABI {abi} in the tables"
    silicon = tuple(catalog.soc(word) for word in socs)
    release = defaults["qairt"]["version"]
    libraries = catalog.runtime_set(release, binary_interface.id)
    assert libraries, f"no runtime set {release} for {binary_interface.id} in the tables"
    stem = package_stem(PACKAGE.name, PACKAGE.version, binary_interface.system, binary_interface.arch, name)
    return TargetPlan(
        label=name or "-".join(socs),
        name=name,
        package=PACKAGE,
        system=binary_interface.system,
        abi=binary_interface,
        socs=silicon,
        precision=precision,
        model=Model(source=PathSource(path="model.onnx"), precision=precision),
        runtime_set=RuntimePlan(
            release=catalog.releases()[release],
            wheel=libraries.wheel,
            platform=libraries.platform,
            python=libraries.python,
            sha256=libraries.sha256,
            root=libraries.root,
            files=_wanted(libraries, binary_interface, silicon, chosen["runtime"]),
            extra=libraries.extra,
            licences=libraries.licences,
        ),
        packages=tuple(
            PackagePlan(
                format=row.id,
                file_name=file_name(
                    stem, row, inner_name(PACKAGE.name, name, row), version_word(PACKAGE.version, row.version)
                ),
                name=inner_name(PACKAGE.name, name, row),
                version=version_word(PACKAGE.version, row.version),
            )
            for row in map(catalog.formats().__getitem__, formats)
        ),
        formats=FormatSettings.model_validate(
            {key: {**said, **(own or {}).get(key, {})} for key, said in defaults["formats"].items()}
        ),
        **chosen,
    )


def _wanted(
    libraries: RuntimeSet, abi: Abi, silicon: tuple[Soc, ...], runtime: str
) -> tuple[WantedFile, ...]:
    archs = sorted({soc.hexagon for soc in silicon if soc.hexagon})
    wanted = []
    for role in catalog.roles():
        for arch in archs if role.per_arch else [None]:
            applies = {
                "always": True,
                "device": not abi.simulator,
                "compose": runtime != "context-binary" and not abi.simulator,
                "catalogue": arch in libraries.catalogues,
                "never": False,
                "unit": False,
            }[role.needed]
            if applies and abi.system in role.files:
                wanted.append(
                    WantedFile(
                        role=role.id,
                        name=role.files[abi.system].format(arch=arch),
                        folder=role.folder,
                        machine=role.machine,
                        arch=arch,
                    )
                )
    return tuple(wanted)
