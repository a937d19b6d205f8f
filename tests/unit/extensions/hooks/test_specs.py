"""Which hooks there are, and which of them match."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.extensions.hooks.specs import Hook, hooks_of_host, hooks_of_settings


@pytest.mark.parametrize(
    ("matcher", "tool", "matches"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Ba", "Bash", False),
        ("bash", "Bash", False),
        ("mcp__kit", "mcp__kit__echo", False),
        ("mcp__kit__.*", "mcp__kit__echo", True),
        ("Write|Edit", "Edit", True),
        ("Write|Edit", "MultiEdit", True),
        ("^(Write|Edit)$", "MultiEdit", False),
        ("Bash.*", "Bash", True),
        ("(", "Bash", True),  # a guard must not be off because of a mistake
    ],
)
def test_matchers(matcher: str, tool: str, matches: bool) -> None:
    assert Hook("PreToolUse", matcher, "guard").matches(tool) is matches


def test_events_without_a_subject_ignore_the_matcher() -> None:
    assert Hook("Stop", "Bash", "x").matches("")


def read(data: Any) -> list[Hook]:
    return list(hooks_of_settings(data, "user"))


def test_the_table_of_a_settings_file() -> None:
    data = {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "a", "timeout": 5}]},
            {"hooks": [{"type": "command", "command": "b"}]},
        ],
        "Stop": [{"hooks": [{"type": "command", "command": "c"}]}],
    }
    assert read(data) == [
        Hook("PreToolUse", "Bash", "a", seconds=5.0, source="user"),
        Hook("PreToolUse", "", "b", source="user"),
        Hook("Stop", "", "c", source="user"),
    ]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"type": "prompt", "prompt": "is it safe?"}, "hooks of type 'prompt' are not supported"),
        ({"type": "http", "url": "http://h"}, "hooks of type 'http' are not supported"),
        ({"type": "command"}, "the hook has no command"),
        ({"type": "command", "command": "  "}, "the hook has no command"),
    ],
)
def test_a_hook_that_cannot_run_says_why(entry: dict[str, Any], problem: str) -> None:
    [hook] = read({"PreToolUse": [{"hooks": [entry]}]})
    assert hook.problem == problem


def test_a_matcher_that_is_no_expression_is_a_problem() -> None:
    [hook] = read({"PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "x"}]}]})
    assert "not a regular expression" in hook.problem


@pytest.mark.parametrize("data", [None, 5, [], {"Stop": 5}, {"Stop": [5]}, {"Stop": [{"hooks": [5]}]}, {"Stop": [{}]}])
def test_nonsense_holds_no_hook(data: Any) -> None:
    assert read(data) == []
    assert list(hooks_of_host(data)) == []


def test_the_hooks_of_a_host() -> None:
    data = {
        "PreToolUse": [{"matcher": None, "hookCallbackIds": ["h0", "h1"], "timeout": 2, "onFailure": "block"}],
        "Stop": [{"hookCallbackIds": ["h2"]}],
    }
    assert list(hooks_of_host(data)) == [
        Hook("PreToolUse", callback_id="h0", seconds=2.0, source="host", on_failure="block"),
        Hook("PreToolUse", callback_id="h1", seconds=2.0, source="host", on_failure="block"),
        Hook("Stop", callback_id="h2", seconds=60.0, source="host"),
    ]
