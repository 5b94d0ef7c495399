"""`hexrun --doctor` on Windows: driver and its version, runtime of the driver, catalogue, transport.

The x86-64 build runs under Wine, whose registry is given what the NPU driver's installer writes; the backend is
the stand-in, stub, skel and catalogue are those of QAIRT for Windows on Arm. Debian's package is wine64.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from runner_kit import HERE, Ran, compiled, configure, zig
from runtimes import everything
from windows_lab import Wine

from packager.store import Store

pytest_plugins = ["runner_kit", "windows_lab"]

X_ELITE = "variant soc=sc8380xp soc_model=60 accepts=- hexagon={hexagon} vtcm_mb=8 linux_soc_ids=- context=model.bin"
STORE_FOLDER = "System32/DriverStore/FileRepository/qcnspmcdm8380.inf_arm64_0123456789abcdef"
IMAGE = "\\SystemRoot\\" + STORE_FOLDER.replace("/", "\\") + "\\qcnspmcdm8380.sys"
SERVICE, DEVICE, DRIVER = (
    "qcnspmcdm",
    "ACPI\\QCOM0D0A\\2&daba3ff&0",
    "{f01a9d53-3ff6-48d2-9f97-c8a7004be10c}\\0000",
)
REGISTRY = {
    f"Services\\{SERVICE}": ("ImagePath", IMAGE),
    f"Services\\{SERVICE}\\Enum": ("0", DEVICE),
    f"Enum\\{DEVICE}": ("Driver", DRIVER),
    f"Control\\Class\\{DRIVER}": ("DriverVersion", "30.0.143.0"),
}


class Driver:
    """The NPU driver, as far as it is in the registry."""

    def __init__(self, wine: Wine, folder: Path) -> None:
        self._wine, self._folder = wine, folder

    def register(self) -> None:
        """Write what the driver's installer writes."""
        lines = ["Windows Registry Editor Version 5.00"]
        for key, (name, value) in REGISTRY.items():
            escaped = value.replace("\\", "\\\\")
            lines += [f"[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\{key}]", f'"{name}"="{escaped}"']
        (self._folder / "driver.reg").write_text("\r\n".join([*lines, ""]))
        assert self._wine.run("reg", "import", f"Z:{self._folder}/driver.reg").returncode == 0

    def forget(self) -> None:
        key = f"HKLM\\SYSTEM\\CurrentControlSet\\Services\\{SERVICE}"
        assert self._wine.run("reg", "delete", key, "/f").returncode == 0


@pytest.fixture(scope="module")
def driver(wine: Wine, tmp_path_factory: pytest.TempPathFactory) -> Driver:
    driver = Driver(wine, tmp_path_factory.mktemp("driver"))
    driver.register()
    return driver


