"""Stand-ins for the compilers of kits that cannot be had here: they take what their documentation lists and no more.

What they make is genuine: zig compiles and links, with hexpack's own declarations of the system's C library in place
of the kit's headers. `install` writes one into a folder that is laid out like the kit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import ziglang

from packager.catalog import abis
from packager.runner import own_c_library
from packager.runner.toolchains import toolchain_of

# https://clang.llvm.org/docs/ClangCommandLineReference.html and the NDK's guide for other build systems; for qcc its
# page in QNX's Utilities Reference, which passes GCC's options through.
SHARED_WORDS = {
    *("-c", "-s", "-g0", "-Os", "-std=c11", "-fPIC", "-fPIE", "-pie", "-shared", "-lm", "-ldl"),
    *(
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-error",
        "-fno-ident",
        "-fno-math-errno",
        "-fomit-frame-pointer",
        "-fvisibility=hidden",
    ),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-ffunction-sections", "-fdata-sections"),
    *("-fstack-protector-strong", "-mbranch-protection=standard"),
}
WORDS = {
    "clang": {*SHARED_WORDS, "-mno-outline-atomics"},
    "qcc": {*SHARED_WORDS, "-Vgcc_ntoaarch64le"} - {"-ldl", "-mbranch-protection=standard"},
}
LINKER_WORDS = {"--gc-sections", "-soname", "libhexrun.so", "--build-id=none", "-z"}
KEYWORDS = {"now", "relro", "noexecstack", "max-page-size=16384"}  # of -z
SYSTEMS = {"clang": "android", "qcc": "qnx"}
LINKERS = {"clang": "/system/bin/linker64", "qcc": "/usr/lib/ldqnx-64.so.2"}
TARGETS = {"clang": "aarch64-linux-android26", "qcc": "aarch64-unknown-none-elf"}


def refuse(name: str, word: str) -> None:
    sys.exit(f"{name}: error: unknown argument: '{word}'")


def linker_words(name: str, word: str) -> list[str]:
    words = word.removeprefix("-Wl,").split(",")
    for one in words:
        if one not in LINKER_WORDS | KEYWORDS:
            refuse(name, one)
    return words


def zig(*arguments: object) -> None:
    done = subprocess.run([sys.executable, "-m", "ziglang", *map(str, arguments)], check=False)
    if done.returncode:
        sys.exit(done.returncode)


class Command:
    """A driver's command line, taken apart as the kit's driver does."""

    def __init__(self, name: str, arguments: list[str]) -> None:
        self.name, self.words = name, set(arguments)
        self.compiling: list[str] = []
        self.linking: list[str] = []
        self.units: list[str] = []
        self.libraries, self.out, self.told = ["c", "dl"], "a.out", name == "qcc"
        words = iter(arguments)
        for word in words:
            self._take(word, words)
        if not self.told:
            sys.exit(f"{name}: not told what to compile for")

    def _take(self, word: str, more: Iterator[str]) -> None:
        if word == "-o":
            self.out = next(more)
        elif word == "-target" and self.name == "clang":
            self.told = next(more) == TARGETS[self.name]
        elif word == "-Xclang" and self.name == "clang":
            self.compiling += [word, next(more)]
        elif word.endswith(".c"):
            self.units.append(word)
        elif word.startswith("-Wl,"):
            self.linking += linker_words(self.name, word)
        elif word.startswith(("-D", "-ffile-prefix-map=")):
            self.compiling.append(word)
        elif word not in WORDS[self.name]:
            refuse(self.name, word)
        elif word.startswith("-l"):
            self.libraries.append(word[2:])
        elif not word.startswith("-V") and word not in ("-c", "-s", "-pie", "-shared"):
            self.compiling.append(word)


def main(name: str, arguments: list[str]) -> None:
    """Do what the command line says."""
    if name.endswith("ar"):
        zig("ar", *arguments)
        return
    if name == "qcc" and not all(Path(os.environ.get(v, "/-")).is_dir() for v in ("QNX_HOST", "QNX_TARGET")):
        sys.exit("qcc: QNX_HOST and QNX_TARGET have to be set")
    command = Command(name, arguments)
    with tempfile.TemporaryDirectory() as folder:
        build(command, Path(folder))


def build(command: Command, kit: Path) -> None:
    """Compile, and link unless `-c` stands among the words. `kit` is an empty folder for the system's files."""
    name = command.name
    abi = next(one for one in abis().values() if one.system == SYSTEMS[name] and one.zig)
    for path, text in own_c_library.sources(toolchain_of(abi), "program").items():
        (kit / path).parent.mkdir(parents=True, exist_ok=True)
        (kit / path).write_text(text)
    headers = Path(ziglang.__path__[0]) / "lib" / "include"
    flags = ["-target", TARGETS[name], "-nostdlibinc", "-isystem", kit / "include", "-isystem", headers]
    # The declarations of QNX here have no stack guard.
    command.compiling += ["-D__QNX__=1", "-fno-stack-protector"] if name == "qcc" else []
    if "-c" in command.words:
        zig("clang", "-c", *flags, *command.compiling, "-o", command.out, *command.units)
        return
    shared = "-shared" in command.words
    system = [unit for unit in kit.glob("*.c") if not (shared and unit.name == "start.c")]
    objects = []
    for unit in [*command.units, *system]:
        objects.append(kit / f"{Path(unit).stem}.o")
        zig("clang", "-c", *flags, *command.compiling, "-o", objects[-1], unit)
    stubs = [stub for stub in sorted((kit / "stubs").glob("*.c")) if of_library(stub) in command.libraries]
    for stub in stubs:
        zig("clang", "-c", *flags[:3], "-w", "-fno-builtin", "-o", f"{stub}.o", stub)
        zig("ld.lld", "-shared", f"-soname={stub.stem}", "-o", stub.with_suffix(""), f"{stub}.o")
    shape = ["-shared"] if shared else ["-pie", f"--dynamic-linker={LINKERS[name]}"]
    strip = ["-s"] if "-s" in command.words else []
    made = [*objects, *(stub.with_suffix("") for stub in stubs)]
    zig("ld.lld", *shape, *strip, "--as-needed", *command.linking, "-o", command.out, *made)


def of_library(stub: Path) -> str:
    """`m` of libm.so.3.c."""
    return stub.name.removeprefix("lib").split(".")[0]


def install(program: Path) -> None:
    """Write a program of that name that does this."""
    program.parent.mkdir(parents=True, exist_ok=True)
    root = Path(__file__).parents[2]
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:0] = [{str(root)!r}, {str(Path(__file__).parent)!r}]\n"
        f"from contract_compiler import main\nmain({program.name!r}, sys.argv[1:])\n"
    )
    program.chmod(0o755)


def install_ndk(root: Path, revision: str = "27.2.12479018") -> Path:
    """A folder like an unpacked NDK."""
    for tool in ("clang", "llvm-ar"):
        install(root / "toolchains/llvm/prebuilt/linux-x86_64/bin" / tool)
    (root / "source.properties").write_text(f"Pkg.Desc = Android NDK\nPkg.Revision = {revision}\n")
    return root


def install_sdp(root: Path) -> Path:
    """A folder like an installed QNX SDP 7.1."""
    for tool in ("qcc", "ntoaarch64-ar"):
        install(root / "host/linux/x86_64/usr/bin" / tool)
    header = root / "target/qnx7/usr/include/sys/neutrino.h"
    header.parent.mkdir(parents=True)
    header.write_text("#ifndef __NEUTRINO_H_INCLUDED\n#define _NTO_VERSION    710\n#endif\n")
    return root
