"""Calls that a server refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.timing import cheap
from yume_shim.providers.apis.openai_chat.failed_call import failed_call


@pytest.mark.parametrize(
    ("error", "call"),
    [
        ({"failed_generation": '{"name": "Read", "arguments": {"path": "/a"}}'}, ("Read", '{"path":"/a"}')),
        ({"failed_generation": '{"name": "Read", "arguments": "{\\"path\\": 1"}'}, ("Read", '{"path": 1')),
        ({"failed_generation": '{"name": "Read"}'}, ("Read", "{}")),
        ({"failed_generation": '<function=Read>{"path": "/a"}</function>'}, ("Read", '{"path": "/a"}')),
        ({"failed_generation": '<function=mcp__a.b{"x": {"y": 1}}'}, ("mcp__a.b", '{"x": {"y": 1}}')),
        ({"failed_generation": "<tool-use>{"}, None),
        ({"failed_generation": '{"name": ""}'}, None),
        ({"failed_generation": "[1]"}, None),
        ({"failed_generation": None}, None),
        ({}, None),
        ("text", None),
    ],
)
def test_reading(error: Any, call: tuple[str, str] | None) -> None:
    assert failed_call(error) == call


@pytest.mark.parametrize("piece", ["<function=a", "<function=a{", "<function="])
def test_nonsense_takes_no_time(piece: str) -> None:
    with cheap(5):
        assert failed_call({"failed_generation": piece * 100_000}) is None
