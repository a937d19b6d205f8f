"""Gemini's `generateContent`, at Google or at any other server with the same API.

The sections of an adapter are in three files: `encode` (requests), `decode` (frames), `partial_arguments` (calls whose
arguments come in pieces).
"""

from __future__ import annotations

from yume_shim.providers.apis.google_genai.decode import Decoder, map_stop, map_usage, whole_frames
from yume_shim.providers.apis.google_genai.encode import (
    API,
    auth_headers,
    encode_messages,
    encode_request,
    encode_tools,
)

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

NOT_APPLICABLE: dict[str, str] = {}
"""Every hazard can occur here."""
