"""QNN context binaries: a model compiled for one Hexagon architecture.

The vendor's own QnnSystem library is the authority on what such a file says. It is asked in a process of
its own, because a malformed file must not take hexpack down.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from packager import catalog
from packager.errors import UnreadableFile
from packager.facts import context_head, qnn_metadata, qnn_system
from packager.facts.part import Part
from packager.facts.reading import opened
from packager.facts.types import ContextFacts, TensorFacts

_SECONDS = 60
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "PATH", "SYSTEMROOT")


def read_context(path: Path, system_library: Path | None = None, part: Part | None = None) -> ContextFacts:
    """What a context binary says: the release that made it, the SoC it is for, its graphs and tensors.

    `system_library` is a QnnSystem library for this host, not older than the release that made the file;
    by default the one that comes with onnxruntime-qnn. Where there is none that this host can load, the
    head of the file is read without it, and `authority` says so. `part` is where in the file the context
    lies, by default the whole file.

    Raises UnreadableFile with the library's error code when it refuses the file.
    """
    with opened(path):
        library = system_library or _installed_library()
    answer: dict[str, Any] = _ask(path, library, part) if library else {"unloadable": "there is none"}
    if "unloadable" in answer:
        return context_head.read_head(path, part)
    if "context" in answer:
        return _facts(answer["context"])
    raise _refusal(path, answer, part)


def _installed_library() -> Path | None:
    """The QnnSystem library in the onnxruntime-qnn package, which is found but not imported."""
    system = {"linux": "linux", "win32": "windows"}.get(sys.platform)
    names = next(role.files for role in catalog.roles() if role.id == "system")
    package = importlib.util.find_spec("onnxruntime_qnn")
    if system is None or package is None or not package.submodule_search_locations:
        return None
    library = Path(package.submodule_search_locations[0], names[system])
    return library if library.is_file() else None


def _ask(path: Path, library: Path, part: Part | None) -> dict[str, Any]:
    """The document that the process prints about the file, or how the process ended."""
    # Isolated, because the folder of the script holds modules with names of the standard library; and
    # without site-packages, because that is faster.
    command = [
        sys.executable,
        "-I",
        "-S",
        qnn_system.__file__,
        str(path.absolute()),
        str(library.absolute()),
        *(map(str, part) if part else ()),
    ]
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"died": f"did not answer within {_SECONDS} seconds"}
    if ended.returncode:
        return {"died": f"ended with status {ended.returncode}"}
    try:
        answer: dict[str, Any] = json.loads(ended.stdout)
    except ValueError:
        return {"died": "ended without an answer"}
    return answer


def _refusal(path: Path, answer: dict[str, Any], part: Part | None) -> UnreadableFile:
    """Why there are no facts, with the place where the file is too short, if it is."""
    reason, hint = f"the QnnSystem library {answer.get('died')} on this file", ""
    if "implausible" in answer:
        reason = f"the QnnSystem library read nonsense: {answer['implausible']}"
    elif "refused" in answer:
        reason = f"{answer['refused']['call']} returned {answer['refused']['code']}"
        hint = "; a library older than the file would refuse it too"
    try:
        context_head.check_extent(path, part)
    except UnreadableFile as damage:
        return UnreadableFile(path, damage.offset, f"{reason}: {damage.reason}")
    return UnreadableFile(path, part.offset if part else 0, reason + hint)


def _facts(context: dict[str, Any]) -> ContextFacts:
    backend = context["backend_id"]
    return ContextFacts(
        authority="libQnnSystem",
        backend_id=backend,
        qairt_build=context["qairt_build"],
        core_api=context["core_api"],
        backend_api=context["backend_api"],
        blob_version=context["blob_version"],
        soc_model=context["soc_model"],
        hexagon_arch=qnn_metadata.hexagon_arch(backend, bytes.fromhex(context["metadata"])),
        graphs=tuple(
            qnn_metadata.graph_facts(
                backend,
                graph["name"],
                tuple(map(_tensor, graph["inputs"])),
                tuple(map(_tensor, graph["outputs"])),
                bytes.fromhex(graph["record"]),
            )
            for graph in context["graphs"]
        ),
    )


def _tensor(tensor: dict[str, Any]) -> TensorFacts:
    return TensorFacts(**{**tensor, "dtype": qnn_metadata.dtype_word(tensor["dtype"])})
