"""Whatever a bundle holds, a package gives it back: names, bytes, modes and links."""

from __future__ import annotations

import io
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from packager.bundle import Bundle, BundleLink
from tests.make.bundle import bundle_file, target_plan
from tests.make.unpack import ar_members, deb_part, package_bytes, unzstd

PLAN = target_plan(formats=("tar.zst", "deb", "zip"))
TOP = "text-direction-1.2.0/"
INSTALLED = "./usr/lib/text-direction/"

# Surrogates are no characters, controls have no place in a file name, and : and \ are not portable.
letters = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\\:")
parts = st.text(letters, min_size=1, max_size=80).filter(lambda part: part not in (".", ".."))
paths = st.lists(parts, min_size=1, max_size=6).map("/".join)
contents = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda seed, size: (seed * size)[:size], st.binary(min_size=1), st.integers(0, 70_000)),
)
entries = st.one_of(
    st.tuples(contents, st.sampled_from([0o644, 0o755, 0o600])),
    parts.map(lambda name: f"../{name}"),
)


def without_clashes(tree: dict[str, object]) -> bool:
    """Whether no two paths are one on Windows and none is a folder above another."""
    folded = [path.casefold() for path in tree]
    folders = {path.rsplit("/", depth)[0] for path in folded for depth in range(1, path.count("/") + 1)}
    return len(set(folded)) == len(folded) and folders.isdisjoint(folded)


# Beyond the 100 and 255 bytes of old tar headers.
DEEP = {"/".join(["Ü" * 60] * 6): (b"deep", 0o755), "/".join(["d" * 99] * 4): "../" + "t" * 77}

trees = st.dictionaries(paths, entries, min_size=1, max_size=6).filter(without_clashes)


def staged(tree: dict[str, tuple[bytes, int] | str], folder: str) -> Bundle:
    files = [
        bundle_file(path, entry[0], Path(folder), mode=entry[1])
        for path, entry in tree.items()
        if not isinstance(entry, str)
    ]
    links = [BundleLink(path=path, target=entry) for path, entry in tree.items() if isinstance(entry, str)]
    return Bundle.of(files, links)


def from_tar(data: bytes, prefix: str) -> dict[str, tuple[bytes, int] | str]:
    found: dict[str, tuple[bytes, int] | str] = {}
    with tarfile.open(fileobj=io.BytesIO(data), encoding="utf-8") as archive:
        for info in archive:
            if not info.isdir() and info.name.startswith(prefix):
                stream = archive.extractfile(info) if info.isfile() else None
                found[info.name.removeprefix(prefix)] = (
                    (stream.read(), info.mode) if stream else info.linkname
                )
    return found


def from_zip(package: bytes) -> dict[str, tuple[bytes, int] | str]:
    found: dict[str, tuple[bytes, int] | str] = {}
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        assert archive.testzip() is None
        for info in archive.infolist():
            content, mode = archive.read(info), info.external_attr >> 16
            found[info.filename.removeprefix(TOP)] = (
                content.decode() if stat.S_ISLNK(mode) else (content, stat.S_IMODE(mode))
            )
    return found


@settings(max_examples=60, deadline=None)
@given(trees)
@example(DEEP)
def test_a_tar_zst_gives_back_what_went_in(tree):
    with tempfile.TemporaryDirectory() as folder:
        package = package_bytes("tar.zst", PLAN, staged(tree, folder))

    assert from_tar(unzstd(package), TOP) == tree


@settings(max_examples=60, deadline=None)
@given(trees)
@example(DEEP)
def test_a_deb_gives_back_what_went_in(tree):
    with tempfile.TemporaryDirectory() as folder:
        package = package_bytes("deb", PLAN, staged(tree, folder))

    data = unzstd(ar_members(package)[2].content)
    sums = deb_part(package, "control")["md5sums"]
    assert from_tar(data, INSTALLED) == tree
    assert sum(1 for entry in tree.values() if not isinstance(entry, str)) == sum(
        1 for line in sums.decode().splitlines() if "  usr/lib/text-direction/" in line
    )


@settings(max_examples=60, deadline=None)
@given(trees)
@example(DEEP)
def test_a_zip_gives_back_what_went_in(tree):
    with tempfile.TemporaryDirectory() as folder:
        package = package_bytes("zip", PLAN, staged(tree, folder))

    assert from_zip(package) == tree


@settings(max_examples=25, deadline=None)
@given(trees, st.sampled_from(["tar.zst", "deb", "zip"]), st.randoms())
def test_the_order_in_which_files_are_staged_does_not_matter(tree, format_id, random):
    shuffled = list(tree.items())
    random.shuffle(shuffled)

    with tempfile.TemporaryDirectory() as folder:
        packages = [
            package_bytes(format_id, PLAN, staged(dict(order), folder)) for order in (tree.items(), shuffled)
        ]

    assert packages[0] == packages[1]
