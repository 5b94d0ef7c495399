"""`apk`: an app without Java that runs the package's model and reports, so that it is measured as an app is.

The shell, and what it starts, are scheduled apart from apps. Its libraries are extracted, skels too: an app
for measuring passes no store. Everything is stored, and libraries begin at multiples of 16 KiB.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

from packager import android
from packager.android.axml import compiled
from packager.android.signature import sign
from packager.bundle import Bundle, BundleFile
from packager.formats.members import Member, planned_name
from packager.formats.zip import write_zip
from packager.layouts import layout_of
from packager.plan_model import TargetPlan
from packager.signing_key import SigningKey
from packager.templating import fill

ACTIVITY = "hexrun_app"
_FILE = 0o644
_LEFT_OUT = ("document", "sums", "runner")
_NATIVE_PARTS = ("runner-library", "activity")
_PAGE, _WORD = 16384, 4  # bytes: what a library and what any other member is aligned to


class Apk:
    """An app that installs with `adb install` and starts with `adb shell am start`."""

    def file_name(self, plan: TargetPlan) -> str:
        """The name in the output folder. Raises ValueError when the plan has no such package."""
        return planned_name(plan, "apk")

    def places(self, plan: TargetPlan, bundle: Bundle) -> Mapping[str, str]:
        """Where the files of the tree and the parts stand; the program, README and sums are left out."""
        folder = f"lib/{android.abi_folder(plan.abi)}"
        parts = {part.path: f"{folder}/{part.name}" for part in bundle.parts if part.role in _NATIVE_PARTS}
        return parts | {
            file.path: _place(plan, file, folder) for file in bundle.files if file.role not in _LEFT_OUT
        }

    def write(self, plan: TargetPlan, bundle: Bundle, out: BinaryIO, *, epoch: int) -> None:
        """Write the app, unsigned. Raises InputUnavailable when a file changed since it was staged."""
        places = self.places(plan, bundle)
        files = [file for file in (*bundle.files, *bundle.parts) if file.path in places]
        texts = {
            "AndroidManifest.xml": compiled(_manifest(plan)),
            f"assets/{android.assets(plan.package.name)}/index.txt": android.index(
                android.assets_of(bundle, places)
            ).encode(),
        }
        members = [Member(places[file.path], _FILE, content=file) for file in files]
        members += [Member(path, _FILE, content) for path, content in texts.items()]
        write_zip(out, members, epoch=epoch, alignment=_alignment)

    def sign(self, apk: BinaryIO, key: SigningKey) -> None:
        """Sign what `write` wrote, by schemes v2 and v3. Raises ManifestError for 4 GiB and more."""
        sign(apk, key, android.platform().min_sdk)


def _place(plan: TargetPlan, file: BundleFile, folder: str) -> str:
    layout = layout_of(plan.system)
    if file.path.startswith((f"{layout.host}/", f"{layout.dsp}/")):
        return f"{folder}/{file.name}"
    return f"assets/{android.assets(plan.package.name)}/{file.path}"


def _alignment(member: Member) -> int:
    return _PAGE if member.path.endswith(".so") else _WORD


def _manifest(plan: TargetPlan) -> str:
    return fill(
        "apk",
        "AndroidManifest.xml.jinja",
        java_package=android.java_package(plan.package.name),
        package=plan.package,
        version_code=plan.package_of("apk").version,
        platform=android.platform(),
        debuggable="false" if plan.signing else "true",
        device_libraries=android.device_libraries(plan),
        activity=ACTIVITY,
    )
