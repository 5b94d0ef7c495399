"""The app for measuring as native code: its activity, linked to the runner's library. No Java and no dex."""

from __future__ import annotations

import json
import threading

from packager import android, resources
from packager.catalog import Abi
from packager.files import write_text
from packager.manifest_model import Package
from packager.runner import LibraryBuild, RunnerBuild, own_c_library
from packager.runner.compilation import Compilation
from packager.runner.toolchains import compiler_name, toolchain_of
from packager.store import Store, key_of

NAME = "libhexrun_app.so"
_OF_THE_RUNNER = ("hexrun.h", "hexrun_export.h", "json.h", "json.c")
_OWN = ("activity.c", "android_abi.h", "tree.c", "tree.h")


def activity_sources(package: Package) -> dict[str, str]:
    """File name to text, without what the system's own headers are."""
    words = {
        "APP_PACKAGE": package.name,
        "APP_VERSION": package.version,
        "APP_ASSETS": android.assets(package.name),
    }
    return {
        **{name: resources.text("templates", "runner", name) for name in _OF_THE_RUNNER},
        **{name: resources.text("templates", "apk", name) for name in _OWN},
        "words.h": "".join(f"#define {name} {json.dumps(value)}\n" for name, value in words.items()),
    }


def build_activity(
    package: Package, abi: Abi, library: LibraryBuild, store: Store, stop: threading.Event | None = None
) -> RunnerBuild:
    """The activity of a package's app, compiled once and then taken from the store.

    Raises ToolFailed with the compiler's output, and InputUnavailable where there is no compiler.
    """
    chain = toolchain_of(abi)
    linked = chain.model_copy(
        update={
            "shared_flags": ("-shared", f"-soname={NAME}"),
            "libraries": (*chain.libraries, library.file_name),
        }
    )
    sources = activity_sources(package) | own_c_library.sources(linked, "shared")
    flags = [linked.target(abi), *linked.compile_flags("shared", abi), *linked.link_flags("shared")]
    key = key_of(
        {"sources": sources, "flags": flags, "library": library.blob.sha256, "compiler": compiler_name()}
    )
    with store.lock(key):
        known = store.recall_as(RunnerBuild, "activity", key)
        if known and store.intact(known.blob):
            return known
        with store.work() as folder:
            for path, text in sources.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                write_text(folder / path, text)
            (folder / library.file_name).write_bytes(store.path(library.blob.sha256).read_bytes())
            store.hold("zig")  # its cache is in the store
            compilation = Compilation(folder, abi, store, stop or threading.Event())
            units = sorted(path for path in sources if path.endswith(".c") and "/" not in path)
            own_c_library.compile_parts(compilation, linked, "shared", NAME, units)
            built = RunnerBuild(blob=store.add_file(folder / NAME), file_name=NAME, compiler=compiler_name())
        store.record("activity", key, built.model_dump(mode="json"))
    return built
