"""Wrong arguments that are corrected, and those that are not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.windows_bash import bash_for_windows
from yume_shim.engine.toolbox import Toolbox
from yume_shim.tools.dispatch.builtin import open_builtin_tools
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import ToolFailed
from yume_shim.types.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

EDIT = {"old_string": "a", "new_string": "b", "replace_all": False}


def box(folder: Path, logged: list[tuple[str, str]] | None = None) -> Toolbox:
    def log(level: str, text: str) -> None:
        if logged is not None:
            logged.append((level, text))

    settings = Settings(cwd=str(folder), env=bash_for_windows())
    tools = open_builtin_tools(settings, str(folder / "scratch"), dict(os.environ), log, host_answers=True)
    return Toolbox((tools,))


@pytest.mark.parametrize(
    ("tool", "given", "corrected"),
    [
        ("Read", {"path": "a"}, {"file_path": "a"}),
        ("Read", {"filename": "a", "limit": 3}, {"file_path": "a", "limit": 3}),
        ("Read", {"filePath": "a"}, {"file_path": "a"}),
        ("Read", {"file_path": None, "file": "a"}, {"file_path": "a"}),
        ("Bash", {"cmd": "ls"}, {"command": "ls"}),
        ("Bash", {"script": "ls"}, {"command": "ls"}),
        ("Edit", {"path": "f", "old": "a", "new": "b"}, {"file_path": "f", **EDIT}),
        ("Edit", {"file_path": "f", "oldString": "a", "newString": "b"}, {"file_path": "f", **EDIT}),
        ("Grep", {"regex": "x", "dir": "src"}, {"pattern": "x", "path": "src"}),
        ("Grep", {"query": "x", "glob": "*.py"}, {"pattern": "x", "glob": "*.py"}),
        ("Write", {"path": "f", "contents": "x"}, {"file_path": "f", "content": "x"}),
        ("Read", {"path": "a", "start_line": 3, "num_lines": 5}, {"file_path": "a", "offset": 3, "limit": 5}),
        ("Read", {"file_path": "a", "path": "b"}, {"file_path": "a"}),  # nothing is missing: `path` is just wrong
        ("Read", {"path": "a", "colour": "red", "security_risk": "LOW"}, {"file_path": "a"}),
        ("MultiEdit", {"file_path": "f", "edits": [{**EDIT, "line": 3}]}, {"file_path": "f", "edits": [EDIT]}),
        ("MultiEdit", {"file_path": "f", "edits": '[{"old": "a", "new": "b"}]'}, None),
        ("TodoWrite", {"todos": '[{"content": "x", "status": "pending"}]'}, None),
        ("LS", {"folder": "src", "ignore": '["*.o"]'}, {"path": "src", "ignore": ["*.o"]}),
    ],
)
def test_corrections(tmp_path: Path, tool: str, given: dict[str, Any], corrected: dict[str, Any] | None) -> None:
    tools = box(tmp_path)
    call = tools.complete(ToolCall("1", tool, given), fix_arguments=True)
    tools.prepare(call)
    if corrected is not None:
        assert call.input == corrected


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"folder": "a"}),
        ("Grep", {"glob": "*.py"}),  # a parameter of its own, so never taken for another
        ("MultiEdit", {"file_path": "f", "edits": "not json"}),
        ("MultiEdit", {"file_path": "f", "edits": '{"old": 1}'}),
    ],
)
def test_the_rest_fails_as_usual(tmp_path: Path, tool: str, given: dict[str, Any]) -> None:
    tools = box(tmp_path)
    call = tools.complete(ToolCall("1", tool, given), fix_arguments=True)
    assert call.input == given
    with pytest.raises(ToolFailed, match="InputValidationError"):
        tools.prepare(call)


def test_off_by_default(tmp_path: Path) -> None:
    logged: list[tuple[str, str]] = []
    call = ToolCall("1", "Read", {"path": "a"})
    assert box(tmp_path, logged).complete(call) is call
    assert logged == []


@pytest.mark.parametrize("raw", ["", " null ", '""'])
def test_no_arguments(tmp_path: Path, raw: str) -> None:
    tools = box(tmp_path)
    assert tools.complete(ToolCall("1", "LS", {}, raw), fix_arguments=True) == ToolCall("1", "LS", {})
    broken = ToolCall("1", "LS", {}, "{")
    assert tools.complete(broken, fix_arguments=True) is broken


def test_each_drift_is_told_once(tmp_path: Path) -> None:
    logged: list[tuple[str, str]] = []
    tools = box(tmp_path, logged)
    for _ in range(3):
        tools.complete(ToolCall("1", "Read", {"path": "a"}), fix_arguments=True)
        tools.complete(ToolCall("1", "MultiEdit", {"file_path": "f", "edits": "[]"}), fix_arguments=True)
    tools.complete(ToolCall("1", "Write", {"path": "a", "content": ""}), fix_arguments=True)
    assert logged == [
        ("warning", "schema drift: Read was called with `path`, taken as `file_path`"),
        ("warning", "schema drift: MultiEdit was called with `edits`, parsed from text to array"),
        ("warning", "schema drift: Write was called with `path`, taken as `file_path`"),
    ]
    logged.clear()
    tools.complete(ToolCall("1", "Read", {"file_path": "a", "x" * 500: 1}), fix_arguments=True)
    assert logged == [
        ("warning", f"schema drift: Read was called with `{'x' * 80}`, ignored: there is no such parameter")
    ]


def test_nothing_to_do_changes_nothing(tmp_path: Path) -> None:
    call = ToolCall("1", "Read", {"file_path": "a"})
    assert box(tmp_path).complete(call, fix_arguments=True) is call
