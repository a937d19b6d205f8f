"""OpenAI Responses: stateless (`store: false`), the whole conversation in every request.

Encrypted reasoning is kept with its block and sent back only to the model that wrote it.
"""

from __future__ import annotations

from yume_shim.providers.apis.openai_responses.decode import Decoder, map_stop, map_usage, whole_frames
from yume_shim.providers.apis.openai_responses.encode import (
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
