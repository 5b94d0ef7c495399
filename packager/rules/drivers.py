"""Files that belong to a driver and not to a package, and packages that mix the two."""

from __future__ import annotations

from collections.abc import Iterable

from packager.rules.core import Case, Said, Severity, rule
from packager.rules.table import driver_files


@rule("HEX208", severity=Severity.ERROR)
def nothing_of_the_driver(case: Case) -> Iterable[Said]:
    """The runtime that comes with a driver is replaced with the driver; a copy of it is not."""
    for examined in case.files:
        driver = next((row.driver for row in driver_files() if row.holds(examined.file.name)), None)
        if driver:
            yield Said(
                file=examined.file.path,
                found=f"a file of the {driver}, in the package",
                wanted="the libraries of a QAIRT release, whose names do not end in Drv",
                fix=f"leave {examined.file.name} out, and take stub and skel from QAIRT",
            )
