"""What Windows calls the processor, read from its registry under Wine. Debian's package is wine64."""

from __future__ import annotations

from pathlib import Path

import pytest
from runner_kit import SOURCES, zig

from packager.store import Store

pytest_plugins = ["runner_kit", "windows_lab"]

KEY = "HKLM\\HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0"
PROGRAM = """
#include <stdio.h>
#include "platform.h"
int main(void)
{
    char name[128] = "", small[8] = "";
    bool told = platform_soc_name(name, sizeof name), fits = platform_soc_name(small, sizeof small);
    printf("%d %d %s", told, fits, told ? name : "");
    return 0;
}
"""


@pytest.fixture(scope="module")
def folder(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("windows")
    (folder / "name.c").write_text(PROGRAM)
    units = ("name.c", SOURCES / "platform_windows.c", SOURCES / "status.c")
    zig(store, folder, "-target", "x86_64-windows-gnu", *units, "-o", "name.exe", "-lshell32", "-ladvapi32")
    return folder


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("Snapdragon(R) X Elite - X1E78100 - Qualcomm(R) Oryon(TM) CPU", "1 0 {}"),
        ("x" * 127, "1 0 {}"),
        ("x" * 128, "0 0 "),
        ("", "0 0 "),
    ],
)
def test_the_processors_name_is_that_of_the_registry_if_it_fits(folder, wine, value, answer):
    # The key lives in memory, so that all is done in one session.
    steps = f'reg add {KEY} /v ProcessorNameString /d "{value}" /f >nul && name.exe'
    (folder / "steps.bat").write_text(f"@{steps}\r\n")

    done = wine.run("cmd", "/c", "steps.bat", cwd=folder)

    assert done.stdout.strip() == answer.format(value).strip(), done.stderr[-2000:]
