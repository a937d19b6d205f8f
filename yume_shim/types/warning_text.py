"""The text of a warning with what the user can do about it."""

from __future__ import annotations


def with_advice(text: str, code: str) -> str:
    """The text of a warning with the advice that the catalogue of errors has for its code; imported late, because most
    sessions have no warning."""
    from yume_shim.types.error_entries.warnings import WARNINGS

    advice = next((entry.advice for entry in WARNINGS if entry.code == code), "")
    if not advice or advice in text:
        return text
    return f"{text if text.endswith('.') else text.rstrip() + '.'} {advice}."
