"""What the tests know about each wire API: one row per API, used by the loopback servers and the invariants."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Json


def _named_event(frame: Json) -> str:
    return f"event: {frame.get('type', 'error')}\ndata: {json.dumps(frame, ensure_ascii=False)}\n\n"


def _data_event(frame: Json) -> str:
    return f"data: {json.dumps(frame, ensure_ascii=False)}\n\n"


def _crlf_event(frame: Json) -> str:
    return f"data: {json.dumps(frame, ensure_ascii=False)}\r\n\r\n"


def _json_line(frame: Json) -> str:
    return json.dumps(frame, ensure_ascii=False) + "\n"


class ApiFacts(NamedTuple):
    """One row."""

    framing: Callable[[Json], str]
    """A frame as it is sent."""
    history: str
    """The field of a request that holds the conversation."""


FACTS: dict[str, ApiFacts] = {
    "anthropic-messages": ApiFacts(_named_event, "messages"),
    "google-genai": ApiFacts(_crlf_event, "contents"),
    "ollama-chat": ApiFacts(_json_line, "messages"),
    "openai-chat": ApiFacts(_data_event, "messages"),
    "openai-responses": ApiFacts(_named_event, "input"),
}
