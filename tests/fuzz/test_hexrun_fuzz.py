"""Coverage-guided fuzzing of what hexrun reads, with sanitizers, for a few seconds.

Debian: clang and the libFuzzer that comes with it (libclang-rt-*-dev).
"""

from __future__ import annotations

import io
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from packager import resources
from packager.runner import generated_tables

HERE = Path(__file__).parent
SOURCES = Path(str(resources.folder("templates"))) / "runner"
UNITS = ("choose", "config", "config_lines", "doctor_elf", "npy", "options", "platform_posix", "status")
SECONDS = 4
CONF = b"""format 2
package a 1
system s.so
dsp dsp
simulator no
compute npu n.so
compute cpu c d.so
power burst
rpc_latency_us 100
rpc_polling_us 9999
priority high
compatibility permissive
prepare optimization=2 vtcm_mb=4 hvx_threads=3 fp16=yes
variant soc=x soc_model=77 accepts=1,2 hexagon=73 vtcm_mb=8 linux_soc_ids=- context=a.bin dlc=a.dlc library=a.so
"""
FIRST = b"""# comment\r
format 1
package a 1
backend n.so
system s.so
simulator yes
compute npu
power burst
variant soc=x soc_model=77 accepts=- hexagon=73 vtcm_mb=8 linux_soc_ids=3 context=a.bin
"""
OPTIONS = (
    b"--input\0x=a.npy\0--compare\0y=b.npy\0--min-cosine\0.99\0--duration\0001.5\0--profile\0basic\0--buffers\0auto",
    b"--iterations\0007\0--warmup\0002\0--json\0--save-context\0c.bin\0--soc\0sm8650\0--graph\0g\0--native\0--describe",
)


def skel() -> bytes:
    """A Hexagon library with one segment, a dynamic section and a build id."""
    dynamic = struct.pack("<8I", 5, 180, 1, 1, 1, 6, 0, 0)
    names = b"\0libc++.so.1\0libc.so\0\0v2.51.0.260929181845\0"
    segments = struct.pack("<8I", 1, 0, 0, 0, 240, 240, 4, 4) + struct.pack(
        "<8I", 2, 148, 148, 148, 32, 32, 4, 4
    )
    head = b"\x7fELF\x01\x01\x01" + bytes(9)
    head += struct.pack("<2H5I6H", 3, 164, 1, 0, 52, 0, 0x73, 52, 32, 2, 0, 0, 0)
    return (head + segments).ljust(148, b"\0") + dynamic + names


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzzer")
    (folder / "tables.c").write_text(generated_tables())
    compiler = shutil.which("clang")
    assert compiler, "clang is not installed"
    flags = ("-std=c11", "-D_XOPEN_SOURCE=700", "-g", "-O1", "-fsanitize=fuzzer,address,undefined")
    units = [str(SOURCES / f"{name}.c") for name in UNITS]
    command = [compiler, *flags, "-fno-sanitize-recover=all", f"-I{SOURCES}", *units, "tables.c"]
    subprocess.run(
        [*command, str(HERE / "hexrun_fuzzer.c"), "-o", "fuzzer", "-lm", "-ldl"], cwd=folder, check=True
    )
    return folder / "fuzzer"


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        (0, (CONF, FIRST)),
        (
            1,
            (
                npy(np.zeros((1, 3, 8, 8), np.float32)),
                npy(np.zeros((2,), ">i2")),
                npy(np.zeros((), np.uint8)),
            ),
        ),
        (2, OPTIONS),
        (3, (skel(), Path(sys.executable).read_bytes()[:1024])),
    ],
    ids=["runner.conf", "npy", "command line", "library"],
)
def test_no_input_breaks_hexrun(fuzzer, tmp_path, kind, seeds):
    (corpus := tmp_path / "corpus").mkdir()
    for number, seed in enumerate(seeds):
        (corpus / str(number)).write_bytes(bytes([kind]) + seed)
    limits = (
        f"-max_total_time={SECONDS}",
        "-max_len=8192",
        "-timeout=5",
        "-rss_limit_mb=1024",
        "-len_control=0",
    )

    done = subprocess.run(
        [fuzzer, *limits, "-print_final_stats=1", "-keep_seed=1", str(corpus)],
        cwd=tmp_path,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )

    assert done.returncode == 0, done.stderr[-4000:]
    (executed,) = re.findall(r"number_of_executed_units: (\d+)", done.stderr)
    assert int(executed) > 1000
    assert len(list(corpus.iterdir())) > len(seeds)
