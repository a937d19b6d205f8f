"""The gate of an agent whose definition names a permission mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers.gates import decide, gate

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("session", "agent", "mode"),
    [
        ("default", "acceptEdits", "acceptEdits"),
        ("default", "plan", "plan"),
        ("default", "dontAsk", "dontAsk"),
        ("default", "", "default"),
        ("default", "bypassPermissions", "default"),  # the session may not enter it either
        ("plan", "acceptEdits", "plan"),
        ("dontAsk", "acceptEdits", "dontAsk"),
        ("acceptEdits", "plan", "acceptEdits"),
        ("bypassPermissions", "default", "bypassPermissions"),
    ],
)
def test_the_mode_of_an_agent(session: str, agent: str, mode: str, tmp_path: Path) -> None:
    guard = gate(tmp_path, session, flat=False)
    assert guard.for_agent(agent).mode() == mode
    assert guard.mode() == session


def test_bypass_is_open_to_an_agent_where_it_is_open_to_the_session(tmp_path: Path) -> None:
    assert gate(tmp_path, allow_bypass=True).for_agent("bypassPermissions").mode() == "bypassPermissions"
    logged: list[str] = []
    gate(tmp_path, logged=logged).for_agent("bypassPermissions")
    assert len(logged) == 1
    assert "keeps the session's permission mode" in logged[0]


def test_rules_are_shared(tmp_path: Path) -> None:
    guard = gate(tmp_path, deny=("Write(hidden.txt)",), flat=False)
    agent = guard.for_agent("acceptEdits")
    inside, hidden = str(tmp_path / "a.txt"), str(tmp_path / "hidden.txt")
    assert decide(agent, "Write", file_path=inside, content="").verdict == "allow"
    assert decide(agent, "Write", file_path=hidden, content="").verdict == "deny"
    assert decide(guard, "Write", file_path=inside, content="").verdict == "ask"
    rule = {"type": "addRules", "behavior": "deny", "rules": [{"toolName": "Write", "ruleContent": "a.txt"}]}
    guard.apply(({**rule, "destination": "session"},))
    assert decide(agent, "Write", file_path=inside, content="").verdict == "deny"
