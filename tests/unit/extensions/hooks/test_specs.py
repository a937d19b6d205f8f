"""Which hooks there are, and which of them match."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.extensions.hooks.reading import hooks_of_host, hooks_of_settings, host_problem
from yume_shim.extensions.hooks.specs import Hook


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
        ("Write|Edit", "MultiEdit", False),  # a list of names, not an expression
        ("Write, Edit", "Edit", True),
        ("Write | Edit", "Edit", True),
        (" Edit ", "Edit", True),
        ("Wri|Edit", "Write", False),
        ("Edit|", "Edit", True),
        ("|", "Edit", False),
        ("Write Edit", "Edit", False),
        ("Edit,W.*", "Write", False),
        ("Edit|W.*", "Write", True),
        ("^(Write|Edit)$", "MultiEdit", False),
        ("Bash.*", "Bash", True),
        ("(", "Bash", True),  # a guard must not be off because of a mistake
        pytest.param("(" * 1_500 + ")" * 1_500, "Bash", True, id="nested too deep"),
        ("a{99999999999999999999}", "Bash", True),
        ("Edit|[[W]rite", "Write", True),  # Python would warn of it on stderr
        ("Edit|[[W]rite", "Bash", False),
    ],
)
@pytest.mark.filterwarnings("error")
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
        ({"type": "agent"}, "the hook has no prompt"),
        ({"type": "mcp_tool", "server": "s"}, "the hook needs `server` and `tool`"),
        ({"type": "mcp_tool", "server": "s", "tool": "t", "input": []}, "the `input` of the hook is not an object"),
        ({"type": "oracle"}, "hooks of type 'oracle' are not supported"),
        ({"command": "x"}, "hooks of type None are not supported"),
        ({"type": ["command"]}, "hooks of type ['command'] are not supported"),
        ({"type": "command"}, "the hook has no command"),
        ({"type": "command", "command": "  "}, "the hook has no command"),
        ({"type": "command", "command": "x", "args": "y"}, "the `args` of the hook are not a list of texts"),
        ({"type": "command", "command": "x", "shell": "fish"}, "the hook's shell must be bash or powershell"),
        ({"type": "http", "url": "ftp://h"}, "the hook has no http or https address"),
        ({"type": "http", "url": "http://h", "headers": []}, "the `headers` of the hook are not an object of texts"),
        (
            {"type": "http", "url": "http://h", "allowedEnvVars": "A"},
            "`allowedEnvVars` of the hook is not a list of names",
        ),
        ({"type": "prompt"}, "the hook has no prompt"),
        (5, "the hook is not an object"),
    ],
)
def test_a_hook_that_cannot_run_says_why(entry: Any, problem: str) -> None:
    [hook] = read({"PreToolUse": [{"hooks": [entry]}]})
    assert hook.problem == problem


@pytest.mark.parametrize("kind", ["http", "prompt", "agent", "mcp_tool"])
def test_only_commands_run_at_the_start_of_a_session(kind: str) -> None:
    entry = {"type": kind, "url": "http://h", "prompt": "p", "server": "s", "tool": "t"}
    [hook] = read({"SessionStart": [{"hooks": [entry]}]})
    assert hook.problem == f"hooks of type {kind!r} are not run at the session's start: use a command"


def test_all_fields_of_a_hook() -> None:
    shared: Any = {"timeout": 5, "if": "Bash(git *)", "once": True, "onFailure": "block"}
    entries = [
        {"type": "command", "command": "c", "args": ["a"], "shell": "bash", "async": True, **shared},
        {"type": "http", "url": "https://h/x", "headers": {"X": "$A"}, "allowedEnvVars": ["A"], **shared},
        {"type": "prompt", "prompt": "ok?", "model": "small", "continueOnBlock": True},
        {"type": "agent", "prompt": "ok?", "model": "small"},
        {"type": "mcp_tool", "server": "s", "tool": "t", "input": {"a": "${cwd}"}},
    ]
    same: Any = {"seconds": 5.0, "source": "user", "condition": "Bash(git *)", "once": True, "on_failure": "block"}
    assert read({"PreToolUse": [{"matcher": "Bash", "hooks": entries}]}) == [
        Hook("PreToolUse", "Bash", "c", args=("a",), shell="bash", background=True, **same),
        Hook("PreToolUse", "Bash", url="https://h/x", headers={"X": "$A"}, allowed_variables=("A",), **same),
        Hook("PreToolUse", "Bash", prompt="ok?", model="small", continues=True, seconds=30.0, source="user"),
        Hook(
            "PreToolUse", "Bash", prompt="ok?", agentic=True, model="small", continues=True, seconds=60.0, source="user"
        ),
        Hook("PreToolUse", "Bash", server="s", tool="t", given={"a": "${cwd}"}, source="user"),
    ]


def test_a_matcher_that_is_no_expression_is_a_problem() -> None:
    [hook] = read({"PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "x"}]}]})
    assert "not a regular expression" in hook.problem


@pytest.mark.parametrize("data", [None, 5, [], {}, {"Stop": None}, {"Stop": []}, {"Stop": [{"hooks": []}]}])
def test_a_table_without_hooks(data: Any) -> None:
    assert read(data) == []


@pytest.mark.parametrize(
    "groups", [5, "x", [5], [{}], [{"hooks": 5}], [{"hooks": [5]}], [{"matcher": 5, "hooks": [5]}]]
)
def test_what_cannot_be_read_is_a_guard_that_refuses(groups: Any) -> None:
    [hook] = read({"PreToolUse": groups})
    assert hook.problem
    assert hook.matches("Bash")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "`hooks` must be an object: event → list of {matcher, hookCallbackIds}"),
        ({"PreToolUse": {}}, "`hooks.PreToolUse` must be a list of {matcher, hookCallbackIds}"),
        ({"Stop": [{"hookCallbackIds": "h"}]}, "`hooks.Stop` has an entry without a list of texts `hookCallbackIds`"),
        ({"Stop": [{"hookCallbackIds": [1]}]}, "`hooks.Stop` has an entry without a list of texts `hookCallbackIds`"),
        ({"Stop": [5]}, "`hooks.Stop` has an entry without a list of texts `hookCallbackIds`"),
        ({"Stop": [{"hookCallbackIds": ["h"], "matcher": 5}]}, "`hooks.Stop` has a `matcher` that is not a text"),
        ({}, ""),
        ({"Stop": None}, ""),
        ({"Stop": [{"hookCallbackIds": ["h"], "matcher": None}]}, ""),
    ],
)
def test_a_host_learns_what_is_wrong_with_its_hooks(data: Any, problem: str) -> None:
    assert host_problem(data) == problem


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
