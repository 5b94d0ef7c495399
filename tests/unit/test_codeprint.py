"""Each area of the program names all that its results depend on, and no more than it must."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import packager
from packager import codeprint
from packager.codeprint import AREAS

ROOT = Path(packager.__file__).parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "packager").rglob("*.py")
}
ENTRANCES = {"compilers": "packager.compilers", "facts": "packager.facts"}


def only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module apart from what only a type checker sees."""
    for child in ast.iter_child_nodes(node):
        if not only_for_types(child):
            yield child
            yield from running(child)


def imported(module: str) -> Iterator[str]:
    for node in running(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def reached(start: str) -> set[str]:
    """The modules below a package and all that they import, and so on."""
    pending = [name for name in MODULES if name == start or name.startswith(f"{start}.")]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in MODULES and name not in seen:
            seen.add(name)
            pending += imported(name)
    return seen


def tables_read(modules: set[str]) -> set[str]:
    """The tables that modules ask for by name, or through a function of `catalog` that reads one."""
    readers: dict[str, set[str]] = {}
    for node in ast.parse(MODULES["packager.catalog"].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            readers[node.name] = asked(node)
    found: set[str] = set()
    for module in modules - {"packager.catalog"}:
        tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
        found |= asked(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                found |= readers.get(name, set())
    return found


def asked(tree: ast.AST) -> set[str]:
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (getattr(node.func, "attr", None) or getattr(node.func, "id", None)) == "table"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


@pytest.mark.parametrize("area", AREAS)
def test_an_area_names_every_module_that_its_own_import(area):
    paths = {MODULES[name].relative_to(ROOT).as_posix() for name in reached(ENTRANCES[area])}

    assert {path for path in paths if not path.startswith(AREAS[area])} == set()


@pytest.mark.parametrize("area", AREAS)
def test_an_area_names_every_table_that_its_modules_read(area):
    tables = {f"targets/{name}.toml" for name in tables_read(reached(ENTRANCES[area]))}

    assert {table for table in tables if not table.startswith(AREAS[area])} == set()


@pytest.mark.parametrize("area", AREAS)
def test_an_area_names_nothing_that_is_not_there(area):
    assert [name for name in AREAS[area] if not (ROOT / name).exists()] == []


def prints(monkeypatch, tmp_path, changed: str) -> list[bool]:
    """Whether the digest of the compilers, of the facts and of everything changes with one file."""

    class Changed(type(tmp_path)):  # the same file with another content
        def read_bytes(self) -> bytes:
            return super().read_bytes() + b"\n# another word\n"

    def now() -> list[str]:
        codeprint.codeprint.cache_clear()
        return [codeprint.codeprint(area) for area in ("compilers", "facts", None)]

    before, parts = now(), list(codeprint._parts())
    swapped = [(name, Changed(path) if name == changed else path) for name, path in parts]
    assert changed in dict(parts)
    monkeypatch.setattr(codeprint, "_parts", lambda: iter(swapped))
    after = now()
    codeprint.codeprint.cache_clear()
    return [one != other for one, other in zip(before, after, strict=True)]


@pytest.mark.parametrize(
    ("changed", "compilers", "facts"),
    [
        ("templates/runner/choose.c", False, False),
        ("packager/report.py", False, False),
        ("packager/formats/deb.py", False, False),
        ("targets/errors.toml", False, True),
        ("packager/facts/elf.py", False, True),
        ("packager/compilers/quantize.py", True, False),
        ("packager/files.py", True, True),
    ],
)
def test_only_what_depends_on_a_file_is_made_anew_when_it_changes(
    monkeypatch, tmp_path, changed, compilers, facts
):
    assert prints(monkeypatch, tmp_path, changed) == [compilers, facts, True]
