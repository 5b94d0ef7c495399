"""What packages for Android have in common: names, what they ask of a device, where libraries go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packager import catalog
from packager.bundle import Bundle, BundleFile
from packager.catalog import Abi
from packager.errors import ManifestError
from packager.model import Frozen
from packager.plan_model import TargetPlan

MODELS = "hexpack_models"  # folder of the models in an AI pack


class Platform(Frozen):
    """API levels, as the head of their table in `targets/android.toml` explains them."""

    min_sdk: int
    target_sdk: int
    min_compile_sdk: int
    source: str


def platform() -> Platform:
    """What packages ask of Android."""
    return Platform.model_validate(catalog.table("android")["app"])


def java_package(name: str) -> str:
    """The Java package and application id of a manifest's package: `hexpack.text_direction`.

    Each has its own, because an app can use the archives of several.
    """
    word = name.replace("-", "_")
    return f"hexpack.{word}_" if word in catalog.table("android")["java"]["reserved"] else f"hexpack.{word}"


def assets(name: str) -> str:
    """The folder below `assets/` of a manifest's package."""
    return f"hexpack/{name}"


def abi_folder(abi: Abi) -> str:
    """The folder below `lib/` or `jni/` for libraries of an ABI.

    Raises ManifestError where Android has none.
    """
    for row in catalog.table("android")["abi"]:
        if row["machine"] == abi.machine:
            return str(row["folder"])
    raise ManifestError(f"Android has no folder for libraries of ABI {abi.id}", fix="choose another abi")


def device_libraries(plan: TargetPlan) -> tuple[str, ...]:
    """The libraries of the device that an app has to declare for the target's compute units."""
    rows = catalog.table("android")["device_library"]
    return tuple(str(row["name"]) for row in rows if row["compute"] in plan.compute)


def installed_name(program: str) -> str:
    """What a program must be called for Android to install it: only `lib*.so` leaves the APK."""
    return f"lib{program}_program.so"


def index(files: Iterable[BundleFile]) -> str:
    """What is copied out of the assets at the first run: digest, size and path in the tree, a line each."""
    return "".join(f"{file.blob.sha256} {file.blob.size} {file.path}\n" for file in files)


def assets_of(bundle: Bundle, places: Mapping[str, str]) -> tuple[BundleFile, ...]:
    """The files of a bundle that stand among a package's assets; `places` says where each stands."""
    return tuple(file for file in bundle.files if places.get(file.path, "").startswith("assets/"))
