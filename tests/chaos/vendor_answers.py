"""Answers as the vendors stream them, with every kind of block that the goldens of an API know."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

PROVIDERS = Path(__file__).resolve().parents[2] / "golden" / "providers"


class VendorAnswer(NamedTuple):
    """One of the wires of the API that is asked: the number counts round."""

    number: int


def wire_of_vendor(api: str, answer: VendorAnswer) -> list[Json]:
    """Its frames."""
    wires = _wires(api)
    return wires[answer.number % len(wires)]


@cache
def _wires(api: str) -> list[list[Json]]:
    """Those that are streams. What else a wire file says about a connection is the business of the faults here."""
    found = []
    for path in sorted((PROVIDERS / api).glob("*/wire.jsonl")):
        frames = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
        cues = {word for frame in frames for word in frame if word.startswith("!")}
        if cues <= {"!headers", "!done"}:
            found.append([frame for frame in frames if "!headers" not in frame])
    return [wire for wire in found if wire]
