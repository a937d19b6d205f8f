"""Chat Completions: OpenAI's older API and the common language of everybody else.

What endpoints do differently is data (`Quirks`) on the way out; on the way in one decoder takes every dialect seen.
"""

from __future__ import annotations

from yume_shim.providers.apis.openai_chat.decode import Decoder, map_stop, map_usage, whole_frames
from yume_shim.providers.apis.openai_chat.encode import (
    API,
    auth_headers,
    encode_messages,
    encode_request,
    encode_tools,
)

NOT_APPLICABLE: dict[str, str] = {}

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
