"""`hexrun --doctor` on boards that are folders: what it finds, wants and advises, and how it exits.

HEXRUN_DOCTOR_ROOT puts a folder in front of the board's paths; the backend is the stand-in.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runner_kit import QCS9075, SM8650, SOURCES, Ran, configure, run, zig
from runtimes import everything, release_248

from packager.catalog import table
from packager.store import Store

pytest_plugins = ["runner_kit"]

NOBODY = 65534
HEXAGON, X86_64 = 164, 62
BUILD = "v2.51.0.260929181845"
STEPS = [
    "package", "node", "permission", "driver", "daemon", "processor", "shell", "dsp-libraries",
    "stub", "skel", "catalogue", "transport", "backend", "device", "soc", "context",
]  # fmt: skip
DSP = "usr/share/qcom/qcs9100/Qualcomm/QCS9100-RIDE/dsp/cdsp"
MODEL = "Qualcomm Technologies, Inc. QCS9100 Ride"
CXX = ("libc++.so.1", "libc++abi.so.1")


def library(
    machine: int, *, arch: int = 0, needed: tuple[str, ...] = (), strings: tuple[str, ...] = ()
) -> bytes:
    """A shared library in which a loader finds its needs: one segment that is the file, one dynamic section."""
    wide = machine != HEXAGON
    word, head, entry = ("Q", 64, 56) if wide else ("I", 52, 32)
    names = b"\0" + b"".join(name.encode() + b"\0" for name in needed)
    dynamic_at = head + 2 * entry
    count = len(needed) + 2
    strings_at = dynamic_at + count * 2 * struct.calcsize("<" + word)
    offset = 1
    pairs = []
    for name in needed:
        pairs.append((1, offset))
        offset += len(name) + 1
    pairs += [(5, strings_at), (0, 0)]
    dynamic = b"".join(struct.pack(f"<2{word}", *pair) for pair in pairs)
    marks = b"\0".join(text.encode() for text in ("", *strings, ""))
    size = strings_at + len(names) + len(marks)

    def segment(kind: int, at: int, length: int) -> bytes:
        if wide:
            return struct.pack("<2I6Q", kind, 4, at, at, at, length, length, 8)
        return struct.pack("<8I", kind, at, at, at, length, length, 4, 4)

    ident = b"\x7fELF" + bytes([2 if wide else 1, 1, 1]) + bytes(9)
    header = struct.pack(f"<2HI3{word}I6H", 3, machine, 1, 0, head, 0, arch, head, entry, 2, 0, 0, 0)
    return (
        ident + header + segment(1, 0, size) + segment(2, dynamic_at, len(dynamic)) + dynamic + names + marks
    )


class Board:
    """A board on which everything is in order, and a package for it. Tests take things away."""

    def __init__(self, folder: Path, hexrun: Path, stand_in: Path, transport: Path, stub: Path) -> None:
        self.root, self.package = folder / "board", folder / "package"
        self._hexrun = self.package / "bin/hexrun"
        for source, place in ((hexrun, self._hexrun), (stand_in, self.package / "lib/libQnnHtp.so")):
            place.parent.mkdir(parents=True)
            shutil.copy(source, place)
        shutil.copy(stub, self.package / "lib/libQnnHtpV73Stub.so")
        self.put_package()
        self.put_board()
        shutil.copy(transport, self.file("usr/lib/libcdsprpc.so"))

    def put_package(self) -> None:
        (self.package / "dsp").mkdir()
        self.put_skel()
        (self.package / "model.bin").write_text("the model")
        lib = "lib/libQnnHtp.so"
        self.conf = configure(
            self.package, QCS9075, SM8650, backend=lib, system=lib, simulator="no", dsp="dsp"
        )

    def put_skel(self, *, arch: int = 0x73, needed: tuple[str, ...] = CXX, build: str = BUILD) -> None:
        skel = library(HEXAGON, arch=arch, needed=needed, strings=(build,))
        (self.package / "dsp/libQnnHtpV73Skel.so").write_bytes(skel)

    def put_board(self) -> None:
        for node in ("dev/fastrpc-cdsp", "dev/fastrpc-cdsp-secure", "dev/dma_heap/system"):
            self.file(node)
        (self.root / "sys/bus/rpmsg/drivers/qcom,fastrpc").mkdir(parents=True)
        self.file("sys/devices/soc0/soc_id", "667\n")
        self.file("sys/firmware/devicetree/base/model", MODEL + "\0")
        self.file("proc/1/comm", "systemd\n")
        self.file("proc/412/comm", "cdsprpcd\n")
        for number, name in enumerate(("adsp", "cdsp")):
            processor = f"sys/class/remoteproc/remoteproc{number}"
            self.file(f"{processor}/name", f"{number}0000.remoteproc\n")
            self.file(f"{processor}/firmware", f"qcom/sa8775p/{name}.mbn\n")
            self.file(f"{processor}/state", "running\n")
        self.know(MODEL)
        self.file(f"{DSP}/fastrpc_shell_unsigned_3", "shell")
        for name in CXX:
            self.file(f"{DSP}/{name}").write_bytes(library(HEXAGON, arch=0x73))

    def know(self, model: str) -> None:
        """What FastRPC's configuration says about boards."""
        folder = DSP.removeprefix("usr/share/qcom").removesuffix("cdsp")
        text = f'machines:\n  "Another":\n    DSP_LIBRARY_PATH: "/no/"\n  "{model}":\n    DSP_LIBRARY_PATH: "{folder}"\n'
        self.file("usr/share/qcom/conf.d/00-boards.yaml", text)

    def file(self, path: str, text: str = "") -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def take(self, *paths: str) -> None:
        for path in paths:
            place = self.root / path
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink()

    def become_a_phone(self) -> None:
        self.take("dev", "proc", "usr", "sys")
        self.file("system/bin/linker64")
        self.file("dev/adsprpc-smd")
        self.file("sys/devices/soc0/soc_id", "667\n")
        self.file("vendor/dsp/cdsp/fastrpc_shell_unsigned_3")
        for name in CXX:
            self.file(f"vendor/dsp/cdsp/{name}").write_bytes(library(HEXAGON, arch=0x73))

    def examine(self, *arguments: object, nobody: bool = False, **settings: object) -> Examined:
        """Settings in capitals are for the stand-in, others are variables of the environment."""
        command = ["--config", self.conf, "--doctor", *arguments]
        told = {
            f"STAND_IN_{key}" if key.isupper() and "PATH" not in key else key: str(value)
            for key, value in settings.items()
        }
        told = {"STAND_IN_SOC": "77", "STAND_IN_ARCH": "73"} | told
        told |= {"HEXRUN_DOCTOR_ROOT": str(self.root), "STAND_IN_JOURNAL": str(self.package / "journal")}
        if nobody and os.geteuid() == 0:
            # Root may open everything.
            done = subprocess.run(
                ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", self._hexrun, *map(str, command)],
                capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **told},
            )  # fmt: skip
            return Examined(Ran(done), self)
        return Examined(run(self._hexrun, *command, **told), self)

    @property
    def journal(self) -> list[str]:
        place = self.package / "journal"
        return place.read_text().splitlines() if place.exists() else []


