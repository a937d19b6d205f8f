"""Searching deferred tools: which ones a query finds, and in which order."""

from __future__ import annotations

import pytest

from yume_shim.engine.tool_search import find_tools, search_share
from yume_shim.types.models import ToolSpec

TOOLS = tuple(
    ToolSpec(name, text, {}, source="mcp")
    for name, text in (
        ("mcp__slack__send_message", "Sends a message to a channel."),
        ("mcp__slack__list_channels", "Lists channels."),
        ("mcp__mail__send", "Sends a letter, not a message of slack."),
        ("mcp__db__query", "Runs SQL."),
    )
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("slack message", ["slack__send_message", "slack__list_channels", "mail__send"]),
        ("+slack send", ["slack__send_message", "slack__list_channels"]),
        ("select:mcp__db__query,mcp__mail__send, nothing", ["db__query", "mail__send"]),
        ("SELECT:mcp__db__query", ["db__query"]),
        ("chann", ["slack__list_channels"]),
        ("unknown", []),
        ("+++", []),
        ("select:", []),
    ],
)
def test_a_query_finds_tools_best_first(query: str, found: list[str]) -> None:
    assert [spec.name.removeprefix("mcp__") for spec in find_tools(query, TOOLS, 3)] == found


@pytest.mark.parametrize(
    ("value", "share"),
    [
        ("", 0.1),
        ("auto", 0.1),
        ("auto:5", 0.05),
        ("auto:900", 1.0),
        ("auto:x", 0.1),
        ("TRUE", 0.0),
        ("no", float("inf")),
    ],
)
def test_the_share_is_read_from_the_environment(value: str, share: float) -> None:
    assert search_share({"ENABLE_TOOL_SEARCH": value}) == share
