"""Removes keys from tool output before it is shown, stored or sent to a model."""

from __future__ import annotations

from yume_shim.text.redact import redact_count
from yume_shim.types.blocks import Text
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from yume_shim.types.outputs import ToolOutput

BINARY = ("base64", "data")
"""Fields that hold encoded bytes: what looks like a key there is coincidence, and removing it would break the image."""
MAX_DEPTH = 32
"""How deep a structured result is searched; no tool makes deeper ones."""
MANY = 100
"""Lists with more texts are searched in one piece first: the changes of an edit may have millions of lines."""


def scrub(output: ToolOutput, secrets: Sequence[str]) -> tuple[ToolOutput, int]:
    """(the output without keys, how many were removed)."""
    found = 0
    content = output.content
    if isinstance(content, str):
        content, found = redact_count(content, secrets)
    else:
        blocks = []
        for block in content:
            if isinstance(block, Text):
                text, count = redact_count(block.text, secrets)
                found += count
                block = replace(block, text=text)
            blocks.append(block)
        content = tuple(blocks)
    structured, more = _inside(output.structured, secrets, 0)
    patch = output.patch
    if patch is not None:
        hunks, most = _inside(list(patch.hunks), secrets, 0)
        more = max(more, most)
        patch = replace(patch, hunks=tuple(hunks))
    if not found and not more:
        return output, 0
    return replace(output, content=content, structured=structured, patch=patch), max(found, more)


def _inside(value: Any, secrets: Sequence[str], depth: int) -> tuple[Any, int]:
    if isinstance(value, str):
        return redact_count(value, secrets)
    if depth >= MAX_DEPTH or not isinstance(value, (dict, list)):
        return value, 0
    found = 0
    if isinstance(value, dict):
        made: dict[Any, Any] = {}
        for key, item in value.items():
            made[key], count = (item, 0) if key in BINARY else _inside(item, secrets, depth + 1)
            found += count
        return (made, found) if found else (value, 0)
    if (
        len(value) > MANY
        and all(isinstance(item, str) for item in value)
        and not redact_count("\n".join(value), secrets)[1]
    ):
        return value, 0
    items = []
    for item in value:
        item, count = _inside(item, secrets, depth + 1)
        items.append(item)
        found += count
    return (items, found) if found else (value, 0)