class Examined:
    """What the doctor said."""

    def __init__(self, ran: Ran, board: Board) -> None:
        self.ran, self.code, self._board = ran, ran.code, board

    @property
    def verdicts(self) -> dict[str, str]:
        return {step["step"]: step["verdict"] for step in self.ran.document["steps"]}

    def step(self, name: str) -> Any:
        return next(step for step in self.ran.document["steps"] if step["step"] == name)

    def found(self, name: str) -> str:
        return "\n".join(self.step(name)["found"]).replace(str(self._board.root), "")

    @property
    def first(self) -> str | None:
        assert self.ran.document["exit"] == self.code
        return self.ran.document["first_failure"]

    @property
    def failed(self) -> list[str]:
        return [name for name, verdict in self.verdicts.items() if verdict == "failed"]


@pytest.fixture(scope="session")
def transport(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transport")
    (folder / "code.c").write_text(
        "int remote_handle_open(void);\nint remote_handle_open(void) { return 0; }\n"
    )
    zig(store, folder, "-shared", "-fPIC", "-Wl,-soname,libcdsprpc.so", "-o", "libcdsprpc.so", "code.c")
    return folder / "libcdsprpc.so"


def stub_that_calls(function: str, store: Store, folder: Path, transport: Path) -> Path:
    """A stub for this machine that links to the transport library and needs a function of it."""
    code = f"extern int {function}(void);\nconst char *build(void);\nint call(void);\n"
    code += f'const char *build(void) {{ return "{BUILD}"; }}\nint call(void) {{ return {function}(); }}\n'
    (folder / "code.c").write_text(code)
    zig(store, folder, "-shared", "-fPIC", "-Wl,-z,undefs", "-o", "stub.so", "code.c", transport)
    return folder / "stub.so"


@pytest.fixture(scope="session")
def stub(store: Store, tmp_path_factory: pytest.TempPathFactory, transport: Path) -> Path:
    return stub_that_calls("remote_handle_open", store, tmp_path_factory.mktemp("stub"), transport)


@pytest.fixture
def board(hexrun: Path, stand_in: Path, transport: Path, stub: Path) -> Iterator[Board]:
    # Not tmp_path: other users may not enter it.
    with tempfile.TemporaryDirectory(prefix="board-") as folder:
        Path(folder).chmod(0o755)
        yield Board(Path(folder), hexrun, stand_in, transport, stub)


@pytest.mark.parametrize("fault", [signal.SIGSEGV, signal.SIGABRT, 0], ids=["crash", "abort", "exit"])
@pytest.mark.parametrize(
    ("call", "step"),
    [("backendCreate", "backend"), ("deviceCreate", "device"), ("contextCreateFromBinary", "context")],
)
def test_a_library_that_ends_the_process_is_a_finding_like_any_other(board, call, step, fault):
    examined = board.examine("--json", TROUBLE=call, SIGNALS=int(fault))

    assert (examined.code, examined.first) == (4, step)
    assert "the vendor's library ended the process" in examined.found(step)
    assert examined.step("node")["verdict"] == "ok"
    assert "crashed or hung" in examined.step(step)["fix"]


def test_a_step_that_hangs_is_told_when_the_doctor_is_interrupted(board):
    ran = board.examine("--json", TROUBLE="deviceCreate", SIGNALS=f"{int(signal.SIGINT)} 99").ran

    assert ran.code == 130
    assert ran.document["first_failure"] == "device"
    device = next(step for step in ran.document["steps"] if step["step"] == "device")
    assert "no answer before the interruption" in device["found"]


REFUSED = {"DEVICE_ERROR": 14001}
"""A device that does not open, so that what the files say is not proved wrong."""


def test_on_a_board_in_order_nothing_fails_and_the_context_is_opened_once(board):
    examined = board.examine("--json")

    assert examined.code == 0
    assert list(examined.verdicts) == STEPS
    assert examined.verdicts == dict.fromkeys(STEPS, "ok") | {"catalogue": "not applicable"}
    assert examined.first is None
    assert "soc_model 77, Hexagon v73, VTCM 8 MB" in examined.found("soc")
    assert [line for line in board.journal if line.startswith("contextCreate")] == [
        "contextCreateFromBinary the model"
    ]


def test_the_text_says_the_same_as_the_document(board):
    board.take("dev/fastrpc-cdsp", "dev/fastrpc-cdsp-secure")

    examined = board.examine(**REFUSED)

    lines = examined.ran.out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith((" ", "backend log", "first"))] == STEPS
    assert "node            FAILED" in lines
    assert (
        "    wanted /dev/fastrpc-cdsp-secure or /dev/adsprpc-smd-secure or /dev/fastrpc-cdsp or /dev/adsprpc-smd"
        in lines
    )
    assert lines[-1] == "first failure: node (exit code 3)"


