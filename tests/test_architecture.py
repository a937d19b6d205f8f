"""The house rules that no type checker knows: import contracts, module size, who may write stdout."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "yume_shim"
MODULES = sorted(PACKAGE.rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
HEAVY = PROJECT["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-module-level-imports"]
MAY_IMPORT_HEAVY = {
    *(
        "types/ports.py",
        "types/hooks_port.py",
        "types/tasks_port.py",
        "cli/commands.py",
        "cli/batch_command.py",
        "cli/page_commands.py",
        "cli/doctor/command.py",
        "cli/init_command.py",
        "cli/session_commands.py",
        "cli/models_command.py",
        "cli/protocol_commands.py",
        "cli/mcp_command.py",
    ),
}
"""Imported for type checking only; imported for a sub-command only."""
MAY_WRITE = {"host/writer.py"}
MAX_FILE_LINES = 450
NAME_OF = {path: path.relative_to(PACKAGE).as_posix() for path in MODULES}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def module_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run on import: also those inside if, try and with, but not functions or type-checking blocks."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and is_type_checking(node):
            yield from module_level(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef | ast.For | ast.While):
            for field in ("body", "orelse", "finalbody"):
                yield from module_level(getattr(node, field, []))


def imported_at_module_level(path: Path) -> set[str]:
    found: set[str] = set()
    for node in module_level(tree(path).body):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def adapters() -> set[str]:
    """The modules of providers/apis that define `API`."""
    found = set()
    for path in (PACKAGE / "providers" / "apis").iterdir():
        file = path / "__init__.py" if path.is_dir() else path
        if file.suffix == ".py" and file.exists() and not path.name.startswith("_") and "API" in bound_names(file):
            found.add(path.stem)
    return found


def bound_names(path: Path) -> set[str]:
    """The names that a module binds at its top level by assignment or import."""
    found: set[str] = set()
    for node in module_level(tree(path).body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.ImportFrom(names=names):
                found |= {alias.asname or alias.name for alias in names}
    return found


def test_import_contracts_hold() -> None:
    program = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert program is not None
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_adapter_is_in_the_contract_and_has_goldens() -> None:
    contracts = {contract["id"]: contract for contract in PROJECT["tool"]["importlinter"]["contracts"]}
    listed = {name.rsplit(".", 1)[1] for name in contracts["adapters"]["modules"]}
    with_goldens = {path.name.replace("-", "_") for path in (ROOT / "golden" / "providers").iterdir() if path.is_dir()}
    assert adapters() == listed == with_goldens


def test_every_module_is_small_and_says_what_it_is_for() -> None:
    silent = [NAME_OF[path] for path in MODULES if not ast.get_docstring(tree(path))]
    long = [NAME_OF[path] for path in MODULES if path.read_text("utf-8").count("\n") > MAX_FILE_LINES]
    assert (silent, long) == ([], [])


def test_no_module_imports_what_is_heavy_at_its_top_level() -> None:
    found = {
        NAME_OF[path]: heavy
        for path in MODULES
        if NAME_OF[path] not in MAY_IMPORT_HEAVY and (heavy := heavy_names(imported_at_module_level(path)))
    }
    assert found == {}


def heavy_names(imported: set[str]) -> set[str]:
    return {name for name in imported for heavy in HEAVY if f"{name}.".startswith(f"{heavy}.")}


def test_what_is_looked_for_is_found(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import os\nif os.name:\n    import httpx\n\ndef later():\n    import openai\n", "utf-8")
    assert heavy_names(imported_at_module_level(bad)) == {"httpx"}
    assert not ast.get_docstring(tree(bad))


def test_no_code_asks_for_an_endpoint_by_name() -> None:
    asking = re.compile(r"endpoint\.name\s*(==|!=|\bin\b)|provider\s*==\s*[\"'](anthropic|openai|google|gemini)[\"']")
    found = [NAME_OF[path] for path in MODULES if asking.search(path.read_text("utf-8"))]
    assert found == []


def test_only_the_writer_touches_stdout() -> None:
    found = []
    for path in MODULES:
        if NAME_OF[path] in MAY_WRITE:
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                found.append(f"{NAME_OF[path]}:{node.lineno} print")
            if (
                isinstance(node, ast.Attribute)
                and node.attr in ("stdout", "__stdout__")
                and ast.unparse(node.value) == "sys"
            ):
                found.append(f"{NAME_OF[path]}:{node.lineno} sys.{node.attr}")
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "os.write" and ast.unparse(node.args[0]) == "1":
                found.append(f"{NAME_OF[path]}:{node.lineno} os.write(1, …)")
    assert found == []


def test_lock_file_pins_every_package_with_hashes_and_names_no_registry() -> None:
    text = (ROOT / "requirements.lock").read_text("utf-8")
    pins = [part for part in re.split(r"\n(?=\S)", text) if "==" in part]
    assert "://" not in text
    assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin] == []
    pinned = {re.split(r"==", pin)[0].replace("_", "-") for pin in pins}
    wanted = PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"]
    assert {re.split(r"[><=!~]", name)[0].strip().replace("_", "-") for name in wanted} - pinned == set()
