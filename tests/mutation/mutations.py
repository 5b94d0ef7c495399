"""Small things that go wrong with a package, each with the one rule that has to say so."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.make.catalogue import catalogue
from tests.make.elf import shared_library
from tests.make.pe import dll
from tests.mutation.trees import Tree


class Mutation(NamedTuple):
    """One fault. `rules` are all that may speak; `tree` is the package that it happens to."""

    name: str
    tree: str
    spoil: Callable[[Tree], None]
    rules: frozenset[str]


MUTATIONS: list[Mutation] = []


def fault(
    name: str, *rules: str, tree: str = "linux"
) -> Callable[[Callable[[Tree], None]], Callable[[Tree], None]]:
    """Register a fault that these rules catch and no other."""

    def register(spoil: Callable[[Tree], None]) -> Callable[[Tree], None]:
        MUTATIONS.append(Mutation(name, tree, spoil, frozenset(rules)))
        return spoil

    return register


def _each(name: str, rule: str, spoil: Callable[[Tree, str], None], *files: str, tree: str = "linux") -> None:
    for file in files:
        fault(f"{file} {name}", rule, tree=tree)(lambda one, file=file: spoil(one, file))


STUB, SKEL = "libQnnHtpV73Stub.so", "libQnnHtpV73Skel.so"
LIBRARIES = ("libQnnHtp.so", "libQnnSystem.so", STUB, SKEL)
DLLS = ("QnnHtp.dll", "QnnSystem.dll", "QnnHtpV73Stub.dll")
CONTEXT, CAT = "qcs9075.bin", "libqnnhtpv73.cat"


def _patched(offset: int, layout: str, value: int) -> Callable[[Tree, str], None]:
    def patch(tree: Tree, name: str) -> None:
        content = bytearray(tree.read(name))
        struct.pack_into(layout, content, offset, value)
        tree.write(name, bytes(content))

    return patch


def _cut(tree: Tree, name: str) -> None:
    content = tree.read(name)
    tree.write(name, content[: len(content) * 2 // 3])


def _extended(tree: Tree, name: str) -> None:
    tree.write(name, tree.read(name) + b"\n")


def _flipped(tree: Tree, name: str) -> None:
    content = bytearray(tree.read(name))
    content[len(content) // 2] ^= 1
    tree.write(name, bytes(content))


def _pointer(tree: Tree, name: str) -> None:
    digest = hashlib.sha256(tree.read(name)).hexdigest()
    size = len(tree.read(name))
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {size}\n"
    tree.write(name, text.encode())


def _empty(tree: Tree, name: str) -> None:
    tree.write(name, b"")


# -- Whole files -----------------------------------------------------------------------------------------------

_each("is cut", "HEX101", _cut, *LIBRARIES, CONTEXT, "hexrun")
_each("is cut", "HEX101", _cut, *DLLS, "libQnnHtpV73Skel.so", CAT, tree="windows")
_each("has a byte too many", "HEX101", _extended, CONTEXT)
_each("has a byte too many", "HEX101", _extended, CAT, tree="windows")
_each("has an Arm32 header", "HEX107", _patched(18, "<H", 40), "libQnnHtp.so", STUB)
_each("is a pointer of Git LFS", "HEX505", _pointer, *LIBRARIES)
_each("is empty", "HEX505", _empty, *LIBRARIES)

# -- One release -----------------------------------------------------------------------------------------------

for _name, _rule in (("libQnnHtp.so", "HEX102"), (STUB, "HEX104"), (SKEL, "HEX104")):
    fault(f"{_name} is of QAIRT 2.48", _rule)(
        lambda tree, name=_name: tree.replace(name, tree.spares.older[name])
    )


# -- The right library -----------------------------------------------------------------------------------------


@fault("the skel of v75 goes under the name of v73", "HEX108")
def _(tree: Tree) -> None:
    tree.replace(SKEL, tree.spares.linux["libQnnHtpV75Skel.so"])


@fault("the skel's e_flags say v68", "HEX108")
def _(tree: Tree) -> None:
    _patched(36, "<I", 0x68)(tree, SKEL)


@fault("the backend is the skel", "HEX107")
def _(tree: Tree) -> None:
    tree.replace("libQnnHtp.so", tree.spares.linux[SKEL])


@fault("the backend is the simulator's", "HEX107")
def _(tree: Tree) -> None:
    tree.replace("libQnnHtp.so", tree.spares.simulator["libQnnHtp.so"])


@fault("the backend is the one for Windows", "HEX107")
def _(tree: Tree) -> None:
    tree.replace("libQnnHtp.so", tree.spares.windows["QnnHtp.dll"])


@fault("the stub is missing", "HEX106")
def _(tree: Tree) -> None:
    tree.drop(STUB)


@fault("the skel is missing", "HEX106")
def _(tree: Tree) -> None:
    tree.drop(SKEL)


@fault("the skel is there a second time", "HEX106")
def _(tree: Tree) -> None:
    tree.put(tree.path(SKEL), f"lib/{SKEL}")


@fault("the stub is there a second time", "HEX106")
def _(tree: Tree) -> None:
    tree.put(tree.path(STUB), f"backup/{STUB}")


@fault("a skel of another architecture came along", "HEX501")
def _(tree: Tree) -> None:
    tree.put(tree.spares.linux["libQnnHtpV81Skel.so"], "dsp/libQnnHtpV81Skel.so")


@fault("the preparer came along with a compiled context", "HEX501")
def _(tree: Tree) -> None:
    tree.put(tree.spares.linux["libQnnHtpPrepare.so"], "lib/libQnnHtpPrepare.so")


@fault("the stub of v75 goes under the name of v73", "HEX116")
def _(tree: Tree) -> None:
    tree.replace(STUB, tree.spares.linux["libQnnHtpV75Stub.so"])


@fault("the backend is the preparer under its name", "HEX116")
def _(tree: Tree) -> None:
    tree.replace("libQnnHtp.so", tree.spares.linux["libQnnHtpPrepare.so"])


@fault("the backend is missing", "HEX106", "HEX405")
def _(tree: Tree) -> None:
    tree.drop("libQnnHtp.so")


@fault("the library that reads metadata is missing", "HEX405")
def _(tree: Tree) -> None:
    tree.drop("libQnnSystem.so")


@fault("a C++ runtime of the CPU lies beside the skel", "HEX113")
def _(tree: Tree) -> None:
    content = shared_library(soname="libc++.so.1", build=None)
    (tree.path(SKEL).parent / "libc++.so.1").write_bytes(content)


@fault("a link leads nowhere", "HEX231")
def _(tree: Tree) -> None:
    (tree.path(STUB).parent / "libQnnHtp.so.2").symlink_to("libQnnHtp.so.2.51")


@fault("a link leaves the package", "HEX232")
def _(tree: Tree) -> None:
    (tree.path(STUB).parent / "more").symlink_to("/opt/more")


@fault("the board's FastRPC library is in the package", "HEX112")
def _(tree: Tree) -> None:
    tree.put(tree.path("libQnnSystem.so"), "lib/libcdsprpc.so")


@fault("the licences are missing", "HEX502")
def _(tree: Tree) -> None:
    for path in list(tree.path("licenses").iterdir()):
        path.unlink()


@fault("a catalogue is in a package for Linux", "HEX206")
def _(tree: Tree) -> None:
    tree.put(tree.spares.windows[CAT], f"dsp/{CAT}")


# -- Contexts --------------------------------------------------------------------------------------------------


@fault("the context is that of another SoC with the same Hexagon", "HEX303")
def _(tree: Tree) -> None:
    tree.replace(CONTEXT, tree.spares.contexts["sc8380xp.bin"])


@fault("the context is for an earlier Hexagon", "HEX314")
def _(tree: Tree) -> None:
    tree.replace(CONTEXT, tree.spares.contexts["qcs6490.bin"])


@fault("the context is not one", "HEX405")
def _(tree: Tree) -> None:
    tree.write(CONTEXT, b"Not Found\n")


@fault("the context is missing", "HEX405")
def _(tree: Tree) -> None:
    tree.drop(CONTEXT)


# -- Configuration ---------------------------------------------------------------------------------------------

CONFIG = "qcs9075.json"


def _changed(change: Callable[[dict[str, Any]], None]) -> Callable[[Tree], None]:
    def spoil(tree: Tree) -> None:
        document = json.loads(tree.read(CONFIG))
        change(document)
        tree.write(CONFIG, json.dumps(document).encode())

    return spoil


def _device(**changes: object) -> Callable[[Tree], None]:
    return _changed(lambda document: document["devices"][0].update(changes))


def _graph(**changes: object) -> Callable[[Tree], None]:
    return _changed(lambda document: document["graphs"][0].update(changes))


for _name, _rule, _spoil in (
    ("a key is misspelt", "HEX401", _graph(hvx_thread=4)),
    ("a key is nobody's", "HEX415", _graph(turbo_button=True)),
    ("graphs is an object", "HEX402", _changed(lambda d: d.update(graphs=d["graphs"][0]))),
    ("a graph is named after another model", "HEX403", _graph(graph_names=["encoder"])),
    ("soc_model is the number of another SoC", "HEX404", _device(soc_model=57, dsp_arch="v75")),
    ("dsp_arch is that of another SoC", "HEX404", _device(dsp_arch="v75")),
    ("dsp_arch does not exist", "HEX404", _device(dsp_arch="v72")),
    ("more VTCM than there is", "HEX406", _graph(vtcm_mb=16)),
    ("an optimization level that does not exist", "HEX406", _graph(O=5)),
    ("a signed session", "HEX412", _device(pd_session="signed")),
    ("the outer file names another one", "HEX405", lambda tree: tree.move(CONFIG, "share/htp/other.json")),
    (
        "a comma too many",
        "HEX101",
        lambda tree: tree.write(CONFIG, tree.read(CONFIG).replace(b"}", b"},", 1)),
    ),
):
    fault(f"HTP configuration: {_name}", _rule)(_spoil)


@fault("HTP configuration: the keys of the outer file in the inner one", "HEX416")
def _(tree: Tree) -> None:
    _changed(lambda d: d.update(backend_extensions={"config_file_path": "qcs9075.json"}))(tree)


@fault("a line in runner.conf that hexrun does not know", "HEX414")
def _(tree: Tree) -> None:
    tree.write("runner.conf", tree.read("runner.conf") + b"graph main\n")


def _script(*lines: str) -> Callable[[Tree], None]:
    def spoil(tree: Tree) -> None:
        (tree.path(STUB).parents[1] / "run.sh").write_text("\n".join(("#!/bin/sh", *lines, "")))

    return spoil


_BOTH = 'export ADSP_LIBRARY_PATH="$D/dsp;/usr/lib/dsp"'
for _name, _rules, _lines in (
    ("colons between folders for the DSP", ["HEX407"], ["export DSP_LIBRARY_PATH=$D/dsp:/usr/lib/dsp"]),
    ("a semicolon without quotes", ["HEX408"], ["export DSP_LIBRARY_PATH=$D/dsp;/usr/lib/dsp"]),
    ("only the variable that loses", ["HEX409"], [_BOTH]),
    ("the board's folder first", ["HEX410"], ['export DSP_LIBRARY_PATH="/usr/lib/rfsa/adsp;$D/dsp"']),
    ("both variables, quoted, own folder first", [], [_BOTH, _BOTH.replace("ADSP", "DSP")]),
):
    fault(f"script: {_name}", *_rules)(_script(*_lines))


# -- Windows ---------------------------------------------------------------------------------------------------

_each("has a flipped bit", "HEX207", _flipped, *DLLS, tree="windows")
_each("has a flipped bit", "HEX202", _flipped, "libQnnHtpV73Skel.so", tree="windows")
_each("has a byte too many", "HEX202", _extended, "libQnnHtpV73Skel.so", tree="windows")


@fault("the catalogue is missing", "HEX201", tree="windows")
def _(tree: Tree) -> None:
    tree.drop(CAT)


@fault("the catalogue lies in another folder", "HEX201", tree="windows")
def _(tree: Tree) -> None:
    tree.move(CAT, f"catalogues/{CAT}")


@fault("the catalogue's signature has a flipped bit", "HEX203", tree="windows")
def _(tree: Tree) -> None:
    _flipped(tree, CAT)  # the signature is in its middle


@fault("a catalogue signed by somebody else", "HEX204", tree="windows")
def _(tree: Tree) -> None:
    tree.write(CAT, catalogue({SKEL: tree.read(SKEL)}, signer_cn="Example Devices"))


@fault("a library of the NPU driver is in the package", "HEX208", tree="windows")
def _(tree: Tree) -> None:
    tree.put(tree.path("QnnSystem.dll"), "QnnHtpV73StubDrv.dll")


@fault("the stub lies in another folder than the backend", "HEX209", tree="windows")
def _(tree: Tree) -> None:
    tree.move("QnnHtpV73Stub.dll", "plugins/QnnHtpV73Stub.dll")


@fault("the catalogue is that of v81", "HEX202", tree="windows")
def _(tree: Tree) -> None:
    tree.replace(CAT, tree.spares.windows["libqnnhtpv81.cat"])


@fault("the backend is an x64 library", "HEX107", tree="windows")
def _(tree: Tree) -> None:
    tree.write("QnnHtp.dll", dll("AMD64"))


@fault("the driver's FastRPC library is in the package", "HEX112", tree="windows")
def _(tree: Tree) -> None:
    tree.put(tree.path("QnnSystem.dll"), "libcdsprpc.dll")


@fault("the stub is missing", "HEX106", tree="windows")
def _(tree: Tree) -> None:
    tree.drop("QnnHtpV73Stub.dll")