def test_without_a_node_the_first_failure_is_the_node(board):
    board.take("dev/fastrpc-cdsp", "dev/fastrpc-cdsp-secure")

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (3, "node")
    assert examined.verdicts["permission"] == "unknown"
    assert "CONFIG_QCOM_FASTRPC" in examined.step("node")["fix"]


def test_in_a_container_a_missing_node_has_to_be_passed_in(board):
    board.take("dev", "proc/412")
    board.file(".dockerenv")

    examined = board.examine("--json", **REFUSED)

    assert examined.first == "node"
    assert "--device /dev/fastrpc-cdsp" in examined.step("node")["fix"]
    assert examined.verdicts["daemon"] == "unknown"


def test_a_node_for_a_group_that_the_user_is_not_in(board):
    group = NOBODY - 1 if os.geteuid() == 0 else os.getegid()
    for name in ("fastrpc-cdsp", "fastrpc-cdsp-secure"):
        node = board.root / "dev" / name
        os.chown(node, -1, group)
        node.chmod(0o440 if os.geteuid() == 0 else 0o040)

    examined = board.examine("--json", nobody=True, **REFUSED)

    assert (examined.code, examined.first) == (3, "permission")
    assert re.search(
        r"/dev/fastrpc-cdsp -(r|-)--r----- \S+:\S+: may not be opened", examined.found("permission")
    )
    assert re.search(r"this process is user \S+, groups \S+", examined.found("permission"))
    assert "usermod -aG" in examined.step("permission")["fix"]


