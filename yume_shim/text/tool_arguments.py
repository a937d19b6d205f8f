"""Parses the arguments of a tool call, once, when their text is complete."""

# pyright: reportUnknownVariableType=false

from __future__ import annotations

from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def parse_arguments(raw: str) -> tuple[dict[str, Any], str | None]:
    """(input, None), or ({}, raw) if the text is not a JSON object. "" and "null" mean no arguments.

    A JSON string that itself holds an object is unwrapped: some models send their arguments stringified twice.
    """
    text = raw.strip()
    if text in ("", "null"):
        return {}, None
    try:
        parsed = codec.loads(text)
        if isinstance(parsed, str):
            parsed = codec.loads(parsed) if parsed.strip() else None
    except ValueError:
        return {}, raw
    if parsed is None:
        return {}, None
    return (parsed, None) if isinstance(parsed, dict) else ({}, raw)
