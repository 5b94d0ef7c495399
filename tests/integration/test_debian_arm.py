"""The example's deb on a Debian for Arm: installed by its dpkg, run, and removed without a trace."""

from __future__ import annotations

import json
import re
import shutil

from debian_arm import DebianArm, require_tools

PACKAGE = "text-direction-1.0.0-linux-arm64-qcs9075.deb"
NAME = "text-direction-qcs9075"


def test_the_example_is_installed_explains_that_there_is_no_dsp_and_is_removed(built, tmp_path):
    require_tools()
    system = DebianArm(tmp_path / "root")
    before = system.files()
    shutil.copy2(built[0] / PACKAGE, system.root / "tmp")

    # Without a word about --force: libc6, libstdc++6 and libatomic1 of this Debian are new enough.
    system.dpkg("--install", f"/tmp/{PACKAGE}")
    assert "Status: install ok installed" in system.dpkg("--status", NAME)
    assert system.dpkg("--verify", NAME) == ""

    helped = system.run("/usr/bin/text-direction", "--help")
    assert (helped.returncode, helped.stdout.split()[:2]) == (0, ["usage:", "hexrun"])

    doctor = system.run("/usr/bin/text-direction", "--doctor", "--json")
    report = json.loads(doctor.stdout)
    states = {step["step"]: step["verdict"] for step in report["steps"]}
    assert doctor.returncode == 3
    assert (states["package"], states["stub"], states["skel"]) == ("ok", "ok", "ok")
    assert (states["node"], states["driver"], states["transport"]) == ("failed", "failed", "failed")

    told = system.run("/usr/bin/text-direction", "--doctor").stdout
    assert "no device node of a compute DSP" in told
    assert re.search(r"^    fix +install the board's FastRPC library", told, re.MULTILINE)

    system.dpkg("--purge", NAME)
    assert system.files() == before
