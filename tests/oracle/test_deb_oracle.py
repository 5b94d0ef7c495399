"""dpkg and lintian judge our deb."""

from __future__ import annotations

import itertools

import pytest

from packager.naming import version_word
from tests.make.bundle import bundle_of, target_plan
from tests.make.elf import hexagon_skel

LONG = "share/" + "/".join(["Ordner-für-Modelle-" + "x" * 40] * 5) + "/modell.bin"
TREE = {
    "README.txt": b"read me\n",
    "bin/hexrun": b"#!/bin/sh\nexit 0\n",
    "share/models/qcs9075.bin": bytes(range(256)) * 40,
    "share/runner.conf": b"a = 1\n",
}
PLAN = target_plan(formats=("deb",))

VERSIONS = [
    "0.9",
    "1.0a1",
    "1.0-alpha.2",
    "1.0.b1",
    "1.0beta2",
    "1.0-beta10",
    "1.0rc1",
    "1.0-rc2",
    "1.0",
    "1.0.1",
    "1.1",
]


def test_dpkg_reads_the_control_file(tool, write, tmp_path):
    package = write("deb", PLAN, bundle_of(TREE, tmp_path, depends=("libc6 (>= 2.17)",)))

    fields = tool("dpkg-deb")("--field", package)

    assert "Package: text-direction\nVersion: 1.2.0\nArchitecture: arm64\n" in fields
    assert "Depends: libc6 (>= 2.17)\n" in fields


def test_dpkg_lists_owner_mode_and_time(tool, write, tmp_path):
    package = write("deb", PLAN, bundle_of(TREE, tmp_path))

    listing = [line.split(maxsplit=5) for line in tool("dpkg-deb")("--contents", package).splitlines()]

    assert {(owner, f"{day} {time}") for _, owner, _, day, time, _ in listing} == {
        ("root/root", "2023-11-14 22:13")
    }
    assert [
        "lrwxrwxrwx", "root/root", "0", "2023-11-14", "22:13",
        "./usr/bin/text-direction -> ../lib/text-direction/bin/hexrun",
    ] in listing  # fmt: skip


def test_dpkg_unpacks_every_byte_of_long_and_foreign_names(tool, write, tmp_path):
    tree = {**TREE, LONG: b"deep"}
    package = write("deb", PLAN, bundle_of(tree, tmp_path))

    tool("dpkg-deb")("--extract", package, tmp_path / "root")

    top = tmp_path / "root/usr/lib/text-direction"
    assert {path: (top / path).read_bytes() for path in tree} == tree
    assert (tmp_path / "root/usr/bin/text-direction").resolve() == (top / "bin/hexrun").resolve()


def test_md5sum_agrees_with_the_md5sums_file(tool, write, tmp_path):
    package = write("deb", PLAN, bundle_of({**TREE, LONG: b"deep"}, tmp_path))

    tool("dpkg-deb")("--raw-extract", package, tmp_path / "root")
    checked = tool("env")("-C", tmp_path / "root", "md5sum", "--check", "--strict", "DEBIAN/md5sums")

    assert checked.count(": OK") == len(checked.splitlines()) == 5 + 4


@pytest.mark.parametrize(("older", "newer"), [*itertools.pairwise(VERSIONS)])
def test_dpkg_sorts_versions_as_people_mean_them(tool, older, newer):
    tool("dpkg")("--compare-versions", version_word(older, "debian"), "lt", version_word(newer, "debian"))


def test_lintian_has_nothing_to_say(tool, write, tmp_path):
    package = write("deb", PLAN, bundle_of(TREE, tmp_path))

    said = tool("lintian")("--allow-root", "--no-cfg", "--tag-display-limit", "0", package)

    assert said == ""


SKEL = "dsp/libQnnHtpV73Skel.so"


@pytest.mark.parametrize(
    ("role", "tags"),
    [
        ("skel", []),
        (
            "document",
            [
                "binary-from-other-architecture",
                "library-not-linked-against-libc",
                "shared-library-lacks-stack-section",
            ],
        ),
    ],
)
def test_lintian_accepts_dsp_code_because_of_its_overrides(tool, write, tmp_path, role, tags):
    tree = {**TREE, SKEL: hexagon_skel(73)}
    bundle = bundle_of(tree, tmp_path, roles={SKEL: role}, depends=("libc6 (>= 2.34)",))
    package = write("deb", PLAN, bundle)

    # The tiny skel has no RELRO segment; real ones have.
    said = tool("lintian")(
        "--allow-root", "--no-cfg", "--fail-on", "none", "--suppress-tags", "hardening-no-relro", package
    )

    assert [line.split()[2] for line in said.splitlines()] == tags


def test_man_renders_the_manual_page_without_a_warning(tool, write, tmp_path):
    package = write("deb", PLAN, bundle_of(TREE, tmp_path))
    tool("dpkg-deb")("--extract", package, tmp_path / "root")

    text = tool("man")("--warnings", "--local-file", tmp_path / "root/usr/share/man/man1/text-direction.1.gz")

    assert "text-direction - Tells whether a line of text is upside down" in text
    assert "warning" not in text
