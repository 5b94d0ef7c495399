"""The manifest's words about libraries that a package does not bring: where the device has them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from packager.model import Frozen

VendorLibraries = Literal["bundle", "require"]
# A folder of the device, which may be a drive of Windows; runner.conf gives a line to each path.
Folder = Annotated[
    str,
    StringConstraints(pattern=r"^(/|[A-Za-z]:/)([^\x00-\x20\x7f\\][^\x00-\x1f\x7f\\]*)?$", max_length=200),
]
# Debian policy 7.1, which dpkg and opkg read; rpm's own spelling is made of it.
Dependency = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-z0-9][a-z0-9+.-]*( \((<<|<=|=|>=|>>) [0-9A-Za-z.+:~-]+\))?$", max_length=200
    ),
]


class Host(Frozen):
    """Where the device keeps the vendor's libraries, and which of its packages bring them."""

    libraries: Folder = Field(
        description="Folder of the device with the libraries for the CPU, absolute, with /",
        examples=["/usr/lib"],
    )
    dsp: Folder | None = Field(
        default=None,
        description="Folder of the device with the libraries for the DSP, absolute, with /; absent: the same "
        "as `libraries`",
        examples=["/usr/lib/dsp/cdsp"],
    )
    depends: tuple[Dependency, ...] | None = Field(
        default=None,
        description="Packages of the device's system that bring them, as Debian writes dependencies; for "
        "deb, ipk and rpm",
        examples=[["qairt-runtime (= 2.51.0)"]],
    )
    recommends: tuple[Dependency, ...] | None = Field(
        default=None,
        description="The same, for packages without which the application can be installed",
        examples=[["qairt-runtime"]],
    )

    @property
    def dsp_folder(self) -> str:
        """Where the DSP's libraries are."""
        return self.dsp or self.libraries
