"""Anthropic Messages: `POST /v1/messages`, at Anthropic or at a proxy with the same API."""

from __future__ import annotations

from yume_shim.providers.apis.anthropic_messages.decode import Decoder, map_stop, map_usage, whole_frames
from yume_shim.providers.apis.anthropic_messages.encode import (
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