def test_a_node_for_root_alone_lacks_the_rules_of_fastrpc(board):
    for name in ("fastrpc-cdsp", "fastrpc-cdsp-secure"):
        (board.root / "dev" / name).chmod(0)

    examined = board.examine("--json", nobody=True, **REFUSED)

    assert examined.first == "permission"
    assert "udev rules" in examined.step("permission")["fix"]


def test_memory_that_may_not_be_opened_is_a_failure_of_permission_too(board):
    (board.root / "dev/dma_heap/system").chmod(0)

    examined = board.examine("--json", nobody=True, **REFUSED)

    assert (examined.code, examined.first) == (3, "permission")
    assert "/dev/dma_heap/system ----------" in examined.found("permission")


@pytest.mark.parametrize("kept", ["fastrpc-cdsp", "fastrpc-cdsp-secure"])
def test_one_of_the_two_nodes_is_enough(board, kept):
    board.take(*({"dev/fastrpc-cdsp", "dev/fastrpc-cdsp-secure"} - {f"dev/{kept}"}))

    examined = board.examine("--json")

    assert examined.code == 0
    assert f"/dev/{kept} " in examined.found("node")


@pytest.mark.parametrize(("state", "advice"), [("offline", "echo start"), ("crashed", "restart the board")])
def test_a_dsp_that_does_not_run_is_not_asked_for_anything(board, state, advice):
    board.file("sys/class/remoteproc/remoteproc1/state", state + "\n")

    examined = board.examine("--json")

    assert (examined.code, examined.first) == (3, "processor")
    assert f"/sys/class/remoteproc/remoteproc1 is {state}" in examined.found("processor")
    assert advice in examined.step("processor")["fix"]
    assert examined.verdicts["device"] == examined.verdicts["context"] == "unknown"
    assert not any(line.startswith(("deviceCreate", "contextCreate")) for line in board.journal)


def test_a_board_without_a_compute_dsp(board):
    board.take("sys/class/remoteproc/remoteproc1", "dev", "sys/bus")

    examined = board.examine("--json", **REFUSED)

    assert examined.failed == ["node", "driver", "processor", "device"]
    assert "1 processors besides the CPU, none of them a compute DSP" in examined.found("processor")


def test_a_second_compute_dsp_may_be_off(board):
    board.file("sys/class/remoteproc/remoteproc2/name", "cdsp1\n")
    board.file("sys/class/remoteproc/remoteproc2/state", "offline\n")

    assert board.examine("--json").code == 0


