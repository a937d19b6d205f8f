"""Chat Completions: OpenAI's older API, which most other vendors and local servers offer too.

Differences between endpoints are data (`Quirks`) for the encoder; one decoder reads every dialect seen so far.
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
