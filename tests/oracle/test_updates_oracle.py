"""swupdate, mender-artifact and rauc judge our updates; cpio, unsquashfs and veritysetup what they are made of."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from packager.emission import emission
from packager.errors import ManifestError, VerificationFailed
from packager.formats import by_id, squashfs, verity
from packager.formats.cpio import CpioWriter
from packager.formats.installed import installed
from packager.signing_key import debug_key, load_key
from tests.make.bundle import TREE, bundle_of, target_plan, whole_bundle
from tests.make.keystore import NOW, keystore

EPOCH = 1_700_000_000
BOARDS = {"qcs9075": ("iq-9075-evk", "other-evk")}
UPDATES = ("swu", "mender", "rauc")
BIG = {**TREE, "share/models/big.bin": bytes(range(251)) * 20_000}


def planned(boards=BOARDS, **own):
    return target_plan(formats=UPDATES, own={"machines": boards, **own})


ONE_BOARD = planned({"qcs9075": ("iq-9075-evk",)})


@pytest.fixture(params=["rsa", "ec"])
def signer(request, tmp_path, monkeypatch):
    """A key with its certificate, and the files in which tools want the certificate and the public key."""
    if request.param == "rsa":
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    else:
        private = ec.generate_private_key(ec.SECP256R1())
    key = load_key(keystore(tmp_path, monkeypatch, private, days=36_500), tmp_path, NOW)
    certificate = x509.load_der_x509_certificate(key.certificates[0])
    (tmp_path / "signer.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    (tmp_path / "public.pem").write_bytes(
        private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return key


@pytest.fixture
def made(tmp_path):
    """The path of an update, signed if there is a key."""

    def write(format_id, plan, bundle=None, key=None):
        form, path = by_id(format_id), tmp_path / f"update.{format_id}"
        with path.open("w+b") as out:
            form.write(plan, bundle or whole_bundle(tmp_path), out, epoch=EPOCH)
            if key:
                (form.sign if format_id == "rauc" else form.seal)(out, key)
        return path

    return write


def swupdate(tool, update, certificate, board="iq-9075-evk"):
    """What swupdate says of an update. Its exit code is not always that of the check."""
    tool("swupdate")
    run = subprocess.run(
        ["swupdate", "-c", "-i", update, "-H", f"{board}:1.0", "-k", certificate],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.stdout + run.stderr


def test_swupdate_takes_a_signed_update_for_the_boards_that_it_names_and_no_others(
    tool, made, signer, tmp_path
):
    update = made("swu", planned(), key=signer)

    for board in BOARDS["qcs9075"]:
        assert "SWUPDATE successful" in swupdate(tool, update, tmp_path / "signer.pem", board)
    assert "HW compatibility not found" in swupdate(tool, update, tmp_path / "signer.pem", "alien")


def test_swupdate_refuses_a_payload_that_is_another(tool, made, signer, tmp_path):
    update = made("swu", planned(), key=signer)
    content = bytearray(update.read_bytes())
    content[content.index(b"\x1f\x8b\x08") + 40] ^= 1
    update.write_bytes(content)

    said = swupdate(tool, update, tmp_path / "signer.pem")

    assert "SWUPDATE successful" not in said
    assert "ERROR" in said


@pytest.mark.parametrize("content", [TREE, BIG])
def test_cpio_finds_every_sum_right_and_tar_every_byte(tool, made, tmp_path, content):
    plan, bundle = planned(), bundle_of(content, tmp_path)
    update = made("swu", plan, bundle)

    tool("cpio")("--only-verify-crc", "--extract", "--quiet", "--file", update)
    tool("cpio")("--extract", "--quiet", "--directory", tmp_path, "--file", update)
    tool("tar")("-xzf", tmp_path / "text-direction.tar.gz", "-C", made_folder(tmp_path / "root"))

    top = tmp_path / "root/usr/lib/text-direction"
    assert {path: (top / path).read_bytes() for path in content} == content
    names = {member.path for member in installed(plan, plan.package_of("swu"), bundle)}
    assert {str(path.relative_to(tmp_path / "root")) for path in (tmp_path / "root").rglob("*")} >= names


def test_more_than_cpio_can_say_is_refused():
    out = io.BytesIO()

    class Huge(io.BytesIO):
        def write(self, data):
            return len(data)

    archive = CpioWriter(out, EPOCH)
    with (
        pytest.raises(ManifestError, match="more than a cpio archive can hold"),
        archive.member("x") as stream,
    ):
        stream._out = Huge()
        stream.size = 0xFFFFFFFF
        stream.write(b"xx")


def test_mender_artifact_validates_an_artifact_and_reads_what_it_is_for(tool, made):
    artifact = made("mender", planned())

    said = tool("mender-artifact")("read", artifact)

    tool("mender-artifact")("validate", artifact)
    assert "Name: text-direction-1.2.0" in said
    assert "Compatible devices: '[iq-9075-evk other-evk]'" in said
    assert "Signature: no signature" in said
    assert "data-partition.text-direction.version: 1.2.0" in said


def test_mender_artifact_knows_the_signature_by_its_key_and_no_other(tool, made, signer, tmp_path):
    artifact = made("mender", planned(), key=signer)

    tool("mender-artifact")("validate", "-k", tmp_path / "public.pem", artifact)
    said = tool("mender-artifact")("read", "-k", tmp_path / "public.pem", artifact)

    assert "Signature: signed and verified correctly" in said


def test_the_tree_of_an_artifact_replaces_the_folder_that_it_names(made, tmp_path):
    plan = planned(mender={"folder": "/opt/td"})
    artifact = made("mender", plan, bundle_of(BIG, tmp_path))

    with tarfile.open(artifact) as outer, tarfile.open(fileobj=outer.extractfile("data/0000.tar.gz")) as data:
        assert outer.getnames() == ["version", "manifest", "header.tar.gz", "data/0000.tar.gz"]
        assert data.extractfile("dest_dir").read() == b"/opt/td"
        with tarfile.open(fileobj=data.extractfile("update.tar")) as tree:
            assert {m.name: tree.extractfile(m).read() for m in tree if m.isfile()} == BIG


def test_rauc_verifies_a_bundle_and_reads_its_manifest(tool, made, signer, tmp_path):
    bundle = made("rauc", planned({"qcs9075": ("iq-9075-evk",)}, rauc={"slot": "app"}), key=signer)

    said = json.loads(
        tool("rauc")(
            "info", "--output-format=json", "--keyring", tmp_path / "signer.pem", bundle
        ).splitlines()[-1]
    )  # fmt: skip

    assert (said["compatible"], said["version"]) == ("iq-9075-evk", "1.2.0")
    assert list(said["images"][0]) == ["app"]


def test_rauc_refuses_a_bundle_by_another_signer(tool, made, signer, tmp_path):
    tool("rauc")
    bundle = made("rauc", ONE_BOARD, key=debug_key("text-direction"))

    run = subprocess.run(
        ["rauc", "info", "--keyring", tmp_path / "signer.pem", bundle], capture_output=True, check=False
    )

    assert run.returncode != 0


def test_unsquashfs_unpacks_the_image_and_tar_the_tree(tool, made, tmp_path):
    bundle = made("rauc", ONE_BOARD, bundle_of(BIG, tmp_path), debug_key("x"))

    tool("unsquashfs")("-quiet", "-no-progress", "-dest", tmp_path / "fs", bundle)
    tool("tar")("-xzf", tmp_path / "fs/text-direction.tar.gz", "-C", made_folder(tmp_path / "root"))

    assert {path: (tmp_path / "root" / path).read_bytes() for path in BIG} == BIG


def test_unsquashfs_reads_a_file_whose_list_of_blocks_is_longer_than_a_block_of_metadata(
    tool, tmp_path, monkeypatch
):
    monkeypatch.setattr(squashfs, "_BLOCK_LOG", 12)
    monkeypatch.setattr(squashfs, "_BLOCK", 4096)
    content = bytes(range(241)) * 70_000
    with (tmp_path / "fs.squashfs").open("w+b") as out:
        with squashfs.squashfs(out, "weights.bin", EPOCH) as stream:
            stream.write(content)
        out.write(bytes(-out.tell() % 4096))

    tool("unsquashfs")("-quiet", "-no-progress", "-dest", tmp_path / "fs", tmp_path / "fs.squashfs")

    assert len(content) // 4096 * 4 > 8192
    assert (tmp_path / "fs/weights.bin").read_bytes() == content


@pytest.mark.parametrize("blocks", [2, 127, 128, 129, 16_384, 16_385])
def test_veritysetup_verifies_every_block_by_the_tree(tool, tmp_path, blocks):
    salt = bytes(range(32))
    with (tmp_path / "image").open("w+b") as out:
        for number in range(blocks):
            out.write(number.to_bytes(8, "little") * 512)
        root, size = verity.write_tree(out, out.tell(), salt)

    tool("veritysetup")(
        "verify", tmp_path / "image", tmp_path / "image", root, "--no-superblock", "--salt", salt.hex(),
        "--hash-offset", blocks * 4096, "--data-blocks", blocks,
    )  # fmt: skip

    assert (tmp_path / "image").stat().st_size == blocks * 4096 + size


@pytest.mark.parametrize("format_id", UPDATES)
def test_an_update_appears_when_every_file_is_found_in_the_archive_inside(tmp_path, format_id):
    package = ONE_BOARD.package_of(format_id)

    with emission(tmp_path / "dist") as output:
        output.write(ONE_BOARD, package, bundle_of(BIG, tmp_path), EPOCH)
        output.publish()

    assert (tmp_path / "dist" / package.file_name).is_file()


@pytest.mark.parametrize("format_id", UPDATES)
def test_an_update_without_one_of_the_files_is_not_published(tmp_path, monkeypatch, format_id):
    kind, bundle = type(by_id(format_id)), bundle_of(BIG, tmp_path)
    smaller, write = bundle.model_copy(update={"files": bundle.files[:-1]}), kind.write
    monkeypatch.setattr(
        kind, "write", lambda form, plan, _, out, epoch: write(form, plan, smaller, out, epoch=epoch)
    )

    with emission(tmp_path / "dist") as output, pytest.raises(VerificationFailed) as missing:
        output.write(ONE_BOARD, ONE_BOARD.package_of(format_id), bundle, EPOCH)

    assert missing.value.evidence[0].startswith(bundle.files[-1].path)


@pytest.mark.parametrize("format_id", UPDATES)
def test_the_same_key_and_files_give_the_same_bytes(made, signer, format_id):
    first = made(format_id, ONE_BOARD, key=signer).read_bytes()

    assert made(format_id, ONE_BOARD, key=signer).read_bytes() == first


def test_a_curve_that_mender_does_not_know_is_refused(made, tmp_path, monkeypatch):
    signing = keystore(tmp_path, monkeypatch, ec.generate_private_key(ec.SECP384R1()))

    with pytest.raises(ManifestError, match="does not know the curve"):
        made("mender", ONE_BOARD, key=load_key(signing, tmp_path, NOW))


def made_folder(folder):
    folder.mkdir()
    return folder
