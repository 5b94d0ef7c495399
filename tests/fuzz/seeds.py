"""Small genuine files of every kind, from which fuzzing begins."""

from __future__ import annotations

import gzip
import json
import lzma

import tomlkit
import zstandard
from onnx import TensorProto, helper

from tests.fuzz.test_manifest_fuzz import GOOD
from tests.make.archive import Layout, deb_of, tar_with, zip_with
from tests.make.authenticode import signed
from tests.make.axml import compiled, manifest, text
from tests.make.catalogue import catalogue
from tests.make.context import Graph, context
from tests.make.dlc import qairt_dlc, snpe1_dlc, snpe2_dlc
from tests.make.elf import elf, hexagon_skel, shared_library
from tests.make.pe import dll
from tests.make.rpm import rpm_of

_TENSOR = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, "n", 3))
_ONNX = helper.make_model(
    helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [_TENSOR], [_TENSOR]), ir_version=9
)
_TAR = tar_with({"a/b": bytes(700), "n" * 120: b"x"})
_IMAGE = Layout()
_IMAGE.image(gzip.compress(_TAR), platform=("linux", "arm64"))
_MANIFEST = manifest((("libcdsprpc.so", False),), extract=True)
_HUB = {
    "runtime": "qnn_dlc",
    "tool_versions": {"qairt": "2.43.0"},
    "model_files": {"m.dlc": {"inputs": {"x": {"shape": [1, 3], "dtype": "uint8"}}, "outputs": {}}},
    "chipset_attributes": {"name": "qcs6490", "htp_version": 68, "soc_model": 93},
}
_GENIE = {
    "dialog": {
        "tokenizer": {"path": "t.json"},
        "engine": {"backend": {"type": "QnnHtp"}, "model": {"binary": {"ctx-bins": ["a.bin"]}}},
    }
}
_ASSET = {
    "runtime": "RUNTIME_ONNX",
    "precision": "PRECISION_FLOAT",
    "download_url": "u",
    "tool_versions": {"qairt": 2.43},
}
_VARIANT = {
    "ep": "QNNExecutionProvider",
    "compatibility_string": "v2:6:2.51:5.51:73:77:8:0",
    "executor_info": {"ort": {"model_file": "m.onnx"}},
}

SEEDS: dict[str, tuple[bytes, ...]] = {
    "elf": (
        hexagon_skel(),
        shared_library(glibc="2.34", glibcxx="3.4.29", exports=("QnnInterface_getProviders",)),
        elf(machine="ARM", interpreter="/system/bin/linker", note="Android", runpath="$ORIGIN"),
    ),
    "pe": (
        signed(dll(imports=("KERNEL32.dll",))),
        dll("ARM64X", pdb="C:\\x\\x.pdb", delayed=("USER32.dll",)),
    ),
    "catalogue": (catalogue({"skel.so": b"skel"}),),
    "context-head": (context(), context((Graph(), Graph()))),
    "onnx": (_ONNX.SerializeToString(),),
    "dlc": (qairt_dlc(), snpe1_dlc(), snpe1_dlc(0), snpe2_dlc(), qairt_dlc(records={"htp.cache": context()})),
    "archive": (
        zip_with({"a/b": bytes(700), "c.zip": zip_with({"d": b"x"})}),
        _TAR,
        gzip.compress(_TAR),
        lzma.compress(_TAR),
        zstandard.compress(_TAR),
        deb_of(_TAR, compress=gzip.compress, suffix=".gz"),
        rpm_of({"a/b": bytes(700), "a/link": "b"}, gzip.compress),
        tar_with(_IMAGE.finished()),
    ),
    "htp-config": (
        b'{"graphs": [{"graph_names": ["g"], "O": 3}], "devices": [{"soc_model": 57, "dsp_arch": "v75"}]}',
        b'{"backend_extensions": {"config_file_path": "a.json"}}',
    ),
    "genie-config": (json.dumps(_GENIE).encode(),),
    "runner-config": (b"format 1\npackage x 1\nbackend ../lib/b.so\nvariant soc=a context=models/a.bin\n",),
    "environment": (
        b'#!/bin/sh\nexport ADSP_LIBRARY_PATH="$D/dsp;/vendor/dsp"\nDSP_LIBRARY_PATH=$D;/v ./run \\\n -x\n',
        b'[Service]\nEnvironment="ADSP_LIBRARY_PATH=/a;/b"\nExecStart=/bin/sh -c "DSP_LIBRARY_PATH=/a exec x"\n',
        b"services:\n  a:\n    environment:\n      - LD_LIBRARY_PATH=/a\n",
        b"services:\n  a: {environment: {LD_LIBRARY_PATH: /a}, command: sh -c 'LD_LIBRARY_PATH=/a x'}\n",
        b"#!/bin/sh\ncat <<E\nE\n. ./a\nLD_LIBRARY_PATH=/a\n",
        b"@echo off\r\nset ADSP_LIBRARY_PATH=%~dp0\r\n",
    ),
    "build-file": (
        b'# c\n[uid=0 gid=0 perms=0644 +raw]\n/a/b=${T}/b # c\n[type=link] "/a/c"=b\n[perms=0755] x = {\necho\n}\ny\n',
    ),
    "android-manifest": (text(_MANIFEST), compiled(_MANIFEST), compiled(_MANIFEST, utf8=True)),
    "ai-hub-metadata": (
        json.dumps(_HUB).encode(),
        b"tool_versions:\n  qairt: 2.43\nmodel_files:\n  a.bin: {}\n",
    ),
    "yaml": (
        b"---\n# c\na: {b: [1, 0x1f, 1:2.5, ~, 2020-01-02T03:04:05+01:00], 'c': \"d\"}\n",
        b"a: |\n  b\n? c\n: !!int 1\nd: &e [1]\nf: *e\n...\n",
    ),
    "ai-hub-release": (
        json.dumps({"model_id": "m", "assets": [_ASSET]}).encode(),
        b"assets:\n- runtime: onnx\n  precision: w8a8\n  download_url: u\n",
    ),
    "hub-apps": (b'{"registry_version": "1", "model": {"model_id": "m", "files": ["a"]}}',),
    "model-package": (
        json.dumps({"schema_version": "1.0", "components": {"a": {"variants": {"v": _VARIANT}}}}).encode(),
    ),
    "manifest": (tomlkit.dumps(GOOD).encode(),),
}
