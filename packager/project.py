"""`init`: a new project folder from the template, fitted to its SoC."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import as_file
from pathlib import Path

from packager import catalog, resources
from packager.errors import ManifestError, nearest

_NAME = re.compile(r"[a-z][a-z0-9-]*[a-z0-9]")


def create(name: str, soc_word: str | None, system: str | None, parent: Path) -> Path:
    """Write `parent/name/app.toml` and return the folder; None takes the table's default.

    A SoC whose HTP takes no float model gets a quantized precision. Raises ManifestError for a bad
    name, an unknown SoC or system, and a folder that exists.
    """
    # Below cookiecutter's own front end, which reads the user's configuration and writes a replay file.
    from cookiecutter.generate import generate_files

    usual = tomllib.loads(resources.text("manifests", "defaults.toml"))["init"]
    soc_word, system = soc_word or usual["soc"], system or usual["os"]
    if not _NAME.fullmatch(name):
        raise ManifestError(
            f'"{name}" is no package name', fix="use lower-case letters, digits and hyphens, a letter first"
        )
    if (parent / name).exists():
        raise ManifestError(f"{parent / name} exists already", fix="choose another name or folder")
    soc = catalog.soc(soc_word)
    formats = [row.id for row in catalog.formats().values() if row.usual and system in row.systems]
    if not formats:
        ready = sorted({s for row in catalog.formats().values() for s in row.systems})
        close = nearest(system, ready)
        raise ManifestError(
            f'packages for "{system}" are not written by this version',
            evidence=(f'did you mean "{close}"?',) if close else (),
            fix=f"choose one of {', '.join(ready)}",
        )
    values = {
        "name": name,
        "soc": soc.id,
        "os": system,
        "formats": ", ".join(f'"{word}"' for word in formats),
        "precision": "w8a16" if soc.fp16 is False else "float",
        "model": "model.onnx",
    }
    with as_file(resources.folder("templates").joinpath("project")) as template:
        return Path(
            generate_files(
                repo_dir=str(template),
                context={"cookiecutter": values},
                output_dir=str(parent),
                accept_hooks=False,
            )
        )