def test_the_older_kernels_of_vendors_tell_the_state_elsewhere(board):
    board.take("sys/class")
    board.file("sys/bus/msm_subsys/devices/subsys3/name", "cdsp\n")
    board.file("sys/bus/msm_subsys/devices/subsys3/state", "OFFLINE\n")

    examined = board.examine("--json")

    assert examined.first == "processor"
    assert "/sys/bus/msm_subsys/devices/subsys3 is OFFLINE" in examined.found("processor")


def test_a_daemon_that_does_not_run(board):
    board.take("proc/412")

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (3, "daemon")
    assert "systemctl enable --now cdsprpcd" in examined.step("daemon")["fix"]


def test_a_process_that_sees_no_others_says_nothing_about_the_daemon(board):
    board.take("proc")

    examined = board.examine("--json")

    assert examined.verdicts["daemon"] == "unknown"
    assert examined.code == 0


def test_firmware_without_a_shell(board):
    board.take(f"{DSP}/fastrpc_shell_unsigned_3")

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (3, "shell")
    assert examined.step("shell")["wanted"] == "fastrpc_shell_unsigned_3"
    assert f'this board is "{MODEL}", known to FastRPC\'s configuration' in examined.found("shell")
    assert str(board.package) not in examined.found("shell")  # FastRPC takes it from the board alone


def test_a_shell_in_the_folder_of_a_board_that_fastrpc_does_not_know(board):
    board.know("Some other board")

    examined = board.examine("--json", **REFUSED)

    assert examined.first == "shell"
    assert f"/{DSP}/fastrpc_shell_unsigned_3 is there, but FastRPC does not look there" in examined.found(
        "shell"
    )
    assert "/usr/share/qcom/conf.d" in examined.step("shell")["fix"]


def test_a_shell_that_is_not_found_is_no_failure_where_the_context_opens(board):
    board.take(f"{DSP}/fastrpc_shell_unsigned_3")

    examined = board.examine("--json")

    assert (examined.code, examined.first) == (0, None)
    assert examined.verdicts["shell"] == "unknown"
    assert "no failure: the context opens all the same" in examined.found("shell")


def test_firmware_without_the_cpp_library(board):
    board.take(f"{DSP}/libc++.so.1")

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (3, "dsp-libraries")
    assert "libc++.so.1 is nowhere on the search path" in examined.found("dsp-libraries")


def test_the_cpp_library_of_the_cpu_is_none_for_the_dsp(board):
    (board.root / DSP / "libc++.so.1").write_bytes(library(X86_64))

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (1, "dsp-libraries")
    assert "libc++.so.1 is no library for a Hexagon" in examined.found("dsp-libraries")


def test_a_skel_that_links_to_nothing_needs_no_cpp_library(board):
    board.put_skel(needed=())
    board.take(*(f"{DSP}/{name}" for name in CXX))

    examined = board.examine("--json", **REFUSED)

    assert examined.verdicts["dsp-libraries"] == "ok"


def test_a_skel_that_is_missing_is_told_with_every_folder_that_was_searched(board):
    (board.package / "dsp/libQnnHtpV73Skel.so").unlink()

    examined = board.examine("--json", DSP_LIBRARY_PATH="/opt/a:/opt/b", **REFUSED)

    assert (examined.code, examined.first) == (3, "skel")
    assert examined.step("skel")["found"][:2] == [
        f"searched {board.package}/dsp",
        "searched /opt/a:/opt/b, which is one folder for FastRPC: only ; parts folders",
    ]
    assert "searched /usr/lib/rfsa/adsp: No such file or directory" in examined.found("skel")


def test_a_skel_for_another_hexagon(board):
    board.put_skel(arch=0x68)

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (1, "skel")
    assert "is for Hexagon v68" in examined.found("skel")
    assert examined.step("skel")["wanted"] == "Hexagon v73"


