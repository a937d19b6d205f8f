"""Ollama's own chat API: JSON lines, arguments as objects, and a context size in every request."""

from __future__ import annotations

from yume_shim.providers.apis.ollama_chat.decode import Decoder, map_stop, map_usage, whole_frames
from yume_shim.providers.apis.ollama_chat.encode import (
    API,
    auth_headers,
    encode_messages,
    encode_request,
    encode_tools,
)

NOT_APPLICABLE: dict[str, str] = {
    "refusal": "the API has no refusals: a model declines in plain text",
    "thinking-signature": "reasoning is plain text and sent back as such (see the case `thinking`)",
}

__all__ = [
    "API",
    "NOT_APPLICABLE",
    "Decoder",
    "auth_headers",
    "encode_messages",
    "encode_request",
    "encode_tools",
    "map_stop",
    "map_usage",
    "whole_frames",
]
