"""A good manifest, and every way of getting one wrong that has a message of its own."""

from __future__ import annotations

GOOD = """\
schema = 1

[package]
name = "text-direction"
version = "1.2.0"
vendor = "Example Devices"
license = "Apache-2.0"
description = "Tells whether a line of text is upside down"
maintainer = "Release Team <release@example.com>"

[model]
source = { path = "cls.onnx" }
inputs = { x = { shape = [1, 3, 48, 48], dtype = "float32" } }

[qairt]
from = "wheel"

[defaults]
power = "balanced"

[[targets]]
name = "rb3gen2"
soc = ["qcs6490"]
os = "linux"
formats = ["tar.zst", "deb"]

[[targets]]
soc = ["sm8650", "sm8750"]
os = "android"
formats = ["aar"]
power = "burst"

[[allow]]
rule = "HEX207"
target = "rb3gen2"
reason = "image ships fastrpc 1.0.7"
"""


def changed(*changes: tuple[str, str]) -> bytes:
    text = GOOD
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} must occur once"
        text = text.replace(old, new)
    return text.encode()


WRONG: dict[str, bytes] = {
    # Keys and sections
    "unknown-key-at-the-top": changed(("schema = 1", 'schema = 1\nvendor = "Example Devices"')),
    "unknown-key-in-package": changed(('license = "', 'licence = "')),
    "unknown-key-in-model": changed(("[model]", '[model]\nquantization = "int8"')),
    "unknown-key-in-inline-table": changed(('path = "cls.onnx"', 'path = "cls.onnx", sha = "0a"')),
    "unknown-key-in-input": changed(('dtype = "float32"', 'dtype = "float32", layout = "NCHW"')),
    "unknown-key-in-qairt": changed(('from = "wheel"', 'from = "wheel"\nrelease = "2.51.0"')),
    "unknown-key-in-defaults": changed(('power = "balanced"', 'power = "balanced"\noptimisation = 3')),
    "unknown-key-in-second-target": changed(('power = "burst"', "vtcm = 4")),
    "unknown-key-in-allow": changed(('target = "rb3gen2"', 'package = "rb3gen2"')),
    "unknown-key-close-to-nothing": changed(("[qairt]", '[qairt]\nzzz = "y"')),
    "unknown-quoted-key": changed(("[qairt]", '[qairt]\n"the sdk\\t" = "y"')),
    "unknown-dotted-key": changed(("[defaults]", "[defaults]\nhtp.power = 3")),
    "unknown-section": changed(("[package]", "[packge]")),
    "unknown-section-close-to-nothing": changed(("[qairt]", '[lettering]\nkey = "k"\n\n[qairt]')),
    "key-in-the-wrong-section": changed(("[model]", '[model]\nsoc = ["qcs6490"]')),
    "two-kinds-of-source": changed(('path = "cls.onnx"', 'wheel = "a==1", file = "f", path = "cls.onnx"')),
    # What is missing
    "missing-schema": changed(("schema = 1\n", "")),
    "missing-section": changed((GOOD[GOOD.index("[package]") : GOOD.index("[model]")], "")),
    "missing-model": changed((GOOD[GOOD.index("[model]") : GOOD.index("[qairt]")], "")),
    "missing-targets": changed((GOOD[GOOD.index("[[targets]]") :], "")),
    "missing-key": changed(('version = "1.2.0"\n', "")),
    "missing-key-in-second-target": changed(('formats = ["aar"]\n', "")),
    "missing-os": changed(('os = "android"\n', "")),
    "missing-file-of-wheel": changed(('path = "cls.onnx"', 'wheel = "example==1.0"')),
    "missing-kind-of-source": changed(('path = "cls.onnx"', "")),
    "misspelt-kind-of-source": changed(('path = "cls.onnx"', 'pth = "cls.onnx"')),
    "missing-libraries-of-host": changed(('power = "burst"', 'host = { dsp = "/usr/lib/dsp" }')),
    "relative-folder-of-host": changed(('power = "burst"', 'host = { libraries = "lib" }')),
    "missing-inputs-of-reference": changed(("[qairt]", "[model.reference]\nmin_cosine = 0.9\n\n[qairt]")),
    "empty-targets": changed(
        (GOOD[GOOD.index("[[targets]]") :], ""), ("schema = 1", "schema = 1\ntargets = []")
    ),
    "empty-array": changed(('soc = ["qcs6490"]', "soc = []")),
    "empty-string": changed(('vendor = "Example Devices"', 'vendor = ""')),
    # Values
    "newer-schema": changed(("schema = 1", "schema = 2")),
    "bad-name": changed(('name = "text-direction"', 'name = "Text Direction"')),
    "bad-version": changed(('"1.2.0"', '"1.2-final"')),
    "bad-maintainer": changed(("Release Team <release@example.com>", "release@example.com")),
    "bad-digest": changed(('path = "cls.onnx"', 'path = "cls.onnx", sha256 = "ABC"')),
    "plain-http": changed(('path = "cls.onnx"', f'url = "http://example.com/m.onnx", sha256 = "{"0" * 64}"')),
    "hub-branch-instead-of-commit": changed(
        ('path = "cls.onnx"', 'huggingface = "a/b", revision = "main", file = "m.onnx"')
    ),
    "oci-tag-instead-of-digest": changed(('path = "cls.onnx"', 'oci = "registry.example.com/a/b:1.0"')),
    "url-without-digest": changed(('path = "cls.onnx"', 'url = "https://example.com/m.onnx"')),
    "url-with-password": changed(
        ('path = "cls.onnx"', f'url = "https://me:secret@example.com/m.onnx", sha256 = "{"0" * 64}"')
    ),
    "bad-wheel": changed(('path = "cls.onnx"', 'wheel = "example>=1.0", file = "f"')),
    "bad-rule": changed(('"HEX207"', '"207"')),
    "bad-power-profile": changed(('power = "balanced"', 'power = "brust"')),
    "bad-compute-unit": changed(('power = "balanced"', 'compute = ["npu", "tpu"]')),
    "bad-dtype": changed(('dtype = "float32"', 'dtype = "float"')),
    "bad-operating-system": changed(('os = "linux"', 'os = "linus"')),
    "foreign-operating-system": changed(('os = "linux"', 'os = "symbian"')),
    "short-reason": changed(("image ships fastrpc 1.0.7", "ok")),
    "long-name": changed(('"rb3gen2"\nsoc', f'"{"a" * 65}"\nsoc')),
    "two-lines-in-one": changed(('vendor = "Example Devices"', 'vendor = "Example\\nInstalled-Size: 0"')),
    "out-of-range": changed(('power = "balanced"', "optimization = 7")),
    "negative-dimension": changed(("[1, 3, 48, 48]", "[-1, 3, 48, 48]")),
    "too-many-dimensions": changed(("[1, 3, 48, 48]", "[1, 1, 1, 1, 1, 1, 1, 1, 1]")),
    "cosine-above-one": changed(
        ("[qairt]", '[model.reference]\ninputs = "s/*.npy"\nmin_cosine = 1.5\n\n[qairt]')
    ),
    "path-without-from": changed(('from = "wheel"', 'from = "wheel"\npath = "lib"')),
    # Types
    "number-instead-of-string": changed(('version = "1.2.0"', "version = 1.20")),
    "date-instead-of-string": changed(('version = "1.2.0"', "version = 2026-10-01")),
    "string-instead-of-number": changed(('power = "balanced"', 'optimization = "3"')),
    "fraction-instead-of-whole": changed(('power = "balanced"', "vtcm_mb = 4.0")),
    "boolean-instead-of-number": changed(('power = "balanced"', "vtcm_mb = true")),
    "string-instead-of-array-soc": changed(('soc = ["qcs6490"]', 'soc = "qcs6490"')),
    "string-instead-of-array-formats": changed(('formats = ["aar"]', 'formats = "aar"')),
    "string-instead-of-array-compute": changed(('power = "balanced"', 'compute = "npu"')),
    "string-instead-of-table": changed(('{ path = "cls.onnx" }', '"cls.onnx"')),
    "number-inside-array": changed(('["sm8650", "sm8750"]', '["sm8650", 8750]')),
    "table-instead-of-array-of-tables": changed(
        (GOOD[GOOD.index("[[targets]]\nsoc") :], ""), ("[[targets]]", "[targets]")
    ),
    "array-of-tables-instead-of-table": changed(("[package]", "[[package]]")),
    "number-instead-of-section": changed(
        (GOOD[GOOD.index("[qairt]") : GOOD.index("[defaults]")], ""), ("schema = 1", "schema = 1\nqairt = 2")
    ),
    "broken-defaults": changed(
        ('[defaults]\npower = "balanced"\n', ""), ("schema = 1", 'schema = 1\ndefaults = "burst"')
    ),
    # Several
    "two-problems": changed(('"1.2.0"', '"one"'), ('power = "burst"', 'power = "turbo"')),
    "more-problems-than-are-shown": changed(
        ("[qairt]", "[qairt]\n" + "".join(f"k{n} = {n}\n" for n in range(30)))
    ),
    # Positions
    "wide-characters-before": changed(
        (
            '{ x = { shape = [1, 3, 48, 48], dtype = "float32" } }',
            '{ "入力e\u0301" = { shap = [1], shape = [1] } }',
        )
    ),
    "tab-before": changed(('power = "balanced"', '\tpower\t= "brust"')),
    "array-over-several-lines": changed(('["sm8650", "sm8750"]', '[\n  "sm8650", # newest\n  8750,\n]')),
    "string-over-several-lines": changed(('vendor = "Example Devices"', 'vendor = """Example\nDevices"""')),
    "very-long-line": changed(('vendor = "Example Devices"', f'vendor = "{"v" * 300}"')),
    "very-long-line-far-inside": changed(
        ('{ path = "cls.onnx" }', f'{{ path = "{"v" * 150}", sha = "{"w" * 90}" }}')
    ),
    "line-that-turns-writing-around": changed(('vendor = "', 'vender = "\u202e')),
    "windows-line-ends": changed(('"1.2.0"', '"one"')).replace(b"\n", b"\r\n"),
    "byte-order-mark": b"\xef\xbb\xbf" + changed(("schema = 1", "schema = 2")),
    # Syntax
    "empty-file": b"",
    "only-comments": b"# schema = 1\n",
    "not-utf-8": changed(('"Example Devices"', '"Example Ger\u00e4te"')).decode().encode("latin-1"),
    "utf-16": changed().decode().encode("utf-16"),
    "binary": b"\x7fELF\x02\x01\x01\x00",
    "duplicate-key": changed(('version = "1.2.0"', 'version = "1.2.0"\nvendor = "Me"')),
    "duplicate-key-in-inline-table": changed(('path = "cls.onnx"', 'path = "a.onnx", path = "b.onnx"')),
    "duplicate-section": changed(("[qairt]", "[package]\n\n[qairt]")),
    "key-defined-in-two-ways": changed(("[qairt]", "[model.source]\n\n[qairt]")),
    "unquoted-text": changed(('os = "linux"', "os = linux")),
    "true-in-capitals": changed(('os = "linux"', "os = True")),
    "value-missing": changed(('os = "linux"', "os =")),
    "strange-value": changed(('os = "linux"', "os = *")),
    "equals-missing": changed(('os = "linux"', 'os "linux"')),
    "two-on-a-line": changed(('os = "linux"\n', 'os = "linux" ')),
    "string-not-closed": changed(('os = "linux"', 'os = "linux')),
    "literal-string-not-closed": changed(('os = "linux"', "os = 'linux")),
    "long-string-not-closed": changed(('reason = "image ships fastrpc 1.0.7"', 'reason = """image ships')),
    "array-not-closed": changed(('soc = ["qcs6490"]', 'soc = ["qcs6490"')),
    "inline-table-not-closed": changed(('{ path = "cls.onnx" }', '{ path = "cls.onnx"')),
    "header-not-closed": changed(("[qairt]", "[qairt")),
    "key-missing": changed(('os = "linux"', '= "linux"')),
    "windows-path": changed(('"cls.onnx"', '"models\\cls.onnx"')),
    "bad-escape": changed(('"cls.onnx"', '"models\\uD800"')),
    "no-such-date": changed(('os = "linux"', "os = 2026-02-31")),
    "control-character": changed(('os = "linux"', 'os = "lin\x07ux"')),
    "control-character-in-comment": changed(('os = "linux"', 'os = "linux" # \x1b[31m')),
    "not-toml": b"package:\n  name: text-direction\n",
    "json": b'{"schema": 1}\n',
    "nested-too-deeply": b"schema = " + b"[" * 3000 + b"]" * 3000,
    "number-of-thousands-of-digits": b"schema = " + b"1" * 5000,
}