def test_a_skel_that_is_a_library_of_the_cpu(board):
    shutil.copy(board.package / "lib/libQnnHtpV73Stub.so", board.package / "dsp/libQnnHtpV73Skel.so")

    examined = board.examine("--json", **REFUSED)

    assert examined.first == "skel"
    assert "is no library for a Hexagon" in examined.found("skel")


@pytest.mark.parametrize("build", ["v2.29.0.241129103708", "v2.51.0.260101000000", "v2.51.0.260929181845_7"])
def test_a_skel_of_another_release_than_its_stub(board, build):
    board.put_skel(build=build)

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (1, "skel")
    assert examined.found("skel") == f"{board.package}/dsp/libQnnHtpV73Skel.so, {build}"
    assert examined.step("skel")["wanted"] == f"{BUILD}, as the stub has it"


def test_of_several_builds_in_a_library_the_latest_is_its_own(board):
    older = ("v2.48.0.260626120635", BUILD, "v2.9.0.230101000000", "preview2.99.0.260101000000")
    skel = library(HEXAGON, arch=0x73, needed=CXX, strings=older)
    (board.package / "dsp/libQnnHtpV73Skel.so").write_bytes(skel)

    assert board.examine("--json", **REFUSED).verdicts["skel"] == "ok"


def test_a_skel_in_the_folder_of_the_domain_goes_before_the_packages_own(board):
    (board.package / "dsp/cdsp").mkdir()
    old = library(HEXAGON, arch=0x73, strings=("v2.29.0.241129103708",))
    (board.package / "dsp/cdsp/libQnnHtpV73Skel.so").write_bytes(old)

    examined = board.examine("--json", **REFUSED)

    assert examined.first == "skel"
    assert f"{board.package}/dsp/cdsp/libQnnHtpV73Skel.so, v2.29.0.241129103708" in examined.found("skel")


def test_a_stub_that_is_missing(board):
    (board.package / "lib/libQnnHtpV73Stub.so").unlink()

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (3, "stub")
    assert examined.step("stub")["wanted"] == "libQnnHtpV73Stub.so beside the backend"


def test_a_stub_for_another_processor(board):
    (board.package / "lib/libQnnHtpV73Stub.so").write_bytes(library(40))

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (1, "stub")


def test_a_stub_that_needs_a_later_transport_library_is_told_when_the_device_does_not_open(
    board, store, transport, tmp_path
):
    newer = stub_that_calls("dspqueue_read", store, tmp_path, transport)
    shutil.copy(newer, board.package / "lib/libQnnHtpV73Stub.so")

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (3, "stub")
    assert "undefined symbol: dspqueue_read" in examined.found("stub")
    assert "too old" in examined.step("stub")["fix"]


def test_without_the_kernels_word_every_model_of_the_package_needs_its_pair(board):
    board.take("sys/devices")

    examined = board.examine("--json", **REFUSED)

    assert examined.first == "stub"
    assert examined.step("stub")["wanted"] == "libQnnHtpV75Stub.so beside the backend"


def test_no_transport_library(board):
    board.take("usr/lib/libcdsprpc.so")

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (3, "transport")
    assert "libcdsprpc.so is in none of the system's folders" in examined.found("transport")


def test_a_transport_library_with_a_versioned_name_alone(board):
    (board.root / "usr/lib/libcdsprpc.so").rename(board.root / "usr/lib/libcdsprpc.so.1")

    examined = board.examine("--json", **REFUSED)

    assert examined.first == "transport"
    assert "found /usr/lib/libcdsprpc.so.1" in examined.found("transport")
    assert "make the link libcdsprpc.so" in examined.step("transport")["fix"]


def test_a_transport_library_that_does_not_load_is_told_in_the_loaders_words(board):
    board.file(
        "usr/lib/libcdsprpc.so", "no library at all, although it has the name of one and is long enough"
    )

    examined = board.examine("--json", **REFUSED)

    assert examined.first == "transport"
    assert "invalid ELF header" in examined.found("transport")