@pytest.fixture(scope="module")
def programs(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with hexrun.exe and the stand-in as QnnHtp.dll, for x86-64."""
    folder = tmp_path_factory.mktemp("windows")
    shutil.copyfile(compiled(store, "windows-x86_64")[1], folder / "hexrun.exe")
    zig(
        store, folder, "-target", "x86_64-windows-gnu", "-shared", "-o", "QnnHtp.dll", HERE / "stand_in_qnn.c"
    )
    return folder


class Computer:
    """A package in one folder, as Windows wants it, and the driver store beside it."""

    def __init__(self, folder: Path, wine: Wine, programs: Path, store: Store) -> None:
        self.package, self.windows, self._wine = folder / "package", folder / "windows", wine
        shutil.copytree(programs, self.package)
        for name, path in everything(store, "windows-arm64").items():
            if name.lower() in ("qnnhtpv73stub.dll", "libqnnhtpv73skel.so", "libqnnhtpv73.cat"):
                shutil.copy(path, self.package / name)
        (self.package / "model.bin").write_text("the model")
        self.configure(73)
        # Any library with a version stands for the driver's.
        for name in ("HTP/HtpUsrDrv.dll", "libcdsprpc.dll"):
            place = self.windows / STORE_FOLDER / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(wine.system / "version.dll", place)

    def configure(self, hexagon: int) -> None:
        names = {"backend": "QnnHtp.dll", "system": "QnnHtp.dll", "simulator": "no", "dsp": "."}
        configure(self.package, X_ELITE.format(hexagon=hexagon), **names)

    def examine(self, **settings: object) -> Any:
        told = {"STAND_IN_SOC": "60", "STAND_IN_ARCH": "73", "HEXRUN_DOCTOR_ROOT": f"Z:{self.windows}"}
        told |= {f"STAND_IN_{key}": str(value) for key, value in settings.items()}
        ran = Ran(self._wine.run(self.package / "hexrun.exe", "--doctor", "--json", **told))
        assert ran.document["exit"] == ran.code
        return ran.document

    def step(self, name: str, **settings: object) -> Any:
        return next(step for step in self.examine(**settings)["steps"] if step["step"] == name)


@pytest.fixture
def computer(tmp_path: Path, wine: Wine, driver: Driver, programs: Path, store: Store) -> Computer:
    return Computer(tmp_path, wine, programs, store)


def test_on_a_computer_in_order_nothing_fails(computer):
    said = computer.examine()

    verdicts = {step["step"]: step["verdict"] for step in said["steps"]}
    assert said["system"] == "windows"
    assert said["first_failure"] is None
    assert [name for name, verdict in verdicts.items() if verdict == "ok"] == [
        "package", "driver", "stub", "skel", "catalogue", "transport", "backend", "device", "soc", "context",
    ]  # fmt: skip
    assert set(verdicts.values()) == {"ok", "not applicable"}


def test_the_versions_of_the_driver_and_of_its_runtime_are_told(computer):
    found = "\n".join(computer.step("driver")["found"])

    assert "service qcnspmcdm, driver version 30.0.143.0" in found
    assert "qcnspmcdm8380.inf_arm64_0123456789abcdef" in found
    assert "runtime of the driver (HNRD): 5." in found or "runtime of the driver (HNRD): 10." in found


def test_a_driver_without_a_runtime_of_its_own(computer):
    shutil.rmtree(computer.windows / STORE_FOLDER / "HTP")

    assert "runtime of the driver (HNRD): none" in computer.step("driver")["found"]


def test_a_computer_without_the_driver(computer, driver):
    driver.forget()

    said = computer.examine(DEVICE_ERROR=14001)
    driver.register()

    assert (said["exit"], said["first_failure"]) == (3, "driver")
    assert next(step for step in said["steps"] if step["step"] == "transport")["verdict"] == "failed"


def test_a_skel_without_its_catalogue(computer):
    (computer.package / "libqnnhtpv73.cat").unlink()

    step = computer.step("catalogue", DEVICE_ERROR=14001)

    assert (step["verdict"], step["exit"], step["wanted"]) == (
        "failed",
        3,
        "libqnnhtpv73.cat beside the skel",
    )


def test_a_catalogue_that_somebody_else_signed(computer):
    place = computer.package / "libqnnhtpv73.cat"
    place.write_bytes(
        place.read_bytes().replace(b"Windows Hardware Compatibility", b"windows hardware compatibility")
    )

    step = computer.step("catalogue", DEVICE_ERROR=14001)

    assert (step["verdict"], step["exit"]) == ("failed", 1)
    assert step["wanted"].endswith("Microsoft Windows Hardware Compatibility Publisher")


def test_an_architecture_that_has_no_catalogue_needs_none(computer):
    computer.configure(68)

    step = computer.step("catalogue", DEVICE_ERROR=14001)

    assert (step["verdict"], step["found"]) == ("ok", ["Hexagon v68 has none"])


def test_a_driver_whose_transport_library_is_broken(computer):
    (computer.windows / STORE_FOLDER / "libcdsprpc.dll").write_text("no library")

    said = computer.examine(DEVICE_ERROR=14001)

    assert (said["exit"], said["first_failure"]) == (3, "transport")
