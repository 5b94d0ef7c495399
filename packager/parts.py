"""What some package formats carry beside a target's tree: the runner as a library, its headers, Java classes.

`targets/formats.toml` says which format takes which parts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from packager import android, catalog, resources
from packager.android.activity import build_activity
from packager.android.java import build_classes, find_javac
from packager.bundle import BundleFile
from packager.files import Blob
from packager.layouts import layout_of
from packager.plan_model import TargetPlan
from packager.runner import build_library
from packager.store import Store
from packager.templating import fill

LIBRARY = "runner-library"
HEADER = "header"
CLASSES = "classes"
ACTIVITY = "activity"
_HEADERS = ("hexrun.h", "hexrun_export.h")

_Maker = Callable[[TargetPlan, Store, threading.Event | None], Iterator[BundleFile]]


def require_tools(plan: TargetPlan) -> None:
    """Raises InputUnavailable when a tool for the target's parts is missing, minutes before it is needed."""
    if "java" in _wanted(plan):
        find_javac()


def parts_of(plan: TargetPlan, store: Store, stop: threading.Event | None = None) -> tuple[BundleFile, ...]:
    """The parts that the target's formats take. Raises what building them raises."""
    return tuple(file for part in _wanted(plan) for file in _MAKERS[part](plan, store, stop))


def _wanted(plan: TargetPlan) -> list[str]:
    return sorted({part for package in plan.packages for part in catalog.formats()[package.format].parts})


def _library(plan: TargetPlan, store: Store, stop: threading.Event | None) -> Iterator[BundleFile]:
    built = build_library(plan.abi, store, "shared", stop)
    origin = f"built with {built.compiler}"
    yield _part(store, built.file_name, LIBRARY, built.blob, origin)
    if built.import_blob and built.import_name:
        yield _part(store, built.import_name, LIBRARY, built.import_blob, origin)


def _activity(plan: TargetPlan, store: Store, stop: threading.Event | None) -> Iterator[BundleFile]:
    library = build_library(plan.abi, store, "shared", stop)
    built = build_activity(plan.package, plan.abi, library, store, stop)
    yield _part(store, built.file_name, ACTIVITY, built.blob, f"built with {built.compiler}")


def _headers(_plan: TargetPlan, store: Store, _stop: threading.Event | None) -> Iterator[BundleFile]:
    for name in _HEADERS:
        blob = store.add_blocks([resources.text("templates", "runner", name).encode("utf-8")])
        yield _part(store, name, HEADER, blob, "written by hexpack")


def java_classes(
    plan: TargetPlan, store: Store, _stop: threading.Event | None = None
) -> Iterator[BundleFile]:
    """The jar of an Android archive. Raises as `build_classes`."""
    package = android.java_package(plan.package.name)
    text = fill("aar", "HexpackRuntime.java.jinja", **_words(plan, package))
    built = build_classes({f"{package.replace('.', '/')}/HexpackRuntime.java": text}, store)
    yield _part(store, "classes.jar", CLASSES, built.blob, f"compiled with {built.compiler}")


def _words(plan: TargetPlan, package: str) -> dict[str, object]:
    layout = layout_of(plan.system)
    one = f'"{plan.package.name}.dlc"'
    return {
        "java_package": package,
        "package": plan.package,
        "assets": android.assets(plan.package.name),
        "layout": layout,
        "links": [layout.host],
        "program": android.installed_name("hexrun"),
        "backend": catalog.role_file("backend", plan.system),
        "model": one if plan.asset != "context" else 'soc + ".bin"',
    }


def _part(store: Store, name: str, role: str, blob: Blob, origin: str) -> BundleFile:
    return BundleFile(
        path=f"parts/{name}", role=role, blob=blob, local=store.path(blob.sha256), origin=origin
    )


_MAKERS: Mapping[str, _Maker] = {
    "library": _library,
    "activity": _activity,
    "headers": _headers,
    "java": java_classes,
}