def test_a_backend_that_does_not_start_is_told_with_its_code(board):
    examined = board.examine("--json", LOG_ERROR=4000)

    assert (examined.code, examined.first) == (4, "backend")
    assert examined.step("backend")["code"]["decimal"] == 4000
    assert examined.verdicts["soc"] == "ok"  # the kernel tells
    assert examined.verdicts["device"] == examined.verdicts["context"] == "unknown"


def test_a_device_that_does_not_open(board):
    examined = board.examine("--json", DEVICE_ERROR=14001)

    assert (examined.code, examined.first) == (4, "device")
    assert examined.step("device")["code"]["name"] == "DEVICE_INVALID_CONFIG"
    assert not any(line.startswith("contextCreate") for line in board.journal)


def test_a_soc_that_the_package_has_no_model_for(board):
    board.file("sys/devices/soc0/soc_id", "618\n")

    examined = board.examine("--json", SOC=69, ARCH=79)

    assert examined.code == 3  # the stub of one of the models is missing, too
    assert examined.verdicts["soc"] == "failed"
    assert examined.step("soc")["exit"] == 1
    assert "found soc_model 69, Hexagon v79, 8 MB VTCM" in examined.found("soc")
    assert examined.verdicts["context"] == "unknown"


def test_a_soc_that_nobody_tells(board):
    board.take("sys/devices")

    examined = board.examine("--json", SOC=0, ARCH=0)

    assert examined.verdicts["soc"] == "failed"
    assert "found neither a soc_model from the backend nor a Linux soc_id" in examined.found("soc")


def test_a_context_that_is_refused_is_tried_once_and_the_log_is_told(board):
    examined = board.examine("--json", CONTEXT_ERROR=5005)

    assert (examined.code, examined.first) == (4, "context")
    assert examined.step("context")["code"]["name"] == "CONTEXT_CREATE_FROM_BINARY"
    assert board.journal.count("contextCreateFromBinary the model") == 1
    assert "skel failed with 0x80000442" in examined.ran.document["backend_log"]


def test_a_package_with_a_file_missing(board):
    (board.package / "model.bin").unlink()

    examined = board.examine("--json")

    assert (examined.code, examined.first) == (3, "package")
    assert examined.step("package")["wanted"] == "the context binary as a file"
    assert "unpack or install" in examined.step("package")["fix"]


def test_without_runner_conf_the_board_is_examined_all_the_same(board):
    board.conf.unlink()

    examined = board.examine("--json")

    assert (examined.code, examined.first) == (3, "package")
    assert examined.verdicts["processor"] == examined.verdicts["transport"] == "ok"
    assert examined.verdicts["backend"] == examined.verdicts["context"] == "unknown"


def test_a_runner_conf_that_is_wrong_is_told_with_its_line(board):
    board.conf.write_text("format 1\nnonsense\n")

    examined = board.examine("--json")

    assert (examined.code, examined.first) == (2, "package")
    assert f'{board.conf}:2: unknown key "nonsense"' in examined.found("package")


def test_on_a_simulator_the_steps_of_a_device_do_not_apply(board):
    board.conf.write_text(board.conf.read_text().replace("simulator no", "simulator yes"))
    board.take("dev", "proc", "sys", "usr")

    examined = board.examine("--json")

    assert examined.code == 0
    assert [name for name, verdict in examined.verdicts.items() if verdict == "not applicable"] == STEPS[1:12]
    assert [name for name, verdict in examined.verdicts.items() if verdict == "ok"] == [
        "package",
        *STEPS[12:],
    ]
    assert "deviceCreate soc@4=77 soc@8=77" in board.journal


def test_on_a_phone_the_transport_library_has_to_be_asked_for(board):
    board.become_a_phone()
    board.file(
        "vendor/lib64/libcdsprpc.so",
        "not for this namespace, and not for this processor, so no loader takes it",
    )
    board.file("vendor/etc/public.libraries.txt", "libcdsprpc.so\n")

    examined = board.examine("--json", **REFUSED)

    assert examined.ran.document["system"] == "android"
    assert (examined.code, examined.first) == (3, "transport")
    assert "/vendor/etc/public.libraries.txt lists libcdsprpc.so" in examined.found("transport")
    assert "<uses-native-library" in examined.step("transport")["fix"]


