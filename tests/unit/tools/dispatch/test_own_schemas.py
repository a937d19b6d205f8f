"""Inputs as models really send them."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.tools.dispatch.own_schemas import check_input, normalize
from yume_shim.tools.dispatch.specs import SPECS
from yume_shim.types.errors import ToolFailed

BY_NAME = {spec.name: spec for spec in SPECS}


@pytest.mark.parametrize(
    ("tool", "given", "normalized"),
    [
        ("Read", {"file_path": "a", "offset": "3", "limit": None}, {"file_path": "a", "offset": 3}),
        ("Read", {"file_path": "a", "offset": 2.0, "pages": ""}, {"file_path": "a", "offset": 2}),
        ("Read", {"file_path": "a", "allow_large": "true"}, {"file_path": "a", "allow_large": True}),
        ("Read", {"file_path": "a", "allow_large": "false"}, {"file_path": "a", "allow_large": False}),
        ("Bash", {"command": "x", "timeout": "1000"}, {"command": "x", "timeout": 1000.0}),
        ("Grep", {"pattern": "x", "path": "", "glob": "", "-C": 2}, {"pattern": "x", "-C": 2.0}),
        ("Grep", {"pattern": "", "output_mode": ""}, {"pattern": ""}),
        (
            "Edit",
            {"file_path": "a", "old_string": "", "new_string": "x"},
            {"file_path": "a", "old_string": "", "new_string": "x", "replace_all": False},
        ),
        (
            "MultiEdit",
            {"file_path": "a", "edits": [{"old_string": "a", "new_string": "", "replace_all": "true"}]},
            {"file_path": "a", "edits": [{"old_string": "a", "new_string": "", "replace_all": True}]},
        ),
    ],
)
def test_accepted(tool: str, given: dict[str, Any], normalized: dict[str, Any]) -> None:
    check_input(BY_NAME[tool], given, None)
    assert normalize(given, BY_NAME[tool].schema) == normalized


@pytest.mark.parametrize(
    ("tool", "given", "lines"),
    [
        ("Read", {"file_path": None}, ["The required parameter `file_path` is missing"]),
        (
            "Read",
            {"file_path": "a", "offset": 1.5},
            ["The parameter `offset` type is expected as `integer` but provided as `number`"],
        ),
        (
            "Read",
            {"file_path": "a", "offset": True},
            ["The parameter `offset` type is expected as `integer` but provided as `boolean`"],
        ),
        (
            "Read",
            {"file_path": ["a"], "limit": {}},
            [
                "The parameter `file_path` type is expected as `string` but provided as `array`",
                "The parameter `limit` type is expected as `integer` but provided as `object`",
            ],
        ),
        (
            "Read",
            {"file_path": "a", "limit": 1e300},
            ["The parameter `limit` type is expected as `integer` but provided as `number`"],
        ),
        (
            "Read",
            {"file_path": "a", "allow_large": "maybe"},
            ["The parameter `allow_large` type is expected as `boolean` but provided as `string`"],
        ),
        (
            "Grep",
            {"pattern": "a", "output_mode": "lines"},
            ["The parameter `output_mode` must be one of `content`, `files_with_matches`, `count`"],
        ),
        ("LS", {"ignore": [1]}, ["The parameter `ignore[0]` type is expected as `string` but provided as `number`"]),
        ("Bash", {"command": "a\0"}, ["The parameter `command` contains a NUL character"]),
        ("Bash", {"command": "\ud800"}, ["The parameter `command` contains characters that are not valid Unicode"]),
        (
            "Glob",
            {"pattern": "*", "path": "~"},
            ["The parameter `path` starts with `~`, which is not expanded; give the absolute path"],
        ),
    ],
)
def test_refused(tool: str, given: dict[str, Any], lines: list[str]) -> None:
    with pytest.raises(ToolFailed) as failed:
        check_input(BY_NAME[tool], given, None)
    head = f"InputValidationError: {tool} failed due to the following issue(s):\n"
    assert (failed.value.message, failed.value.before_run) == (head + "\n".join(lines), True)
    assert failed.value.structured.startswith("InputValidationError: [{")


def test_content_may_hold_anything() -> None:
    check_input(BY_NAME["Write"], {"file_path": "a", "content": "\0\r\ud800"}, None)
