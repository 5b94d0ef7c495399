"""BitBake's own parser and oelint-adv judge our layers, and a shell runs what the recipe does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile

import pytest

from tests.make.bundle import TREE, bundle_of, target_plan

MACHINES = {"qcs9075": ("iq-9075-evk", "other.board")}
ROLES = {"share/licenses/terms.txt": "licence", "dsp/libSkel.so": "skel", "lib/libBackend.so": "backend"}
SUMS = "".join(f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in TREE.items())
CONTENT = {**TREE, "SHA256SUMS": SUMS.encode()}

# Parses a recipe and prints variables, as a build would see them.
PARSER = """
import json, sys, types
# The client of servers for hashes, which BitBake's package leaves out and parsing does not need.
for absent in ("hashserv", "hashserv.client"):
    sys.modules[absent] = types.ModuleType(absent)
import bb, bb.data, bb.parse, bb.siggen
recipe, wanted = sys.argv[1], json.loads(sys.argv[2])
d = bb.data.init()
bb.parse.siggen = bb.siggen.init(d)
for name, value in {"WORKDIR": "/w", "D": "/d", "nonarch_libdir": "/usr/lib", "bindir": "/usr/bin",
                    "BPN": "${PN}"}.items():
    d.setVar(name, value)
d.setVar("PN", "${@bb.parse.vars_from_file(d.getVar('FILE'), d)[0]}")
d.setVar("PV", "${@bb.parse.vars_from_file(d.getVar('FILE'), d)[1] or '1.0'}")
d = bb.parse.handle(recipe, d)[""]
values = {name: d.getVar(name) for name in wanted}
values["sha256sum"] = d.getVarFlag("SRC_URI", "sha256sum")
print(json.dumps(values))
"""


def planned(name=None, **yocto):
    return target_plan(formats=("yocto", "tar.gz"), own={"yocto": yocto, "machines": MACHINES}, name=name)


@pytest.fixture
def layer(write, tmp_path):
    """The folder of an unpacked layer."""

    def made(plan, content=CONTENT):
        bundle = bundle_of(content, tmp_path, {"lib/libBackend.so.1": "libBackend.so"}, roles=ROLES)
        bundle = bundle.model_copy(update={"opkg_depends": ("libc6 (>= 2.34)", "libstdc++6 (>= 11)")})
        with tarfile.open(write("yocto", plan, bundle)) as archive:
            archive.extractall(tmp_path / "layers", filter="tar")
        (folder,) = (tmp_path / "layers").iterdir()
        return folder

    return made


def recipe_of(folder):
    (recipe,) = folder.rglob("*.bb")
    return recipe


def parsed(folder, *wanted):
    """Variables of the recipe, by BitBake."""
    run = subprocess.run(
        [sys.executable, "-c", PARSER, recipe_of(folder), json.dumps(wanted)],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def test_bitbake_reads_the_recipe_as_it_is_meant(layer):
    said = parsed(
        layer(planned()), "PN", "PV", "LICENSE", "SRC_URI", "S", "RDEPENDS:text-direction", "COMPATIBLE_MACHINE",
        "INSANE_SKIP:text-direction", "LIC_FILES_CHKSUM",
    )  # fmt: skip

    assert (said["PN"], said["PV"]) == ("text-direction", "1.2.0")
    assert said["SRC_URI"] == "file://text-direction"
    assert said["S"] == "/w/text-direction"
    assert said["LICENSE"] == "Apache-2.0 & QAIRT"
    assert said["RDEPENDS:text-direction"] == "fastrpc glibc (>= 2.34) libstdc++ (>= 11)"
    assert said["COMPATIBLE_MACHINE"] == r"(iq-9075-evk|other\.board)"
    assert "arch" in said["INSANE_SKIP:text-direction"].split()
    md5 = hashlib.md5(TREE["share/licenses/terms.txt"]).hexdigest()
    assert said["LIC_FILES_CHKSUM"].split() == [f"file://share/licenses/terms.txt;md5={md5}"]


def test_the_recipe_may_fetch_the_tar_gz_package_by_its_digest(layer, write, tmp_path):
    plan = planned(name="evk", url="https://downloads.example.com/td")

    folder = layer(plan)
    said = parsed(folder, "SRC_URI", "S", "PN")

    bundle = bundle_of(CONTENT, tmp_path, {"lib/libBackend.so.1": "libBackend.so"}, roles=ROLES)
    package = write("tar.gz", plan, bundle)
    assert said["SRC_URI"] == f"https://downloads.example.com/td/{package.name}"
    assert said["sha256sum"] == hashlib.sha256(package.read_bytes()).hexdigest()
    assert said["PN"] == "text-direction-evk"
    with tarfile.open(package) as archive:
        assert f"/w/{archive.getnames()[0]}" == said["S"]
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == [
        "README.md", "layer.conf", "text-direction-evk_1.2.0.bb",
    ]  # fmt: skip


def run_install(folder, destination):
    """What do_install does, in a shell."""
    code = parsed(folder, "do_install")["do_install"]
    files = recipe_of(folder).parent / "files"
    for before, after in (("/w/", f"{files}/"), ("/d/", f"{destination}/")):
        code = code.replace(before, after)
    return subprocess.run(["sh", "-euc", code], capture_output=True, text=True, check=False)


def test_do_install_puts_every_file_in_its_place(layer, tmp_path):
    run = run_install(layer(planned()), tmp_path / "root")

    top = tmp_path / "root/usr/lib/text-direction"
    assert run.returncode == 0, run.stderr
    assert {path: (top / path).read_bytes() for path in CONTENT} == CONTENT
    assert (top / "bin/hexrun").stat().st_mode & 0o777 == 0o755
    assert (top / "lib/libBackend.so.1").readlink().as_posix() == "libBackend.so"
    assert (tmp_path / "root/usr/bin/text-direction").resolve() == (top / "bin/hexrun").resolve()


def test_do_install_stops_at_a_file_that_is_another(layer, tmp_path):
    folder = layer(planned())
    next(folder.rglob("qcs9075.bin")).write_bytes(b"another context")

    run = run_install(folder, tmp_path / "root")

    assert run.returncode != 0
    assert "qcs9075.bin: FAILED" in run.stdout
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize("release", ["kirkstone", "latest"])
def test_oelint_has_nothing_to_say_but_that_prebuilt_files_skip_checks(tool, layer, release):
    folder = layer(planned())
    # There is no homepage in the test's manifest, and the linter's list lacks SKIP_FILEDEPS of package.bbclass.
    excused = ("insaneskip", "mispell.unknown")

    said = tool("oelint-adv")(
        "--quiet", "--exit-zero", "--jobs", "1", "--relpaths", "--release", release, "--hide", "info",
        *(word for rule in excused for word in ("--suppress", f"oelint.vars.{rule}")),
        "--suppress", "oelint.var.mandatoryvar.HOMEPAGE", "--suppress", "oelint.vars.homepageping",
        recipe_of(folder), folder / "conf/layer.conf",
    )  # fmt: skip

    assert said == ""


def test_the_readme_says_how_the_layer_is_added(layer):
    readme = (layer(planned()) / "README.md").read_text()

    assert "bitbake-layers add-layer meta-text-direction" in readme
    assert 'IMAGE_INSTALL:append = " text-direction"' in readme
