"""Ollama's own chat API: JSON lines, arguments as objects, and a context whose size every request has to ask for."""

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
    "refusal": "an answer has no refusal of its own here: a model that declines does so in plain text",
    "thinking-signature": "thoughts are plain text and go back as such (see the case `thinking`)",
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
