"""The shape of the house: imports go down, only one module writes, heavy libraries stay out of doors."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import packager

ROOT = Path(packager.__file__).parent

FLOORS = {
    0: (
        "__init__", "errors", "model", "versions", "resources", "templating", "files", "catalog", "codeprint",
        "visible", "units",
    ),
    1: (
        "facts", "manifest", "manifest_model", "manifest_formats", "manifest_linux", "manifest_samples", "manifest_signing", "manifest_sources", "manifest_words", "manifest_problems",
        "manifest_host",
        "manifest_schema", "diagnostics", "source_map", "toml_errors", "bundle", "plan_model", "naming", "decoder", "log_lines",
    ),
    2: ("signing_key", "cms", "store", "store_leases", "store_keeping", "sources", "compilers"),
    3: ("plan", "plan_linux", "plan_formats", "lock", "lock_reading"),
    4: ("rules",),
    5: ("runtime_config", "runner", "layouts", "android", "parts"),
    6: ("formats",),
    7: ("assets", "steps", "apart", "composable", "pool", "composed", "converted", "linked", "contexts", "staging", "emission", "registry_upload", "publication", "inference", "audit", "report_model"),
    8: (
        "pipeline", "report", "progress", "plan_report", "audit_report", "inspection", "explanation", "project",
        "store_report",
    ),
    9: ("commands",),
}  # fmt: skip
FLOOR_OF = {module: floor for floor, modules in FLOORS.items() for module in modules}
HEAVY = {
    "PIL",
    "lief",
    "onnx",
    "onnxruntime",
    "numpy",
    "cryptography",
    "zstandard",
    "deflate",
    "rich",
    "cookiecutter",
    "jinja2",
}

# Modules that are nothing but the use of a heavy library; others import them inside functions only.
INDOORS = {"facts/catalogue_asn1.py"}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if "data" not in path.relative_to(ROOT).parts[:1])


def top(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "packager":
                yield from (f"packager.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_its_own_floor_and_those_below(path):
    floor = FLOOR_OF[top(path)]

    wanted = [
        name.split(".")[1] for name in imports(ast.parse(path.read_text())) if name.startswith("packager.")
    ]

    above = {name for name in wanted if name in FLOOR_OF and FLOOR_OF[name] > floor}
    assert not above


def test_every_module_has_a_floor():
    assert {top(path) for path in modules()} - {"py"} <= set(FLOOR_OF)


def imported_at_once(path: Path) -> set[str]:
    body = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return set(imports(ast.Module(body=list(body), type_ignores=[])))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_libraries_are_imported_only_inside_functions(path):
    at_once = imported_at_once(path)

    heavy = {name.partition(".")[0] for name in at_once} & HEAVY
    indoors = {f"{name.removeprefix('packager.').replace('.', '/')}.py" for name in at_once} & INDOORS
    assert not indoors
    assert not heavy or str(path.relative_to(ROOT)) in INDOORS


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_stays_readable_in_one_sitting(path):
    assert len(path.read_text().splitlines()) <= 420


def test_only_commands_and_reports_print():
    printing = {
        str(path.relative_to(ROOT))
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }

    assert {name.split("/")[0] for name in printing} <= {
        "commands", "report.py", "plan_report.py", "inspection.py",
    }  # fmt: skip


def test_importing_the_commands_loads_nothing_heavy():
    code = "import packager.commands, sys; print(*sorted(m.partition('.')[0] for m in sys.modules))"

    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )

    assert not loaded & (HEAVY | {"pydantic", "tomlkit"})
