"""Which compiler this is, read from the installed packages without importing them."""

from __future__ import annotations

from importlib import metadata

from packager.errors import ToolFailed

PACKAGES = ("onnxruntime", "onnxruntime-qnn", "onnx", "numpy")


def versions() -> dict[str, str]:
    """Versions by package name, for the keys of finished steps; packages not installed are left out."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def need(package: str, *, doing: str) -> None:
    """Raise ToolFailed when `package` is not installed here."""
    if package not in versions():
        raise ToolFailed(
            f"{doing} needs {package}, which is not installed",
            evidence=("there are packages of it for Linux (x86-64 with the simulator, aarch64) and Windows",),
            fix=f"run this on Linux x86-64, or on Windows (`pip install {package}`)",
        )
