"""Tool arguments as models send them."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.text.tool_arguments import parse_arguments


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("", ({}, None)),
        ("  ", ({}, None)),
        ("null", ({}, None)),
        ("{}", ({}, None)),
        ('{"a":{"b":[1,"é"]}}', ({"a": {"b": [1, "é"]}}, None)),
        ('"{\\"a\\":1}"', ({"a": 1}, None)),
        ('""', ({}, None)),
        ('"null"', ({}, None)),
        ('{"a":', ({}, '{"a":')),
        ("[1]", ({}, "[1]")),
        ("7", ({}, "7")),
        ('"words"', ({}, '"words"')),
        ("[" * 100_000, ({}, "[" * 100_000)),
    ],
)
def test_arguments(raw: str, expected: tuple[dict[str, Any], str | None]) -> None:
    assert parse_arguments(raw) == expected
