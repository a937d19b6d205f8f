"""Ids of calls that carry something else behind them."""

from __future__ import annotations

THOUGHT = "__thought__"
"""LiteLLM hangs Gemini's thought signature on the id of the call: `call_1__thought__EpwFCpk…`. Other models refuse such
ids (characters, length), and the model itself wants them back whole."""


def without_thought(vendors: str) -> str:
    """The id alone."""
    return vendors.partition(THOUGHT)[0] or vendors
