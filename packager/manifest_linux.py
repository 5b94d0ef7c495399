"""The manifest's words about a Linux system: device access, a service, folders of the board."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from packager.manifest_words import Word
from packager.model import Frozen

GroupName = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_-]{0,30}$")]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)]
Folder = Annotated[
    str, StringConstraints(pattern=r"^(/[A-Za-z0-9_+-][A-Za-z0-9._+-]*)+$", min_length=1, max_length=200)
]


class Service(Frozen):
    """The runner as a systemd service."""

    arguments: Annotated[tuple[Word, ...], Field(min_length=1)] = Field(
        description="What the runner is called with; its working folder is /var/lib/<name of the package>",
        examples=[["--input", "x=in", "--output", "out"]],
    )
    enable: bool = Field(
        description="Whether the service is started when the package is installed, and with the system",
        examples=[True],
    )
    restart: Literal["no", "on-failure", "always"] = Field(
        description="When systemd starts it again: never, after a failure, or whenever it has ended",
        examples=["on-failure"],
    )
    environment: dict[VariableName, Word] = Field(
        description="Further variables of the service", examples=[{"TZ": "UTC"}]
    )


class LinuxSystem(Frozen):
    """How deb, ipk and rpm packages fit into the system that they are installed on."""

    group: GroupName = Field(
        description="The group that may use the DSP; it is created where it is missing",
        examples=["fastrpc"],
    )
    udev: bool = Field(
        description="Whether the packages bring a udev rule that gives the DSP's device nodes to the group",
        examples=[True],
    )
    board_folders: tuple[Folder, ...] = Field(
        description="Folders of the board in which other programs look for DSP libraries; links to those of "
        "the package are put there, and nothing that is there already is touched",
        examples=[["/usr/share/qcom/qcs6490/Thundercomm/RB3gen2/dsp/cdsp"]],
    )
    service: Service | None = Field(
        default=None,
        description="The runner as a systemd service",
        examples=[{"arguments": ["--input", "x=in", "--output", "out"]}],
    )
