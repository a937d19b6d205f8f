"""Every known quirk of an API is shown by a golden that is named after it."""

from __future__ import annotations

from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[4] / "golden"
ROWS = {"a": 15, "r": 8, "c": 5, "g": 11, "d": 7}
"""How many rows each table has: Anthropic, Responses, Chat, Gemini, the dialects."""
QUIRKS = [f"{table}{number}" for table, count in ROWS.items() for number in range(1, count + 1)]


@pytest.mark.parametrize("quirk", QUIRKS)
def test_a_golden_shows_it(quirk: str) -> None:
    shown = [*GOLDEN.glob(f"providers/*/{quirk}-*/events.jsonl"), *GOLDEN.glob(f"sessions/{quirk}-*/expected")]
    assert shown, f"no golden is named {quirk}-…"
