"""Ids of calls with a thought signature at their end."""

from __future__ import annotations

THOUGHT = "__thought__"
"""LiteLLM appends Gemini's thought signature to the id of the call: `call_1__thought__EpwFCpk…`. Other models refuse
such ids (characters, length); the model itself needs them back unchanged."""


def without_thought(vendor_id: str) -> str:
    """The id without the signature."""
    return vendor_id.partition(THOUGHT)[0] or vendor_id
