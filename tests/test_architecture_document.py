"""docs/architecture.md names files and functions; all of them exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "yume_shim"
DOCUMENT = ROOT / "docs" / "architecture.md"
REFERENCE = re.compile(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|json)|[a-z_]+\.py)(?::([A-Za-z_.]+))?`")
FOLDER = re.compile(r"`((?:[a-z_]+/)+)`")
LINK = re.compile(r"\]\(([^)#]+)\)")


def references() -> list[tuple[str, str]]:
    return sorted(set(REFERENCE.findall(DOCUMENT.read_text("utf-8"))))


def defines(path: Path, dotted: str) -> bool:
    """Does the module define this class, function or `Class.method`? A package's module may import it."""
    body = ast.parse(path.read_text("utf-8")).body
    for name in dotted.split("."):
        found = [
            node
            for node in ast.walk(ast.Module(body, []))
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name
        ]
        if not found:
            return False
        body = found[0].body
    return True


def test_there_are_references() -> None:
    assert len(references()) > 50


@pytest.mark.parametrize(("file", "name"), references())
def test_every_file_and_function_exists(file: str, name: str) -> None:
    path = ROOT / file if file.startswith(("tests/", "scripts/")) else PACKAGE / file
    assert path.is_file(), file
    assert not name or defines(path, name), f"{file} has no {name}"


def test_every_folder_exists() -> None:
    missing = [
        name
        for name in FOLDER.findall(DOCUMENT.read_text("utf-8"))
        if not (PACKAGE / name).is_dir() and not (ROOT / name).is_dir()
    ]
    assert missing == []


def test_every_link_leads_somewhere() -> None:
    missing = [
        link
        for link in LINK.findall(DOCUMENT.read_text("utf-8"))
        if "://" not in link and not (DOCUMENT.parent / link).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_document_is_linked(page: str) -> None:
    assert "docs/architecture.md" in (ROOT / page).read_text("utf-8")