def test_on_a_phone_a_node_that_may_not_be_opened_proves_nothing(board):
    board.become_a_phone()
    board.file("dev/adsprpc-smd-secure").chmod(0)
    (board.root / "dev/adsprpc-smd").chmod(0)

    examined = board.examine("--json", nobody=True, **REFUSED)

    assert examined.verdicts["permission"] == "unknown"
    assert examined.verdicts["node"] == "ok"


def test_libraries_that_stayed_inside_the_app_have_to_be_extracted(board):
    board.become_a_phone()
    board.conf = board.package / "base.apk!/lib/arm64-v8a/runner.conf"

    examined = board.examine("--json", **REFUSED)

    assert (examined.code, examined.first) == (3, "package")
    assert "extractNativeLibs" in examined.step("package")["fix"]


def test_the_source_asks_for_the_advice_of_the_table_and_for_no_other():
    text = "\n".join(path.read_text() for path in SOURCES.glob("doctor*.c"))
    rows = table("doctor")["fix"]

    plain = re.findall(r'doctor_fix\(doctor, "([\w-]+)"\)', text)
    chosen = re.findall(r'doctor_fix\(doctor, [^;]*? \? "([\w-]+)" : "([\w-]+)"\)', text)

    assert {row["id"] for row in rows} == {*plain, *(word for pair in chosen for word in pair)}
    assert all(row["source"] and row["text"] for row in rows)


def test_real_stubs_and_skels_are_told_apart_by_their_release(board, store):
    stub, skel = board.package / "lib/libQnnHtpV73Stub.so", board.package / "dsp/libQnnHtpV73Skel.so"
    here, older = everything(store, "oe-linux-gcc11.2"), release_248(store)
    shutil.copy(here[stub.name], stub)

    shutil.copy(here[skel.name], skel)
    fitting = board.examine("--json", **REFUSED)
    shutil.copy(older[skel.name], skel)
    mixed = board.examine("--json", **REFUSED)

    assert fitting.verdicts["skel"] == fitting.verdicts["dsp-libraries"] == "ok"
    assert BUILD in fitting.found("stub")
    assert "found 183" in fitting.step("stub")["wanted"]  # this runner is for x86-64
    assert mixed.step("skel")["exit"] == 1
    assert "v2.48.0.260626120635" in mixed.found("skel")
    assert mixed.step("skel")["wanted"] == f"{BUILD}, as the stub has it"


def test_on_the_real_simulator_the_context_opens(hexrun, models):
    ran = run(hexrun, "--config", models["float32"].folder / "runner.conf", "--doctor", "--json")

    steps = {step["step"]: step for step in ran.document["steps"]}
    assert ran.code == 0
    assert steps["node"]["verdict"] == "not applicable"
    assert {steps[name]["verdict"] for name in ("backend", "device", "soc", "context")} == {"ok"}
    assert any(line.startswith(f"QAIRT {BUILD}") for line in steps["backend"]["found"])


@pytest.mark.parametrize(
    ("cut", "found"),
    [(1, "is no library"), (60, "is no library"), (100, "is cut short"), (-1, "is cut short")],
)
def test_a_skel_that_is_cut_short_is_refused(board, cut, found):
    place = board.package / "dsp/libQnnHtpV73Skel.so"
    place.write_bytes(place.read_bytes()[:cut])

    examined = board.examine("--json", **REFUSED)

    assert examined.step("skel")["exit"] == 1
    assert found in examined.found("skel")


def test_the_source_looks_at_every_kind_of_place_in_the_table():
    text = "\n".join(path.read_text() for path in SOURCES.glob("doctor*.c"))
    rows = table("doctor")["place"]

    kinds = {row["kind"] for row in rows}

    assert all(f'"{kind}"' in text for kind in kinds)
    assert all(row["source"] and row["systems"] and row["value"] for row in rows)
